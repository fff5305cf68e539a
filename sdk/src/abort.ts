/**
 * Waiting for abort signals.
 *
 * Many statements may share one signal, and Node warns on the console about more than ten listeners.
 * Each signal therefore gets a single listener here, which runs all registered callbacks.
 */

const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `callback` when the signal aborts, unless the returned function is called before. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return ignore;
  let callbacks = callbacksOf.get(signal);
  if (callbacks === undefined) {
    const fresh = new Set<() => void>();
    callbacks = fresh;
    callbacksOf.set(signal, fresh);
    const callAll = (): void => {
      callbacksOf.delete(signal);
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
 * Waits for `work` at most until `signal` aborts. The work goes on; its late failure is ignored.
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

/** A signal that follows another and can be aborted earlier; made on first use. */
export class AttemptSignal {
  readonly #outer: AbortSignal;
  #controller: AbortController | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #forget = ignore;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#failure !== undefined) controller.abort(this.#failure.reason);
      else if (this.#outer.aborted) controller.abort(this.#outer.reason);
      else {
        this.#forget = onAbort(this.#outer, () => {
          controller.abort(this.#outer.reason);
        });
      }
    }
    return this.#controller.signal;
  }

  /** Aborts it for a reason of its own. */
  abort(reason: unknown): void {
    this.#failure ??= { reason };
    this.#controller?.abort(reason);
  }

  /** Stops following the other signal. */
  forget(): void {
    this.#forget();
  }
}

/** Does nothing: for failures that have been reported elsewhere. */
export function ignore(): void {
  // Nothing to do.
}
