/**
 * Question: what does the SDK cost beside bare `pg`, by one connection?
 *
 * | work | bare `pg` | the SDK |
 * |---|---|---|
 * | select | a prepared point select | the same |
 * | select, signal | the same; `pg` knows no signals | with an `AbortSignal` of its own |
 * | transaction | BEGIN, the select, COMMIT, each awaited | `db.transaction` with the select |
 * | transaction, signal | the same | with an `AbortSignal` of its own |
 *
 * Transactions are read-only, so that no disk is waited for. The SDK sends BEGIN with the select, so
 * it waits less often; what it computes is in the time as well.
 */

import type { Database } from '@braiddb/sdk';
import { connect, sql } from '@braiddb/sdk';
import pg from 'pg';

import type { OneClient } from './one-client.js';
import { measureOne } from './one-client.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

const ROWS = 10_000;

const WORKS = ['select', 'select, signal', 'transaction', 'transaction, signal'] as const;
type Work = (typeof WORKS)[number];
const CLIENTS = ['pg', 'sdk'] as const;
type Client = (typeof CLIENTS)[number];

interface Round extends OneClient {
  readonly side: Side['name'];
  readonly work: Work;
  readonly client: Client;
}

/** What a client does for a work, with the key of a row. */
type Operations = Readonly<Record<Work, (id: number) => Promise<void>>>;

/** Runs the suite; returns the files written. */
export async function runOverhead(plan: SuitePlan): Promise<string[]> {
  const rounds: Round[] = [];
  for (const side of plan.sides) {
    const bare = new pg.Client({ connectionString: side.url });
    await bare.connect();
    await using db = await connect(side.url, { connectionsMax: 1, prepare: true });
    await bare.query('DROP TABLE IF EXISTS bench_overhead');
    await bare.query('CREATE TABLE bench_overhead (id INT8 PRIMARY KEY, note TEXT)');
    await bare.query(
      `INSERT INTO bench_overhead SELECT i, 'x' FROM generate_series(0, ${ROWS - 1}) AS i`,
    );
    const operations = { pg: ofPg(bare), sdk: ofSdk(db) };
    let next = 0;
    for (let round = 0; round < plan.rounds; round++) {
      for (const work of WORKS) {
        if (plan.only?.split('|').some((text) => work.includes(text)) === false) continue;
        for (const client of CLIENTS) {
          plan.print(`round ${round + 1}: ${side.name}, ${work}, ${client}`);
          const run = (): Promise<void> => operations[client][work](next++ % ROWS);
          const found = await measureOne(work, plan.seconds, run);
          rounds.push({ side: side.name, work, client, ...found });
        }
      }
    }
    await bare.query('DROP TABLE bench_overhead');
    await bare.end();
  }
  showTable(plan, tableOf(plan, rounds));
  return saveResults(plan, 'overhead', { rounds });
}

function checkRow(rows: number): void {
  if (rows !== 1) throw new Error('the row is not there');
}

function ofPg(client: pg.Client): Operations {
  const select = async (id: number): Promise<void> => {
    const { rows } = await client.query<{ id: string }>({
      name: 'point',
      text: 'SELECT id, note FROM bench_overhead WHERE id = $1',
      values: [id],
    });
    checkRow(rows.length);
  };
  const transaction = async (id: number): Promise<void> => {
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY');
    await select(id);
    await client.query('COMMIT');
  };
  return {
    ...{ select, 'select, signal': select },
    ...{ transaction, 'transaction, signal': transaction },
  };
}

function ofSdk(db: Database): Operations {
  const transaction = async (id: number, signal?: AbortSignal): Promise<void> => {
    await db.transaction({ readOnly: true, signal }, async (tx) => {
      await tx.one`SELECT id, note FROM bench_overhead WHERE id = ${id}`;
    });
  };
  return {
    async select(id) {
      await db.one`SELECT id, note FROM bench_overhead WHERE id = ${id}`;
    },
    async 'select, signal'(id) {
      const { signal } = new AbortController();
      const statement = sql`SELECT id, note FROM bench_overhead WHERE id = ${id}`;
      checkRow((await db.query(statement, { signal })).rows.length);
    },
    transaction: (id) => transaction(id),
    'transaction, signal': (id) => transaction(id, new AbortController().signal),
  };
}

function tableOf(plan: SuitePlan, rounds: readonly Round[]): string[][] {
  const rows = plan.sides.flatMap((side) =>
    WORKS.flatMap((work) => {
      const own = rounds.filter((one) => one.side === side.name && one.work === work);
      if (own.length === 0) return [];
      const of = (client: Client, field: 'perSecond' | 'p50Ms' | 'p99Ms'): number =>
        median(own.filter((one) => one.client === client).map((one) => one[field]));
      const microseconds = (of('sdk', 'p50Ms') - of('pg', 'p50Ms')) * 1000;
      return [
        [
          `${side.name}, ${work}`,
          ...CLIENTS.map((client) => of(client, 'perSecond').toFixed(0)),
          ...CLIENTS.map((client) => of(client, 'p50Ms').toFixed(4)),
          ...CLIENTS.map((client) => of(client, 'p99Ms').toFixed(3)),
          microseconds.toFixed(0),
          `${((of('pg', 'perSecond') / of('sdk', 'perSecond') - 1) * 100).toFixed(1)} %`,
        ],
      ];
    }),
  );
  const head = ['server, work', 'pg/s', 'SDK/s', 'pg p50 ms', 'SDK p50 ms', 'pg p99', 'SDK p99'];
  return [[...head, 'more µs', 'overhead'], ...rows];
}
