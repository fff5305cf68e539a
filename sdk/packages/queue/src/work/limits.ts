/** The time limit of a handler, and other reasons to end it. */

import { JobTimeoutError } from '../errors.js';

/** The calls of one worker, and what ends all of them. */
export class CallLimits {
  readonly #open = new Set<CallLimit>();
  #reason: Error | undefined;

  /** Begins a call. */
  begin(timeoutMs: number): CallLimit {
    const limit = new CallLimit(timeoutMs, (ended) => this.#open.delete(ended));
    this.#open.add(limit);
    if (this.#reason !== undefined) limit.abort(this.#reason);
    return limit;
  }

  /** Ends the calls under way, and those that begin later. */
  endAll(reason: Error): void {
    this.#reason = reason;
    for (const limit of this.#open) limit.abort(reason);
  }
}

/** A signal for one call of a handler. */
export class CallLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onEnd: (limit: CallLimit) => void;

  constructor(timeoutMs: number, onEnd: (limit: CallLimit) => void) {
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => {
      this.abort(new JobTimeoutError(timeoutMs));
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the call. The first reason counts. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#onEnd(this);
  }
}

/** Waits for work, at most until the signal aborts. The work may go on; its failure is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(ignore);
  signal.throwIfAborted();
  let onAbort = ignore;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Does nothing: for failures that have been reported elsewhere. */
export function ignore(): void {
  // Nothing to do.
}
