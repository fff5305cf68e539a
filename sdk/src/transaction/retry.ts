/**
 * When a transaction is run again, and how long it pauses before.
 *
 * Full jitter: the pause is a random part of a bound that doubles with each attempt. Transactions
 * that met each other once are thereby spread, instead of meeting again in step.
 *
 * Knows nothing of connections or SQL; time and chance come from the {@link Scheduler}.
 */

import { ignore } from '../abort.js';
import { publishRetry } from '../diagnostics.js';
import { RetriesExhaustedError, runsAgain } from '../errors.js';
import type { RetryEvent, TransactionSettings } from '../options/index.js';
import type { Scheduler } from '../scheduler.js';

/** Attempts that keep their locks start at once this often: others wait for these locks. */
const UNPAUSED_RESTARTS = 3;

/** What decides about the next attempt. */
export type RetrySettings = Pick<
  TransactionSettings,
  | 'attemptsMax'
  | 'deadlineMs'
  | 'deadlineGiven'
  | 'backoffBaseMs'
  | 'backoffMaxMs'
  | 'onRetry'
  | 'signal'
>;

/** What the attempts tell about the one that has just failed. */
export interface AttemptState {
  /** The next attempt keeps its locks: others wait for those, so it comes without a pause. */
  readonly holds: boolean;
  /** The function has been run: without a connection it is not. */
  readonly ran: boolean;
}

const FINISHED = 'finished';

/**
 * One attempt. Its signal aborts when the caller's does, and at the deadline; the first attempt's at
 * a deadline that was asked for only.
 */
export type Attempt<T> = (
  attempt: number,
  signal: AbortSignal,
  /** Aborts at the deadline in any case: for what has to end although the work has been done. */
  bounded: AbortSignal,
) => Promise<T>;

/** The pause after a failed attempt (counted from 1), in milliseconds. */
export function backoffMs(
  settings: Pick<RetrySettings, 'backoffBaseMs' | 'backoffMaxMs'>,
  attempt: number,
  random: () => number,
): number {
  const bound = Math.min(settings.backoffMaxMs, settings.backoffBaseMs * 2 ** (attempt - 1));
  return random() * bound;
}

/** Runs `attempt` until it succeeds, fails with an error that is not transient, or meets a limit. */
export async function retrying<T>(
  settings: RetrySettings,
  scheduler: Scheduler,
  attempt: Attempt<T>,
  state: () => AttemptState = () => ({ holds: false, ran: true }),
): Promise<T> {
  const startMs = scheduler.now();
  const deadline = new AbortController();
  const finished = new AbortController();
  const { signal: outer } = settings;
  const bounded = outer ? AbortSignal.any([outer, deadline.signal]) : deadline.signal;
  const unbounded = outer ?? new AbortController().signal;
  let runs = 0;
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
      const isBounded = number > 1 || settings.deadlineGiven;
      try {
        return await attempt(number, isBounded ? bounded : unbounded, bounded);
      } catch (error) {
        if (isTooLate(error)) throw exhausted(number, 'deadline');
        if (!runsAgain(error)) throw error;
        failure = { error };
      }
      const { holds, ran } = state();
      if (ran) runs += 1;
      if (Math.max(runs, 1) >= settings.attemptsMax) throw exhausted(number, 'attempts');
      const from = holds ? 'savepoint' : 'begin';
      const pauses = from === 'savepoint' ? number - UNPAUSED_RESTARTS : number;
      const delayMs = pauses <= 0 ? 0 : backoffMs(settings, pauses, scheduler.random);
      const elapsedMs = scheduler.now() - startMs;
      if (elapsedMs + delayMs >= settings.deadlineMs) throw exhausted(number, 'deadline');
      const event: RetryEvent = { attempt: number, delayMs, elapsedMs, error: failure.error, from };
      publishRetry(event);
      settings.onRetry?.(event);
      if (delayMs === 0) continue;
      await scheduler.sleep(delayMs, bounded).catch((reason: unknown) => {
        throw isTooLate(reason) ? exhausted(number, 'deadline') : reason;
      });
    }
  } finally {
    // A reason that exists already: without one, Node makes an error with a stack each time.
    finished.abort(FINISHED);
  }
}
