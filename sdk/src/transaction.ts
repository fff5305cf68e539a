/**
 * Transactions: the function is run, committed, and run again as a whole on transient errors.
 *
 * ```text
 *   attempt: BEGIN, SAVEPOINT ─ fn(tx) ─┬─ returned ─ RELEASE, COMMIT ─┬─ committed
 *      ▲                                │                              ├─ 40001 ────► pause, again
 *      │                                │                              └─ no answer ► outcome.ts
 *      │                                └─ threw ─┬─ 40001 ─ ROLLBACK TO SAVEPOINT ─► pause, again
 *      │                                          ├─ transient ─ ROLLBACK ──────────► pause, again
 *      └──────────────────────────────────────────┘  anything else: ROLLBACK, thrown
 * ```
 *
 * The savepoint is `cockroach_restart`, on BraidDB and CockroachDB: going back to it starts the
 * transaction again and keeps its locks, so that it holds its place in the queues. The victim of a
 * deadlock must let go of its locks, so it starts from BEGIN. BEGIN and what belongs to it travel
 * with the first statement, and COMMIT with the last writes: neither costs a wait of its own.
 *
 * The rules that must always hold:
 * - The function is run as a whole; recorded statements are never replayed with old values.
 * - The first error wins. If the rollback fails too, that is attached, and the connection is gone.
 * - A failed statement whose error the function swallowed does not become a commit.
 * - After the end `tx` throws {@link UsageError}, and nothing that waited in it is sent.
 * - A connection goes back to the pool only when no transaction is open on it.
 */

import { AttemptSignal, ignore, untilAborted } from './abort.js';
import type { SentStatement } from './calls.js';
import { Connection } from './connection.js';
import type { Shared } from './connection.js';
import {
  attachRollbackError,
  CommitUnknownError,
  ConnectionError,
  isRetryable,
  SerializationError,
} from './errors.js';
import type { TransactionSettings } from './options.js';
import { resolveCommit } from './outcome.js';
import type { Attempt, AttemptState } from './retry.js';
import { retrying } from './retry.js';
import { Run } from './run.js';
import { settlesWithin } from './scheduler.js';
import type { TransactionFunction } from './tx.js';

/** Runs a function in a transaction, again on transient errors. */
export async function runTransaction<T>(
  shared: Shared,
  settings: TransactionSettings,
  fn: TransactionFunction<T>,
): Promise<T> {
  const session = new Session(shared, settings);
  try {
    return await retrying(
      settings,
      shared.settings.scheduler,
      (...attempt) => session.attempt(attempt, fn),
      () => session.state,
    );
  } catch (error) {
    await session.giveUp(error);
    throw error;
  }
}

const RESTART = 'SAVEPOINT cockroach_restart';

const LEVELS: Readonly<Record<TransactionSettings['isolation'], string>> = {
  'read committed': ' ISOLATION LEVEL READ COMMITTED',
  'repeatable read': ' ISOLATION LEVEL REPEATABLE READ',
  serializable: ' ISOLATION LEVEL SERIALIZABLE',
  server: '',
};

/** What is left of an attempt that can be continued from its savepoint. */
interface Held {
  readonly connection: Connection;
  /** Everything sent behind BEGIN. */
  readonly sent: SentStatement[];
}

/** All attempts of one call of `db.transaction`. */
class Session {
  readonly #shared: Shared;
  readonly #settings: TransactionSettings;
  readonly #savepoint: boolean;
  #held: Held | undefined;
  #ran = false;

  constructor(shared: Shared, settings: TransactionSettings) {
    this.#shared = shared;
    this.#settings = settings;
    const { restartSavepoint, restartAtEveryLevel } = shared.features;
    const atLevel = restartAtEveryLevel || settings.isolation === 'serializable';
    this.#savepoint = restartSavepoint && atLevel && !settings.readOnly;
  }

  /** What is left of the last attempt. */
  get state(): AttemptState {
    return { holds: this.#held !== undefined, ran: this.#ran };
  }

  async attempt<T>(which: Parameters<Attempt<T>>, fn: TransactionFunction<T>): Promise<T> {
    const [attempt, signal, bounded] = which;
    const { features } = this.#shared;
    const restarted = this.#held;
    this.#held = undefined;
    this.#ran = false;
    const held = restarted ?? {
      connection: await Connection.acquire(this.#shared, signal),
      sent: [],
    };
    this.#ran = true;
    const token = this.#settings.readOnly ? undefined : features.commitToken?.();
    const ended = new AttemptSignal(signal);
    const run = new Run({ ...held, shared: this.#shared, signal, attempt, ended });
    run.open(this.#opening(restarted !== undefined, token), restarted === undefined);
    let value: T | undefined;
    try {
      value = await run.function(fn);
      await this.#commit(run, held.connection, signal);
      held.connection.release();
      return value;
    } catch (error) {
      run.end();
      ended.abort(error);
      // A server may have forgotten the savepoint: then from BEGIN, as part of the same attempt.
      const forgotten = restarted !== undefined && held.connection.broken && !signal.aborted;
      await this.#failed(held, error, signal);
      if (forgotten) return await this.attempt(which, fn);
      if (!(error instanceof LostCommit)) throw error;
      await resolveCommit(this.#shared, token, error.unknown, bounded);
      return value as T;
    } finally {
      ended.forget();
    }
  }

  /** Ends the transaction that waits for an attempt which will not come. */
  async giveUp(cause: unknown): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    await this.#rollback(held.connection, cause);
    held.connection.release();
  }

  #opening(again: boolean, token: string | undefined): string[] {
    const { isolation, readOnly } = this.#settings;
    const setToken = token === undefined ? [] : [`SET LOCAL commit_token = '${token}'`];
    if (again) return [`ROLLBACK TO ${RESTART}`, ...setToken];
    const begin = `BEGIN${LEVELS[isolation]}${readOnly ? ' READ ONLY' : ''}`;
    return [begin, ...(this.#savepoint ? [RESTART] : []), ...setToken];
  }

  /** Commits. Aborting does not cancel a COMMIT, it only bounds the wait for its answer. */
  async #commit(run: Run, connection: Connection, signal: AbortSignal): Promise<void> {
    const { graceMs, scheduler } = this.#shared.settings;
    const texts = this.#savepoint ? [`RELEASE ${RESTART}`, 'COMMIT'] : ['COMMIT'];
    const answer = run.commit(texts);
    try {
      await untilAborted(answer, signal).catch(async (error: unknown) => {
        if (!signal.aborted || error !== signal.reason) throw error;
        if (!(await settlesWithin(scheduler, graceMs, answer))) connection.cut();
        return answer;
      });
    } catch (error) {
      if (this.#settings.readOnly || !run.committing) throw error;
      if (error instanceof CommitUnknownError) throw new LostCommit(error);
      if (!(error instanceof ConnectionError)) throw error;
      const message = 'the connection was lost before COMMIT was answered';
      throw new LostCommit(new CommitUnknownError(message, error));
    }
  }

  /** Keeps the connection for the next attempt if that can go on from the savepoint. */
  async #failed(held: Held, error: unknown, signal: AbortSignal): Promise<void> {
    const { connection } = held;
    if (this.#savepoint && !signal.aborted && isRestart(error)) {
      const { graceMs, scheduler } = this.#shared.settings;
      const idle = await settlesWithin(scheduler, graceMs, connection.idle());
      if (idle && connection.inTransaction && !connection.broken) {
        this.#held = held;
        return;
      }
    }
    await this.#rollback(connection, error);
    connection.release();
  }

  /** Rolls back because of `cause`, which stays the error to be reported. */
  async #rollback(connection: Connection, cause: unknown): Promise<void> {
    const { graceMs, scheduler } = this.#shared.settings;
    const rollback = (async () => {
      await connection.idle();
      if (connection.inTransaction) await connection.all(['ROLLBACK'], { always: true });
    })();
    try {
      if (await settlesWithin(scheduler, graceMs, rollback)) await rollback;
      else throw new ConnectionError(`ROLLBACK was not answered within ${graceMs} ms`);
    } catch (error) {
      attachRollbackError(cause, error);
      rollback.catch(ignore);
      connection.cut();
    }
  }
}

/** COMMIT was sent and not answered; never leaves this file. */
class LostCommit extends Error {
  readonly unknown: CommitUnknownError;

  constructor(unknown: CommitUnknownError) {
    super(unknown.message);
    this.unknown = unknown;
  }
}

/** 40001, also wrapped; not 40P01, whose victim must let go of its locks. */
function isRestart(error: unknown): boolean {
  if (!isRetryable(error)) return false;
  for (let link = error; link instanceof Error; link = link.cause) {
    if (link instanceof SerializationError) return true;
  }
  return false;
}
