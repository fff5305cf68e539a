/**
 * One connection, taken out of the pool for a statement or a transaction.
 *
 * Runs one statement at a time, in the order of the calls. Knows when the connection is lost, and
 * hands a connection back to the pool only if nothing of this use can reach the next one.
 *
 * ```text
 *  abort ──► cancel request on a second connection ──► the server stops the statement ──► 57014
 *                  │                                                                        │
 *                  └── closed by the server ── both, then the connection may be used again ─┘
 *                  (no answer within graceMs: the connection is cut and thrown away)
 * ```
 */

import { createHash } from 'node:crypto';

import type pg from 'pg';

import { ignore, onAbort, untilAborted } from './abort.js';
import type { DriverResult } from './driver.js';
import { destroy, ready, requestCancel, transactionStatus } from './driver.js';
import { ConnectionError, DatabaseError, fromConnect, fromDriver } from './errors.js';
import type { Settings } from './options.js';
import { encodeParameter } from './parameters.js';
import type { TypeParsers } from './parsers.js';
import { settlesWithin } from './scheduler.js';
import type { Compiled } from './sql.js';

/** What every connection of a `db` shares. */
export interface Shared {
  readonly pool: pg.Pool;
  readonly settings: Settings;
  readonly parsers: TypeParsers;
}

/** How one statement is run. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** True outside a transaction: a lost connection leaves the outcome open. */
  readonly autocommit?: boolean | undefined;
  /** Throws if the statement must not be sent any more; called when its turn comes. */
  readonly guard?: (() => void) | undefined;
}

/** `pg` takes `queryMode`, its types do not tell. */
type QueryConfig = pg.QueryConfig<(string | Buffer | null)[]> & { queryMode?: 'extended' };

const QUERY_CANCELED = '57014';

/** Beyond this many texts nothing more is prepared: programs that build SQL would fill the server. */
const PREPARED_MAX = 500;

const preparedNames = new Map<string, string>();

/** A connection in use. */
export class Connection {
  readonly #client: pg.PoolClient;
  readonly #shared: Shared;
  readonly #onLost: (error: Error) => void;
  #lost: Error | undefined;
  #unfit = false;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(client: pg.PoolClient, shared: Shared) {
    this.#client = client;
    this.#shared = shared;
    this.#onLost = (error) => {
      this.#lost ??= error;
    };
    client.on('error', this.#onLost);
  }

  /** Takes a connection out of the pool; waits for one until the signal aborts. */
  static async acquire(shared: Shared, signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const pending = shared.pool.connect();
    try {
      return new Connection(await untilAborted(pending, signal), shared);
    } catch (error) {
      if (signal?.aborted !== true) throw fromConnect(error);
      // Whatever arrives late goes straight back.
      pending.then((client) => {
        client.release();
      }, ignore);
      throw signal.reason;
    }
  }

  /** The client of `pg` underneath, for its start-up parameters. */
  get client(): pg.ClientBase {
    return this.#client;
  }

  /** True once the connection has ended. */
  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** Runs a statement with parameters. */
  run(statement: Compiled, options: RunOptions = {}): Promise<DriverResult> {
    const { prepare } = this.#shared.settings;
    const config: QueryConfig = {
      text: statement.text,
      values: statement.values.map(encodeParameter),
      types: this.#shared.parsers,
      queryMode: 'extended',
      name: prepare ? preparedName(statement.text) : undefined,
    };
    return this.#enqueue(config, options);
  }

  /** Runs text without parameters; may hold several statements. Returns the last result. */
  async script(text: string, options: RunOptions = {}): Promise<DriverResult> {
    const types = this.#shared.parsers;
    const result: unknown = await this.#enqueue({ text, types }, options);
    return (Array.isArray(result) ? result.at(-1) : result) as DriverResult;
  }

  /** Resolves when everything that was asked for has been answered. */
  async idle(): Promise<void> {
    await this.#tail;
    await ready(this.#client);
  }

  /** Resolves when the answer to the last statement is complete, its error included. */
  async ready(): Promise<void> {
    await ready(this.#client);
  }

  /** True if the server refuses statements until a rollback, or may. Call when ready. */
  get failed(): boolean {
    const status = transactionStatus(this.#client);
    return status !== 'I' && status !== 'T';
  }

  /** True if a transaction may still be open on the server. Call when idle. */
  get inTransaction(): boolean {
    return !this.lost && transactionStatus(this.#client) !== 'I';
  }

  /** Cuts the connection; what is running on it fails. */
  cut(): void {
    this.#unfit = true;
    destroy(this.#client);
  }

  /** Gives the connection back, or throws it away if it is lost or not fit for the next use. */
  release(): void {
    this.#client.release(this.#lost ?? this.#unfit);
    this.#client.removeListener('error', this.#onLost);
  }

  #enqueue(config: QueryConfig, options: RunOptions): Promise<DriverResult> {
    const before = this.#tail;
    const turn = (async () => {
      await before;
      options.signal?.throwIfAborted();
      options.guard?.();
      return this.#send(config, options);
    })();
    this.#tail = turn.then(ignore, ignore);
    // A statement that waits for its turn is given up at once when its signal aborts.
    return this.#untilSent(before, turn, options.signal);
  }

  async #untilSent(
    before: Promise<unknown>,
    turn: Promise<DriverResult>,
    signal?: AbortSignal,
  ): Promise<DriverResult> {
    turn.catch(ignore);
    await untilAborted(before, signal);
    return turn;
  }

  async #send(config: QueryConfig, options: RunOptions): Promise<DriverResult> {
    const { signal } = options;
    if (this.#lost !== undefined) throw new ConnectionError(this.#lost.message, {}, this.#lost);
    let cancelling: Promise<void> | undefined;
    const running = this.#client.query<Record<string, unknown>>(config);
    const forget = onAbort(signal, () => {
      cancelling = this.#cancel(running);
    });
    try {
      return await running;
    } catch (error) {
      const failure = fromDriver(error, {
        statement: config.text,
        lost: this.#lost,
        ambiguous: options.autocommit,
      });
      if (failure instanceof ConnectionError) this.#unfit = true;
      const cancelled =
        (failure instanceof DatabaseError && failure.code === QUERY_CANCELED) ||
        failure instanceof ConnectionError;
      if (cancelling !== undefined && cancelled) throw signal?.reason;
      throw failure;
    } finally {
      forget();
      if (cancelling !== undefined) await cancelling;
    }
  }

  /** Cancels the running statement; resolves when it is safe to go on with this connection. */
  async #cancel(running: Promise<unknown>): Promise<void> {
    const { scheduler, graceMs } = this.#shared.settings;
    const request = requestCancel(this.#client);
    // A request that cannot be delivered, or that nobody acts upon, ends with the connection.
    const delivered = request.then(
      () => true,
      () => false,
    );
    const both = Promise.allSettled([running, request]);
    if (!(await settlesWithin(scheduler, graceMs, both)) || !(await delivered)) this.cut();
    await ready(this.#client);
  }
}

function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined) return known;
  if (preparedNames.size >= PREPARED_MAX) return undefined;
  const name = `braid_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  preparedNames.set(text, name);
  return name;
}
