/**
 * Question: how long does a full scan take when nothing of the table is in memory, and when all of
 * it is? Beside PostgreSQL as it is installed, and tuned.
 *
 * ```text
 *   cold   the server has been restarted and the page cache dropped; one scan
 *   warm   the same scan again and again
 * ```
 *
 * The page cache can be dropped by root only (`/proc/sys/vm/drop_caches`). Where that is not
 * permitted, only the server is restarted, and the results say so.
 */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import type pg from 'pg';

import { measureOne } from './one-client.js';
import type { ScanResult } from './pictures/results.js';
import { withClients } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

/** A server that can be restarted with its data. */
export interface RestartableServer {
  readonly url: string;
  /** Stops it and starts it again; its address may be another one. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<unknown>;
}

/** The suite starts its servers itself. */
export interface ScanPlan extends SuitePlan {
  readonly rows: number;
  readonly startBraid: () => Promise<RestartableServer>;
  /** Starts PostgreSQL with these settings. */
  readonly startPostgres: (settings: readonly string[]) => Promise<RestartableServer>;
  /** Memory of the machine in bytes. */
  readonly memoryBytes: number;
}

/** A server, and the sessions that ask it. */
interface Kind {
  readonly start: (plan: ScanPlan) => Promise<RestartableServer>;
  /** What follows the filling of the table. */
  readonly afterwards: readonly string[];
  /** Names, and what each session sets before it asks. */
  readonly sessions: readonly { readonly name: string; readonly settings: readonly string[] }[];
}

/** Else the first scan would also write hint bits. */
const VACUUM = ['VACUUM ANALYZE bench_scan'];

const KINDS: readonly Kind[] = [
  {
    start: (plan) => plan.startBraid(),
    afterwards: [],
    sessions: [{ name: 'BraidDB', settings: [] }],
  },
  {
    start: (plan) => plan.startPostgres([]),
    afterwards: VACUUM,
    sessions: [{ name: 'PostgreSQL, default', settings: [] }],
  },
  {
    start: (plan) => plan.startPostgres(tuned(plan.memoryBytes)),
    afterwards: VACUUM,
    sessions: [0, 2].map((workers) => ({
      name: `PostgreSQL, tuned, ${workers} workers`,
      settings: [`SET max_parallel_workers_per_gather = ${workers}`],
    })),
  },
];

/** Rows of one statement that fills the table. */
const CHUNK = 10_000;
const SCAN = 'SELECT count(*) AS n, sum(n) AS total FROM bench_scan';

/** The usual advice: a quarter of the memory for buffers, no compilation of queries. */
function tuned(memoryBytes: number): string[] {
  const part = (share: number): string => `${Math.floor((memoryBytes * share) / 2 ** 20)}MB`;
  return [`shared_buffers=${part(0.25)}`, `effective_cache_size=${part(0.75)}`, 'jit=off'];
}

/** Runs the suite; returns the files written. */
export async function runScan(plan: ScanPlan): Promise<string[]> {
  const results: ScanResult[] = [];
  let isDropped = true;
  for (const { start, sessions, afterwards } of KINDS) {
    const wanted = sessions.filter(
      ({ name }) => plan.only?.split('|').some((text) => name.includes(text)) !== false,
    );
    if (wanted.length === 0) continue;
    const server = await start(plan);
    try {
      await onServer(server, async (client) => {
        await fill(client, plan.rows);
        for (const statement of afterwards) await client.query(statement);
      });
      for (const { name, settings } of wanted) {
        const result: ScanResult = { server: name, coldMs: [], warm: [] };
        for (let round = 0; round < plan.rounds; round++) {
          plan.print(`round ${round + 1}: ${name}`);
          await server.restart();
          isDropped = (await dropPageCache()) && isDropped;
          await onServer(server, async (client) => {
            for (const setting of settings) await client.query(setting);
            const startMs = performance.now();
            await scan(client, plan.rows);
            result.coldMs.push(performance.now() - startMs);
            const again = (): Promise<void> => scan(client, plan.rows);
            result.warm.push(await measureOne(name, plan.seconds, again));
          });
        }
        results.push(result);
      }
    } finally {
      await server.stop();
    }
  }
  showTable(plan, tableOf(results));
  const cold = isDropped
    ? 'the server restarted and the page cache dropped'
    : 'the server restarted; the page cache could not be dropped';
  plan.show(`Cold means: ${cold}.`);
  return saveResults(plan, 'scan', { rows: plan.rows, cold, results });
}

/** Opens one connection, hands it to `work`, and closes it. */
function onServer(
  server: RestartableServer,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  return withClients(server.url, 1, async ([client]) => {
    if (client !== undefined) await work(client);
  });
}

async function fill(client: pg.Client, rows: number): Promise<void> {
  await client.query('DROP TABLE IF EXISTS bench_scan');
  await client.query('CREATE TABLE bench_scan (id INT4 PRIMARY KEY, n INT4, filler TEXT)');
  for (let start = 1; start <= rows; start += CHUNK) {
    await client.query(
      `INSERT INTO bench_scan SELECT i, i, repeat('x', 88)
       FROM generate_series($1::int4, $2::int4) AS g (i)`,
      [start, Math.min(start + CHUNK - 1, rows)],
    );
  }
}

async function scan(client: pg.Client, rowsTotal: number): Promise<void> {
  const { rows } = await client.query<{ n: string; total: string }>(SCAN);
  const right = [rowsTotal, (rowsTotal * (rowsTotal + 1)) / 2];
  const found = [Number(rows[0]?.n), Number(rows[0]?.total)];
  if (String(found) !== String(right)) throw new Error(`wrong result: ${String(found)}`);
}

/** Drops the page cache of the machine; false where that is not permitted. */
async function dropPageCache(): Promise<boolean> {
  try {
    await promisify(execFile)('sync');
    await writeFile('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}

function tableOf(results: readonly ScanResult[]): string[][] {
  const rows = results.map(({ server, coldMs, warm }) => {
    const [cold, again] = [median(coldMs), median(warm.map(({ p50Ms }) => p50Ms))];
    return [server, cold.toFixed(0), again.toFixed(0), (cold / again).toFixed(2)];
  });
  return [['server', 'cold ms', 'warm ms', 'cold by warm'], ...rows];
}
