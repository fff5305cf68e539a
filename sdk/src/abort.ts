/**
 * Waiting for abort signals.
 *
 * One signal is often shared by many statements, and Node warns on the console about more than ten
 * listeners. So each signal gets a single listener here, which calls everyone who is interested.
 */

const interested = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `callback` when the signal aborts, unless the returned function is called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return ignore;
  let callbacks = interested.get(signal);
  if (callbacks === undefined) {
    const fresh = new Set<() => void>();
    callbacks = fresh;
    interested.set(signal, fresh);
    const callAll = (): void => {
      interested.delete(signal);
      for (const call of fresh) call();
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  // A function of its own, so that the same callback may be registered twice.
  const call = (): void => {
    callback();
  };
  callbacks.add(call);
  return () => callbacks.delete(call);
}

/**
 * Waits for `work` at most until `signal` aborts. The work goes on; its late failure is nobody's.
 */
export async function untilAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work;
  work.catch(ignore);
  signal.throwIfAborted();
  let forget = ignore;
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => {
      reject(signal.reason);
    });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    forget();
  }
}

/** Does nothing: for failures that have been reported elsewhere. */
export function ignore(): void {
  // Nothing to do.
}
