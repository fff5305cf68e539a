/**
 * The queues that are compared, each behind the same few calls, and set up as their own documents say.
 *
 * ```text
 *  work         @braiddb/queue: a transaction for each job, the job's end in it, a history of a week
 *  workBatch    @braiddb/queue: a transaction for up to 100 jobs
 *  graphile     graphile-worker 0.16: jobs are deleted; no transaction around the handler
 *  pg-boss      pg-boss 10: polls every half second, which is its least, and takes 100 jobs at a time
 * ```
 */

import type { BatchWorkOptions } from '@braiddb/queue';
import { openQueue } from '@braiddb/queue';
import { connect } from '@braiddb/sdk';
import type { Runner } from 'graphile-worker';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import PgBoss from 'pg-boss';

/** A queue of one system, set up on one server. */
export interface OpenedQueue {
  /** Adds jobs with the numbers from `from` up to but not including `to`. */
  readonly add: (from: number, to: number) => Promise<void>;
  /** Starts workers that call `done` with the number of each job; resolves when they work. */
  readonly work: (workers: number, done: (n: number) => void) => Promise<void>;
  /** Stops the workers and removes the tables. */
  readonly close: () => Promise<void>;
}

/** A system under test. */
export interface QueueSystem {
  readonly name: string;
  readonly open: (url: string, workers: number) => Promise<OpenedQueue>;
}

/** Jobs of one call that adds jobs. */
const GROUP = 1_000;

/** Jobs that batches take at a time. */
const BATCH = 100;

/** That of the handlers' transactions. The others have none around a handler. */
const ISOLATION = 'read committed';

/** The least that pg-boss allows. */
const POLL_SECONDS = 0.5;

interface Payload {
  readonly n: number;
}

/** Fails with what a queue has reported. */
function check(failure: unknown): void {
  if (failure === undefined) return;
  const text = failure instanceof Error ? failure.message : JSON.stringify(failure);
  throw new Error(`the queue has reported a failure: ${text}`, { cause: failure });
}

/** Numbers in groups. */
function* groups(from: number, to: number): Generator<Payload[]> {
  for (let start = from; start < to; start += GROUP) {
    const length = Math.min(GROUP, to - start);
    yield Array.from({ length }, (_, at) => ({ n: start + at }));
  }
}

async function openBraidQueue(
  url: string,
  workers: number,
  isBatch: boolean,
): Promise<OpenedQueue> {
  const db = await connect(url, { connectionsMax: workers + 4, prepare: true });
  await db.script('DROP SCHEMA IF EXISTS bench_queue CASCADE');
  let failure: unknown;
  const queue = openQueue<{ bench: Payload }>(db, {
    schema: 'bench_queue',
    queues: { bench: {} },
    onError: (error) => (failure ??= error),
  });
  await queue.migrate();
  return {
    add: async (from, to) => {
      for (const group of groups(from, to)) {
        await queue.enqueueMany(
          'bench',
          group.map((payload) => ({ payload })),
        );
      }
    },
    work: async (concurrency, done) => {
      if (isBatch) {
        const options: BatchWorkOptions = { concurrency, isolation: ISOLATION, batchMax: BATCH };
        await queue.workBatch('bench', options, (jobs) => {
          for (const { payload } of jobs) done(payload.n);
        });
      } else {
        await queue.work('bench', { concurrency, isolation: ISOLATION }, ({ payload }) => {
          done(payload.n);
        });
      }
    },
    close: async () => {
      await queue.close();
      await db.script('DROP SCHEMA bench_queue CASCADE');
      await db.close();
      check(failure);
    },
  };
}

async function openGraphile(url: string, workers: number): Promise<OpenedQueue> {
  const schema = 'bench_graphile';
  const logger = new Logger(() => () => undefined);
  const options = { connectionString: url, schema, logger, maxPoolSize: workers + 4 };
  const utils = await makeWorkerUtils(options);
  let runner: Runner | undefined;
  await utils.withPgClient((client) => client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
  await utils.migrate();
  return {
    add: async (from, to) => {
      for (const group of groups(from, to)) {
        const specs = JSON.stringify(group.map((payload) => ({ identifier: 'bench', payload })));
        await utils.withPgClient((client) =>
          client.query(
            `SELECT count(*) FROM ${schema}.add_jobs(ARRAY(SELECT json_populate_recordset(
              null::${schema}.job_spec, $1::json)))`,
            [specs],
          ),
        );
      }
    },
    work: async (concurrency, done) => {
      const bench = (payload: unknown): void => {
        done((payload as Payload).n);
      };
      const own = { concurrency, noHandleSignals: true, pollInterval: 1_000 };
      runner = await run({ ...options, ...own, taskList: { bench } });
    },
    close: async () => {
      await runner?.stop();
      await utils.withPgClient((client) => client.query(`DROP SCHEMA ${schema} CASCADE`));
      await utils.release();
    },
  };
}

async function openPgBoss(url: string, workers: number): Promise<OpenedQueue> {
  const schema = 'bench_boss';
  const boss = new PgBoss({ connectionString: url, schema, max: workers + 4 });
  let failure: unknown;
  boss.on('error', (error) => (failure ??= error));
  await boss.start();
  await boss.createQueue('bench');
  return {
    add: async (from, to) => {
      for (const group of groups(from, to)) {
        await boss.insert(group.map((data) => ({ name: 'bench', data })));
      }
      check(failure);
    },
    work: async (count, done) => {
      const options = { batchSize: BATCH, pollingIntervalSeconds: POLL_SECONDS };
      for (let worker = 0; worker < count; worker++) {
        await boss.work<Payload>('bench', options, (jobs) => {
          for (const { data } of jobs) done(data.n);
          return Promise.resolve();
        });
      }
    },
    close: async () => {
      await boss.stop({ graceful: true, wait: true, timeout: 10_000 });
      const db = await connect(url);
      await db.script(`DROP SCHEMA ${schema} CASCADE`);
      await db.close();
    },
  };
}

/** Every system, ours first. */
export const SYSTEMS: readonly QueueSystem[] = [
  { name: 'work', open: (url, workers) => openBraidQueue(url, workers, false) },
  { name: 'workBatch', open: (url, workers) => openBraidQueue(url, workers, true) },
  { name: 'graphile', open: openGraphile },
  { name: 'pg-boss', open: openPgBoss },
];
