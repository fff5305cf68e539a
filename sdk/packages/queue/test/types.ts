/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Database, Transaction } from '@braiddb/sdk';
import { expectTypeOf } from 'vitest';

import type { DeadJob, Job, JobQueue, LongJob, QueueStats, Worker } from '../src/index.js';
import { openQueue } from '../src/index.js';

interface Payloads {
  mail: { to: string };
  report: null;
}

export function queuesAreDeclared(db: Database): void {
  const queue = openQueue<Payloads>(db, { queues: { mail: { maxAttempts: 5 }, report: {} } });
  expectTypeOf(queue).toEqualTypeOf<JobQueue<Payloads>>();
  // @ts-expect-error A queue is missing.
  openQueue<Payloads>(db, { queues: { mail: {} } });
  // @ts-expect-error There is no such setting.
  openQueue<Payloads>(db, { queues: { mail: { attempts: 5 }, report: {} } });
  // @ts-expect-error A URL is no database.
  openQueue<Payloads>('postgresql://localhost', { queues: { mail: {}, report: {} } });
}

export async function jobsKeepTheirPayloads(
  queue: JobQueue<Payloads>,
  tx: Transaction,
): Promise<void> {
  expectTypeOf(await queue.enqueue('mail', { to: 'ada' })).toEqualTypeOf<string>();
  await queue.enqueue(tx, 'report', null, { key: 'day-1' });
  const ids = await queue.enqueueMany('mail', [{ payload: { to: 'ada' }, priority: 1 }]);
  expectTypeOf(ids).toEqualTypeOf<string[]>();
  await queue.cron('daily', '@daily', 'report', null);
  // @ts-expect-error There is no such queue.
  await queue.enqueue('post', { to: 'ada' });
  // @ts-expect-error The payload is another one.
  await queue.enqueue('mail', { from: 'ada' });
  // @ts-expect-error The payload is missing.
  await queue.enqueueMany('mail', [{ priority: 1 }]);
  // @ts-expect-error The payload of a pattern is that of its queue.
  await queue.cron('daily', '@daily', 'mail', null);
}

export async function handlersGetTheirJobs(queue: JobQueue<Payloads>): Promise<void> {
  const worker = await queue.work('mail', async (job, tx) => {
    expectTypeOf(job).toEqualTypeOf<Job<{ to: string }>>();
    expectTypeOf(tx).toEqualTypeOf<Transaction>();
    await tx.query`SELECT ${job.payload.to}`;
  });
  expectTypeOf(worker).toEqualTypeOf<Worker>();
  await queue.workBatch('mail', { batchMax: 10 }, (jobs) => {
    expectTypeOf(jobs).toEqualTypeOf<Job<{ to: string }>[]>();
  });
  await queue.workLong('report', { concurrency: 1 }, (job) => {
    expectTypeOf(job).toEqualTypeOf<LongJob<null>>();
  });
  // @ts-expect-error Batches have a size, single jobs have none.
  await queue.work('mail', { batchMax: 10 }, () => undefined);
  // @ts-expect-error The handler is missing.
  await queue.work('mail', { concurrency: 1 });
}

export async function deadLettersAndStatsAreTyped(queue: JobQueue<Payloads>): Promise<void> {
  expectTypeOf(await queue.dead('mail')).toEqualTypeOf<DeadJob<{ to: string }>[]>();
  expectTypeOf(await queue.redrive('mail', { limit: 10 })).toEqualTypeOf<number>();
  expectTypeOf((await queue.stats()).report).toEqualTypeOf<QueueStats>();
  // @ts-expect-error There is no such queue.
  await queue.discard('post');
}
