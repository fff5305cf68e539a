/** Numbers about the queues: what this process has done, and what waits in the database. */

import { sql } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import type { LocalStats } from '../counters.js';
import { limit, stateIs } from './literals.js';

/** Rows of one state that are counted at most: a count of all would read all. */
const COUNT_MAX = 10_000;

/** Numbers about one queue. */
export interface QueueStats {
  /** Rows by their state, counted up to 10 000 each. */
  readonly jobs: {
    readonly ready: number;
    readonly delayed: number;
    readonly blocked: number;
    readonly active: number;
    readonly dead: number;
  };
  /** Milliseconds that the next job has waited since it could run; 0 if none waits. */
  readonly lagMs: number;
  /** What this process has done since the queue was opened. */
  readonly here: LocalStats;
}

/** Reads the numbers of a queue. Every count ends at a limit, so its cost is bounded. */
export async function readStats(context: QueueContext, queue: string): Promise<QueueStats> {
  const { db, tables, counters } = context;
  const counted = (state: Parameters<typeof stateIs>[0]): ReturnType<typeof sql> => sql`
    (SELECT count(*)::int4 FROM (SELECT 1 AS one FROM ${tables.job}
      WHERE queue = ${queue} AND ${stateIs(state)} ${limit(COUNT_MAX)}) AS found)`;
  const row = await db.one<QueueStats['jobs'] & { lag: number | null }>`
    SELECT ${counted('ready')} AS ready, ${counted('delayed')} AS delayed,
      ${counted('blocked')} AS blocked, ${counted('active')} AS active, ${counted('dead')} AS dead,
      (SELECT (extract(epoch FROM clock_timestamp() - run_at) * 1000)::float8 FROM ${tables.job}
        WHERE queue = ${queue} AND ${stateIs('ready')} ORDER BY priority, run_at, id LIMIT 1) AS lag`;
  const { lag, ...jobs } = row;
  return { jobs, lagMs: Math.max(0, lag ?? 0), here: counters.read(queue) };
}
