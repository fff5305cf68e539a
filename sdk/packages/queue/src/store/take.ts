/**
 * Takes jobs out of a queue for a worker: their lease begins.
 *
 * ```text
 *  without concurrency keys     one statement: lock the next rows, skip locked ones, mark them
 *  with concurrency keys        a transaction: lock the next rows, lock the stripes of their keys,
 *                               count active jobs of each key; what fits is marked, the rest parked
 * ```
 *
 * A parked job is `blocked`: it is in no worker's way until a job of its key ends. So a million jobs
 * of one key cost no more than a million jobs without.
 */

import { createHash, randomUUID } from 'node:crypto';

import type { Queryable, Sql, Transaction } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import { settingsOf } from '../context.js';
import { STRIPES } from '../schema.js';
import { limit, stateIs } from './literals.js';

/** A job that a worker has. */
export interface TakenJob {
  readonly id: string;
  readonly queue: string;
  /** What its worker proves with that the job is still its own. */
  readonly lease: string;
  /** The payload as JSON. */
  readonly payload: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly key: string | null;
  readonly concurrencyKey: string | null;
  readonly enqueuedMs: number;
  readonly runMs: number;
  /** Milliseconds that it has waited since it could run. */
  readonly lagMs: number;
}

/** Rounds that only park jobs, before the worker looks at other things. */
const PARKING_ROUNDS_MAX = 100;

/** Takes the next jobs of a queue, at most `count`. */
export async function takeJobs(
  context: QueueContext,
  queue: string,
  count: number,
  leaseMs: number,
): Promise<TakenJob[]> {
  const { db } = context;
  const { perKeyMax } = settingsOf(context, queue);
  const plan = { context, queue, count, leaseMs };
  if (perKeyMax === undefined) return mark(db, plan, nextIds(context, queue, count));
  for (let round = 1; ; round++) {
    const { jobs, parked } = await db.transaction({ isolation: 'read committed' }, (tx) =>
      takeWithKeys(tx, plan, perKeyMax),
    );
    if (jobs.length > 0 || parked === 0 || round === PARKING_ROUNDS_MAX) return jobs;
  }
}

interface TakePlan {
  readonly context: QueueContext;
  readonly queue: string;
  readonly count: number;
  readonly leaseMs: number;
}

function nextIds({ tables }: QueueContext, queue: string, count: number): Sql {
  return sql`SELECT id FROM ${tables.job} WHERE queue = ${queue} AND ${stateIs('ready')}
    ORDER BY priority, run_at, id ${limit(count)} FOR UPDATE SKIP LOCKED`;
}

/** Marks jobs as active; they come in the order of the queue. */
async function mark(
  on: Queryable,
  { context, queue, leaseMs }: TakePlan,
  ids: Sql,
): Promise<TakenJob[]> {
  const lease = randomUUID();
  const { rows } = await on.query<Omit<TakenJob, 'lease' | 'queue'>>`
    WITH next AS MATERIALIZED (${ids})
    UPDATE ${context.tables.job} AS j SET state = 'active', attempt = attempt + 1, lease = ${lease},
      due_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    FROM next WHERE j.id = next.id
    RETURNING j.id, payload::text AS payload, attempt, max_attempts AS "maxAttempts", priority, key,
      concurrency_key AS "concurrencyKey",
      (extract(epoch FROM created_at) * 1000)::float8 AS "enqueuedMs",
      (extract(epoch FROM run_at) * 1000)::float8 AS "runMs",
      (extract(epoch FROM clock_timestamp() - run_at) * 1000)::float8 AS "lagMs"`;
  const jobs = rows.map((row) => ({ ...row, queue, lease }));
  return jobs.sort(
    (a, b) => a.priority - b.priority || a.runMs - b.runMs || (a.id < b.id ? -1 : 1),
  );
}

async function takeWithKeys(
  tx: Transaction,
  plan: TakePlan,
  perKeyMax: number,
): Promise<{ jobs: TakenJob[]; parked: number }> {
  const { context, queue, count } = plan;
  const { job } = context.tables;
  const { rows } = await tx.query<{ id: string; key: string | null }>`
    SELECT id, concurrency_key AS key FROM ${job} WHERE queue = ${queue} AND ${stateIs('ready')}
    ORDER BY priority, run_at, id ${limit(count)} FOR UPDATE SKIP LOCKED`;
  const keys = [...new Set(rows.flatMap(({ key }) => (key === null ? [] : [key])))];
  const active = await lockKeys(tx, context, queue, keys);
  const fits: string[] = [];
  const parked: string[] = [];
  for (const { id, key } of rows) {
    const running = key === null ? 0 : (active.get(key) ?? 0);
    if (key !== null) active.set(key, running + 1);
    (running < perKeyMax ? fits : parked).push(id);
  }
  if (parked.length > 0) {
    await tx.run`UPDATE ${job} SET state = 'blocked' WHERE id = ANY(${parked}::uuid[])`;
  }
  const jobs =
    fits.length === 0
      ? []
      : await mark(tx, plan, sql`SELECT id FROM unnest(${fits}::uuid[]) AS n (id)`);
  return { jobs, parked: parked.length };
}

/** Locks concurrency keys until the transaction ends; how many jobs of each are active. */
async function lockKeys(
  tx: Transaction,
  { tables }: QueueContext,
  queue: string,
  keys: readonly string[],
): Promise<Map<string, number>> {
  if (keys.length === 0) return new Map();
  const stripes = [...new Set(keys.map((key) => stripeOf(queue, key)))];
  await tx.query`
    SELECT no FROM ${tables.stripe} WHERE no = ANY(${stripes}::int4[]) ORDER BY no FOR UPDATE`;
  // A statement of its own, so that at READ COMMITTED it sees what was committed before the locks.
  const { rows } = await tx.query<{ key: string; count: number }>`
    SELECT concurrency_key AS key, count(*)::int4 AS count FROM ${tables.job}
    WHERE queue = ${queue} AND ${stateIs('active')} AND concurrency_key IS NOT NULL
      AND concurrency_key = ANY(${keys}::text[]) GROUP BY concurrency_key`;
  return new Map(rows.map(({ key, count }) => [key, count]));
}

/** The lock that a concurrency key shares with others. */
export function stripeOf(queue: string, key: string): number {
  return createHash('sha1').update(`${queue}\0${key}`).digest().readUInt32BE(0) % STRIPES;
}

/** Lets parked jobs of a key compete again, as many as may run now; how many there were. */
export async function unblock(context: QueueContext, queue: string, key: string): Promise<number> {
  const { db, tables } = context;
  const { perKeyMax = 1 } = settingsOf(context, queue);
  return db.transaction({ isolation: 'read committed' }, async (tx) => {
    const active = await lockKeys(tx, context, queue, [key]);
    const free = perKeyMax - (active.get(key) ?? 0);
    if (free <= 0) return 0;
    return tx.run`
      WITH next AS MATERIALIZED (SELECT id FROM ${tables.job}
        WHERE queue = ${queue} AND ${stateIs('blocked')} AND concurrency_key = ${key}
        ORDER BY priority, run_at, id ${limit(free)} FOR UPDATE SKIP LOCKED)
      UPDATE ${tables.job} AS j SET state = 'ready' FROM next WHERE j.id = next.id`.count();
  });
}

/** The first concurrency key behind `after` that has parked jobs. */
export async function nextBlockedKey(
  { db, tables }: QueueContext,
  queue: string,
  after: string,
): Promise<string | undefined> {
  const row = await db.maybeOne<{ key: string }>`
    SELECT concurrency_key AS key FROM ${tables.job}
    WHERE queue = ${queue} AND ${stateIs('blocked')} AND concurrency_key > ${after}
    ORDER BY concurrency_key LIMIT 1`;
  return row?.key;
}
