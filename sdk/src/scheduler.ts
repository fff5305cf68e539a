/**
 * Time and chance, in one object, so that tests can bring their own.
 */

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
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/**
 * Waits for `work` at most until `signal` aborts. The work goes on; its late failure is nobody's.
 */
export async function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work;
  work.catch(ignore);
  signal.throwIfAborted();
  let onAbort = ignore;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

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
    done.abort();
  }
}

/** Does nothing: for failures that have been reported elsewhere. */
export function ignore(): void {
  // Nothing to do.
}

const yes = (): boolean => true;
const no = (): boolean => false;
