/**
 * Latency of `add`, where rows come at a fixed pace and the batcher keeps up with them.
 *
 * ```text
 *   low load      one row each 10 ms
 *   steady load   50 rows each 10 ms, in one turn of the event loop
 * ```
 *
 * Rows come by the clock, whether or not earlier ones have been stored: what waits is measured.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { connect, sql } from '@braiddb/sdk';

import type { OneClient } from '../one-client.js';
import { roundOf } from '../one-client.js';
import type { Side } from '../sides.js';
import { batcherOf, checkRows, makeTable } from './loads.js';
import type { Setting } from './loads.js';

/** Rows at a fixed pace. */
export interface Pace {
  readonly name: string;
  /** Rows that come at the same moment. */
  readonly rows: number;
}

/** The paces that are measured. */
export const PACES: readonly Pace[] = [
  { name: 'low load', rows: 1 },
  { name: 'steady load', rows: 50 },
];

/** Milliseconds from one moment to the next. */
const PERIOD_MS = 10;
/** Moments at the beginning that are not counted. */
const WARMUP_MOMENTS = 10;

/** Adds rows at this pace for some seconds; the latencies from adding to acknowledged. */
export async function paced(
  side: Side,
  setting: Setting,
  pace: Pace,
  seconds: number,
): Promise<OneClient> {
  await using db = await connect(side.url);
  const table = await makeTable(db);
  const name = sql.identifier(table);
  await using batcher = batcherOf(db, table, setting);
  const store = async (id: number): Promise<void> => {
    if (setting.way === 'single') await db.query`INSERT INTO ${name} VALUES (${id}, 'x')`;
    else await batcher.add({ id, note: 'x' });
  };
  const samples: number[] = [];
  const open: Promise<void>[] = [];
  const startMs = performance.now();
  let made = 0;
  const moments = WARMUP_MOMENTS + Math.ceil((seconds * 1000) / PERIOD_MS);
  for (let moment = 0; moment < moments; moment++) {
    const leftMs = startMs + moment * PERIOD_MS - performance.now();
    if (leftMs > 0) await sleep(leftMs);
    for (let row = 0; row < pace.rows; row++) {
      const addedMs = performance.now();
      const stored = store(made++).then(() => {
        if (moment >= WARMUP_MOMENTS) samples.push(performance.now() - addedMs);
      });
      open.push(stored);
    }
  }
  await Promise.all(open);
  await checkRows(db, table, made);
  return roundOf(samples);
}
