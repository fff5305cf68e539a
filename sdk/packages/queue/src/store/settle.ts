/** Jobs whose time has come: delayed ones, and those whose worker is gone. Also old rows. */

import { sql } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import { settingsOf } from '../context.js';
import { periodMs } from './history.js';
import { limit, stateIs } from './literals.js';

/** A job that has been moved. */
export interface Settled {
  readonly id: string;
  readonly state: 'ready' | 'dead';
  readonly attempt: number;
  readonly concurrencyKey: string | null;
  /** True if it had been active: its lease has ended. */
  readonly wasLost: boolean;
}

/** Rows of one statement at most. */
const ROWS_MAX = 500;

/** What stands as the error of a job whose worker is gone. */
const LOST = 'the worker was not heard of until the end of the lease';

/**
 * Moves jobs that are due. Rows that a running transaction has locked are left alone.
 *
 * A lost job keeps its old lease until somebody takes it. So a worker that was only slow can still
 * finish it before that.
 */
export async function settleJobs({ db, tables }: QueueContext, queue: string): Promise<Settled[]> {
  const due = (state: 'active' | 'delayed'): ReturnType<typeof sql> => sql`(
    SELECT id FROM ${tables.job} WHERE queue = ${queue} AND ${stateIs(state)}
      AND due_at <= now() ORDER BY due_at, id ${limit(ROWS_MAX)} FOR UPDATE SKIP LOCKED)`;
  const { rows } = await db.query<Settled>`
    WITH lost AS MATERIALIZED ${due('active')}, delayed AS MATERIALIZED ${due('delayed')},
      due AS (SELECT id FROM lost UNION ALL SELECT id FROM delayed)
    UPDATE ${tables.job} AS j SET due_at = NULL,
      state = CASE WHEN lease IS NOT NULL AND attempt >= max_attempts THEN 'dead' ELSE 'ready' END,
      error = CASE WHEN lease IS NULL THEN error ELSE ${LOST} END,
      failed_at = CASE WHEN lease IS NULL THEN failed_at ELSE clock_timestamp() END
    FROM due WHERE j.id = due.id
    RETURNING j.id, state, attempt, concurrency_key AS "concurrencyKey",
      lease IS NOT NULL AS "wasLost"`;
  return rows;
}

/** Milliseconds until the next job of a queue is due; undefined if there is none. */
export async function nextDueMs(
  { db, tables }: QueueContext,
  queue: string,
): Promise<number | undefined> {
  const first = (state: 'active' | 'delayed'): ReturnType<typeof sql> => sql`
    (SELECT due_at FROM ${tables.job} WHERE queue = ${queue}
      AND ${stateIs(state)} ORDER BY due_at, id LIMIT 1)`;
  const { ms } = await db.one<{ ms: number | null }>`
    SELECT (extract(epoch FROM least(${first('active')}, ${first('delayed')})
      - clock_timestamp()) * 1000)::float8 AS ms`;
  return ms ?? undefined;
}

/** Deletes history and keys that are older than the queue keeps them; how many rows. */
export async function deleteOld(context: QueueContext, queue: string): Promise<number> {
  const { db, tables } = context;
  const { keepMs, keepKeysMs } = settingsOf(context, queue);
  // A period is as old as its youngest row.
  const keptMs = keepMs + periodMs(keepMs);
  const before = (ms: number): ReturnType<typeof sql> =>
    sql`now() - ${ms}::float8 * interval '1 millisecond'`;
  let deleted = 0;
  if (db.server.kind === 'braiddb') {
    // A range delete, whose cost does not depend on the rows: see EXPLAIN.
    deleted += await db.run`
      DELETE FROM ${tables.period} WHERE queue = ${queue} AND period < ${before(keptMs)}`.count();
  } else {
    deleted += await inRounds(() =>
      db.run`
        DELETE FROM ${tables.history} WHERE (queue, period, id) IN (
          SELECT queue, period, id FROM ${tables.history}
          WHERE queue = ${queue} AND period < ${before(keptMs)}
          ORDER BY period, id ${limit(ROWS_MAX)} FOR UPDATE SKIP LOCKED)`.count(),
    );
  }
  // A key stays as long as its job waits, runs or is dead.
  deleted += await inRounds(() =>
    db.run`
      DELETE FROM ${tables.key} WHERE queue = ${queue} AND key IN (
        SELECT k.key FROM ${tables.key} AS k
        WHERE k.queue = ${queue} AND k.created_at < ${before(keepKeysMs)}
          AND NOT EXISTS (SELECT 1 FROM ${tables.job} AS j WHERE j.id = k.id)
        ORDER BY k.created_at, k.key ${limit(ROWS_MAX)})`.count(),
  );
  return deleted;
}

async function inRounds(work: () => Promise<number>): Promise<number> {
  let sum = 0;
  for (;;) {
    const count = await work();
    sum += count;
    if (count < ROWS_MAX) return sum;
  }
}
