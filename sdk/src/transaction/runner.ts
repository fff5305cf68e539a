/**
 * Transactions: the function is run, committed, and run again as a whole on transient errors.
 *
 * ```text
 *   attempt: BEGIN, SAVEPOINT ─ fn(tx) ─┬─ returned ─ RELEASE, COMMIT ─┬─ committed
 *      ▲                                │                              ├─ 40001 ────► pause, again
 *      │                                │                              └─ no answer ► commit-outcome.ts
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

import { AttemptSignal, ignore, untilAborted } from '../abort.js';
import type { SentStatement } from '../call-sites.js';
import type { DatabaseContext } from '../connection/context.js';
import { Connection } from '../connection/connection.js';
import { StatementRequest } from '../connection/request.js';
import { StatementQueue } from '../connection/statement-queue.js';
import { traceSetting } from '../connection/trace-context.js';
import type { OnPlace, TransactionTrace } from '../diagnostics.js';
import { NO_PLACE, traced, transactions } from '../diagnostics.js';
import {
  attachRollbackError,
  ClosedError,
  CommitUnknownError,
  ConnectionError,
  isRetryable,
  SerializationError,
} from '../errors.js';
import type { TransactionSettings } from '../options/index.js';
import { settlesWithin } from '../scheduler.js';
import { TransactionAttempt } from './attempt.js';
import { resolveCommit } from './commit-outcome.js';
import type { TransactionFunction } from './handle.js';
import type { Attempt, AttemptState } from './retry.js';
import { retrying } from './retry.js';

/** Runs a function in a transaction, again on transient errors; `onPlace` gets each connection's. */
export function runTransaction<T>(
  context: DatabaseContext,
  settings: TransactionSettings,
  fn: TransactionFunction<T>,
  onPlace?: OnPlace,
): Promise<T> {
  const { isolation, readOnly } = settings;
  const makeTrace = (): TransactionTrace => ({
    ...{ isolation, readOnly, ...NO_PLACE },
    ...{ attempts: 0, waitMs: 0 },
  });
  return traced(transactions, makeTrace, async (trace) => {
    const runner = new TransactionRunner(context, settings, trace, onPlace);
    try {
      return await retrying(
        settings,
        context.settings.scheduler,
        (...attempt) => runner.attempt(attempt, fn),
        () => runner.state,
      );
    } catch (error) {
      await runner.giveUp(error);
      throw error;
    } finally {
      context.counts.transactions += 1;
    }
  });
}

const RESTART = 'SAVEPOINT cockroach_restart';

const LEVELS: Readonly<Record<TransactionSettings['isolation'], string>> = {
  'read committed': ' ISOLATION LEVEL READ COMMITTED',
  'repeatable read': ' ISOLATION LEVEL REPEATABLE READ',
  serializable: ' ISOLATION LEVEL SERIALIZABLE',
  server: '',
};

/** What an attempt leaves to the next one, which goes on from its restart savepoint. */
interface RestartPoint {
  readonly queue: StatementQueue;
  /** The statements sent after BEGIN. */
  readonly sent: SentStatement[];
}

/** All attempts of one call of `db.transaction`. */
class TransactionRunner {
  readonly #context: DatabaseContext;
  readonly #settings: TransactionSettings;
  readonly #savepoint: boolean;
  #restartPoint: RestartPoint | undefined;
  #ran = false;

  readonly #trace: TransactionTrace | undefined;

  readonly #onPlace: OnPlace | undefined;

  constructor(
    context: DatabaseContext,
    settings: TransactionSettings,
    trace?: TransactionTrace,
    onPlace?: OnPlace,
  ) {
    this.#context = context;
    this.#onPlace = onPlace;
    this.#settings = settings;
    this.#trace = trace;
    const { restartSavepoint, restartAtEveryLevel } = context.features;
    const atLevel = restartAtEveryLevel || settings.isolation === 'serializable';
    this.#savepoint = restartSavepoint && atLevel && !settings.readOnly;
  }

  /** What the last attempt has left. */
  get state(): AttemptState {
    return { holds: this.#restartPoint !== undefined, ran: this.#ran };
  }

  async attempt<T>(which: Parameters<Attempt<T>>, fn: TransactionFunction<T>): Promise<T> {
    const [attempt, signal, bounded] = which;
    const { features, counts } = this.#context;
    if (attempt > 1) counts.retries += 1;
    if (this.#trace !== undefined) this.#trace.attempts = attempt;
    const restarted = this.#restartPoint;
    this.#restartPoint = undefined;
    this.#ran = false;
    const point = restarted ?? (await this.#connect(signal));
    const { queue } = point;
    this.#ran = true;
    const token = this.#settings.readOnly ? undefined : features.commitToken?.();
    const ended = new AttemptSignal(signal);
    const work = { ...point, context: this.#context, signal, attempt, ended };
    const run = new TransactionAttempt(work);
    let value: T | undefined;
    try {
      run.open(this.#opening(restarted !== undefined, token), restarted === undefined);
      value = await run.function(fn);
      await this.#commit(run, queue.connection, signal);
      queue.release();
      return value;
    } catch (error) {
      run.end();
      ended.abort(error);
      // A server may have forgotten the savepoint: then from BEGIN, as part of the same attempt.
      const forgotten = restarted !== undefined && queue.isOpeningFailed && !signal.aborted;
      await this.#failed(point, error, signal);
      if (forgotten) return await this.attempt(which, fn);
      if (!(error instanceof LostCommit)) throw error;
      await resolveCommit(this.#context, token, error.unknown, bounded);
      return value as T;
    } finally {
      ended.forget();
    }
  }

  async #connect(signal: AbortSignal): Promise<RestartPoint> {
    const trace = this.#trace;
    const { now } = this.#context.settings.scheduler;
    const startMs = trace === undefined ? 0 : now();
    const connection = await Connection.acquire(this.#context, signal);
    this.#onPlace?.(connection.place);
    if (trace !== undefined) {
      Object.assign(trace, connection.place);
      trace.waitMs += now() - startMs;
    }
    return { queue: new StatementQueue(connection, this.#context), sent: [] };
  }

  /** Ends the transaction that was kept for a next attempt which does not come. */
  async giveUp(cause: unknown): Promise<void> {
    const point = this.#restartPoint;
    this.#restartPoint = undefined;
    if (point === undefined) return;
    await this.#rollback(point.queue, cause);
    point.queue.release();
  }

  #opening(again: boolean, token: string | undefined): string[] {
    const { isolation, readOnly } = this.#settings;
    const setToken = token === undefined ? [] : [`SET LOCAL commit_token = '${token}'`];
    // After the savepoint: going back to it undoes them.
    const own = [...setToken, ...traceSetting(this.#context)];
    if (again) return [`ROLLBACK TO ${RESTART}`, ...own];
    const begin = `BEGIN${LEVELS[isolation]}${readOnly ? ' READ ONLY' : ''}`;
    return [begin, ...(this.#savepoint ? [RESTART] : []), ...own];
  }

  /** Commits. Aborting does not cancel a COMMIT, it only bounds the wait for its answer. */
  async #commit(
    run: TransactionAttempt,
    connection: Connection,
    signal: AbortSignal,
  ): Promise<void> {
    const { graceMs, scheduler } = this.#context.settings;
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
      const isLost = error instanceof ConnectionError || error instanceof ClosedError;
      if (!isLost) throw error;
      const message = 'the connection was lost before COMMIT was answered';
      throw new LostCommit(new CommitUnknownError(message, error));
    }
  }

  /** Keeps the connection for the next attempt if that can go on from the savepoint. */
  async #failed(point: RestartPoint, error: unknown, signal: AbortSignal): Promise<void> {
    const { queue } = point;
    const { connection } = queue;
    if (this.#savepoint && !signal.aborted && isRestart(error)) {
      const { graceMs, scheduler } = this.#context.settings;
      const idle = await settlesWithin(scheduler, graceMs, queue.idle());
      if (idle && connection.inTransaction && !queue.isOpeningFailed) {
        this.#restartPoint = point;
        return;
      }
    }
    await this.#rollback(queue, error);
    queue.release();
  }

  /** Rolls back because of `cause`, which stays the error to be reported. */
  async #rollback(queue: StatementQueue, cause: unknown): Promise<void> {
    const { graceMs, scheduler } = this.#context.settings;
    const rollback = (async () => {
      await queue.idle();
      if (!queue.connection.inTransaction) return;
      const request = new StatementRequest(['ROLLBACK'], { delivery: 'awaited' });
      request.hooks = { isRollback: true };
      queue.submit(request);
      await request.results;
    })();
    try {
      if (await settlesWithin(scheduler, graceMs, rollback)) await rollback;
      else throw new ConnectionError(`ROLLBACK was not answered within ${graceMs} ms`);
    } catch (error) {
      attachRollbackError(cause, error);
      rollback.catch(ignore);
      queue.connection.cut();
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
