/**
 * Questions: what does a point select by primary key cost over TiKV, and what do two gateways read
 * beside each other?
 *
 * Counted are round trips, waits for PD's timestamps, and the gateway's processor time: where
 * gateways, stores and the clients share one machine, reads a second say little.
 */

import { pointSelect } from '../point.js';
import { quantile, withClients } from '../sides.js';
import { median } from '../suite.js';
import type { Gateway, Spent } from './gateway.js';
import { each, idle, onGateway, spent, untilFast } from './gateway.js';

/** What to do, and how long. */
export interface ReadsPlan {
  readonly gateways: readonly Gateway[];
  /** Of the table. */
  readonly rows: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly print: (line: string) => void;
}

/** Reads by some connections, spread over some gateways. */
export interface Reads {
  readonly gateways: number;
  readonly connections: number;
  /** Round trips of one select, by the counter. */
  readonly trips: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of one select: waits for timestamps. */
  readonly waits: number;
  /** Of one select, each gateway's: microseconds of the processors, idle work apart. */
  readonly cpuUs: readonly number[];
  /** Of a second of each idle gateway. */
  readonly idleCpuUs: readonly number[];
}

/** How many connections over how many gateways. */
const SPREADS = [
  { gateways: 1, connections: 1 },
  { gateways: 1, connections: 8 },
  { gateways: 2, connections: 8 },
  // As many for each gateway as one alone has had.
  { gateways: 2, connections: 16 },
];

/** Measures all spreads that these gateways allow, in turn. */
export async function measureReads(plan: ReadsPlan): Promise<Reads[]> {
  const [first] = plan.gateways;
  if (first === undefined) throw new Error('no gateway');
  const question = pointSelect(1, plan.rows);
  const side = { name: 'BraidDB', url: first.url, pid: first.pid } as const;
  await onGateway(first, (client) => question.prepare(client, side));
  for (const gateway of plan.gateways) await untilFast(gateway);
  const resting = await Promise.all(
    plan.gateways.map((gateway) => idle(gateway, Math.max(1, plan.seconds))),
  );
  const spreads = SPREADS.filter(({ gateways }) => gateways <= plan.gateways.length);
  const rounds: Reads[][] = spreads.map(() => []);
  for (let round = 0; round < plan.rounds; round++) {
    for (const [place, spread] of spreads.entries()) {
      plan.print(`reads: ${nameOf(spread)}, round ${round + 1}`);
      rounds[place]?.push(await measure(plan, spread, resting));
    }
  }
  await onGateway(first, (client) => question.finish(client));
  return rounds.map(middle);
}

function nameOf({ gateways, connections }: (typeof SPREADS)[number]): string {
  return `${connections} connections over ${gateways}`;
}

async function measure(
  plan: ReadsPlan,
  spread: (typeof SPREADS)[number],
  resting: readonly Spent[],
): Promise<Reads> {
  const gateways = plan.gateways.slice(0, spread.gateways);
  const share = spread.connections / gateways.length;
  const samples: number[] = [];
  const found = await Promise.all(
    gateways.map((gateway) => spent(gateway, () => load(gateway.url, share, plan, samples))),
  );
  const sorted = samples.sort((a, b) => a - b);
  const own = (key: 'waits' | 'cpuUs'): number[] =>
    found.map((one, place) => each(one, resting[place] ?? one, key));
  return {
    ...spread,
    trips: await tripsOf(gateways[0], plan.rows),
    perSecond: found.reduce((sum, one) => sum + one.operations / one.seconds, 0),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    waits: Math.max(...own('waits')),
    cpuUs: own('cpuUs'),
    idleCpuUs: resting.slice(0, gateways.length).map((one) => one.counts.cpuUs / one.seconds),
  };
}

/** Point selects by some connections until the time is over; how many. */
function load(
  url: string,
  connections: number,
  { rows, seconds }: ReadsPlan,
  samples: number[],
): Promise<number> {
  return withClients(url, connections, async (clients) => {
    const question = pointSelect(connections, rows);
    const untilMs = performance.now() + seconds * 1000;
    let operations = 0;
    await Promise.all(
      clients.map(async (client, connection) => {
        while (performance.now() < untilMs) {
          const startMs = performance.now();
          await question.operation(client, connection);
          samples.push(performance.now() - startMs);
          operations++;
        }
      }),
    );
    const [first] = clients;
    if (first !== undefined) await question.check(first, operations);
    return operations;
  });
}

async function tripsOf(gateway: Gateway | undefined, rows: number): Promise<number> {
  if (gateway === undefined) throw new Error('no gateway');
  const question = pointSelect(1, rows);
  return onGateway(gateway, async (client) => {
    // The first one finds out where the region is.
    for (let select = 0; select < 3; select++) await question.operation(client, 0);
    const shown = await client.query<Record<string, string>>('SHOW last_transaction_round_trips');
    return Number(Object.values(shown.rows[0] ?? {})[0]);
  });
}

/** The middle of each figure. */
function middle(rounds: readonly Reads[]): Reads {
  const [first] = rounds;
  if (first === undefined) throw new Error('no round was measured');
  const of = (key: 'trips' | 'perSecond' | 'p50Ms' | 'p99Ms' | 'waits'): number =>
    median(rounds.map((round) => round[key]));
  const cpuUs = first.cpuUs.map((_, place) => median(rounds.map((one) => one.cpuUs[place] ?? 0)));
  const times = { p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
  return {
    ...first,
    ...times,
    ...{ trips: of('trips'), perSecond: of('perSecond') },
    ...{ waits: of('waits'), cpuUs },
  };
}

/** The aims: one round trip, no wait for a timestamp, less than 100 µs. */
export function readsTable(results: readonly Reads[]): string[][] {
  const head = [
    ...['point select', 'gateways', 'conn', 'trips', 'waits', 'CPU µs each', 'idle CPU µs/s'],
    ...['selects/s', 'p50 ms', 'p99 ms'],
  ];
  const list = (numbers: readonly number[]): string =>
    numbers.map((number) => number.toFixed(0)).join(', ');
  const rows = results.map((one) => [
    ...['by key, prepared', `${one.gateways}`, `${one.connections}`, `${one.trips}`],
    ...[one.waits.toFixed(3), list(one.cpuUs), list(one.idleCpuUs), one.perSecond.toFixed(0)],
    ...[one.p50Ms.toFixed(2), one.p99Ms.toFixed(2)],
  ]);
  return [head, ...rows];
}
