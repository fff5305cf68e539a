/**
 * Single statements outside transactions: run again where they have had no effect.
 *
 * ```text
 *  40001, 40P01, the store does not answer, no connection, a server that starts ─► again
 *  the connection was lost after the statement had been sent ─► never: it may have taken effect
 * ```
 *
 * Only statements that are a transaction of their own: a procedure may commit before it fails.
 */

import { ConnectionError, RetriesExhaustedError, runsAgain } from '../errors.js';
import type { Settings } from '../options/connect.js';
import { isAtomic } from '../sql/clauses.js';
import { retrying } from './retry.js';

/** Runs a statement, and again after a transient failure; throws the last failure. */
export function runStatement<T>(
  { transaction, scheduler }: Settings,
  text: string,
  signal: AbortSignal | undefined,
  run: () => Promise<T>,
): Promise<T> {
  return run().catch(async (error: unknown) => {
    // Without a cause: no connection within `acquireTimeoutMs`, which is a limit of this call.
    const isLate = error instanceof ConnectionError && error.cause === undefined;
    if (isLate || !runsAgain(error) || !isAtomic(text)) throw error;
    try {
      return await retrying({ ...transaction, signal }, scheduler, (attempt) =>
        attempt === 1 ? Promise.reject(error) : run(),
      );
    } catch (last) {
      throw last instanceof RetriesExhaustedError ? last.last : last;
    }
  });
}
