/**
 * What becomes of a job that a worker has: it is finished, fails, or goes back.
 *
 * Every statement asks for the lease, so a worker that has lost a job changes nothing.
 */

import type { Transaction } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import type { TakenJob } from './take.js';

/**
 * Takes jobs out of the queue, in the transaction of their handler; those that are still ours.
 *
 * It is the first statement of that transaction. Until its end the rows are locked, so nobody else
 * takes the jobs, however long the handler needs. If it rolls back, the jobs are there again.
 */
export async function removeJobs(
  { tables }: QueueContext,
  tx: Transaction,
  jobs: readonly TakenJob[],
): Promise<TakenJob[]> {
  const [first] = jobs;
  if (first === undefined) return [];
  const { rows } =
    jobs.length === 1
      ? await tx.query<{ id: string }>`
          DELETE FROM ${tables.job} WHERE id = ${first.id} AND lease = ${first.lease} RETURNING id`
      : await tx.query<{ id: string }>`
          DELETE FROM ${tables.job}
          WHERE id = ANY(${jobs.map(({ id }) => id)}::uuid[]) AND lease = ${first.lease}
          RETURNING id`;
  const ours = new Set(rows.map(({ id }) => id));
  return jobs.filter(({ id }) => ours.has(id));
}

/** How a failed job goes on. */
export interface Failure {
  readonly job: TakenJob;
  /** Milliseconds until the next attempt. */
  readonly pauseMs: number;
  /** True if there shall be no further attempt. */
  readonly isDead: boolean;
  /** The error as text. */
  readonly text: string;
}

/** Notes a failure; the new state of the job, or undefined if it is not ours any more. */
export async function failJob(
  { db, tables }: QueueContext,
  { job, pauseMs, isDead, text }: Failure,
): Promise<'delayed' | 'dead' | undefined> {
  const state = isDead || job.attempt >= job.maxAttempts ? 'dead' : 'delayed';
  const pause = state === 'dead' ? null : pauseMs;
  const count = await db.run`
    UPDATE ${tables.job} SET state = ${state}, lease = NULL, error = ${text}, failed_at = now(),
      due_at = now() + ${pause}::float8 * interval '1 millisecond',
      run_at = coalesce(now() + ${pause}::float8 * interval '1 millisecond', run_at)
    WHERE id = ${job.id} AND lease = ${job.lease}`.count();
  return count === 0 ? undefined : state;
}

/** Gives jobs back that were taken and not tried, as if they had not been taken. */
export async function returnJobs(
  { db, tables }: QueueContext,
  jobs: readonly TakenJob[],
): Promise<void> {
  const leases = [...new Set(jobs.map(({ lease }) => lease))];
  await db.query`
    UPDATE ${tables.job} SET state = 'ready', attempt = attempt - 1, lease = NULL, due_at = NULL
    WHERE id = ANY(${jobs.map(({ id }) => id)}::uuid[]) AND lease = ANY(${leases}::uuid[])`;
}

/** Begins the leases of jobs again; the ids of those that are still ours. */
export async function extendLeases(
  { db, tables }: QueueContext,
  jobs: readonly TakenJob[],
  leaseMs: number,
): Promise<Set<string>> {
  const leases = [...new Set(jobs.map(({ lease }) => lease))];
  const { rows } = await db.query<{ id: string }>`
    UPDATE ${tables.job}
    SET due_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    WHERE id = ANY(${jobs.map(({ id }) => id)}::uuid[]) AND lease = ANY(${leases}::uuid[])
      AND state = 'active' RETURNING id`;
  return new Set(rows.map(({ id }) => id));
}
