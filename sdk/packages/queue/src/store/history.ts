/**
 * The history of finished jobs, in periods.
 *
 * On BraidDB each period is a row, and its jobs are interleaved in it. The row is made before the first
 * job of a period ends, by each process once.
 */

import type { Transaction } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import { settingsOf } from '../context.js';
import type { TakenJob } from './take.js';

/** Periods that a queue keeps, about. */
const PERIODS = 168;

/** Milliseconds of the shortest and of the longest period. */
const PERIOD_MIN_MS = 1_000;
const PERIOD_MAX_MS = 3_600_000;

/** Periods that a process remembers to have made. */
const KNOWN_MAX = 1_000;

/** The length of a period: an hour, if the history is kept for a week or longer. */
export function periodMs(keepMs: number): number {
  return Math.min(PERIOD_MAX_MS, Math.max(PERIOD_MIN_MS, Math.ceil(keepMs / PERIODS)));
}

/**
 * The period for jobs that end within `lastMs` milliseconds: that of the latest moment. So no period
 * is deleted before the jobs that belong to it have ended.
 */
export async function openPeriod(
  context: QueueContext,
  queue: string,
  lastMs: number,
): Promise<Date> {
  const lengthMs = periodMs(settingsOf(context, queue).keepMs);
  const startMs = Math.floor((Date.now() + lastMs) / lengthMs) * lengthMs;
  const period = new Date(startMs);
  if (context.db.server.kind !== 'braiddb') return period;
  const { periods } = context;
  const name = `${startMs} ${queue}`;
  let made = periods.get(name);
  if (made === undefined) {
    if (periods.size >= KNOWN_MAX) periods.clear();
    made = makePeriod(context, queue, period);
    periods.set(name, made);
  }
  await made.catch((error: unknown) => {
    periods.delete(name);
    throw error;
  });
  return period;
}

async function makePeriod(
  { db, tables }: QueueContext,
  queue: string,
  period: Date,
): Promise<void> {
  await db.transaction({ isolation: 'read committed' }, async (tx) => {
    await tx.query`
      INSERT INTO ${tables.queue} (name) VALUES (${queue}) ON CONFLICT (name) DO NOTHING`;
    await tx.query`
      INSERT INTO ${tables.period} (queue, period) VALUES (${queue}, ${period})
      ON CONFLICT (queue, period) DO NOTHING`;
  });
}

/** Writes finished jobs to the history; nothing is waited for. */
export async function recordHistory(
  { tables }: QueueContext,
  tx: Transaction,
  period: Date,
  jobs: readonly TakenJob[],
): Promise<void> {
  const [first] = jobs;
  if (first === undefined) return;
  const { history } = tables;
  await tx.run`
    INSERT INTO ${history} (queue, period, id, finished_at, attempt, payload, created_at)
    SELECT ${first.queue}, ${period}, id, now(), attempt, payload::jsonb, created_at
    FROM unnest(${jobs.map(({ id }) => id)}::uuid[], ${jobs.map(({ attempt }) => attempt)}::int4[],
      ${jobs.map(({ payload }) => payload)}::text[],
      ${jobs.map(({ enqueuedMs }) => new Date(enqueuedMs))}::timestamptz[])
      AS n (id, attempt, payload, created_at)`;
}
