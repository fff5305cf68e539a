/**
 * A worker: takes jobs while it has free places, and sleeps until something wakes it.
 *
 * ```text
 *  free places? ─► take as many jobs ─► a call each ─► place is free again ─┐
 *      ▲                  │ fewer than asked for                            │
 *      └───── woken by a notification, a look of the poller, a free place ◄─┘
 * ```
 *
 * Only one take is under way at a time. Places that get free meanwhile are filled by the next one, so
 * that a busy worker takes several jobs with one statement.
 */

import { report } from '../context.js';
import { QueueClosedError, schemaError } from '../errors.js';
import { returnJobs } from '../store/finish.js';
import type { TakenJob } from '../store/take.js';
import { takeJobs } from '../store/take.js';
import { pauseMs } from './backoff.js';
import type { CallPlan } from './call.js';
import { runCall } from './call.js';
import { ignore } from './limits.js';

/** Pauses after a take that failed. */
const PAUSES = { backoffBaseMs: 100, backoffMaxMs: 10_000 };

/** A worker, as its owner sees it. */
export interface Worker extends AsyncDisposable {
  readonly queue: string;
  /** Takes no more jobs and waits for those that run. */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
}

/** Free places up to which any number of them is filled by one take. */
const EXACT_MAX = 8;

/** How many places a take fills: many of them by powers of two, so that there are few statements. */
export function placesOf(free: number): number {
  return free <= EXACT_MAX ? free : 2 ** Math.floor(Math.log2(free));
}

/** The loop of one worker. */
export class WorkerLoop {
  readonly #plan: CallPlan;
  readonly #calls = new Set<Promise<void>>();
  #mayHaveMore = true;
  #isStopping = false;
  #wakeUp = ignore;
  #loop: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(plan: CallPlan) {
    this.#plan = plan;
  }

  get queue(): string {
    return this.#plan.queue;
  }

  /** Takes the first jobs, then goes on by itself; fails if the first take fails. */
  async start(): Promise<void> {
    const { schema } = this.#plan.context.settings;
    await this.#take().catch((error: unknown) => {
      throw schemaError(schema, error);
    });
    this.#loop = this.#run();
  }

  /** Looks into the queue. */
  wake(): void {
    this.#mayHaveMore = true;
    this.#wakeUp();
  }

  /** Ends it: see {@link Worker}. */
  close(timeoutMs?: number): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number | undefined): Promise<void> {
    this.#isStopping = true;
    this.#wakeUp();
    const abort = (): void => {
      this.#plan.limits.endAll(new QueueClosedError());
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(abort, timeoutMs);
    await this.#loop;
    while (this.#calls.size > 0) await Promise.all(this.#calls);
    clearTimeout(timer);
    this.#plan.heartbeat[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    let failures = 0;
    for (;;) {
      if (this.#isStopping) return;
      if (!this.#mayHaveMore || this.#calls.size >= this.#plan.settings.concurrency) {
        await this.#sleep();
        continue;
      }
      try {
        await this.#take();
        failures = 0;
      } catch (error) {
        report(this.#plan.context, error);
        this.#mayHaveMore = true;
        failures += 1;
        await this.#pause(pauseMs(PAUSES, failures));
      }
    }
  }

  async #take(): Promise<void> {
    const { context, queue, settings } = this.#plan;
    const { concurrency, batchMax, leaseMs } = settings;
    const wanted = placesOf(concurrency - this.#calls.size) * batchMax;
    // Before the take: what wakes the worker meanwhile may be about jobs that the take has missed.
    this.#mayHaveMore = false;
    const jobs = await takeJobs(context, queue, wanted, leaseMs);
    if (jobs.length === wanted) this.#mayHaveMore = true;
    if (this.#isStopping) {
      if (jobs.length > 0) await returnJobs(context, jobs);
      return;
    }
    for (let at = 0; at < jobs.length; at += batchMax) this.#call(jobs.slice(at, at + batchMax));
  }

  #call(jobs: readonly TakenJob[]): void {
    const call = runCall(this.#plan, jobs).then(() => {
      this.#calls.delete(call);
      // A job that ends may let others of its concurrency key run.
      if (jobs.some(({ concurrencyKey }) => concurrencyKey !== null)) this.#mayHaveMore = true;
      this.#wakeUp();
    });
    this.#calls.add(call);
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => (this.#wakeUp = resolve));
  }

  async #pause(ms: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#wakeUp();
    }, ms);
    // Jobs that end wake the loop as well, but only the end of the pause or of the worker counts.
    const endMs = performance.now() + ms - 1;
    while (!this.#isStopping && performance.now() < endMs) await this.#sleep();
    clearTimeout(timer);
  }
}
