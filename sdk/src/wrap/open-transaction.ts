/**
 * A transaction that a library begins and ends by calls, over one that the SDK runs as a function.
 *
 * ```text
 *  library:  begin ────────────── query … ─────────────── commit, or rollback
 *                                │ starts it at the first query    │
 *  SDK:                db.transaction(tx => … waits for the end … ) ─► COMMIT, or ROLLBACK
 * ```
 *
 * The function cannot run again, since the library has called the caller's function already. So
 * there is one attempt, and its retry error is thrown as it is.
 */

import { ignore } from '../abort.js';
import type { Database } from '../database/database.js';
import { RetriesExhaustedError } from '../errors.js';
import type { TransactionOptions } from '../options/index.js';
import type { Transaction } from '../transaction/handle.js';

/** One such transaction. */
export class OpenTransaction {
  readonly #db: Database;
  readonly #options: TransactionOptions;
  #handle: Promise<Transaction> | undefined;
  #finished: Promise<void> = Promise.resolve();
  #end: { commit: () => void; rollback: () => void } = { commit: ignore, rollback: ignore };

  constructor(db: Database, options: TransactionOptions) {
    this.#db = db;
    this.#options = { ...options, attemptsMax: 1 };
  }

  /** The handle; begins the transaction at the first call. */
  handle(): Promise<Transaction> {
    this.#handle ??= this.#begin();
    return this.#handle;
  }

  #begin(): Promise<Transaction> {
    const ending = new Promise<void>((resolve, reject) => {
      // The SDK rolls back for any error of its function; this one is caught below.
      const rollback = (): void => {
        reject(new Error('the library has asked for a rollback'));
      };
      this.#end = { commit: resolve, rollback };
    });
    ending.catch(ignore);
    return new Promise((resolve, reject) => {
      this.#finished = this.#db.transaction(this.#options, (tx) => {
        resolve(tx);
        return ending;
      });
      // Without a connection there is no handle; a later failure is that of the end.
      this.#finished.catch((error: unknown) => {
        reject(lastError(error));
      });
    });
  }

  /** Commits; throws the retry error of its only attempt. */
  async commit(): Promise<void> {
    this.#end.commit();
    await this.#finished.catch((error: unknown) => {
      throw lastError(error);
    });
  }

  /** Rolls back. Never throws: the error that led here must not be hidden. */
  async rollback(): Promise<void> {
    this.#end.rollback();
    await this.#finished.catch(ignore);
  }
}

/** The error of the only attempt; a deadline that ended it stays what it is. */
function lastError(error: unknown): unknown {
  const isLast = error instanceof RetriesExhaustedError && error.limit === 'attempts';
  return isLast ? error.last : error;
}
