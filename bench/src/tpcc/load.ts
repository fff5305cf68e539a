/**
 * Fills servers with the rows of TPC-C: each row is made once and copied to all of them.
 */

import pg from 'pg';

import { copyFrom } from '../growth/copy.js';
import type { Side } from '../sides.js';
import { Random } from './random.js';
import type { Size } from './tables.js';
import { INDEXES, partsOf, TABLES } from './tables.js';

/** Characters of one COPY. */
const COPY_CHARACTERS = 4 * 1024 * 1024;

/** The seed of all rows. */
const SEED = 1;

/** A server that is filled, and how long that has taken. */
interface Loading {
  readonly side: Side;
  readonly client: pg.Client;
  ms: number;
}

/** Creates, fills, indexes and analyzes all tables; the seconds of each side. */
export async function load(sides: readonly Side[], size: Size): Promise<Record<string, number>> {
  const loadings = sides.map((side): Loading => {
    return { side, client: new pg.Client({ connectionString: side.url }), ms: 0 };
  });
  try {
    for (const { client } of loadings) await client.connect();
    await fillAll(loadings, size);
  } finally {
    for (const { client } of loadings) await client.end();
  }
  return Object.fromEntries(loadings.map(({ side, ms }) => [side.name, ms / 1000]));
}

async function fillAll(loadings: readonly Loading[], size: Size): Promise<void> {
  const onEach = async (work: (loading: Loading) => Promise<unknown>): Promise<void> => {
    for (const loading of loadings) {
      const startMs = performance.now();
      await work(loading);
      loading.ms += performance.now() - startMs;
    }
  };
  await onEach(({ client }) => createTables(client));
  for (const { table, rows } of partsOf(size, new Random(SEED))) {
    for (const text of textsOf(rows)) {
      await onEach(({ client }) => copyFrom(client, `COPY ${table} FROM STDIN`, text));
    }
  }
  await onEach(async ({ side, client }) => {
    for (const statement of INDEXES) await client.query(statement);
    const vacuum = side.name === 'PostgreSQL' ? 'VACUUM ' : '';
    for (const table of Object.keys(TABLES)) await client.query(`${vacuum}ANALYZE ${table}`);
  });
}

async function createTables(client: pg.Client): Promise<void> {
  await dropTables(client);
  for (const [table, columns] of Object.entries(TABLES)) {
    await client.query(`CREATE TABLE ${table} (${columns})`);
  }
}

/** Drops the tables that are there. */
export async function dropTables(client: pg.Client): Promise<void> {
  for (const table of Object.keys(TABLES)) await client.query(`DROP TABLE IF EXISTS ${table}`);
}

/** The lines of COPY, in texts of about `COPY_CHARACTERS`. */
function* textsOf(rows: Iterable<readonly (string | number | null)[]>): Generator<string> {
  let lines: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const line = `${row.map((value) => value ?? '\\N').join('\t')}\n`;
    lines.push(line);
    characters += line.length;
    if (characters < COPY_CHARACTERS) continue;
    yield lines.join('');
    lines = [];
    characters = 0;
  }
  if (lines.length > 0) yield lines.join('');
}
