/**
 * When a transaction is run again, and how long it pauses before.
 *
 * Full jitter: the pause is a random part of a bound that doubles with each attempt. Transactions
 * that met each other once are thereby spread, instead of meeting again in step.
 *
 * Knows nothing of connections or SQL; time and chance come from the {@link Scheduler}.
 */

import { ignore } from './abort.js';
import { publishRetry } from './diagnostics.js';
import { isRetryable, RetriesExhaustedError } from './errors.js';
import type { RetryEvent, TransactionSettings } from './options.js';
import type { Scheduler } from './scheduler.js';

/** Attempts that keep their locks start at once this often: others wait for these locks. */
const UNPAUSED_RESTARTS = 3;

/** What decides about the next attempt. */
export type RetrySettings = Pick<
  TransactionSettings,
  'attemptsMax' | 'deadlineMs' | 'backoffBaseMs' | 'backoffMaxMs' | 'onRetry' | 'signal'
>;

const FINISHED = 'finished';

/** One attempt. Its signal aborts when the caller's does, and at the deadline. */
export type Attempt<T> = (attempt: number, signal: AbortSignal) => Promise<T>;

/** The pause after a failed attempt (counted from 1), in milliseconds. */
export function backoffMs(
  settings: Pick<RetrySettings, 'backoffBaseMs' | 'backoffMaxMs'>,
  attempt: number,
  random: () => number,
): number {
  const bound = Math.min(settings.backoffMaxMs, settings.backoffBaseMs * 2 ** (attempt - 1));
  return random() * bound;
}

/**
 * Runs `attempt` until it succeeds, fails with an error that is no retry error, or is out of luck.
 * `holds` tells whether the next attempt keeps the locks of the last one: others wait for those, so
 * the first pauses are left out.
 */
export async function retrying<T>(
  settings: RetrySettings,
  scheduler: Scheduler,
  attempt: Attempt<T>,
  holds: () => boolean = () => false,
): Promise<T> {
  const startMs = scheduler.now();
  const deadline = new AbortController();
  const finished = new AbortController();
  const { signal: outer } = settings;
  const signal = outer ? AbortSignal.any([outer, deadline.signal]) : deadline.signal;
  scheduler.sleep(settings.deadlineMs, finished.signal).then(() => {
    deadline.abort(new Error('the deadline of the transaction has passed'));
  }, ignore);
  const isTooLate = (error: unknown): boolean =>
    deadline.signal.aborted && error === deadline.signal.reason;

  let failure: { readonly error: unknown } | undefined;
  const exhausted = (attempts: number, limit: 'attempts' | 'deadline'): RetriesExhaustedError =>
    new RetriesExhaustedError({
      ...{ attempts, elapsedMs: scheduler.now() - startMs, limit },
      last: failure === undefined ? deadline.signal.reason : failure.error,
    });

  try {
    for (let number = 1; ; number++) {
      try {
        return await attempt(number, signal);
      } catch (error) {
        if (isTooLate(error)) throw exhausted(number, 'deadline');
        if (!isRetryable(error)) throw error;
        failure = { error };
      }
      if (number >= settings.attemptsMax) throw exhausted(number, 'attempts');
      const from = holds() ? 'savepoint' : 'begin';
      const pauses = from === 'savepoint' ? number - UNPAUSED_RESTARTS : number;
      const delayMs = pauses <= 0 ? 0 : backoffMs(settings, pauses, scheduler.random);
      const elapsedMs = scheduler.now() - startMs;
      if (elapsedMs + delayMs >= settings.deadlineMs) throw exhausted(number, 'deadline');
      const event: RetryEvent = { attempt: number, delayMs, elapsedMs, error: failure.error, from };
      publishRetry(event);
      settings.onRetry?.(event);
      if (delayMs === 0) continue;
      await scheduler.sleep(delayMs, signal).catch((reason: unknown) => {
        throw isTooLate(reason) ? exhausted(number, 'deadline') : reason;
      });
    }
  } finally {
    // A reason that exists already: without one, Node makes an error with a stack each time.
    finished.abort(FINISHED);
  }
}
