/**
 * The workers: they move events from the queue to the readings, and delete what is too old.
 *
 * They keep nothing in memory that matters: they may be killed at any moment, and others go on when the
 * leases of their jobs have ended.
 */

import type { Database } from '@braiddb/sdk';
import { DatabaseError } from '@braiddb/sdk';
import type { Worker } from '@braiddb/queue';
import { DeadJobError } from '@braiddb/queue';

import type { IotQueue } from './jobs.js';
import { eventOf } from './jobs.js';
import { deleteOld, storeReadings } from './tables.js';

/** Settings of workers. */
export interface WorkerOptions {
  /** Transactions at the same time. Default 2. */
  readonly concurrency?: number;
  /** Events of one transaction at most. Default 500. */
  readonly batchMax?: number;
  /** Milliseconds after which others take the events of a worker that has died. Default 30 000. */
  readonly leaseMs?: number;
}

/** Starts to store readings; `close` of the result ends it. */
export function startWorker(queue: IotQueue, options: WorkerOptions = {}): Promise<Worker> {
  const { concurrency = 2, batchMax = 500, leaseMs = 30_000 } = options;
  // What makes a reading exist once is its key, so no stricter isolation is needed.
  const settings = { concurrency, batchMax, leaseMs, isolation: 'read committed' } as const;
  return queue.workBatch('reading', settings, async (jobs, tx) => {
    try {
      await storeReadings(
        tx,
        jobs.map(({ payload }) => eventOf(payload)),
      );
    } catch (error) {
      // The queue halves the batch until the bad event is alone. Then it goes to the dead letters.
      if (isPoison(error)) throw new DeadJobError(error.message, { cause: error });
      throw error;
    }
  });
}

/** Deletes readings that are older than `keepDays`, once an hour for all programs together. */
export async function startRetention(
  db: Database,
  queue: IotQueue,
  keepDays: number,
): Promise<Worker> {
  const worker = await queue.workLong('retention', { concurrency: 1 }, async ({ payload }) => {
    await deleteOld(db, new Date(Date.now() - payload.keepDays * DAY_MS));
  });
  await queue.cron('iot-retention', '7 * * * *', 'retention', { keepDays });
  return worker;
}

const DAY_MS = 86_400_000;

/** True if the values of an event are the reason: waiting does not cure it. */
export function isPoison(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[23]/.test(error.code);
}
