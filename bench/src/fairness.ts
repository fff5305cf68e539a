/**
 * Question: how long does a point select take beside 0, 1, 4 and 16 connections whose statements
 * compute without an end?
 */

import pg from 'pg';

import { latenciesOfOne } from './one-client.js';
import { onOne, quantile, withClients } from './sides.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

const ROWS = 3_000;
const NEIGHBOURS = [0, 1, 4, 16];
const QUERY_CANCELED = '57014';
/** How long neighbours get to start, so that all of them compute. */
const START_MS = 500;

/** Each computes until it is cancelled; neighbour n runs the n-th, modulo their number. */
const ENDLESS = [
  'SELECT count(*) FROM generate_series(1, 100000000000)',
  'SELECT count(*) FROM bench_fair a, bench_fair b, bench_fair c WHERE a.id + b.id + c.id = -1',
  `SELECT count(*) FROM bench_fair o, LATERAL
     (SELECT * FROM generate_series(1, 300000 + o.id) AS g ORDER BY g % 1009, -g OFFSET 1) s`,
  `SELECT count(regexp_replace(repeat('ab1', 300000 + g), '[0-9]', 'xyz', 'g'))
     FROM generate_series(1, 1000000) AS g`,
];

/** Point selects beside some neighbours, in one round. */
export interface FairnessRound {
  readonly side: Side['name'];
  readonly neighbours: number;
  readonly selects: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

/** Runs the suite; returns the files written. */
export async function runFairness(plan: SuitePlan): Promise<string[]> {
  const rounds: FairnessRound[] = [];
  for (const side of plan.sides) await onOne(side, prepare);
  try {
    for (let round = 0; round < plan.rounds; round++) {
      for (const neighbours of NEIGHBOURS) {
        if (plan.only !== undefined && !plan.only.split('|').includes(String(neighbours))) continue;
        for (const side of plan.sides) {
          plan.print(`round ${round + 1}: ${side.name} beside ${neighbours}`);
          rounds.push(await beside(side, neighbours, plan.seconds));
        }
      }
    }
  } finally {
    for (const side of plan.sides) {
      await onOne(side, async (client) => {
        await client.query('DROP TABLE bench_fair');
      });
    }
  }
  showTable(plan, tableOf(plan, rounds));
  return saveResults(plan, 'fairness', { rounds });
}

async function prepare(client: pg.Client): Promise<void> {
  await client.query('DROP TABLE IF EXISTS bench_fair');
  await client.query('CREATE TABLE bench_fair (id INT8 PRIMARY KEY, note TEXT)');
  await client.query(`INSERT INTO bench_fair SELECT i, 'x' FROM generate_series(1, ${ROWS}) AS i`);
}

/** Measures point selects while that many others compute. */
function beside(side: Side, neighbours: number, seconds: number): Promise<FairnessRound> {
  return withClients(side.url, neighbours, async (clients) => {
    const pids = await Promise.all(clients.map(pidOf));
    const computing = clients.map((client, number) => compute(client, number));
    if (neighbours > 0) await new Promise((resolve) => setTimeout(resolve, START_MS));
    const samples = await onOne(side, (client) => select(client, seconds));
    await onOne(side, async (client) => {
      for (const pid of pids) await client.query('SELECT pg_cancel_backend($1)', [pid]);
    });
    await Promise.all(computing);
    return {
      side: side.name,
      neighbours,
      selects: samples.length,
      p50Ms: quantile(samples, 0.5),
      p99Ms: quantile(samples, 0.99),
      worstMs: samples.at(-1) ?? Number.NaN,
    };
  });
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const [row] = rows;
  if (row === undefined) throw new Error('a session has no number');
  return row.pid;
}

/** Computes until it is cancelled. A statement that ends by itself would not have been beside. */
async function compute(client: pg.Client, number: number): Promise<void> {
  const sql = ENDLESS[number % ENDLESS.length] ?? '';
  try {
    await client.query(sql);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === QUERY_CANCELED) return;
    throw error;
  }
  throw new Error(`it has an end: ${sql}`);
}

/** The latencies of point selects, sorted. */
function select(client: pg.Client, seconds: number): Promise<number[]> {
  let next = 0;
  return latenciesOfOne('select', seconds, async () => {
    const { rows } = await client.query({
      name: 'point',
      text: 'SELECT id, note FROM bench_fair WHERE id = $1',
      values: [(next++ % ROWS) + 1],
    });
    if (rows.length !== 1) throw new Error('the row is not there');
  });
}

function tableOf(plan: SuitePlan, rounds: readonly FairnessRound[]): string[][] {
  const asked = NEIGHBOURS.filter((count) => rounds.some((one) => one.neighbours === count));
  return [
    ['server', 'neighbours', 'p50 ms', 'p99 ms', 'worst ms'],
    ...asked.flatMap((neighbours) =>
      plan.sides.map((side) => {
        const own = rounds.filter((one) => one.side === side.name && one.neighbours === neighbours);
        const of = (field: 'p50Ms' | 'p99Ms' | 'worstMs'): string =>
          median(own.map((one) => one[field])).toFixed(3);
        return [side.name, String(neighbours), of('p50Ms'), of('p99Ms'), of('worstMs')];
      }),
    ),
  ];
}
