/**
 * A gateway under measurement: what it counts (`/metrics`), what it takes of the processors
 * (/proc), and the regions of its tables.
 */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import type pg from 'pg';

import { withClients } from '../sides.js';
import type { Cluster, Place } from './cluster.js';
import { until } from './cluster.js';

/** A gateway that runs. */
export interface Gateway {
  readonly url: string;
  readonly http: string;
  readonly pid: number;
  readonly stop: () => Promise<unknown>;
}

/** Starts a gateway over a store. */
export type StartGateway = (storeUrl: string) => Promise<Gateway>;

/** What a gateway has done since its start. */
export interface Counts {
  /** Waits for a timestamp of PD, and their milliseconds. */
  readonly waits: number;
  readonly waitMs: number;
  /** Steps of requests side by side, and the regions that they went to. */
  readonly steps: number;
  readonly regions: number;
  /** Microseconds of the processors; counted in steps of 10,000. */
  readonly cpuUs: number;
}

/** What it has done for a number of operations; what it does when idle is in it. */
export interface Spent {
  readonly operations: number;
  readonly seconds: number;
  readonly counts: Counts;
}

/** Runs `work` with gateways over a cluster, once each of them is fast. */
export async function withGateways<T>(
  count: number,
  start: StartGateway,
  cluster: Cluster,
  work: (...gateways: Gateway[]) => Promise<T>,
): Promise<T> {
  const gateways: Gateway[] = [];
  try {
    while (gateways.length < count) gateways.push(await start(cluster.url));
    for (const gateway of gateways) await untilFast(gateway);
    return await work(...gateways);
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
  }
}

/** Waits until the gateway does without reading the catalog's version, as between changes. */
export async function untilFast(gateway: Gateway): Promise<void> {
  await onGateway(gateway, (client) =>
    until('a fast period', async () => {
      const text = 'SELECT mode FROM braid_internal.gateways WHERE is_self';
      const { rows } = await client.query<{ mode: string }>(text);
      return rows[0]?.mode === 'fast';
    }),
  );
}

/** Runs `work` with a connection of its own. */
export function onGateway<T>(
  { url }: Pick<Gateway, 'url'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return withClients(url, 1, ([client]) => {
    if (client === undefined) throw new Error('no client');
    return work(client);
  });
}

/** What the gateway has counted so far. */
export async function countsOf(gateway: Gateway): Promise<Counts> {
  const answer = await fetch(new URL('/metrics', gateway.http));
  const text = await answer.text();
  const number = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    waits: number('braid_tikv_timestamp_wait_seconds_count'),
    waitMs: number('braid_tikv_timestamp_wait_seconds_sum') * 1000,
    steps: number('braid_tikv_regions_touched_count'),
    regions: number('braid_tikv_regions_touched_sum'),
    cpuUs: await cpuUs(gateway.pid),
  };
}

const TICK_US = 10_000;

async function cpuUs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name before the last parenthesis may hold anything; the two times are 12 and 13 behind.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** Runs `work`, and counts what the gateway did meanwhile. */
export async function spent(gateway: Gateway, work: () => Promise<number>): Promise<Spent> {
  const before = await countsOf(gateway);
  const startMs = performance.now();
  const operations = await work();
  const seconds = (performance.now() - startMs) / 1000;
  const after = await countsOf(gateway);
  const less = (key: keyof Counts): number => after[key] - before[key];
  const counts = {
    ...{ waits: less('waits'), waitMs: less('waitMs'), steps: less('steps') },
    ...{ regions: less('regions'), cpuUs: less('cpuUs') },
  };
  return { operations, seconds, counts };
}

/** What the gateway does in some seconds without work. */
export function idle(gateway: Gateway, seconds: number): Promise<Spent> {
  return spent(gateway, async () => {
    await sleep(seconds * 1000);
    return 0;
  });
}

/** Of one operation, without what the gateway does when idle. */
export function each(all: Spent, resting: Spent, key: keyof Counts): number {
  const own = all.counts[key] - (resting.counts[key] / resting.seconds) * all.seconds;
  return own / all.operations;
}

const run = promisify(execFile);

/** Splits a table into regions with as many rows each; how many regions it has then. */
export async function splitTable(
  place: Place,
  cluster: Cluster,
  client: pg.Client,
  table: string,
  parts: number,
): Promise<number> {
  const text = 'SELECT data_id FROM braid_internal.tables WHERE table_name = $1';
  const { rows } = await client.query<{ data_id: string }>(text, [table]);
  const prefix = Buffer.concat([Buffer.from('braid/d'), numberBytes(Number(rows[0]?.data_id))]);
  const args = [cluster.pd, prefix.toString('hex'), `${parts}`];
  const { stdout } = await run(join(place.tools, 'tikv-split'), args);
  return Number(stdout);
}

/** A table's number as its keys begin with it: one byte, or how many follow and these. */
function numberBytes(number: number): Buffer {
  if (!Number.isSafeInteger(number)) throw new Error(`${number} is no number of a table`);
  const digits = number.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return number <= SMALL_MAX ? bytes : Buffer.concat([Buffer.of(SMALL_MAX + bytes.length), bytes]);
}

/** The largest number of one byte. */
const SMALL_MAX = 0xef;
