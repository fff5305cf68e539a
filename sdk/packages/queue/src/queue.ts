/** `openQueue`, and what it returns. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Database, Transaction } from '@braiddb/sdk';
import { OptionError } from '@braiddb/sdk';

import type { QueueContext } from './context.js';
import { settingsOf } from './context.js';
import { Counters } from './counters.js';
import type { CronPlan } from './cron/scheduler.js';
import { CronScheduler } from './cron/scheduler.js';
import { QueueClosedError, schemaError } from './errors.js';
import type {
  BatchWorkOptions,
  CloseQueueOptions,
  CronOptions,
  EnqueueOptions,
  QueueOptions,
  WorkOptions,
} from './options.js';
import {
  checkNames,
  checkText,
  readCloseOptions,
  readEnqueueOptions,
  readLimit,
  readQueueOptions,
  readWorkOptions,
} from './options.js';
import { encodePayload } from './payload.js';
import { migrate, tablesOf } from './schema.js';
import type { QueueStats } from './store/stats.js';
import { readStats } from './store/stats.js';
import type { DeadJob, DeadOptions } from './store/dead.js';
import { endDead, readDead } from './store/dead.js';
import type { NewJob } from './store/enqueue.js';
import { insertJobs } from './store/enqueue.js';
import type { Handler } from './work/call.js';
import { Heartbeat } from './work/heartbeat.js';
import type { Job, LongJob } from './work/job.js';
import { CallLimits } from './work/limits.js';
import { Listener } from './work/listener.js';
import { Poller } from './work/poller.js';
import type { Worker } from './work/worker.js';
import { WorkerLoop } from './work/worker.js';

/** A job for `enqueueMany`: its payload and its options. */
export interface JobInput<Payload> extends EnqueueOptions {
  readonly payload: Payload;
}

/** Options of `idle`. */
export interface IdleOptions {
  /** Ends the wait, which then fails with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Queues in a database. `Payloads` has the type of the payload of each queue. */
export interface JobQueue<Payloads extends object> extends AsyncDisposable {
  /**
   * Creates the tables where they are missing. Several programs may do so at once.
   *
   * SQL: the text of `schemaSql`.
   */
  migrate(): Promise<void>;

  /**
   * Adds a job; its id. With `tx` it is added when that transaction commits. Without a `key` it
   * then costs no wait of its own: it travels with the next statement, or with COMMIT.
   *
   * SQL: `INSERT INTO job`, `SELECT pg_notify(…)`; with a key before that `INSERT INTO key … ON
   * CONFLICT DO NOTHING`.
   *
   * Fails with an {@link UnknownQueueError}, a {@link PayloadError}, or an `OptionError`.
   *
   * @example
   * ```ts
   * import { openQueue } from '@braiddb/queue';
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await using queue = openQueue<{ reminder: { to: string } }>(db, { queues: { reminder: {} } });
   * await queue.migrate();
   * const id = await queue.enqueue('reminder', { to: 'ada' }, { key: 'order-1', delayMs: 60_000 });
   * const same = await db.transaction((tx) => queue.enqueue(tx, 'reminder', { to: 'ada' }, { key: 'order-1' }));
   * console.assert(id === same);
   * ```
   */
  enqueue<Name extends keyof Payloads & string>(
    name: Name,
    payload: Payloads[Name],
    options?: EnqueueOptions,
  ): Promise<string>;
  enqueue<Name extends keyof Payloads & string>(
    tx: Transaction,
    name: Name,
    payload: Payloads[Name],
    options?: EnqueueOptions,
  ): Promise<string>;

  /** Adds jobs by multi-row inserts, all of them or none; their ids, in the order of the jobs. */
  enqueueMany<Name extends keyof Payloads & string>(
    name: Name,
    jobs: readonly JobInput<Payloads[Name]>[],
  ): Promise<string[]>;
  enqueueMany<Name extends keyof Payloads & string>(
    tx: Transaction,
    name: Name,
    jobs: readonly JobInput<Payloads[Name]>[],
  ): Promise<string[]>;

  /**
   * Works on jobs, each in a transaction: what the handler writes with `tx` and the end of the job
   * take effect together, exactly once. The handler may run again, as the function of
   * `db.transaction`. If it throws, the job is tried again later.
   *
   * Resolves when the first jobs have been looked for; fails with a {@link QueueSchemaError} if
   * there are no tables.
   *
   * SQL: `UPDATE job SET state = 'active' … FOR UPDATE SKIP LOCKED … RETURNING`; for each job
   * `BEGIN`, `DELETE FROM job … RETURNING`, yours, `INSERT INTO history`, `COMMIT`.
   *
   * @example
   * ```ts
   * import { openQueue } from '@braiddb/queue';
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await using queue = openQueue<{ sum: { a: number; b: number } }>(db, { queues: { sum: {} } });
   * await queue.migrate();
   * await db.script('DROP TABLE IF EXISTS sum_result; CREATE TABLE sum_result (id UUID PRIMARY KEY, n INT4)');
   * await queue.enqueue('sum', { a: 1, b: 2 });
   * await queue.work('sum', async ({ id, payload: { a, b } }, tx) => {
   *   await tx.run`INSERT INTO sum_result VALUES (${id}, ${a + b})`;
   * });
   * await queue.idle('sum');
   * const { n } = await db.one<{ n: number }>`SELECT max(n) AS n FROM sum_result`;
   * console.assert(n === 3);
   * ```
   */
  work<Name extends keyof Payloads & string>(
    name: Name,
    handler: (job: Job<Payloads[Name]>, tx: Transaction) => unknown,
  ): Promise<Worker>;
  work<Name extends keyof Payloads & string>(
    name: Name,
    options: WorkOptions,
    handler: (job: Job<Payloads[Name]>, tx: Transaction) => unknown,
  ): Promise<Worker>;

  /**
   * As `work`, with up to `batchMax` jobs in one transaction. A batch that fails is split in halves,
   * down to the one job that fails.
   */
  workBatch<Name extends keyof Payloads & string>(
    name: Name,
    options: BatchWorkOptions,
    handler: (jobs: Job<Payloads[Name]>[], tx: Transaction) => unknown,
  ): Promise<Worker>;

  /**
   * As `work`, for handlers that take long: no transaction is open while they run. Heartbeats keep
   * the job, and `job.finish(fn)` ends it together with what `fn` writes.
   */
  workLong<Name extends keyof Payloads & string>(
    name: Name,
    options: WorkOptions,
    handler: (job: LongJob<Payloads[Name]>) => unknown,
  ): Promise<Worker>;

  /**
   * Adds a job at each time of a cron pattern, once for all programs that declare the same `id`.
   * Fails with a {@link CronError}.
   */
  cron<Name extends keyof Payloads & string>(
    id: string,
    pattern: string,
    name: Name,
    payload: Payloads[Name],
    options?: CronOptions,
  ): Promise<void>;
  /** Deletes a pattern for all programs; true if there was one. */
  removeCron(id: string): Promise<boolean>;

  /** Reads dead letters: jobs that failed at their last attempt, the oldest first. */
  dead<Name extends keyof Payloads & string>(
    name: Name,
    options?: DeadOptions,
  ): Promise<DeadJob<Payloads[Name]>[]>;
  /** Puts dead letters back into the queue, with all their attempts; how many. */
  redrive(name: keyof Payloads & string, options?: DeadOptions): Promise<number>;
  /** Deletes dead letters; how many. */
  discard(name: keyof Payloads & string, options?: DeadOptions): Promise<number>;

  /** Waits until no job of a queue waits, is delayed, or runs, by any program: for tests. */
  idle(name: keyof Payloads & string, options?: IdleOptions): Promise<void>;

  /** Numbers about all queues: what waits, how late it is, and what this process has done. */
  stats(): Promise<{ readonly [Name in keyof Payloads]: QueueStats }>;

  /**
   * Takes no more jobs, waits for those that run, and ends. With `timeoutMs` it waits that long:
   * then the signals of running jobs abort, and the jobs go back to the queue.
   */
  close(options?: CloseQueueOptions): Promise<void>;
}

/**
 * Opens queues in a database. Nothing is sent before the first call. Fails with an `OptionError` if
 * an option is wrong.
 *
 * @example
 * ```ts
 * import { openQueue } from '@braiddb/queue';
 * import { connect } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * await using queue = openQueue<{ mail: { to: string }; report: null }>(db, {
 *   queues: { mail: { maxAttempts: 5 }, report: { perKeyMax: 1 } },
 * });
 * await queue.migrate();
 * console.assert((await queue.stats()).report.jobs.ready === 0);
 * ```
 */
export function openQueue<Payloads extends object>(
  db: Database,
  options: QueueOptions<Payloads>,
): JobQueue<Payloads> {
  return new QueueHandle(db, options) as unknown as JobQueue<Payloads>;
}

type Call = (...args: never[]) => unknown;

class QueueHandle {
  readonly #context: QueueContext;
  readonly #workers = new Set<WorkerLoop>();
  readonly #pollers = new Map<string, Poller>();
  readonly #cron: CronScheduler;
  #listener: Listener | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: Database, options: QueueOptions<object>) {
    const settings = readQueueOptions(options);
    const { transaction, listen } = (db as Partial<Database> | null) ?? {};
    if (typeof transaction !== 'function' || typeof listen !== 'function') {
      throw new OptionError('db', 'must be a database of connect');
    }
    const tables = tablesOf(settings.schema);
    this.#context = { db, tables, settings, counters: new Counters(), periods: new Map() };
    this.#cron = new CronScheduler(this.#context);
  }

  async migrate(): Promise<void> {
    this.#checkOpen();
    const { db, settings } = this.#context;
    await migrate(db, settings.schema, [...settings.queues.keys()]);
  }

  async enqueue(...args: unknown[]): Promise<string> {
    const [tx, name, payload, options = {}] = readTransaction(args);
    const given = { ...(options as EnqueueOptions), payload };
    checkNames(options as object, ENQUEUE_OPTIONS);
    const [id = ''] = await this.#enqueue(tx, name, [given]);
    return id;
  }

  async enqueueMany(...args: unknown[]): Promise<string[]> {
    const [tx, name, jobs] = readTransaction(args);
    if (!Array.isArray(jobs)) throw new OptionError('jobs', 'must be an array');
    return this.#enqueue(tx, name, jobs as JobInput<unknown>[]);
  }

  work(name: string, ...args: [Call] | [WorkOptions, Call]): Promise<Worker> {
    const [options, call] = args.length === 1 ? [{}, args[0]] : args;
    return this.#work(name, options, { kind: 'each', call: call as never });
  }

  workBatch(name: string, options: BatchWorkOptions, call: Call): Promise<Worker> {
    return this.#work(name, options, { kind: 'batch', call: call as never });
  }

  workLong(name: string, options: WorkOptions, call: Call): Promise<Worker> {
    return this.#work(name, options, { kind: 'long', call: call as never });
  }

  async cron(
    id: string,
    pattern: string,
    queue: string,
    payload: unknown,
    options: CronOptions = {},
  ): Promise<void> {
    this.#checkOpen();
    checkText('id', id);
    checkNames(options, CRON_OPTIONS);
    checkText('pattern', pattern);
    const { timeZone = 'UTC', missed = 'once', ...rest } = options;
    checkText('timeZone', timeZone);
    if (!['once', 'skip'].includes(missed)) {
      throw new OptionError('missed', 'must be "once" or "skip"');
    }
    const settings = settingsOf(this.#context, queue);
    const { priority, concurrencyKey, maxAttempts } = readEnqueueOptions(rest, settings);
    const text = encodePayload(payload);
    const job = { queue, payload: text, priority, concurrencyKey, maxAttempts };
    await this.#cron.add({ ...job, id, pattern, timeZone, missed } satisfies CronPlan);
  }

  async removeCron(id: string): Promise<boolean> {
    this.#checkOpen();
    checkText('id', id);
    return this.#cron.remove(id);
  }

  async dead(name: string, options: DeadOptions = {}): Promise<DeadJob[]> {
    const { ids, limit } = this.#readDead(name, options);
    return readDead(this.#context, name, { ids, limit: limit ?? readLimit(undefined) });
  }

  async redrive(name: string, options: DeadOptions = {}): Promise<number> {
    return this.#endDead(name, 'redrive', options);
  }

  discard(name: string, options: DeadOptions = {}): Promise<number> {
    return this.#endDead(name, 'discard', options);
  }

  async idle(name: string, options: IdleOptions = {}): Promise<void> {
    this.#checkOpen();
    settingsOf(this.#context, name);
    checkNames(options, ['signal']);
    const { signal } = options;
    if (signal !== undefined && !((signal as unknown) instanceof AbortSignal)) {
      throw new OptionError('signal', 'must be an AbortSignal');
    }
    for (;;) {
      signal?.throwIfAborted();
      const { jobs } = await readStats(this.#context, name);
      if (jobs.ready + jobs.delayed + jobs.blocked + jobs.active === 0) return;
      await sleep(IDLE_LOOK_MS, undefined, signal === undefined ? {} : { signal });
    }
  }

  async stats(): Promise<Record<string, QueueStats>> {
    this.#checkOpen();
    const names = [...this.#context.settings.queues.keys()];
    const all: [string, QueueStats][] = [];
    for (const name of names) all.push([name, await readStats(this.#context, name)]);
    return Object.fromEntries(all);
  }

  close(options: CloseQueueOptions = {}): Promise<void> {
    const timeoutMs = readCloseOptions(options);
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(timeoutMs: number | undefined): Promise<void> {
    const workers = [...this.#workers].map((worker) => worker.close(timeoutMs));
    const pollers = [...this.#pollers.values()].map((poller) => poller.stop());
    await Promise.all([...workers, ...pollers, this.#cron.stop(), this.#listener?.stop()]);
  }

  async #enqueue(
    tx: Transaction | undefined,
    name: string,
    given: readonly JobInput<unknown>[],
  ): Promise<string[]> {
    this.#checkOpen();
    const settings = settingsOf(this.#context, name);
    const jobs = given.map((one): NewJob => {
      const read = readEnqueueOptions(one, settings, ['payload']);
      return { ...read, payload: encodePayload(one.payload) };
    });
    if (jobs.length === 0) return [];
    const work = (on: Transaction): ReturnType<typeof insertJobs> =>
      insertJobs(this.#context, on, name, jobs);
    const { db, counters, settings: own } = this.#context;
    // In a transaction of the caller's the error may be about another table.
    const alone = async (): ReturnType<typeof insertJobs> =>
      db.transaction({ isolation: 'read committed' }, work).catch((error: unknown) => {
        throw schemaError(own.schema, error);
      });
    const { ids, added } = await (tx === undefined ? alone() : work(tx));
    counters.count(name, 'enqueued', added);
    return ids;
  }

  async #work(queue: string, options: WorkOptions, handler: Handler): Promise<Worker> {
    this.#checkOpen();
    settingsOf(this.#context, queue);
    const settings = readWorkOptions(options, handler.kind === 'batch');
    if (typeof (handler.call as unknown) !== 'function') {
      throw new OptionError('handler', 'must be a function');
    }
    this.#checkPool(settings.concurrency);
    const context = this.#context;
    const heartbeat = new Heartbeat(context, settings.leaseMs);
    const limits = new CallLimits();
    const loop = new WorkerLoop({ context, queue, settings, handler, heartbeat, limits });
    this.#workers.add(loop);
    this.#slots += settings.concurrency;
    const close = async (given: CloseQueueOptions = {}): Promise<void> => {
      await loop.close(readCloseOptions(given));
      if (this.#workers.delete(loop)) this.#slots -= settings.concurrency;
    };
    try {
      await loop.start();
    } catch (error) {
      await close();
      throw error;
    }
    this.#watch(queue);
    return Object.freeze({ queue, close, [Symbol.asyncDispose]: () => close() });
  }

  /** Places of all workers. */
  #slots = 0;

  /** Refuses workers that would take every connection: takes and heartbeats need one as well. */
  #checkPool(concurrency: number): void {
    const { max } = this.#context.db.stats().connections;
    if (this.#slots + concurrency >= max) {
      throw new OptionError(
        'concurrency',
        `${this.#slots + concurrency} handlers leave no connection free: connectionsMax is ${max}`,
      );
    }
  }

  /** Begins to listen and to poll for a queue. */
  #watch(queue: string): void {
    if (this.#closing !== undefined) return;
    const wake = (name?: string): void => {
      for (const worker of this.#workers) {
        if (name === undefined || worker.queue === name) worker.wake();
      }
    };
    if (this.#context.settings.listen) this.#listener ??= new Listener(this.#context, wake);
    if (this.#pollers.has(queue)) return;
    const poller = new Poller(this.#context, queue, () => {
      wake(queue);
    });
    this.#pollers.set(queue, poller);
  }

  #readDead(
    name: string,
    options: DeadOptions,
  ): { ids: readonly string[] | undefined; limit: number | undefined } {
    this.#checkOpen();
    settingsOf(this.#context, name);
    checkNames(options, ['ids', 'limit']);
    const { ids, limit } = options;
    if (ids !== undefined && !Array.isArray(ids)) throw new OptionError('ids', 'must be an array');
    for (const id of (ids ?? []) as unknown[]) {
      if (typeof id !== 'string') throw new OptionError('ids', 'must be texts');
      if (!UUID.test(id)) throw new OptionError('ids', `"${id}" is not the id of a job`);
    }
    return { ids, limit: limit === undefined ? undefined : readLimit(limit) };
  }

  async #endDead(name: string, how: 'redrive' | 'discard', options: DeadOptions): Promise<number> {
    const { ids, limit = Infinity } = this.#readDead(name, options);
    return endDead(this.#context, name, how, { ids, limit });
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new QueueClosedError();
  }
}

/** Milliseconds between two looks of `idle`. */
const IDLE_LOOK_MS = 25;

const ENQUEUE_OPTIONS = [
  ...['key', 'concurrencyKey', 'priority', 'runAt', 'delayMs', 'maxAttempts'],
] as const;
const CRON_OPTIONS = ['timeZone', 'missed', 'priority', 'concurrencyKey', 'maxAttempts'] as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The transaction in front of the other arguments, where there is one. */
function readTransaction(args: unknown[]): [Transaction | undefined, string, unknown, unknown?] {
  const [first, ...rest] = args;
  if (typeof first === 'string') return [undefined, first, rest[0], rest[1]];
  const isTransaction = typeof first === 'object' && first !== null && 'attempt' in first;
  if (!isTransaction || typeof rest[0] !== 'string') {
    throw new OptionError('name', 'must be the name of a queue, perhaps behind a transaction');
  }
  return [first as Transaction, rest[0], rest[1], rest[2]];
}
