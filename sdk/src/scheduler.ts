/**
 * Time and chance, in one object, so that tests can bring their own.
 */

import { onAbort } from './abort.js';

/** Where the SDK gets the time, random numbers and pauses from. */
export interface Scheduler {
  /** Milliseconds from any fixed point; never goes back. */
  readonly now: () => number;
  /** A number from 0 up to but not including 1. */
  readonly random: () => number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when that aborts first. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The machine's own clock. */
export const systemScheduler: Scheduler = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, ms);
      const forget = onAbort(signal, () => {
        clearTimeout(timer);
        reject(signal?.reason);
      });
    }),
};

/** Resolves to true when `work` settles, to false when that takes longer than `ms`. */
export async function settlesWithin(
  scheduler: Scheduler,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
  const done = new AbortController();
  const settled = work.then(yes, yes);
  const late = scheduler.sleep(ms, done.signal).then(no, no);
  try {
    return await Promise.race([settled, late]);
  } finally {
    done.abort('done');
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;
