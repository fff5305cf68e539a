/** What this process has done: jobs by queue, and rates. */

import type { QueueEvent } from './diagnostics.js';

/** Seconds over which rates are taken. */
const WINDOW_SECONDS = 60;

/** What this process has done with a queue since it was opened. */
export interface LocalStats {
  readonly enqueued: number;
  readonly finished: number;
  readonly retried: number;
  readonly dead: number;
  readonly lost: number;
  /** Jobs finished a second, over the last minute. */
  readonly finishedPerSecond: number;
}

type Count = 'enqueued' | 'finished' | QueueEvent['kind'];

/** What this process has done, by queue. */
export class Counters {
  readonly #counts = new Map<string, Record<Count, number>>();
  readonly #recent = new Map<string, Rate>();

  /** Counts jobs. */
  count(queue: string, what: Count, jobs = 1): void {
    this.#of(queue)[what] += jobs;
    if (what === 'finished') this.#rateOf(queue).add(jobs);
  }

  /** The numbers of a queue. */
  read(queue: string): LocalStats {
    const { enqueued, finished, retry, dead, lost } = this.#of(queue);
    const finishedPerSecond = this.#rateOf(queue).perSecond();
    return { enqueued, finished, retried: retry, dead, lost, finishedPerSecond };
  }

  #of(queue: string): Record<Count, number> {
    let counts = this.#counts.get(queue);
    counts ??= { enqueued: 0, finished: 0, retry: 0, dead: 0, lost: 0, returned: 0 };
    this.#counts.set(queue, counts);
    return counts;
  }

  #rateOf(queue: string): Rate {
    const rate = this.#recent.get(queue) ?? new Rate();
    this.#recent.set(queue, rate);
    return rate;
  }
}

/** Counts by second, for the seconds of a window. */
export class Rate {
  readonly #now: () => number;
  readonly #startMs: number;
  readonly #slots = new Array<number>(WINDOW_SECONDS).fill(0);
  #last: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startMs = now();
    this.#last = Math.floor(this.#startMs / 1000);
  }

  /** Adds to the second that is now. */
  add(count: number): void {
    const at = this.#turn() % WINDOW_SECONDS;
    this.#slots[at] = (this.#slots[at] ?? 0) + count;
  }

  /** The mean of the window, or of the time since the start if that is shorter. */
  perSecond(): number {
    this.#turn();
    const sum = this.#slots.reduce((all, one) => all + one, 0);
    const seconds = Math.min(WINDOW_SECONDS, (this.#now() - this.#startMs) / 1000);
    return sum / Math.max(1, seconds);
  }

  /** Clears the slots of seconds that have passed; the second that is now. */
  #turn(): number {
    const second = Math.floor(this.#now() / 1000);
    const first = Math.max(this.#last + 1, second - WINDOW_SECONDS + 1);
    for (let one = first; one <= second; one++) this.#slots[one % WINDOW_SECONDS] = 0;
    this.#last = Math.max(this.#last, second);
    return second;
  }
}
