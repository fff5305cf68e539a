/**
 * Transactions: the function is run, committed, and run again as a whole on retry errors.
 *
 * ```text
 *   attempt: BEGIN ─ fn(tx) ─┬─ returned ─ COMMIT ─┬─ committed
 *      ▲                     │                     ├─ 40001 ──────────────► pause, next attempt
 *      │                     │                     └─ no answer ─► CommitUnknownError, never again
 *      │                     └─ threw ── ROLLBACK ─┬─ 40001, 40P01 ───────► pause, next attempt
 *      └───────────────────────────────────────────┘  anything else ──────► thrown
 * ```
 *
 * The rules that must always hold:
 * - The function is run as a whole; recorded statements are never replayed with old values.
 * - The first error wins. If the rollback fails too, that is attached, and the connection is gone.
 * - A failed statement whose error the function swallowed does not become a commit.
 * - After the end `tx` throws {@link UsageError}, and nothing that waited in it is sent.
 * - A connection goes back to the pool only when no transaction is open on it.
 */

import { ignore, untilAborted } from './abort.js';
import { Connection } from './connection.js';
import type { Shared } from './connection.js';
import type { DriverResult } from './driver.js';
import {
  attachRollbackError,
  CommitUnknownError,
  ConnectionError,
  DatabaseError,
  isRetryable,
  UsageError,
} from './errors.js';
import type { Isolation, QueryOptions, TransactionSettings } from './options.js';
import { readQueryOptions } from './options.js';
import type { Queryable } from './queryable.js';
import { joinOptions, makeQueryable } from './queryable.js';
import { retrying } from './retry.js';
import { settlesWithin } from './scheduler.js';
import type { Sql } from './sql.js';

/** The handle inside a transaction. Unusable after the function has ended. */
export interface Transaction extends Queryable {
  /** Which run of the function this is, counted from 1. */
  readonly attempt: number;

  /** The same transaction with options for each statement; a new frozen handle. */
  with(options: QueryOptions): Transaction;

  /**
   * A nested transaction: a savepoint. If the function throws, its statements are undone and the
   * outer transaction goes on; retry errors go through to the outermost one. While it runs, the
   * outer handle refuses statements: use the inner one.
   *
   * SQL: `SAVEPOINT braid_1`, then `RELEASE SAVEPOINT braid_1` or `ROLLBACK TO SAVEPOINT braid_1`.
   */
  transaction<T>(fn: TransactionFunction<T>): Promise<T>;
}

/** What runs inside a transaction. It may be run several times: see `db.transaction`. */
export type TransactionFunction<T> = (tx: Transaction) => Promise<T>;

/** Runs a function in a transaction, again on retry errors. */
export function runTransaction<T>(
  shared: Shared,
  settings: TransactionSettings,
  fn: TransactionFunction<T>,
): Promise<T> {
  return retrying(settings, shared.settings.scheduler, async (attempt, signal) => {
    const connection = await Connection.acquire(shared, signal);
    try {
      return await new Run(connection, shared, settings, signal).attempt(attempt, fn);
    } finally {
      connection.release();
    }
  });
}

const LEVELS: Readonly<Record<Isolation, string>> = {
  'read committed': ' ISOLATION LEVEL READ COMMITTED',
  'repeatable read': ' ISOLATION LEVEL REPEATABLE READ',
  serializable: ' ISOLATION LEVEL SERIALIZABLE',
  server: '',
};

/** One transaction on one connection. */
class Run {
  readonly #connection: Connection;
  readonly #shared: Shared;
  readonly #settings: TransactionSettings;
  readonly #signal: AbortSignal;
  /** The innermost level that is open: only its handle may be used. */
  #level: Level | undefined;
  /** The error that made the server refuse everything until a rollback; none while all is well. */
  #failure: { readonly error: unknown } | undefined;
  #savepoints = 0;

  constructor(
    connection: Connection,
    shared: Shared,
    settings: TransactionSettings,
    signal: AbortSignal,
  ) {
    this.#connection = connection;
    this.#shared = shared;
    this.#settings = settings;
    this.#signal = signal;
  }

  async attempt<T>(attempt: number, fn: TransactionFunction<T>): Promise<T> {
    const level = new Level(attempt, undefined);
    this.#level = level;
    const access = this.#settings.readOnly ? ' READ ONLY' : '';
    try {
      await this.#connection.script(`BEGIN${LEVELS[this.#settings.isolation]}${access}`, {
        signal: this.#signal,
      });
      const value = await untilAborted(fn(this.#handle(level, {})), this.#signal);
      if (this.#level !== level) throw new UsageError('a nested transaction was not awaited');
      // Statements that were not awaited are part of the transaction: they come before COMMIT.
      level.closing = true;
      await untilAborted(this.#connection.idle(), this.#signal);
      level.ended = true;
      if (this.#failure !== undefined) throw this.#failure.error;
      await this.#commit();
      return value;
    } catch (error) {
      level.ended = true;
      await this.#rollback(error);
      throw error;
    }
  }

  /** Commits. Aborting does not cancel a COMMIT, it only bounds the wait for its answer. */
  async #commit(): Promise<void> {
    this.#signal.throwIfAborted();
    const { graceMs, scheduler } = this.#shared.settings;
    const wasLost = this.#connection.lost;
    const answer = this.#connection.script('COMMIT');
    const result = await untilAborted(answer, this.#signal)
      .catch(async (error: unknown) => {
        if (!this.#signal.aborted || error !== this.#signal.reason) throw error;
        if (!(await settlesWithin(scheduler, graceMs, answer))) this.#connection.cut();
        return answer;
      })
      .catch((error: unknown) => {
        const open = error instanceof ConnectionError && !wasLost && !this.#settings.readOnly;
        if (!open) throw error;
        throw new CommitUnknownError('the connection was lost before COMMIT was answered', error);
      });
    if (result.command === 'ROLLBACK') {
      throw new DatabaseError({
        code: '25P02',
        message: 'the transaction had failed, so COMMIT rolled it back',
        severity: 'ERROR',
      });
    }
  }

  /** Rolls back because of `cause`, which stays the error to be reported. */
  async #rollback(cause: unknown): Promise<void> {
    const { graceMs, scheduler } = this.#shared.settings;
    const rollback = (async () => {
      await this.#connection.idle();
      if (this.#connection.inTransaction) await this.#connection.script('ROLLBACK');
    })();
    try {
      if (await settlesWithin(scheduler, graceMs, rollback)) await rollback;
      else throw new ConnectionError(`ROLLBACK was not answered within ${graceMs} ms`);
    } catch (error) {
      attachRollbackError(cause, error);
      rollback.catch(ignore);
      this.#connection.cut();
    }
  }

  async #nested<T>(parent: Level, fn: TransactionFunction<T>): Promise<T> {
    this.#check(parent);
    if (parent.closing) throw new UsageError('the transaction has ended');
    const name = `braid_${++this.#savepoints}`;
    const level = new Level(parent.attempt, parent);
    this.#level = level;
    try {
      await this.#control(parent, `SAVEPOINT ${name}`);
      try {
        const value = await fn(this.#handle(level, {}));
        level.closing = true;
        await this.#connection.idle();
        level.ended = true;
        if (this.#failure !== undefined) throw this.#failure.error;
        await this.#control(parent, `RELEASE SAVEPOINT ${name}`);
        return value;
      } catch (error) {
        level.ended = true;
        await this.#undo(level, name, error);
        throw error;
      }
    } finally {
      level.ended = true;
      this.#level = parent;
    }
  }

  async #undo(level: Level, name: string, cause: unknown): Promise<void> {
    // After a retry error no part of the transaction can be saved.
    if (isRetryable(cause)) {
      this.#failure ??= { error: cause };
      return;
    }
    try {
      await this.#connection.idle();
      await this.#control(level.parent, `ROLLBACK TO SAVEPOINT ${name}`);
      await this.#control(level.parent, `RELEASE SAVEPOINT ${name}`);
    } catch (error) {
      // The outer transaction cannot go on from here, whoever catches `cause`.
      this.#failure ??= { error: cause };
      attachRollbackError(cause, error);
    }
  }

  /** Sends a savepoint statement, unless the transaction around it has ended. */
  async #control(around: Level | undefined, text: string): Promise<void> {
    const guard = (): void => {
      checkOpen(around);
    };
    await this.#noting(this.#connection.script(text, { signal: this.#signal, guard }));
  }

  #handle(level: Level, bound: QueryOptions): Transaction {
    const queryable = makeQueryable(
      (statement, options) => this.#execute(level, statement, options),
      bound,
    );
    return Object.freeze({
      ...queryable,
      attempt: level.attempt,
      with: (options: QueryOptions) =>
        this.#handle(level, joinOptions(bound, readQueryOptions(options))),
      transaction: <T>(fn: TransactionFunction<T>) => this.#nested(level, fn),
    });
  }

  async #execute(
    level: Level,
    statement: Sql | string,
    options: QueryOptions,
  ): Promise<DriverResult> {
    if (level.closing) throw new UsageError('the transaction has ended');
    this.#check(level);
    const { signal } = joinOptions({ signal: this.#signal }, options);
    const guard = (): void => {
      this.#check(level);
    };
    return this.#noting(
      typeof statement === 'string'
        ? this.#connection.script(statement, { signal, guard })
        : this.#connection.run(statement.compile(), { signal, guard }),
    );
  }

  /** Notes whether the server has put the transaction into its failed state. */
  async #noting(work: Promise<DriverResult>): Promise<DriverResult> {
    try {
      const result = await work;
      this.#failure = undefined;
      return result;
    } catch (error) {
      if (!(error instanceof UsageError)) {
        await this.#connection.ready();
        if (this.#connection.failed) this.#failure ??= { error };
      }
      throw error;
    }
  }

  #check(level: Level): void {
    checkOpen(level);
    if (this.#level !== level) {
      throw new UsageError('a nested transaction is open: use its own handle');
    }
  }
}

function checkOpen(level: Level | undefined): void {
  for (let open = level; open !== undefined; open = open.parent) {
    if (open.ended) throw new UsageError('the transaction has ended');
  }
}

/** The transaction itself or a nested one. */
class Level {
  readonly attempt: number;
  readonly parent: Level | undefined;
  /** The function has returned: what it asked for still runs, nothing new is taken. */
  closing = false;
  /** Nothing more is sent. */
  ended = false;

  constructor(attempt: number, parent: Level | undefined) {
    this.attempt = attempt;
    this.parent = parent;
  }
}
