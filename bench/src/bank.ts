/**
 * Question: how long does a bank transfer take, by the time of a round trip to the store, when every
 * statement is awaited and when writes are not waited for?
 *
 * The transfer: lock two accounts and read them, insert the transfer and its two legs (with foreign
 * keys to transfer and account), update both accounts, commit. The same function of the SDK runs
 * both ways: serial asks every write for its count, parallel does not, so that the SDK adds RETURNING
 * NOTHING on BraidDB and only pipelines on PostgreSQL. `--simulate-rtt` makes the embedded store
 * wait as a remote one would.
 */

import type { Database, TimelineEntry, Transaction, Write } from '@braiddb/sdk';
import { connect, readTimeline } from '@braiddb/sdk';

import { latenciesOfOne } from './one-client.js';
import type { BankResult, Way } from './pictures/results.js';
import { quantile } from './sides.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

/** The suite starts its servers itself: the round-trip time is a setting of the server. */
export interface BankPlan extends SuitePlan {
  readonly startBraid: (args: string[]) => Promise<Side & { stop: () => Promise<unknown> }>;
  readonly startPostgres: () => Promise<Side & { stop: () => Promise<unknown> }>;
}

const ROUND_TRIPS_MS = [0, 10, 20, 50, 100];
/** The round trip of the pictures. */
const PICTURE_MS = 20;
const ACCOUNTS = 100;
/** Transfers of a round, at least. */
const TRANSFERS_MIN = 3;

/** Runs the suite; returns the files written. Parts: "0 ms" to "100 ms", "timeline", "PostgreSQL". */
export async function runBank(plan: BankPlan): Promise<string[]> {
  const only = plan.only?.split('|');
  const wants = (part: string): boolean => only === undefined || only.includes(part);
  const results: BankResult[] = [];
  const files: string[] = [];
  for (const roundTripMs of ROUND_TRIPS_MS) {
    const measures = wants(`${roundTripMs} ms`);
    const draws = roundTripMs === PICTURE_MS && wants('timeline');
    if (!measures && !draws) continue;
    // At 0 the option is left out: even a pause of no length takes a while.
    const delay = roundTripMs === 0 ? [] : ['--simulate-rtt', `${roundTripMs}ms`];
    const server = await plan.startBraid(delay);
    try {
      if (measures) results.push(...(await both(plan, server, roundTripMs)));
      if (draws) files.push(...(await pictures(plan, server)));
    } finally {
      await server.stop();
    }
  }
  if (wants('PostgreSQL')) {
    const postgres = await plan.startPostgres();
    try {
      results.push(...(await both(plan, postgres, 0)));
    } finally {
      await postgres.stop();
    }
  }
  if (results.length === 0) return files;
  showTable(plan, tableOf(results));
  return [...(await saveResults(plan, 'bank', { results })), ...files];
}

async function both(plan: BankPlan, side: Side, roundTripMs: number): Promise<BankResult[]> {
  // One connection, so that what the session reports is about the transfer.
  await using db = await connect(side.url, { connectionsMax: 1, prepare: true });
  await prepare(db);
  const samples: Record<Way, number[][]> = { serial: [], parallel: [] };
  const trips: Partial<Record<Way, number>> = {};
  let transfers = 0;
  for (let round = 0; round < plan.rounds; round++) {
    for (const way of ['serial', 'parallel'] as const) {
      plan.print(`${side.name}, ${roundTripMs} ms, ${way}, round ${round + 1}`);
      const work = (): Promise<void> => transfer(db, way, transfers++);
      const found = await latenciesOfOne(way, plan.seconds, work, TRANSFERS_MIN);
      samples[way].push(found);
      if (side.name === 'BraidDB') trips[way] = await roundTrips(db);
    }
  }
  await check(db, transfers);
  return (['serial', 'parallel'] as const).map((way) => {
    const all = samples[way].flat().sort((a, b) => a - b);
    const medianMs = median(samples[way].map((round) => median(round)));
    const p99Ms = quantile(all, 0.99);
    return { side: side.name, roundTripMs, way, medianMs, p99Ms, roundTrips: trips[way] };
  });
}

async function prepare(db: Database): Promise<void> {
  await db.script(`
    DROP TABLE IF EXISTS transfer_leg; DROP TABLE IF EXISTS transfer; DROP TABLE IF EXISTS account;
    CREATE TABLE account (id INT8 PRIMARY KEY, balance NUMERIC(12,2) NOT NULL);
    CREATE TABLE transfer (id INT8 PRIMARY KEY, amount NUMERIC(12,2) NOT NULL);
    CREATE TABLE transfer_leg (
      transfer_id INT8 REFERENCES transfer, leg INT2, account_id INT8 NOT NULL REFERENCES account,
      amount NUMERIC(12,2) NOT NULL, PRIMARY KEY (transfer_id, leg));
    INSERT INTO account SELECT i, 1000 FROM generate_series(0, ${ACCOUNTS - 1}) AS i;`);
}

/** One transfer of 1.00 between two accounts. */
async function transfer(db: Database, way: Way, id: number): Promise<void> {
  const from = id % ACCOUNTS;
  const to = (id * 7 + 1) % ACCOUNTS === from ? (from + 1) % ACCOUNTS : (id * 7 + 1) % ACCOUNTS;
  await db.transaction(async (tx: Transaction) => {
    const done = async (write: Write): Promise<void> => {
      if (way === 'parallel') await write;
      else if ((await write.count()) !== 1) throw new Error('a row is missing');
    };
    await tx.query`SELECT id, balance FROM account WHERE id IN (${from}, ${to}) ORDER BY id FOR UPDATE`;
    await done(tx.run`INSERT INTO transfer (id, amount) VALUES (${id}, 1)`);
    await done(tx.run`INSERT INTO transfer_leg (transfer_id, leg, account_id, amount)
      VALUES (${id}, 1, ${from}, -1)`);
    await done(tx.run`INSERT INTO transfer_leg (transfer_id, leg, account_id, amount)
      VALUES (${id}, 2, ${to}, 1)`);
    await done(tx.run`UPDATE account SET balance = balance - 1 WHERE id = ${from}`);
    await done(tx.run`UPDATE account SET balance = balance + 1 WHERE id = ${to}`);
  });
}

async function roundTrips(db: Database): Promise<number> {
  const row = await db.one<Record<string, string>>`SHOW last_transaction_round_trips`;
  return Number(Object.values(row)[0]);
}

/** The money is all there, and so is every transfer with both legs. */
async function check(db: Database, transfers: number): Promise<void> {
  const row = await db.one<{ sum: string; transfers: bigint; legs: bigint }>`
    SELECT (SELECT sum(balance) FROM account) AS sum, (SELECT count(*) FROM transfer) AS transfers,
      (SELECT count(*) FROM transfer_leg) AS legs`;
  const right =
    Number(row.sum) === ACCOUNTS * 1000 &&
    Number(row.transfers) === transfers &&
    Number(row.legs) === transfers * 2;
  if (!right)
    throw new Error(
      `after ${transfers} transfers: ${JSON.stringify(Object.values(row).map(String))}`,
    );
}

/** The timeline of a transfer each way. */
async function pictures(plan: BankPlan, side: Side): Promise<string[]> {
  await using db = await connect(side.url, { connectionsMax: 1 });
  await prepare(db);
  await db.query`SET record_timeline = on`;
  const recorded: Record<Way, TimelineEntry[]> = { serial: [], parallel: [] };
  let transfers = 0;
  for (const way of ['serial', 'parallel'] as const) {
    // The first ones fill the caches.
    for (let round = 0; round < 3; round++) await transfer(db, way, transfers++);
    const entries = await readTimeline(db);
    // What the SDK sends for itself takes no time, and is left out.
    recorded[way] = entries.filter(({ statement }) => !/^(SAVEPOINT|SET) /.test(statement));
  }
  return await saveResults(plan, 'timelines', { roundTripMs: PICTURE_MS, ...recorded });
}

function tableOf(results: readonly BankResult[]): string[][] {
  const rows = [
    ['server', 'round trip', 'serial ms', 'p99', 'trips', 'parallel ms', 'p99', 'trips', 'less'],
  ];
  for (const serial of results.filter((one) => one.way === 'serial')) {
    const parallel = results.find(
      (one) =>
        one.way === 'parallel' &&
        one.side === serial.side &&
        one.roundTripMs === serial.roundTripMs,
    );
    if (parallel === undefined) continue;
    const cells = (one: BankResult): string[] => [
      ...[one.medianMs.toFixed(2), one.p99Ms.toFixed(2), String(one.roundTrips ?? '')],
    ];
    const less = `${((1 - parallel.medianMs / serial.medianMs) * 100).toFixed(0)} %`;
    rows.push([
      serial.side,
      `${serial.roundTripMs} ms`,
      ...cells(serial),
      ...cells(parallel),
      less,
    ]);
  }
  return rows;
}
