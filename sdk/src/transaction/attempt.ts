/**
 * One attempt of a transaction on one connection: its handles, savepoints and errors.
 *
 * Knows which statement failed first and where it was called. `runner.ts` decides whether the function
 * is run again and what a lost COMMIT means.
 */

import { ignore, untilAborted } from '../abort.js';
import type { SentStatement } from '../call-sites.js';
import { attachCallSite, attachListedCallSites, captureCallSite } from '../call-sites.js';
import type { DatabaseContext } from '../connection/context.js';
import type { DriverResult } from '../connection/driver.js';
import { lastResult } from '../connection/group.js';
import type { RequestHooks } from '../connection/request.js';
import { StatementRequest } from '../connection/request.js';
import type { StatementQueue } from '../connection/statement-queue.js';
import type { CopyWork } from '../copy/work.js';
import { LEFT } from '../copy/work.js';
import type { QueryTrace } from '../diagnostics.js';
import { isTraced, queries, traceOf } from '../diagnostics.js';
import { attachRollbackError, DatabaseError, isRetryable, UsageError } from '../errors.js';
import type { QueryOptions } from '../options/index.js';
import { joinOptions, readQueryOptions } from '../options/index.js';
import { withLocks } from '../query/locking.js';
import type { AwaitedCall, Executor } from '../query/queryable.js';
import { makeQueryable } from '../query/queryable.js';
import type { Sql } from '../sql/template.js';
import type { Transaction, TransactionFunction } from './handle.js';
import { checkOpen, hasEnded, TransactionLevel } from './level.js';

/** What an attempt works with. */
export interface AttemptSettings {
  readonly queue: StatementQueue;
  readonly context: DatabaseContext;
  /** The statements sent after BEGIN, those of earlier attempts on the same connection included. */
  readonly sent: SentStatement[];
  /** Aborts when the caller's signal does, and at the deadline. */
  readonly signal: AbortSignal;
  /** What the function gets as `tx.signal`: aborts with the attempt. */
  readonly ended: { readonly signal: AbortSignal };
  readonly attempt: number;
}

/** The error after which the server refuses everything until a rollback. */
interface AttemptFailure {
  readonly error: unknown;
  /** It came from a write that was not awaited. */
  readonly unawaited: boolean;
  /** Where that write was refused before it was sent: success on the server does not clear it. */
  readonly refusedIn?: TransactionLevel;
}

const FAILED_TRANSACTION = '25P02';

/** One attempt: a transaction on one connection. */
export class TransactionAttempt {
  readonly #queue: StatementQueue;
  readonly #settings: AttemptSettings;
  readonly #root = new TransactionLevel(undefined);
  /** The innermost open level: only its handle may be used. */
  #level = this.#root;
  #failure: AttemptFailure | undefined;
  #savepoints = 0;
  #begins = true;
  #committing = false;
  /** The COPY under way; nothing else can use the connection until it has ended. */
  #copying: CopyWork | undefined;

  constructor(settings: AttemptSettings) {
    this.#settings = settings;
    this.#queue = settings.queue;
  }

  /** True once COMMIT is on its way. */
  get committing(): boolean {
    return this.#committing;
  }

  /** Puts statements in front of the first one; `begins` if the first of them is BEGIN. */
  open(texts: readonly string[], begins: boolean): void {
    this.#begins = begins;
    const { signal } = this.#settings;
    const request = new StatementRequest(texts, { delivery: 'opening', signal });
    const { onSend, onSkip } = this.#recording(request);
    // The server counts statements from 1, after BEGIN.
    request.hooks = { onSend: (all) => onSend?.(begins ? all.slice(1) : all), onSkip };
    this.#queue.submit(request);
  }

  /** Runs the function; statements that it did not await may still be under way. */
  async function<T>(fn: TransactionFunction<T>): Promise<T> {
    const { signal } = this.#settings;
    // It may return a write, which is no promise but can be awaited like one.
    const work = Promise.resolve(fn(this.#handle(this.#root, { signal })));
    const { closed } = this.#settings.context;
    const value = await untilAborted(untilAborted(work, signal), closed);
    if (this.#level !== this.#root) throw new UsageError('a nested transaction was not awaited');
    if (this.#copying !== undefined)
      throw new UsageError('a COPY was not awaited, or not read to its end');
    // Statements that were not awaited are part of the transaction: they come before COMMIT.
    this.#root.closing = true;
    return value;
  }

  /** Commits, after every statement so far. Sends nothing if no statement was asked for. */
  async commit(texts: readonly string[]): Promise<void> {
    const { signal, sent } = this.#settings;
    if (this.#begins && this.#queue.untouched) {
      this.end();
      return;
    }
    // Aborting does not cancel a COMMIT, so the request has no signal.
    const request = new StatementRequest(texts, { delivery: 'awaited' });
    request.hooks = {
      guard: () => {
        this.end();
        if (this.#failure !== undefined) throw this.#failure.error;
        signal.throwIfAborted();
        this.#committing = true;
      },
      ...this.#recording(request),
      onFailure: (error) => {
        attachListedCallSites(error, sent);
        return this.#firstError(error);
      },
    };
    this.#queue.submit(request);
    const results = await request.results;
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
    this.#copying?.stop.abort(new UsageError('the transaction has ended'));
  }

  async #nested<T>(parent: TransactionLevel, fn: TransactionFunction<T>): Promise<T> {
    this.#checkTaking(parent);
    if (typeof (fn as unknown) !== 'function') {
      throw new UsageError('tx.transaction takes a function: tx.transaction(async (inner) => …)');
    }
    const name = `braid_${++this.#savepoints}`;
    const level = new TransactionLevel(parent);
    this.#level = level;
    try {
      await this.#control(parent, `SAVEPOINT ${name}`);
      try {
        const { signal } = this.#settings;
        const value = await fn(this.#handle(level, { signal }));
        level.closing = true;
        // Travels with the unawaited writes, and reports their failures.
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

  async #undo(level: TransactionLevel, name: string, cause: unknown): Promise<void> {
    // After a retry error no part of the transaction can be saved.
    if (isRetryable(cause)) {
      this.#failure ??= { error: cause, unawaited: false };
      return;
    }
    try {
      await this.#queue.idle();
      if (this.#failure?.refusedIn === level) this.#failure = undefined;
      await this.#control(level.parent, `ROLLBACK TO SAVEPOINT ${name}`);
      await this.#control(level.parent, `RELEASE SAVEPOINT ${name}`);
    } catch (error) {
      // The outer transaction cannot go on from here, whatever code catches `cause`.
      this.#failure ??= { error: cause, unawaited: false };
      attachRollbackError(cause, error);
    }
  }

  /** Sends a savepoint statement, unless the transaction around it has ended. */
  async #control(
    around: TransactionLevel | undefined,
    text: string,
    check?: () => void,
  ): Promise<void> {
    const { signal } = this.#settings;
    const request = new StatementRequest([text], { delivery: 'awaited', signal });
    this.#submit(request, around, () => {
      checkOpen(around);
      check?.();
    });
    await request.results;
  }

  #handle(level: TransactionLevel, bound: QueryOptions): Transaction {
    const { attempt, ended, context } = this.#settings;
    const executor: Executor = {
      features: context.features,
      run: (statement, options, call) => this.#run(level, statement, options, call),
      script: async (text, { signal }, callSite) => {
        this.#checkTaking(level);
        const request = new StatementRequest([text], { delivery: 'script', signal, callSite });
        this.#submit(request, level);
        await request.results;
      },
      submit: (request) => {
        this.#checkTaking(level);
        this.#submit(request, level);
      },
      copy: (work) => this.#copy(level, work),
    };
    const handle = {
      ...makeQueryable(executor, bound),
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

  #run<T>(
    level: TransactionLevel,
    statement: Sql,
    { signal }: QueryOptions,
    { method, pick }: AwaitedCall<T>,
  ): Promise<T> {
    const callSite = captureCallSite(method);
    const request = new StatementRequest([statement], { delivery: 'awaited', signal, callSite });
    const answer = async (): Promise<T> => {
      this.#checkTaking(level);
      this.#submit(request, level, () => {
        this.#checkCurrent(level);
      });
      return pick(lastResult(await request.results));
    };
    const answered = answer();
    // Reported by the transaction, which fails: a promise that nobody holds must not end the process.
    request.results.catch(() => {
      answered.catch(ignore);
    });
    return withLocks(answered, request);
  }

  async #copy(level: TransactionLevel, work: CopyWork): Promise<DriverResult> {
    this.#checkTaking(level);
    this.#copying = work;
    try {
      return await (work.isRead ? this.#copyOut(level, work) : this.#sendCopy(level, work));
    } finally {
      this.#copying = undefined;
    }
  }

  /** A reader that leaves early cancels the COPY: the savepoint keeps the transaction in order. */
  async #copyOut(level: TransactionLevel, work: CopyWork): Promise<DriverResult> {
    const name = `braid_${++this.#savepoints}`;
    await this.#control(level, `SAVEPOINT ${name}`);
    try {
      const result = await this.#sendCopy(level, work);
      await this.#control(level, `RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      if (work.stop.signal.reason === LEFT)
        await this.#undo(new TransactionLevel(level), name, error);
      throw error;
    }
  }

  async #sendCopy(level: TransactionLevel, work: CopyWork): Promise<DriverResult> {
    const request = new StatementRequest([work.text], { delivery: 'script', ...work });
    this.#submit(request, level);
    return lastResult(await request.results);
  }

  /** Puts a request into the queue; `guard` says when it may still go. */
  #submit(
    request: StatementRequest,
    level: TransactionLevel | undefined,
    guard = (): void => {
      checkOpen(level);
    },
  ): void {
    const accept = async (): Promise<void> => {
      // It is sent later in this turn; the failure of an earlier write may be known already.
      if (request.isResultRequested) throw new UsageError('await the result that was asked for');
      if (this.#failure?.unawaited === true) throw this.#failure.error;
      checkOpen(level);
      await this.#queue.room();
    };
    if (request.isEmpty) {
      request.hooks = { accept };
      request.succeed([]);
      return;
    }
    const recording = this.#recording(request);
    let wasSent = false;
    request.hooks = {
      accept,
      guard,
      onSend: (texts) => {
        wasSent = true;
        recording.onSend?.(texts);
      },
      onSkip: recording.onSkip,
      onSuccess: () => {
        // Success after ROLLBACK TO SAVEPOINT shows that the transaction works again.
        const isMended = !this.#queue.connection.failed && this.#failure?.refusedIn === undefined;
        if (isMended) this.#failure = undefined;
      },
      onFailure: (error, place) =>
        wasSent ? this.#onFailure(request, error, place) : this.#onRefusal(request, error, level),
    };
    this.#queue.submit(request);
    if (isTraced(queries)) this.#trace(request);
  }

  /** Publishes what becomes of a request of the caller. */
  #trace(request: StatementRequest): void {
    if (request.callSite === undefined) return;
    const { attempt, context } = this.#settings;
    const { now } = context.settings.scheduler;
    const startMs = now();
    const { place } = this.#queue.connection;
    const trace: QueryTrace = { ...traceOf(request.text), ...place, attempt };
    const { onSend } = request.hooks;
    const sent = (texts: readonly string[]): void => {
      trace.waitMs = now() - startMs;
      onSend?.(texts);
    };
    request.hooks = { ...request.hooks, onSend: sent };
    const answered = async (): Promise<void> => {
      const results = await request.results;
      trace.rows = results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
    };
    queries.tracePromise(answered, trace).catch(ignore);
  }

  /** A request failed before it was sent: without an unawaited write nothing may be committed. */
  #onRefusal(
    { delivery }: StatementRequest,
    error: unknown,
    level: TransactionLevel | undefined,
  ): unknown {
    if (delivery === 'unawaited' && level !== undefined && !hasEnded(level)) {
      this.#failure ??= { error, unawaited: true, refusedIn: level };
    }
    return error;
  }

  /** The server refused a statement: returns the error to report, with its call site. */
  #onFailure(request: StatementRequest, error: unknown, place: number): unknown {
    const { delivery, callSite } = request;
    const isOurs = !attachListedCallSites(error, this.#settings.sent) && callSite !== undefined;
    const first = this.#firstError(error);
    if (first !== error) return first;
    if (isOurs) attachCallSite(error, request.sentStatement(place));
    const unawaited = delivery === 'unawaited';
    if (this.#queue.connection.failed) this.#failure ??= { error, unawaited };
    return error;
  }

  /** A statement that was refused because an unawaited write had failed reports that failure. */
  #firstError(error: unknown): unknown {
    const isRefused = error instanceof DatabaseError && error.code === FAILED_TRANSACTION;
    return isRefused && this.#failure?.unawaited === true ? this.#failure.error : error;
  }

  /** Records sent statements, as the server counts them: without those that it skipped. */
  #recording(request: StatementRequest): Pick<RequestHooks, 'onSend' | 'onSkip'> {
    const { sent } = this.#settings;
    let own: SentStatement[] = [];
    return {
      onSend: (texts) => {
        const { callSite } = request;
        own =
          callSite === undefined
            ? texts.map((text) => ({ text, parameters: [], callSite }))
            : texts.map((_, place) => request.sentStatement(place));
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

  #checkTaking(level: TransactionLevel): void {
    if (level.closing) throw new UsageError('the transaction has ended');
    if (this.#copying !== undefined) {
      throw new UsageError('a COPY is under way in this transaction: end it first');
    }
    this.#checkCurrent(level);
  }

  #checkCurrent(level: TransactionLevel): void {
    checkOpen(level);
    if (this.#level !== level) {
      throw new UsageError('a nested transaction is open: use its own handle');
    }
  }
}
