/**
 * One connection in use: taken out of the pool, watched for its loss, given back.
 *
 * Both users of connections keep their rules here: `autocommit.ts` for statements outside of
 * transactions, `statement-queue.ts` for those inside. The rules that must always hold:
 * - An error of the connection makes it unfit; an unfit connection never goes back to the pool.
 * - Nothing is sent while a cancel request is under way, so that it never hits a later statement.
 *
 * ```text
 *  abort ──► cancel request on a second connection ──► the server stops the statement ──► 57014
 *                  │                                                                        │
 *                  └── closed by the server ── both, then the connection may be used again ─┘
 *                  (no answer within graceMs: the connection is cut and thrown away)
 * ```
 */

import type pg from 'pg';

import type { Place } from '../diagnostics.js';
import { ClosedError, ConnectionError, DatabaseError, fromDriver, OptionError } from '../errors.js';
import { settlesWithin } from '../scheduler.js';
import { takeClient } from './acquire.js';
import type { DatabaseContext } from './context.js';
import {
  destroy,
  pipelinesItself,
  placeOf,
  requestCancel,
  transactionStatus,
  wireOf,
} from './driver.js';
import type { GroupOutcome, StatementGroup } from './group.js';
import { Pipeline } from './pipeline.js';
import type { WireStatement } from './prepared.js';

const QUERY_CANCELED = '57014';

/** Connections of the SDK's own pools: made once for each client of `pg`. */
const ownConnections = new WeakMap<pg.PoolClient, Connection>();

/** A connection in use. */
export class Connection {
  readonly #client: pg.PoolClient;
  readonly #pipeline: Pipeline;
  readonly #onLost: (error: Error) => void;
  #context: DatabaseContext;
  #lost: Error | undefined;
  #unfit = false;

  private constructor(client: pg.PoolClient, context: DatabaseContext) {
    this.#client = client;
    this.#context = context;
    this.#pipeline = new Pipeline(client);
    this.#onLost = (error) => {
      this.#lost ??= error;
    };
    client.on('error', this.#onLost);
  }

  /** Takes a connection out of the pool; waits for one until the signal aborts. */
  static async acquire(context: DatabaseContext, signal?: AbortSignal): Promise<Connection> {
    const connection = Connection.#of(await takeClient(context, signal), context);
    context.inUse.add(connection);
    return connection;
  }

  static #of(client: pg.PoolClient, context: DatabaseContext): Connection {
    if (pipelinesItself(client)) {
      client.release();
      throw new OptionError('pool', 'the SDK pipelines itself: make the pool without `pipeline`');
    }
    if (!context.ownPool) return new Connection(client, context);
    const connection = ownConnections.get(client) ?? new Connection(client, context);
    ownConnections.set(client, connection);
    connection.#context = context;
    return connection;
  }

  /** The client of `pg` underneath, for its start-up parameters. */
  get client(): pg.ClientBase {
    return this.#client;
  }

  /** The server and the database. */
  get place(): Place {
    return placeOf(this.#client);
  }

  /** What ended the connection; undefined while it lasts. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** True once nothing can be sent any more. */
  get ended(): boolean {
    return this.#pipeline.ended;
  }

  /** True if the connection must not be used again. */
  get unfit(): boolean {
    return this.#unfit || this.#lost !== undefined || this.ended;
  }

  /** True if the server refuses statements until a rollback, or may. */
  get failed(): boolean {
    const status = transactionStatus(this.#client);
    return status !== 'I' && status !== 'T';
  }

  /** True if a transaction may still be open on the server. Call when nothing is running. */
  get inTransaction(): boolean {
    return this.#lost === undefined && transactionStatus(this.#client) !== 'I';
  }

  /** Sends statements in front of one Sync. Never rejects. */
  async send(statements: readonly WireStatement[]): Promise<GroupOutcome> {
    return this.#note(await this.#pipeline.send(statements, this.#context.parsers));
  }

  /** Sends a text that may hold several statements. Never rejects. */
  async sendScript(text: string): Promise<GroupOutcome> {
    return this.#note(await this.#pipeline.script(text, this.#context.parsers));
  }

  /** Sends a text whose answer `group` reads. Never rejects. */
  async sendGroup(text: string, group: StatementGroup): Promise<GroupOutcome> {
    const write = (): void => {
      wireOf(this.#client).query(text);
    };
    return this.#note(await this.#pipeline.start(group, write));
  }

  /**
   * Puts the session back to its start: rolls back what is open and resets every setting. What does
   * not answer within `graceMs`, or fails, is cut. Call when nothing is running.
   */
  async reset(): Promise<void> {
    const { scheduler, graceMs } = this.#context.settings;
    const work = (async () => {
      if (this.inTransaction) await this.sendScript('ROLLBACK');
      this.#pipeline.forgetPrepared();
      const { failure } = await this.sendScript('DISCARD ALL');
      return failure === undefined && !this.inTransaction;
    })();
    const isReset = (await settlesWithin(scheduler, graceMs, work)) && (await work);
    if (!isReset) this.cut();
  }

  /** A group without a transaction status was ended by the loss of the connection. */
  #note(outcome: GroupOutcome): GroupOutcome {
    if (outcome.status === undefined) {
      const error = outcome.failure?.error;
      this.#lost ??= error instanceof Error ? error : new Error('the connection has ended');
    }
    return outcome;
  }

  /**
   * Turns what `pg` threw into an error of the SDK. `ambiguous`: the statement may have taken effect
   * if the connection was lost.
   */
  translate(error: unknown, text: string | undefined, ambiguous = false): unknown {
    const failure = fromDriver(error, { statement: text, lost: this.#lost, ambiguous });
    if (!(failure instanceof ConnectionError)) return failure;
    this.#unfit = true;
    return this.#context.closed.aborted ? new ClosedError(failure) : failure;
  }

  /** Cancels what is running; resolves when these answers are there and the next may be sent. */
  async cancel(answers: readonly Promise<unknown>[]): Promise<void> {
    const { scheduler, graceMs } = this.#context.settings;
    const request = requestCancel(this.#client);
    // A request that cannot be delivered, or that has no effect, ends with the connection.
    const delivered = request.then(
      () => true,
      () => false,
    );
    const all = Promise.allSettled([request, ...answers]);
    if (!(await settlesWithin(scheduler, graceMs, all)) || !(await delivered)) this.cut();
    await Promise.allSettled(answers);
  }

  /** Cuts the connection; what is running on it fails. */
  cut(): void {
    this.#unfit = true;
    destroy(this.#client);
  }

  /** Gives the connection back to its pool, or throws it away if it is unfit. */
  release(): void {
    this.#context.inUse.delete(this);
    if (!this.#context.ownPool) this.#pipeline.close();
    this.#client.release(this.#lost ?? this.unfit);
    if (!this.#context.ownPool) this.#client.removeListener('error', this.#onLost);
  }
}

/** The reason of the signal where `error` is what its abort has caused; else the error. */
export function abortReasonOr(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted !== true) return error;
  const isCancelled =
    error instanceof ConnectionError ||
    (error instanceof DatabaseError && error.code === QUERY_CANCELED);
  return isCancelled ? signal.reason : error;
}
