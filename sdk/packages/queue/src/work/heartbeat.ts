/** Extends the leases of long jobs, all of a worker with one statement. */

import type { QueueContext } from '../context.js';
import { report } from '../context.js';
import { LeaseLostError } from '../errors.js';
import { extendLeases } from '../store/finish.js';
import type { TakenJob } from '../store/take.js';
import type { CallLimit } from './limits.js';

/** Heartbeats within one lease: two of them may fail. */
const BEATS = 3;

/** The heartbeat of one worker. */
export class Heartbeat implements Disposable {
  readonly #context: QueueContext;
  readonly #leaseMs: number;
  readonly #jobs = new Map<TakenJob, CallLimit>();
  #timer: NodeJS.Timeout | undefined;

  constructor(context: QueueContext, leaseMs: number) {
    this.#context = context;
    this.#leaseMs = leaseMs;
  }

  /** Begins to extend the lease of a job; its call ends if that fails. */
  add(job: TakenJob, limit: CallLimit): void {
    this.#jobs.set(job, limit);
    this.#timer ??= setInterval(() => void this.#beat(), this.#leaseMs / BEATS);
  }

  /** Ends it. */
  remove(job: TakenJob): void {
    this.#jobs.delete(job);
    if (this.#jobs.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #beat(): Promise<void> {
    const jobs = [...this.#jobs.keys()];
    try {
      const ours = await extendLeases(this.#context, jobs, this.#leaseMs);
      for (const job of jobs) {
        if (ours.has(job.id)) continue;
        this.#jobs.get(job)?.abort(new LeaseLostError([job.id]));
        this.remove(job);
      }
    } catch (error) {
      // The next beat may succeed; if none does, the lease ends and `finish` notices.
      report(this.#context, error);
    }
  }
}
