/**
 * Transactions of another library over `pg`, run again by the rules of `db.transaction`.
 *
 * ```text
 *   begin (the library's) ─ fn ─┬─ returned ─ COMMIT ─┬─ committed
 *      ▲                        │                     ├─ 40001 ────────► pause, again
 *      │                        │                     └─ no answer ────► CommitUnknownError
 *      │                        └─ threw ─ ROLLBACK ──┬─ transient ────► pause, again
 *      └──────────────────────────────────────────────┘  anything else: thrown as it is
 * ```
 *
 * The rules that must always hold:
 * - The function is run as a whole, and only if the attempt before it has had no effect.
 * - What is not transient reaches the caller as the library has thrown it.
 * - A COMMIT whose answer was lost is never repeated: nobody has asked the server for its outcome.
 * - A transaction that the server has rolled back at COMMIT is a failure, never a success.
 */

import type pg from 'pg';

import { AttemptSignal, ignore, untilAborted } from '../abort.js';
import { destroy, isIdle, requestCancel, transactionStatus } from '../connection/driver.js';
import {
  attachRollbackError,
  CommitUnknownError,
  ConnectionError,
  fromConnect,
  runsAgain,
  UsageError,
} from '../errors.js';
import type { Isolation, TransactionOptions, TransactionSettings } from '../options/index.js';
import { readTransactionOptions } from '../options/index.js';
import { settlesWithin, systemScheduler } from '../scheduler.js';
import { retrying } from '../transaction/retry.js';
import { ConnectionWatch, reportsLoss } from './watch.js';

/** Milliseconds to wait after an abort for COMMIT, ROLLBACK or a cancelled statement. */
const GRACE_MS = 5000;

/** What the function of a transaction is told about its run. */
export interface Attempt {
  /** Which run of the function this is, counted from 1. */
  readonly attempt: number;
  /** Aborts when this run fails, and when the transaction is aborted: for work such as `fetch`. */
  readonly signal: AbortSignal;
}

/** What a library is asked to begin. */
export interface BeginOptions {
  /** `'server'` leaves the level to the server. */
  readonly isolation: Isolation;
  readonly readOnly: boolean;
}

/** A transaction that a library has begun. */
export interface LibraryTransaction<Handle> {
  /** What the function of the caller is given. */
  readonly handle: Handle;
  /** The connection of `pg` that it runs on. */
  readonly client: pg.ClientBase;
  /** Sends COMMIT; rejects if that fails. */
  commit(): Promise<unknown>;
  /** Sends ROLLBACK; rejects if that fails. */
  rollback(): Promise<unknown>;
  /** Gives the connection back, after the end; never rejects. */
  release(): Promise<unknown>;
}

/** A library whose transactions are run again. */
export interface Library<Handle> {
  /** Begins a transaction; if that fails, the library has given the connection back. */
  begin(options: BeginOptions): Promise<LibraryTransaction<Handle>>;
  /** True for errors of the library's own by which it reports a lost connection. Default: none. */
  reportsLoss?(error: Error): boolean;
}

/**
 * Runs a function in a transaction of a library, and again after a transient failure without
 * effect. Options, limits and pauses are those of `db.transaction`. Fails with a {@link
 * RetriesExhaustedError} at a limit, a {@link CommitUnknownError} if the answer to COMMIT was
 * lost, an {@link OptionError} for a wrong option, the reason of the signal if that aborts, and
 * with what the function throws.
 */
export async function wrapTransaction<Handle, T>(
  library: Library<Handle>,
  fn: (handle: Handle, attempt: Attempt) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  if (typeof (fn as unknown) !== 'function') {
    throw new UsageError('transaction takes a function as its second argument');
  }
  const settings = readTransactionOptions(options);
  const state = { holds: false, ran: false };
  const run = async (number: number, signal: AbortSignal): Promise<T> => {
    state.ran = false;
    const open = await begin(library, settings, signal);
    state.ran = true;
    return new WrappedAttempt(library, settings, open).run(fn, number, signal);
  };
  return retrying(settings, systemScheduler, run, () => state);
}

/** Begins; a transaction that comes after the abort is rolled back at once. */
async function begin<Handle>(
  library: Library<Handle>,
  { isolation, readOnly }: TransactionSettings,
  signal: AbortSignal,
): Promise<LibraryTransaction<Handle>> {
  signal.throwIfAborted();
  const opening = library.begin({ isolation, readOnly });
  try {
    return await untilAborted(opening, signal);
  } catch (error) {
    if (signal.aborted) {
      opening.then(async (late) => {
        await late.rollback().catch(ignore);
        await late.release();
      }, ignore);
      throw error;
    }
    const found = fromConnect(error);
    const isKnown = !(found instanceof ConnectionError) || isFault(found);
    throw isKnown && runsAgain(found) ? found : error;
  }
}

/** True if the connection is known to be the reason: before BEGIN anything may fail. */
function isFault(error: ConnectionError): boolean {
  return error.errno !== undefined || error.sqlstate !== undefined || reportsLoss(error);
}

/** One attempt, from BEGIN to the end of its transaction. */
class WrappedAttempt<Handle> {
  readonly #settings: TransactionSettings;
  readonly #open: LibraryTransaction<Handle>;
  readonly #watch: ConnectionWatch;
  #committing = false;

  constructor(
    library: Library<Handle>,
    settings: TransactionSettings,
    open: LibraryTransaction<Handle>,
  ) {
    this.#settings = settings;
    this.#open = open;
    this.#watch = new ConnectionWatch(
      open.client,
      (error) => library.reportsLoss?.(error) ?? false,
    );
  }

  async run<T>(
    fn: (handle: Handle, attempt: Attempt) => Promise<T>,
    attempt: number,
    signal: AbortSignal,
  ): Promise<T> {
    const ended = new AttemptSignal(signal);
    const told: Attempt = {
      attempt,
      get signal() {
        return ended.signal;
      },
    };
    try {
      // An exception before the first `await` of the function is one of the function too.
      const work = (async () => fn(this.#open.handle, told))();
      const value = await untilAborted(work, signal);
      await this.#commit(signal);
      return value;
    } catch (error) {
      ended.abort(error);
      if (this.#isOpen) await this.#rollback(error, signal);
      throw this.#judge(error);
    } finally {
      ended.forget();
      this.#watch.stop();
      await this.#open.release();
    }
  }

  /** True if the server may still have the transaction open. */
  get #isOpen(): boolean {
    if (this.#watch.lost !== undefined) return false;
    if (!this.#committing) return true;
    const status = transactionStatus(this.#open.client);
    return status === 'T' || status === 'E';
  }

  /** The error of the SDK if the transaction runs again or may have committed; else the error. */
  #judge(error: unknown): unknown {
    // What a library does after COMMIT may fail: that is no reason to run the function again.
    if (this.#watch.committed) return error;
    const found = this.#watch.translate(error);
    return runsAgain(found) || found instanceof CommitUnknownError ? found : error;
  }

  /** Commits. Aborting does not cancel a COMMIT, it only bounds the wait for its answer. */
  async #commit(signal: AbortSignal): Promise<void> {
    const { client } = this.#open;
    this.#watch.checkConnected();
    signal.throwIfAborted();
    this.#committing = true;
    const answer = this.#open.commit();
    try {
      await untilAborted(answer, signal).catch(async (error: unknown) => {
        if (!signal.aborted || error !== signal.reason) throw error;
        if (!(await settlesWithin(systemScheduler, GRACE_MS, answer))) destroy(client);
        return answer;
      });
    } catch (error) {
      const isLost = this.#watch.lost !== undefined;
      if (this.#settings.readOnly || this.#watch.committed) throw error;
      if (!isLost && !(this.#watch.translate(error) instanceof ConnectionError)) throw error;
      throw new CommitUnknownError('the connection was lost before COMMIT was answered', error);
    }
    const failure = this.#watch.rolledBack;
    if (failure !== undefined) throw failure;
  }

  /** Rolls back because of `cause`, which stays the error to be reported. */
  async #rollback(cause: unknown, signal: AbortSignal): Promise<void> {
    const { client } = this.#open;
    try {
      if (signal.aborted && !isIdle(client)) await within(requestCancel(client), 'cancel request');
      await within(this.#open.rollback(), 'ROLLBACK');
    } catch (error) {
      attachRollbackError(cause, error);
      destroy(client);
    }
  }
}

/** Waits for an answer of the server, at most the time of grace. */
async function within(work: Promise<unknown>, what: string): Promise<void> {
  if (await settlesWithin(systemScheduler, GRACE_MS, work)) await work;
  else throw new ConnectionError(`${what} was not answered within ${GRACE_MS} ms`);
}
