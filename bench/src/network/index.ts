/**
 * Question: how long does a transaction of four statements take, by the client library and by the
 * distance between application and server?
 *
 * ```text
 *   one client ──▶ proxy: half a round trip each way ──▶ BraidDB or PostgreSQL
 * ```
 *
 * Every client goes through the proxy, also without a delay. The proxy counts round trips, and an
 * echo through such a proxy shows how long one really takes. Afterwards the money and the transfers
 * are counted.
 */

import { noDelay, Proxy, realRoundTripMs } from '../delay-proxy.js';
import type { Delay } from '../delay-proxy.js';
import { measureOne } from '../one-client.js';
import type { NetworkResult } from '../pictures/results.js';
import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { ClientKind } from './clients.js';
import { CLIENTS } from './clients.js';

/** The suite, with its distances. */
export interface NetworkPlan extends SuitePlan {
  readonly roundTripsMs: readonly number[];
}

const ACCOUNTS = 100;
const BALANCE = 1000;
const ECHOES = 50;

/** One round of one client. */
type Round = NetworkResult['rounds'][number];

/** Runs the suite; returns the files written. */
export async function runNetwork(plan: NetworkPlan): Promise<string[]> {
  const results: NetworkResult[] = [];
  const realMs: Record<string, number> = {};
  for (const side of plan.sides) await onServer(side, prepare);
  for (const roundTripMs of plan.roundTripsMs) {
    realMs[String(roundTripMs)] = await realRoundTripMs(roundTripMs, ECHOES);
    for (let round = 0; round < plan.rounds; round++) {
      for (const side of plan.sides) {
        for (const kind of CLIENTS) {
          const name = `${side.name}, ${roundTripMs} ms, ${kind.name}`;
          if (plan.only?.split('|').some((text) => name.includes(text)) === false) continue;
          plan.print(`round ${round + 1}: ${name}`);
          const found = await oneRound(side, kind, roundTripMs, plan.seconds);
          note(results, { side: side.name, roundTripMs, client: kind.name }, found);
        }
      }
    }
  }
  for (const side of plan.sides) await onServer(side, check);
  showTable(plan, tableOf(results, realMs));
  return saveResults(plan, 'network', { realRoundTripMs: realMs, results });
}

function note(results: NetworkResult[], where: Omit<NetworkResult, 'rounds'>, round: Round): void {
  const known = results.find(
    ({ side, roundTripMs, client }) =>
      side === where.side && roundTripMs === where.roundTripMs && client === where.client,
  );
  if (known === undefined) results.push({ ...where, rounds: [round] });
  else known.rounds.push(round);
}

function onServer(side: Side, work: (run: Run, side: Side) => Promise<void>): Promise<void> {
  return onOne(side, (client) => {
    const run: Run = async (text) => (await client.query<Record<string, unknown>>(text)).rows;
    return work(run, side);
  });
}

type Run = (text: string) => Promise<Record<string, unknown>[]>;

async function prepare(run: Run): Promise<void> {
  await run('DROP TABLE IF EXISTS network_transfer');
  await run('DROP TABLE IF EXISTS network_account');
  await run('CREATE TABLE network_account (id INT4 PRIMARY KEY, balance INT4 NOT NULL)');
  await run(`CREATE TABLE network_transfer
    (id INT4 PRIMARY KEY, from_id INT4 NOT NULL, to_id INT4 NOT NULL, amount INT4 NOT NULL)`);
  await run(`INSERT INTO network_account
    SELECT i, ${BALANCE} FROM generate_series(0, ${ACCOUNTS - 1}) AS i`);
}

/** Transfers so far, of each server. */
const done = new Map<Side['name'], number>();

/** The money is all there, and so is every transfer. */
async function check(run: Run, side: Side): Promise<void> {
  const [sums] = await run(`SELECT (SELECT sum(balance)::INT8 FROM network_account) AS money,
    (SELECT count(*) FROM network_transfer) AS transfers`);
  const expected = [ACCOUNTS * BALANCE, done.get(side.name) ?? 0];
  const found = [Number(sums?.money), Number(sums?.transfers)];
  if (String(found) !== String(expected)) {
    throw new Error(`${side.name}: ${String(found)} instead of ${String(expected)}`);
  }
  await run('DROP TABLE network_transfer');
  await run('DROP TABLE network_account');
}

async function oneRound(
  side: Side,
  kind: ClientKind,
  roundTripMs: number,
  seconds: number,
): Promise<Round> {
  const delay: Delay = { ...noDelay(), roundTripMs };
  const url = new URL(side.url);
  const proxy = await Proxy.start(Number(url.port), delay);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  try {
    await using client = await kind.open(url.href);
    const transfer = async (): Promise<void> => {
      const id = done.get(side.name) ?? 0;
      const from = id % ACCOUNTS;
      await client.transfer({ id, from, to: (from + 1 + (id % 7)) % ACCOUNTS });
      done.set(side.name, id + 1);
    };
    const found = await measureOne(kind.name, seconds, transfer);
    const before = delay.roundTrips;
    await transfer();
    return { ...found, roundTrips: delay.roundTrips - before };
  } finally {
    await proxy.stop();
  }
}

function tableOf(
  results: readonly NetworkResult[],
  realMs: Readonly<Record<string, number>>,
): string[][] {
  const head = ['server, round trip, client', 'really ms', 'round trips', 'a second', 'p50 ms'];
  const rows = results.map(({ side, roundTripMs, client, rounds }) => {
    const of = (field: keyof Round): number => median(rounds.map((round) => round[field]));
    return [
      ...[`${side}, ${roundTripMs} ms, ${client}`, realMs[String(roundTripMs)]?.toFixed(2) ?? ''],
      ...[of('roundTrips').toFixed(0), of('perSecond').toFixed(0)],
      ...[of('p50Ms').toFixed(2), of('p99Ms').toFixed(2)],
    ];
  });
  return [[...head, 'p99 ms'], ...rows];
}
