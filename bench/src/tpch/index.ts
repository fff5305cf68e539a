/**
 * Question: how fast are the 22 queries of TPC-H, beside PostgreSQL?
 *
 * Both servers are filled with the same rows, have the same indexes and fresh statistics. Each query
 * runs once for the first time, then `rounds` times on each server in turn; the median counts. Both
 * run at SERIALIZABLE and have the same number of workers for a query; PostgreSQL gets
 * `work_mem = 64MB`. The rows of both are compared.
 */

import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { once } from 'node:events';

import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

import type { Side } from '../sides.js';
import { onOne, withClients } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import { queriesOf } from './queries.js';
import { TABLES } from './tables.js';

/** The suite, with its size and its data. */
export interface TpchPlan extends SuitePlan {
  /** The scale factor: 1 is 6 million rows of `lineitem`. */
  readonly scale: number;
  /** Threads or processes that share the work of a query, on both servers. */
  readonly workers: number;
  /** The program that prints a table's rows. */
  readonly generator: string;
}

/** The times of a query on one server, in milliseconds; `undefined` if it failed. */
interface Times {
  readonly firstMs: number | undefined;
  readonly medianMs: number | undefined;
  readonly error?: string;
}

interface Line {
  readonly query: number;
  readonly braid: Times;
  readonly postgres: Times;
  readonly rowsAlike: boolean;
}

/** A query that takes longer counts as failed. */
const TIMEOUT_MS = 120_000;
/** Bytes of one COPY: it is a transaction, whose size is bounded. */
const COPY_BYTES = 32 * 1024 * 1024;

/** Runs the suite; returns the files written. */
export async function runTpch(plan: TpchPlan): Promise<string[]> {
  const [braid, postgres] = plan.sides;
  if (braid === undefined || postgres === undefined) throw new Error('two sides are needed');
  const loads = { braid: await load(plan, braid), postgres: await load(plan, postgres) };
  const wanted = plan.only?.split('|').map(Number);
  const lines: Line[] = [];
  for (const [place, text] of queriesOf(plan.scale).entries()) {
    const query = place + 1;
    if (wanted !== undefined && !wanted.includes(query)) continue;
    plan.print(`query ${query}`);
    lines.push({ query, ...(await inTurn(plan.rounds, braid, postgres, text)) });
  }
  const differing = lines.filter(({ rowsAlike }) => !rowsAlike).map(({ query }) => query);
  showTable(plan, tableOf(loads, lines));
  const { scale, workers } = plan;
  const written = await saveResults(plan, 'tpch', { scale, workers, loads, lines });
  if (differing.length > 0) throw new Error(`rows differ in query ${differing.join(', ')}`);
  return written;
}

/** Seconds that a server took to be filled, to build indexes, and to ANALYZE. */
interface Load {
  readonly copySeconds: number;
  readonly indexSeconds: number;
  readonly analyzeSeconds: number;
}

function load(plan: TpchPlan, side: Side): Promise<Load> {
  plan.print(`load ${side.name}`);
  return onOne(side, async (client) => {
    if (side.name === 'PostgreSQL') {
      const others = plan.workers - 1;
      for (const [name, value] of [
        ['max_parallel_workers_per_gather', others],
        ['max_parallel_maintenance_workers', others],
        ['work_mem', `'64MB'`],
      ] as const) {
        await client.query(`ALTER ROLE CURRENT_USER SET ${name} = ${value}`);
        await client.query(`SET ${name} = ${value}`);
      }
    } else {
      const workers = `max_parallel_workers_per_query = ${plan.workers}`;
      await client.query(`ALTER ROLE CURRENT_USER SET ${workers}`);
    }
    for (const { name, create } of TABLES) {
      await client.query(`DROP TABLE IF EXISTS ${name}`);
      await client.query(`CREATE TABLE ${name} (${create})`);
    }
    const copySeconds = await secondsOf(async () => {
      for (const { name } of TABLES) await fill(client, plan, name);
    });
    const indexSeconds = await secondsOf(async () => {
      for (const { name, indexes } of TABLES) {
        for (const columns of indexes) await client.query(`CREATE INDEX ON ${name} (${columns})`);
      }
    });
    const analyzeSeconds = await secondsOf(async () => {
      const vacuum = side.name === 'PostgreSQL' ? 'VACUUM ' : '';
      for (const { name } of TABLES) await client.query(`${vacuum}ANALYZE ${name}`);
    });
    return { copySeconds, indexSeconds, analyzeSeconds };
  });
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1000;
}

/** Fills a table from the generator, a part after the other. */
async function fill(client: pg.Client, plan: TpchPlan, table: string): Promise<void> {
  const generator = spawn(plan.generator, [table, String(plan.scale)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(generator, 'close');
  for await (const part of partsOf(generator.stdout)) {
    const copy = client.query(copyFrom(`COPY ${table} FROM STDIN WITH (DELIMITER '|')`));
    copy.end(part);
    await once(copy, 'finish');
  }
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`the generator of ${table} ended with ${code ?? 'a signal'}`);
}

/** Whole lines of about COPY_BYTES. */
async function* partsOf(stream: Readable): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < COPY_BYTES) continue;
    const all = Buffer.concat(chunks);
    const end = all.lastIndexOf('\n') + 1;
    yield all.subarray(0, end);
    chunks = [all.subarray(end)];
    bytes = all.length - end;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}

/** One query on both servers: the first run, then the rounds in turn. */
async function inTurn(
  rounds: number,
  braid: Side,
  postgres: Side,
  text: string,
): Promise<Omit<Line, 'query'>> {
  const [ours, theirs] = [new Timed(braid, text), new Timed(postgres, text)];
  for (let round = 0; round <= rounds; round++) {
    await ours.run();
    await theirs.run();
  }
  const known = ours.rows !== undefined && theirs.rows !== undefined;
  const rowsAlike = !known || ours.rows === theirs.rows;
  return { braid: ours.times(), postgres: theirs.times(), rowsAlike };
}

/** A query on one server, with the times of its runs; a failure ends them. */
class Timed {
  readonly #side: Side;
  readonly #text: string;
  readonly #times: number[] = [];
  #error: string | undefined;
  /** The rows of the first run, as text. */
  rows: string | undefined;

  constructor(side: Side, text: string) {
    this.#side = side;
    this.#text = text;
  }

  async run(): Promise<void> {
    if (this.#error !== undefined) return;
    try {
      await withClients(this.#side.url, 1, async ([client]) => {
        if (client === undefined) throw new Error('no client');
        await client.query('SET default_transaction_isolation = serializable');
        await client.query(`SET statement_timeout = ${TIMEOUT_MS}`);
        const startMs = performance.now();
        const { rows } = await client.query({ text: this.#text, rowMode: 'array' });
        this.#times.push(performance.now() - startMs);
        this.rows ??= JSON.stringify(rows);
      });
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
    }
  }

  times(): Times {
    const [firstMs, ...others] = this.#times;
    if (this.#error !== undefined) {
      return { firstMs: undefined, medianMs: undefined, error: this.#error };
    }
    return { firstMs, medianMs: median(others) };
  }
}

function tableOf(
  loads: Readonly<Record<'braid' | 'postgres', Load>>,
  lines: readonly Line[],
): string[][] {
  const loadLine = (name: string, part: keyof Load): string[] => {
    const [ours, theirs] = [loads.braid[part] * 1000, loads.postgres[part] * 1000];
    return [name, ...['', '', ours.toFixed(0), theirs.toFixed(0), (ours / theirs).toFixed(2)]];
  };
  const ratios = lines.map(ratioOf).filter((ratio) => ratio !== undefined);
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  return [
    ['work', 'first ms', 'PostgreSQL', 'median ms', 'PostgreSQL', 'time by PostgreSQL'],
    loadLine('COPY', 'copySeconds'),
    loadLine('CREATE INDEX', 'indexSeconds'),
    loadLine('ANALYZE', 'analyzeSeconds'),
    ...lines.map((line) => {
      const { query, braid, postgres, rowsAlike } = line;
      const ratio = ratioOf(line)?.toFixed(2) ?? braid.error ?? postgres.error ?? '';
      const times = [braid.firstMs, postgres.firstMs, braid.medianMs, postgres.medianMs];
      const cells = times.map((ms) => ms?.toFixed(0) ?? 'failed');
      return [`query ${query}`, ...cells, rowsAlike ? ratio : `${ratio} ROWS DIFFER`];
    }),
    [`geometric mean of ${ratios.length}`, '', '', '', '', mean.toFixed(2)],
  ];
}

function ratioOf({ braid, postgres }: Line): number | undefined {
  if (braid.medianMs === undefined || postgres.medianMs === undefined) return undefined;
  return braid.medianMs / postgres.medianMs;
}
