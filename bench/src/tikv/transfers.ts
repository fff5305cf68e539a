/**
 * Question: how many round trips is a bank transfer over TiKV, of one region and of two, when every
 * statement is awaited and when its writes return nothing?
 *
 * ```text
 *   BEGIN; UPDATE … WHERE id = $1; UPDATE … WHERE id = $1; COMMIT      [RETURNING NOTHING]
 * ```
 *
 * Twice: by the gateway's counter, and by the clock: the median with a delay to stores and PD, less
 * the median without one, in multiples of the delay. What the transaction waits for PD's timestamps
 * is told apart by the gateway's histogram of these waits.
 */

import type pg from 'pg';

import { median } from '../suite.js';
import type { Cluster, Place } from './cluster.js';
import { atRoundTrips } from './cluster.js';
import type { Gateway, Spent, StartGateway } from './gateway.js';
import { each, idle, onGateway, spent, splitTable, untilFast, withGateways } from './gateway.js';
import { realRoundTripMs } from '../delay-proxy.js';

/** What to do, and how long. */
export interface TransfersPlan {
  readonly place: Place;
  readonly startGateway: StartGateway;
  readonly rounds: number;
  readonly seconds: number;
  readonly print: (line: string) => void;
}

type Way = 'awaited' | 'returning nothing';

/** One kind of transfer at one delay. */
interface Measured {
  readonly way: Way;
  /** The regions that the two accounts lie in. */
  readonly regions: number;
  readonly delayMs: number;
  readonly medianMs: number;
  /** By the counter, the middle and the most. */
  readonly trips: number;
  readonly tripsMax: number;
  /** Steps of requests to stores, of one transfer: two that overlap are two. */
  readonly steps: number;
  /** For timestamps of PD, of one transfer. */
  readonly waits: number;
  readonly waitMs: number;
}

/** One kind of transfer, in multiples of the delay. */
export interface Transfer {
  readonly way: Way;
  readonly regions: number;
  readonly trips: number;
  readonly tripsMax: number;
  readonly steps: number;
  readonly medianMs: number;
  readonly delayedMs: number;
  /** The difference of the two medians by the delay. */
  readonly multiple: number;
  /** The part of it that was waited for timestamps. */
  readonly ofTimestamps: number;
  /** Waits for timestamps, of one transfer. */
  readonly waits: number;
}

/** What was found. */
export interface Transfers {
  /** What they ran over. */
  readonly cluster: string;
  readonly delayMs: number;
  /** How long a round trip through a proxy with that delay really took; none of the stand-in. */
  readonly realDelayMs: number | undefined;
  /** Connections through the proxies: replication's and PD's own, and the gateways'. */
  readonly connections: Cluster['connections'];
  readonly transfers: readonly Transfer[];
}

const DELAY_MS = 20;
const ACCOUNTS = 100;
/** Transfers of a round, at least. */
const TRANSFERS_MIN = 5;
/** Transfers whose round trips are asked for. */
const COUNTED = 10;
const ECHOES = 20;

const KINDS = [1, 2].flatMap((regions) =>
  (['awaited', 'returning nothing'] as const).map((way) => ({ way, regions })),
);
type Kind = (typeof KINDS)[number];

/** Measures all kinds. */
export async function measureTransfers(plan: TransfersPlan): Promise<Transfers> {
  const found: Measured[] = [];
  let connections: Cluster['connections'];
  let name = '';
  await atRoundTrips(plan.place, [0, DELAY_MS], async (cluster, delayMs) => {
    await withGateways(1, plan.startGateway, cluster, async (gateway) => {
      plan.print(`transfers: ${delayMs} ms`);
      found.push(...(await atDelay(plan, cluster, gateway, delayMs)));
    });
    name = cluster.name;
    connections = cluster.connections && { ...cluster.connections };
  });
  const proxied = plan.place.bin !== undefined;
  const realDelayMs = proxied ? await realRoundTripMs(DELAY_MS, ECHOES) : undefined;
  const transfers = KINDS.map((kind) => compare(found, kind));
  return { cluster: name, delayMs: DELAY_MS, realDelayMs, connections, transfers };
}

function compare(found: readonly Measured[], kind: Kind): Transfer {
  const of = (delayMs: number): Measured => {
    const one = found.find(
      (other) =>
        other.way === kind.way && other.regions === kind.regions && other.delayMs === delayMs,
    );
    if (one === undefined) throw new Error('a kind was not measured');
    return one;
  };
  const [near, far] = [of(0), of(DELAY_MS)];
  return {
    ...kind,
    ...{ trips: far.trips, tripsMax: Math.max(near.tripsMax, far.tripsMax) },
    ...{ steps: far.steps, medianMs: near.medianMs, delayedMs: far.medianMs, waits: far.waits },
    multiple: (far.medianMs - near.medianMs) / DELAY_MS,
    ofTimestamps: (far.waitMs - near.waitMs) / DELAY_MS,
  };
}

async function atDelay(
  plan: TransfersPlan,
  cluster: Cluster,
  gateway: Gateway,
  delayMs: number,
): Promise<Measured[]> {
  return onGateway(gateway, async (client) => {
    for (const regions of [1, 2]) await prepare(plan, cluster, client, regions);
    await untilFast(gateway);
    const resting = await idle(gateway, Math.max(1, plan.seconds));
    const samples = KINDS.map(() => ({ medians: [] as number[], all: [] as Spent[] }));
    let transfers = 0;
    for (let round = 0; round < plan.rounds; round++) {
      for (const [place, kind] of KINDS.entries()) {
        const { medians, all } = samples[place] ?? { medians: [], all: [] };
        const took: number[] = [];
        // The first one prepares its statements.
        await transfer(client, kind, transfers++);
        const work = async (): Promise<number> => {
          const untilMs = performance.now() + plan.seconds * 1000;
          while (performance.now() < untilMs || took.length < TRANSFERS_MIN) {
            const startMs = performance.now();
            await transfer(client, kind, transfers++);
            took.push(performance.now() - startMs);
          }
          return took.length;
        };
        all.push(await spent(gateway, work));
        medians.push(median(took));
      }
    }
    const measured: Measured[] = [];
    for (const [place, kind] of KINDS.entries()) {
      const { medians, all } = samples[place] ?? { medians: [], all: [] };
      const trips: number[] = [];
      for (let count = 0; count < COUNTED; count++) {
        await transfer(client, kind, transfers++);
        trips.push(await roundTrips(client));
      }
      const mean = (key: 'steps' | 'waits' | 'waitMs'): number =>
        median(all.map((one) => each(one, resting, key)));
      const [middle, most] = [median(trips), Math.max(...trips)];
      const counted = { trips: middle, tripsMax: most, steps: mean('steps') };
      const times = { medianMs: median(medians), waits: mean('waits'), waitMs: mean('waitMs') };
      measured.push({ ...kind, delayMs, ...counted, ...times });
    }
    await check(client, transfers);
    return measured;
  });
}

const tableOf = (regions: number): string => `account_${regions}`;

async function prepare(
  plan: TransfersPlan,
  cluster: Cluster,
  client: pg.Client,
  regions: number,
): Promise<void> {
  const table = tableOf(regions);
  await client.query(`DROP TABLE IF EXISTS ${table}`);
  await client.query(`CREATE TABLE ${table} (id INT8 PRIMARY KEY, balance INT8 NOT NULL)`);
  await client.query(
    `INSERT INTO ${table} SELECT i, 1000 FROM generate_series(0, ${ACCOUNTS - 1}) AS i`,
  );
  const found = await splitTable(plan.place, cluster, client, table, regions);
  if (found !== regions) throw new Error(`${table} has ${found} regions`);
}

/** One transfer of 1, from the lower half of the accounts to the upper one. */
async function transfer(client: pg.Client, { way, regions }: Kind, number: number): Promise<void> {
  const half = ACCOUNTS / 2;
  const from = number % half;
  const to = half + ((number * 7 + 1) % half);
  const update = async (sign: '+' | '-', id: number): Promise<void> => {
    const tail = way === 'awaited' ? '' : ' RETURNING NOTHING';
    const text = `UPDATE ${tableOf(regions)} SET balance = balance ${sign} 1 WHERE id = $1${tail}`;
    const name = `transfer ${regions} ${sign}${tail}`;
    const { rowCount } = await client.query({ name, text, values: [id] });
    if (way === 'awaited' && rowCount !== 1) throw new Error('an account is missing');
  };
  await client.query('BEGIN');
  await update('-', from);
  await update('+', to);
  await client.query('COMMIT');
}

async function roundTrips(client: pg.Client): Promise<number> {
  const { rows } = await client.query<Record<string, string>>('SHOW last_transaction_round_trips');
  return Number(Object.values(rows[0] ?? {})[0]);
}

/** The money is all there, and every transfer has moved some. */
async function check(client: pg.Client, transfers: number): Promise<void> {
  let moved = 0;
  for (const regions of [1, 2]) {
    const half = (condition: string): string =>
      `(SELECT sum(balance) FROM ${tableOf(regions)} WHERE id ${condition} ${ACCOUNTS / 2})`;
    const text = `SELECT ${half('<')} AS lower, ${half('>=')} AS upper`;
    const { rows } = await client.query<{ lower: string; upper: string }>(text);
    const [lower, upper] = [Number(rows[0]?.lower), Number(rows[0]?.upper)];
    if (lower + upper !== ACCOUNTS * 1000) throw new Error(`${lower} and ${upper} are left`);
    moved += upper - (ACCOUNTS / 2) * 1000;
  }
  if (moved !== transfers) throw new Error(`${transfers} transfers acknowledged, ${moved} found`);
}

/** The aims: two round trips, and their time, where nothing is waited for. */
export function transfersTable({ delayMs, transfers }: Transfers): string[][] {
  const head = [
    ...['transfer', 'regions', 'trips', 'steps', '0 ms', `${delayMs} ms`, 'multiple'],
    ...['of timestamps', 'the rest', 'waits'],
  ];
  const rows = transfers.map((one) => [
    ...[one.way, `${one.regions}`, `${one.trips} (${one.tripsMax})`, one.steps.toFixed(2)],
    ...[one.medianMs, one.delayedMs, one.multiple, one.ofTimestamps].map((n) => n.toFixed(2)),
    ...[(one.multiple - one.ofTimestamps).toFixed(2), one.waits.toFixed(2)],
  ]);
  return [head, ...rows];
}
