/** What handlers get. */

import type { Transaction } from '@braiddb/sdk';

import type { TakenJob } from '../store/take.js';

/** A job, as its handler sees it. */
export interface Job<Payload = unknown> {
  readonly id: string;
  readonly queue: string;
  readonly payload: Payload;
  /** Which attempt this is, counted from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly priority: number;
  readonly key: string | undefined;
  readonly concurrencyKey: string | undefined;
  readonly enqueuedAt: Date;
  /** When it could run at the earliest. */
  readonly runAt: Date;
  /** Aborts at the time limit, when the lease is lost, and when `close` does not wait any more. */
  readonly signal: AbortSignal;
}

/** A job that is worked on outside of a transaction. */
export interface LongJob<Payload = unknown> extends Job<Payload> {
  /**
   * Finishes the job, together with what the function writes: all of it, or nothing. The function
   * may run again, as that of `db.transaction`. Without a call the job is finished by itself when
   * the handler returns.
   */
  finish(fn: (tx: Transaction) => unknown): Promise<void>;
}

/** What a handler gets of a job. */
export function jobView(job: TakenJob, signal: AbortSignal): Job<never> {
  return {
    id: job.id,
    queue: job.queue,
    payload: JSON.parse(job.payload) as never,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    priority: job.priority,
    key: job.key ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
    enqueuedAt: new Date(job.enqueuedMs),
    runAt: new Date(job.runMs),
    signal,
  };
}
