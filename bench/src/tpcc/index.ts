/**
 * Question: how many new orders of TPC-C a minute, beside PostgreSQL?
 *
 * All five transactions in the standard mix, with prepared statements, each awaited by itself, and
 * without think times: so the number is not a tpmC. Each transaction chooses a warehouse by chance.
 * After 40001 and 40P01 it runs again with the same input, and its latency counts from its first
 * try. Both servers hold the same rows and run at the same isolation level, in turn; the median
 * round counts. At the end the suite checks the specification's consistency conditions 1 to 4, and
 * that the tables hold exactly what the client has seen committed.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import type pg from 'pg';

import type { Side } from '../sides.js';
import { onOne, withClients } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import { faultsOf } from './check.js';
import { dropTables, load } from './load.js';
import type { Chosen, Kind } from './mix.js';
import { choose, chooseKind, KINDS } from './mix.js';
import { Random } from './random.js';
import { Session } from './session.js';
import type { Size } from './tables.js';
import type { Committed, KindResult, RoundResult } from './tally.js';
import { retryCode, Tally } from './tally.js';

/** The suite, with its size. */
export interface TpccPlan extends SuitePlan {
  readonly size: Size;
  readonly connections: number;
  /** Of both servers. */
  readonly isolation: string;
}

type Results = Readonly<Record<Side['name'], readonly RoundResult[]>>;

/** The longest pause before a transaction runs again. */
const RETRY_PAUSE_MS = 5;

/** Runs the suite; returns the files written. */
export async function runTpcc(plan: TpccPlan): Promise<string[]> {
  const { size, connections, isolation } = plan;
  plan.print(`load ${size.warehouses} warehouses`);
  const loadSeconds = await load(plan.sides, size);
  const committed = new Map(plan.sides.map(({ name }) => [name, { newOrders: 0, payments: 0 }]));
  const rounds: Record<Side['name'], RoundResult[]> = { BraidDB: [], PostgreSQL: [] };
  for (let round = 0; round < plan.rounds; round++) {
    for (const { name, url } of plan.sides) {
      plan.print(`${name}, round ${round + 1}`);
      const counts = committed.get(name) ?? { newOrders: 0, payments: 0 };
      rounds[name].push(await oneRound(plan, url, round, counts));
    }
  }
  plan.print('check');
  const faults: string[] = [];
  for (const side of plan.sides) {
    const counts = committed.get(side.name) ?? { newOrders: 0, payments: 0 };
    const found = await onOne(side, (client) => faultsOf(client, size, counts));
    faults.push(...found.map((fault) => `${side.name}, ${fault}`));
    await onOne(side, dropTables);
  }
  showTable(plan, tableOf(rounds));
  showTable(plan, kindTable(rounds));
  const settings = { size, connections, isolation, loadSeconds };
  const written = await saveResults(plan, 'tpcc', { ...settings, rounds, faults });
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return written;
}

/** A warm-up, then a measurement. */
async function oneRound(
  plan: TpccPlan,
  url: string,
  round: number,
  committed: Committed,
): Promise<RoundResult> {
  return withClients(url, plan.connections, async (clients) => {
    const level = `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${plan.isolation}`;
    for (const client of clients) await client.query(level);
    const startMs = performance.now() + plan.seconds * 200;
    const endMs = startMs + plan.seconds * 1000;
    const tally = new Tally(startMs, endMs, committed);
    const load = clientLoad(startMs, endMs);
    await Promise.all(
      clients.map(async (client, place) => {
        const random = new Random(1 + round * clients.length + place);
        const run = (kind: Kind): Promise<void> => {
          return runChosen(client, choose(kind, random, plan.size), random, tally);
        };
        // In a round of a moment chance leaves some out.
        if (plan.seconds < 1) for (const kind of KINDS) await run(kind);
        while (performance.now() < endMs) await run(chooseKind(random));
      }),
    );
    return tally.result(await load);
  });
}

/** Runs a transaction until it meets no retry error. */
async function runChosen(
  client: pg.Client,
  { kind, run }: Chosen,
  random: Random,
  tally: Tally,
): Promise<void> {
  const session = new Session(client);
  const startMs = performance.now();
  for (;;) {
    try {
      const isCommitted = await run(session);
      tally.ended(kind, isCommitted, performance.now() - startMs);
      return;
    } catch (error) {
      const code = retryCode(error);
      if (code === undefined) throw new Error(`${kind} failed`, { cause: error });
      await session.rollback();
      tally.retried(kind, code);
      await sleep(random.fraction() * RETRY_PAUSE_MS);
    }
  }
}

/** The processor time of this process between two moments, by the time between them. */
async function clientLoad(startMs: number, endMs: number): Promise<number> {
  await sleep(startMs - performance.now());
  const [before, beganMs] = [process.cpuUsage(), performance.now()];
  await sleep(endMs - performance.now());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - beganMs);
}

function tableOf(rounds: Results): string[][] {
  const middle = (side: Side['name'], number: (round: RoundResult) => number): number => {
    return median(rounds[side].map(number));
  };
  const line = (name: string, number: (round: RoundResult) => number, digits: number): string[] => {
    const [ours, theirs] = [middle('BraidDB', number), middle('PostgreSQL', number)];
    const cells = [ours, theirs].map((value) => value.toFixed(digits));
    return [name, ...cells, (ours / theirs).toFixed(2)];
  };
  return [
    ['', 'BraidDB', 'PostgreSQL', 'ratio'],
    line('new orders a minute', (round) => round.newOrdersPerMinute, 0),
    line('transactions a second', (round) => round.transactionsPerSecond, 1),
    line('client: cores used', (round) => round.clientLoad, 2),
    line('new orders rolled back', (round) => round.rolledBack, 0),
  ];
}

function kindTable(rounds: Results): string[][] {
  const middle = (
    side: Side['name'],
    kind: Kind,
    number: (result: KindResult) => number,
    digits: number,
  ): string => median(rounds[side].map(({ kinds }) => number(kinds[kind]))).toFixed(digits);
  const rows = (['BraidDB', 'PostgreSQL'] as const).flatMap((side) =>
    KINDS.map((kind) => [
      `${side}, ${kind}`,
      middle(side, kind, ({ count }) => count, 0),
      middle(side, kind, ({ p50Ms }) => p50Ms, 1),
      middle(side, kind, ({ p99Ms }) => p99Ms, 1),
      middle(side, kind, ({ retries }) => retries['40001'], 0),
      middle(side, kind, ({ retries }) => retries['40P01'], 0),
    ]),
  );
  return [['transaction', 'committed', 'p50 ms', 'p99 ms', '40001', '40P01'], ...rows];
}
