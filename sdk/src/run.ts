/**
 * One attempt of a transaction on one connection: its handles, savepoints and errors.
 *
 * Knows which statement failed first and where it was called; whether the function is run again,
 * and what a lost COMMIT means, is decided in `transaction.ts`.
 */

import { untilAborted } from './abort.js';
import type { Call, SentStatement } from './calls.js';
import { blame, blameListed } from './calls.js';
import type { Connection, RunOptions, Shared, Ticket } from './connection.js';
import type { DriverResult } from './driver.js';
import { attachRollbackError, DatabaseError, isRetryable, UsageError } from './errors.js';
import { withLocks } from './locking.js';
import type { QueryOptions } from './options.js';
import { readQueryOptions } from './options.js';
import type { Executor, Slot } from './queryable.js';
import { joinOptions, makeQueryable } from './queryable.js';
import type { Compiled, Sql } from './sql.js';
import { withClause, withReturningNothing } from './sqltext.js';
import type { Transaction, TransactionFunction } from './tx.js';
import type { PendingWrite } from './write.js';

/** What a run needs to know. */
export interface RunSettings {
  readonly connection: Connection;
  readonly shared: Shared;
  /** Everything sent behind BEGIN, earlier attempts on the same connection included. */
  readonly sent: SentStatement[];
  /** Aborts when the caller's signal does, and at the deadline. */
  readonly signal: AbortSignal;
  /** What the function sees: aborts with the attempt. */
  readonly ended: { readonly signal: AbortSignal };
  readonly attempt: number;
}

/** The error that made the server refuse everything until a rollback. */
interface Failure {
  readonly error: unknown;
  /** It came from a write that nobody waited for. */
  readonly unawaited: boolean;
  /** Where that write was refused before it was sent: nothing that the server says mends it. */
  readonly refusedIn?: Level;
}

const FAILED_TRANSACTION = '25P02';

/** One transaction on one connection. */
export class Run {
  readonly #connection: Connection;
  readonly #settings: RunSettings;
  readonly #root: Level;
  /** The innermost level that is open: only its handle may be used. */
  #level: Level;
  #failure: Failure | undefined;
  #savepoints = 0;
  #begins = true;
  #committing = false;

  constructor(settings: RunSettings) {
    this.#settings = settings;
    this.#connection = settings.connection;
    this.#root = new Level(undefined);
    this.#level = this.#root;
  }

  /** True once COMMIT is on its way. */
  get committing(): boolean {
    return this.#committing;
  }

  /** Puts statements in front of the first one; `begins` if the first of them is BEGIN. */
  open(texts: readonly string[], begins: boolean): void {
    this.#begins = begins;
    const { onSend, onSkip } = this.#noting(ownStatement);
    this.#connection.open(texts, {
      signal: this.#settings.signal,
      // The server counts from 1 behind BEGIN.
      onSend: (all) => onSend?.(begins ? all.slice(1) : all),
      onSkip,
    });
  }

  /** Runs the function; what it did not wait for may still be under way. */
  async function<T>(fn: TransactionFunction<T>): Promise<T> {
    const { signal } = this.#settings;
    // It may return a write, which is no promise but can be awaited like one.
    const work = Promise.resolve(fn(this.#handle(this.#root, {})));
    const value = await untilAborted(work, signal);
    if (this.#level !== this.#root) throw new UsageError('a nested transaction was not awaited');
    // Statements that were not awaited are part of the transaction: they come before COMMIT.
    this.#root.closing = true;
    return value;
  }

  /** Commits, behind everything that was asked for. Nothing is sent if nothing was. */
  async commit(texts: readonly string[]): Promise<void> {
    const { signal, sent } = this.#settings;
    if (this.#begins && this.#connection.untouched) {
      this.end();
      return;
    }
    const guard = (): void => {
      this.end();
      if (this.#failure !== undefined) throw this.#failure.error;
      signal.throwIfAborted();
      this.#committing = true;
    };
    const results = await this.#connection.all(texts, {
      guard,
      ...this.#noting(ownStatement),
      onFailure: (error) => {
        blameListed(error, sent);
        return this.#firstError(error);
      },
    });
    if (results.at(-1)?.command === 'ROLLBACK') {
      throw new DatabaseError({
        code: FAILED_TRANSACTION,
        message: 'the transaction had failed, so COMMIT rolled it back',
        severity: 'ERROR',
      });
    }
  }

  /** Ends the handles: nothing that waits in them is sent any more. */
  end(): void {
    this.#root.ended = true;
  }

  async #nested<T>(parent: Level, fn: TransactionFunction<T>): Promise<T> {
    this.#checkTaking(parent);
    const name = `braid_${++this.#savepoints}`;
    const level = new Level(parent);
    this.#level = level;
    try {
      await this.#control(parent, `SAVEPOINT ${name}`);
      try {
        const value = await fn(this.#handle(level, {}));
        level.closing = true;
        // Travels with the writes that were not waited for, and answers for them.
        await this.#control(parent, `RELEASE SAVEPOINT ${name}`, () => {
          level.ended = true;
          if (this.#failure !== undefined) throw this.#failure.error;
        });
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
      this.#failure ??= { error: cause, unawaited: false };
      return;
    }
    try {
      await this.#connection.idle();
      if (this.#failure?.refusedIn === level) this.#failure = undefined;
      await this.#control(level.parent, `ROLLBACK TO SAVEPOINT ${name}`);
      await this.#control(level.parent, `RELEASE SAVEPOINT ${name}`);
    } catch (error) {
      // The outer transaction cannot go on from here, whoever catches `cause`.
      this.#failure ??= { error: cause, unawaited: false };
      attachRollbackError(cause, error);
    }
  }

  /** Sends a savepoint statement, unless the transaction around it has ended. */
  async #control(around: Level | undefined, text: string, check?: () => void): Promise<void> {
    const guard = (): void => {
      checkOpen(around);
      check?.();
    };
    const compiled = { text, values: [] };
    await this.#connection.run(
      compiled,
      this.#options(() => compiled, undefined, {}, guard),
    );
  }

  #handle(level: Level, bound: QueryOptions): Transaction {
    const { attempt, ended, shared } = this.#settings;
    const executor: Executor = {
      features: shared.features,
      execute: (slot, options, call) => this.#execute(level, slot, options, call),
      script: (text, options, call) => this.#script(level, text, options, call),
      write: (statements, options, call) => this.#write(level, statements, options, call),
    };
    const handle = {
      ...makeQueryable(executor, bound, withLocks),
      attempt,
      get signal() {
        return ended.signal;
      },
      with: (options: QueryOptions) =>
        this.#handle(level, joinOptions(bound, readQueryOptions(options))),
      transaction: <T>(fn: TransactionFunction<T>) => this.#nested(level, fn),
    };
    return Object.freeze(handle) as unknown as Transaction;
  }

  async #execute(
    level: Level,
    slot: Slot,
    options: QueryOptions,
    call: Call,
  ): Promise<DriverResult> {
    this.#checkTaking(level);
    let compiled: Compiled | undefined;
    const source = (): Compiled => {
      slot.sent = true;
      const { text, values } = slot.statement.compile();
      compiled = { text: slot.clause === undefined ? text : withClause(text, slot.clause), values };
      return compiled;
    };
    return this.#connection.run(
      source,
      this.#options(
        () => compiled,
        call,
        options,
        () => {
          this.#check(level);
        },
      ),
    );
  }

  async #script(
    level: Level,
    text: string,
    options: QueryOptions,
    call: Call,
  ): Promise<DriverResult> {
    this.#checkTaking(level);
    const compiled = { text, values: [] };
    const guard = (): void => {
      checkOpen(level);
    };
    return this.#connection.script(
      text,
      this.#options(() => compiled, call, options, guard),
    );
  }

  #write(
    level: Level,
    statements: readonly Sql[],
    options: QueryOptions,
    call: Call,
  ): PendingWrite {
    this.#checkTaking(level);
    let change: ((statement: Sql) => Sql) | undefined;
    const { returningNothing } = this.#settings.shared.features;
    const tickets = statements.map((statement): Ticket => {
      let compiled: Compiled | undefined;
      const source = (): Compiled => {
        if (change !== undefined) return (compiled = change(statement).compile());
        const { text, values } = statement.compile();
        return (compiled = { text: returningNothing ? withReturningNothing(text) : text, values });
      };
      const guard = (): void => {
        checkOpen(level);
      };
      const unawaited = (): Level | undefined => (change === undefined ? level : undefined);
      const run = this.#options(() => compiled, call, options, guard, unawaited);
      return this.#connection.write(source, run);
    });
    return {
      accepted: async () => {
        // Later in this turn it is sent; that an earlier write failed may be known already.
        if (change !== undefined) throw new UsageError('await the result that was asked for');
        if (this.#failure?.unawaited === true) throw this.#failure.error;
        checkOpen(level);
        await this.#connection.room();
      },
      ordinary: (wanted) => {
        if (change !== undefined) throw new UsageError('the result was asked for before');
        if (tickets.some(({ sent }) => sent)) {
          throw new UsageError(
            'ask for the result in the same expression: the write has been sent',
          );
        }
        change = wanted;
        for (const ticket of tickets) ticket.awaited();
        return Promise.all(tickets.map(({ result }) => result));
      },
    };
  }

  /** What a statement needs besides itself: when it may go, and what its failure means. */
  #options(
    compiled: () => Compiled | undefined,
    call: Call | undefined,
    options: QueryOptions,
    guard: () => void,
    unawaited: () => Level | undefined = () => undefined,
  ): RunOptions {
    const { signal } = joinOptions({ signal: this.#settings.signal }, options);
    const self = (): SentStatement => {
      const { text = '', values = [] } = compiled() ?? {};
      return { text, parameters: values, call };
    };
    const noting = this.#noting(self);
    let wasSent = false;
    return {
      signal,
      guard,
      onSend: (texts) => {
        wasSent = true;
        noting.onSend?.(texts);
      },
      onSkip: noting.onSkip,
      onSuccess: () => {
        // Behind ROLLBACK TO SAVEPOINT all is well again.
        const mended = !this.#connection.failed && this.#failure?.refusedIn === undefined;
        if (mended) this.#failure = undefined;
      },
      onFailure: (error) => {
        const level = unawaited();
        if (!wasSent) {
          // A write that nobody waits for must not get lost: without it nothing may be committed.
          const gone = level === undefined || isOver(level);
          if (!gone) this.#failure ??= { error, unawaited: true, refusedIn: level };
          return error;
        }
        const isOurs = !blameListed(error, this.#settings.sent) && call !== undefined;
        const first = this.#firstError(error);
        if (first !== error) return first;
        if (isOurs) blame(error, self());
        if (this.#connection.failed) this.#failure ??= { error, unawaited: level !== undefined };
        return error;
      },
    };
  }

  /** A statement that was refused because an unawaited write had failed reports that. */
  #firstError(error: unknown): unknown {
    const refused = error instanceof DatabaseError && error.code === FAILED_TRANSACTION;
    return refused && this.#failure?.unawaited === true ? this.#failure.error : error;
  }

  /** Remembers what is sent and takes back what the server skipped: it counts what it has seen. */
  #noting(describe: (text: string) => SentStatement): Pick<RunOptions, 'onSend' | 'onSkip'> {
    const { sent } = this.#settings;
    let own: SentStatement[] = [];
    return {
      onSend: (texts) => {
        own = texts.map(describe);
        sent.push(...own);
      },
      onSkip: (count) => {
        for (const one of count === 0 ? [] : own.slice(-count)) {
          const at = sent.lastIndexOf(one);
          if (at >= 0) sent.splice(at, 1);
        }
      },
    };
  }

  #checkTaking(level: Level): void {
    if (level.closing) throw new UsageError('the transaction has ended');
    this.#check(level);
  }

  #check(level: Level): void {
    checkOpen(level);
    if (this.#level !== level) {
      throw new UsageError('a nested transaction is open: use its own handle');
    }
  }
}

/** A statement of the SDK itself. */
function ownStatement(text: string): SentStatement {
  return { text, parameters: [], call: undefined };
}

function isOver(level: Level | undefined): boolean {
  for (let open = level; open !== undefined; open = open.parent) if (open.ended) return true;
  return false;
}

function checkOpen(level: Level | undefined): void {
  if (isOver(level)) throw new UsageError('the transaction has ended');
}

/** The transaction itself or a nested one. */
class Level {
  readonly parent: Level | undefined;
  /** The function has returned: what it asked for still runs, nothing new is taken. */
  closing = false;
  /** Nothing more is sent. */
  ended = false;

  constructor(parent: Level | undefined) {
    this.parent = parent;
  }
}
