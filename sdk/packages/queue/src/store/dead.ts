/** Dead letters: jobs that failed at their last attempt. */

import type { QueueContext } from '../context.js';
import { announce } from './enqueue.js';
import { limit as rows, stateIs } from './literals.js';

/** A job that is not tried again by itself. */
export interface DeadJob<Payload = unknown> {
  readonly id: string;
  readonly payload: Payload;
  /** How often it was tried. */
  readonly attempt: number;
  /** The last error. */
  readonly error: string;
  readonly failedAt: Date;
  readonly enqueuedAt: Date;
}

/** Which dead letters are meant. */
export interface DeadOptions {
  /** Only these. Default: all. */
  readonly ids?: readonly string[] | undefined;
  /** Their greatest number, the oldest first. Default: 100 where they are read, else all. */
  readonly limit?: number | undefined;
}

/** Rows of one statement at most. */
const ROWS_MAX = 1_000;

/** Reads dead letters, the oldest first. */
export async function readDead(
  { db, tables }: QueueContext,
  queue: string,
  { ids, limit }: { ids: readonly string[] | undefined; limit: number },
): Promise<DeadJob<never>[]> {
  const found = await db.query<{
    id: string;
    payload: string;
    attempt: number;
    error: string;
    failedMs: number;
    enqueuedMs: number;
  }>`
    SELECT id, payload::text AS payload, attempt, coalesce(error, '') AS error,
      (extract(epoch FROM failed_at) * 1000)::float8 AS "failedMs",
      (extract(epoch FROM created_at) * 1000)::float8 AS "enqueuedMs"
    FROM ${tables.job} WHERE queue = ${queue} AND ${stateIs('dead')}
      AND (${ids ?? null}::uuid[] IS NULL OR id = ANY(${ids ?? null}::uuid[]))
    ORDER BY failed_at, id ${rows(limit)}`;
  return found.rows.map(({ failedMs, enqueuedMs, payload, ...row }) => ({
    ...row,
    payload: JSON.parse(payload) as never,
    failedAt: new Date(failedMs),
    enqueuedAt: new Date(enqueuedMs),
  }));
}

/** Puts dead letters back into the queue, or deletes them; how many. */
export async function endDead(
  { db, tables, settings }: QueueContext,
  queue: string,
  how: 'redrive' | 'discard',
  { ids, limit }: { ids: readonly string[] | undefined; limit: number },
): Promise<number> {
  let sum = 0;
  while (sum < limit) {
    const wanted = Math.min(ROWS_MAX, limit - sum);
    const count = await db.transaction({ isolation: 'read committed' }, async (tx) => {
      const taken = await tx.query<{ id: string }>`
        SELECT id FROM ${tables.job} WHERE queue = ${queue} AND ${stateIs('dead')}
          AND (${ids ?? null}::uuid[] IS NULL OR id = ANY(${ids ?? null}::uuid[]))
        ORDER BY failed_at, id ${rows(wanted)} FOR UPDATE SKIP LOCKED`;
      const found = taken.rows.map(({ id }) => id);
      if (found.length === 0) return 0;
      if (how === 'discard') {
        await tx.run`DELETE FROM ${tables.job} WHERE id = ANY(${found}::uuid[])`;
      } else {
        await tx.run`
          UPDATE ${tables.job} SET state = 'ready', attempt = 0, run_at = now(), lease = NULL
          WHERE id = ANY(${found}::uuid[])`;
        if (settings.listen) await announce(tx, settings.schema, queue);
      }
      return found.length;
    });
    sum += count;
    if (count < wanted) break;
  }
  return sum;
}
