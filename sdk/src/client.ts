/**
 * `connect` and `db`: a pool of connections, single statements and transactions.
 */

import type pg from 'pg';

import { ignore } from './abort.js';
import type { Batcher, BatcherOptions } from './batcher/index.js';
import { makeBatcher } from './batcher/index.js';
import type { CallSite } from './call-sites.js';
import { attachCallSite, captureCallSite } from './call-sites.js';
import { AutocommitRunner } from './connection/autocommit.js';
import type { DatabaseContext } from './connection/context.js';
import { Connection } from './connection/connection.js';
import type { DriverResult } from './connection/driver.js';
import { recordParameters, startupParameters } from './connection/driver.js';
import type { StatementRequest } from './connection/request.js';
import { runLater } from './connection/run-later.js';
import { lazyIterator } from './copy/lazy-iterator.js';
import type { CopyWork } from './copy/work.js';
import type { Database } from './database/database.js';
import type { OnPlace } from './diagnostics.js';
import { ClosedError, OptionError, UsageError } from './errors.js';
import type { ListenOptions, NotificationStream } from './listen/types.js';
import { readListenOptions } from './listen/types.js';
import { channelOption } from './options/checks.js';
import type { ConnectOptions } from './options/connect.js';
import type { CloseOptions, QueryOptions, TransactionOptions } from './options/index.js';
import {
  joinOptions,
  readCloseOptions,
  readQueryOptions,
  readStreamOptions,
  readTransactionOptions,
} from './options/index.js';
import type { AwaitedCall, Executor, Queryable } from './query/queryable.js';
import { makeQueryable } from './query/queryable.js';
import type { ReservedConnection } from './reserve/handle.js';
import { settlesWithin } from './scheduler.js';
import type { ServerInfo } from './server.js';
import { detectServer, featuresOf, NOTHING_ASKED } from './server.js';
import { readStatement } from './sql/foreign.js';
import { makeParsers } from './sql/parsers.js';
import type { Compiled, Sql } from './sql/template.js';
import type { DatabaseStats } from './stats.js';
import { Counts } from './stats.js';
import type { TransactionFunction } from './transaction/handle.js';
import type { RowStream } from './transaction/row-stream.js';
import { runTransaction } from './transaction/runner.js';
import { runStatement } from './transaction/statement.js';

/**
 * Connects to BraidDB, PostgreSQL or CockroachDB: opens a first connection, so that a wrong address
 * or password fails here. Give it a URL, or a pool of `pg` that you keep yourself (its connections
 * are known for what they are if they were opened after this call; older ones count as PostgreSQL).
 *
 * @example
 * ```ts
 * import { connect } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb', {
 *   connectionsMax: 4,
 * });
 * const { rows } = await db.query<{ id: bigint }>`SELECT ${7}::int8 AS id`;
 * console.assert(rows[0]?.id === 7n && db.server.kind !== undefined);
 * ```
 */
export async function connect(
  target: string | URL | pg.Pool,
  options: ConnectOptions = {},
): Promise<Database> {
  const ownPool = typeof target === 'string' || target instanceof URL;
  if (!ownPool && typeof (target as Partial<pg.Pool> | null)?.connect !== 'function') {
    throw new OptionError('url', 'must be a URL or a pool');
  }
  const { readConnectOptions } = await import('./options/connect.js');
  const settings = readConnectOptions(options, ownPool);
  const { pool, hostCount } = ownPool
    ? (await import('./pool/pool.js')).makePool(String(target), settings)
    : { pool: target, hostCount: 1 };
  if (!ownPool) recordParameters(pool);
  const parsers = makeParsers(settings.parsers);
  // The SDK reads the answers to its own first questions with the default parsers.
  const features = featuresOf('postgresql', NOTHING_ASKED);
  const closed = new AbortController();
  const shared = { inUse: new Set<Connection>(), counts: new Counts(), closed: closed.signal };
  const own = { pool, ownPool, hostCount, settings, ...shared };
  const basic: DatabaseContext = { ...own, parsers: makeParsers({}), features };
  try {
    const connection = await Connection.acquire(basic);
    try {
      const parameters = startupParameters(connection.client) ?? new Map<string, string>();
      const server = detectServer(parameters);
      if (ownPool) (await import('./pool/hosts.js')).checkVersion(server);
      const isAsked = settings.commitTokens || settings.traceparent !== undefined;
      const asks = server.kind === 'braiddb' && isAsked;
      const asked = asks
        ? await (await import('./database/ask-features.js')).askFeatures(connection, settings)
        : NOTHING_ASKED;
      const context = { ...basic, parsers, features: featuresOf(server.kind, asked) };
      return new DatabaseHandle(context, server, closed).database({});
    } finally {
      connection.release();
    }
  } catch (error) {
    if (ownPool) await pool.end();
    throw error;
  }
}

/** What all handles of one database share. */
class DatabaseHandle {
  readonly #context: DatabaseContext;
  readonly #server: ServerInfo;
  readonly #autocommit: AutocommitRunner;
  readonly #running = new Set<Promise<unknown>>();
  readonly #batchers = new Set<Pick<Batcher<object>, 'close' | 'stats'>>();
  /** Streams, listeners and the like: `close` ends them. */
  readonly #streams = new Set<AbortController>();
  readonly #reserved = new Set<ReservedConnection>();
  readonly #closed: AbortController;
  #closing: Promise<void> | undefined;
  #poolEnd: Promise<void> | undefined;

  constructor(context: DatabaseContext, server: ServerInfo, closed: AbortController) {
    this.#context = context;
    this.#server = server;
    this.#closed = closed;
    this.#autocommit = new AutocommitRunner(context);
  }

  /** The public handle, with options bound to it. */
  database(bound: QueryOptions): Database {
    const close = (options: CloseOptions = {}): Promise<void> => this.#close(options);
    const track: Track = (work) => this.#track(work);
    const run: RunStatement = (compiled, signal) => this.#again(compiled, signal);
    const queryable = makeQueryable(this.#executor(track, run), bound);
    const stream = (...args: unknown[]): RowStream<never> =>
      this.#stream(bound, args, captureCallSite(stream));
    return Object.freeze({
      ...queryable,
      server: this.#server,
      with: (options: QueryOptions) => this.database(joinOptions(bound, readQueryOptions(options))),
      transaction: <T>(
        ...args: [TransactionFunction<T>] | [TransactionOptions, TransactionFunction<T>]
      ) => this.#track(() => this.#transaction(bound, args)),
      batcher: <Row extends object>(
        table: string | readonly [string, ...string[]],
        options: BatcherOptions = {},
      ) => this.#batcher<Row>(bound, table, options),
      stream,
      stats: () => this.#stats(),
      reserve: (options: QueryOptions = {}) =>
        this.#track(async () =>
          this.#reserve(joinOptions(bound, readQueryOptions(options)), bound),
        ),
      listen: (channels: string | readonly string[], options: ListenOptions = {}) =>
        this.#listen(bound, channels, options),
      close,
      [Symbol.asyncDispose]: () => close(),
    });
  }

  /** How statements outside transactions are sent; `track` lets `close` wait for them. */
  #executor(track: Track, runOne: RunStatement): Executor {
    const run = async <T>(
      statement: Sql,
      { signal }: QueryOptions,
      { pick }: AwaitedCall<T>,
    ): Promise<T> => {
      let result;
      try {
        result = await track(() => runOne(statement.compile(), signal));
      } catch (error) {
        // Capturing each call site would cost as much as the rest of the call. The stack of this
        // asynchronous function goes on with the code that awaits it, so it is captured here.
        const { text, values } = statement.compile();
        throw attachCallSite(error, { text, parameters: values, callSite: captureCallSite(run) });
      }
      return pick(result);
    };
    return {
      features: this.#context.features,
      run,
      script: (text, { signal }, callSite) =>
        track(() => this.#autocommit.script(text, signal)).catch((error: unknown) => {
          throw attachCallSite(error, { text, parameters: [], callSite });
        }),
      submit: (request) => {
        runLater(request, () => track(() => this.#runWrites(request)));
      },
      copy: (work) => this.#copy(work, track),
    };
  }

  /** Runs a COPY on a connection of its own; `close` ends one whose rows are being read. */
  async #copy(work: CopyWork, track: Track): Promise<DriverResult> {
    const { text, callSite, stop, isRead } = work;
    try {
      return await track(() => {
        if (isRead) this.#streams.add(stop);
        return this.#autocommit.text(work);
      });
    } catch (error) {
      throw attachCallSite(error, { text, parameters: [], callSite });
    } finally {
      this.#streams.delete(stop);
    }
  }

  #batcher<Row extends object>(
    bound: QueryOptions,
    table: string | readonly [string, ...string[]],
    options: BatcherOptions,
  ): Batcher<Row> {
    if (this.#closing !== undefined) throw new UsageError('the database handle is closed');
    // A batcher has rules of its own for what it sends again.
    const through = (onPlace?: OnPlace): Queryable => {
      const run: RunStatement = (...args) => this.#autocommit.run(...args, onPlace);
      return makeQueryable(
        this.#executor((work) => work(), run),
        bound,
      );
    };
    const db = through();
    const alone = async (statement: Sql, onPlace?: OnPlace): Promise<void> => {
      await (onPlace === undefined ? db : through(onPlace)).query(statement);
    };
    const once = async (statement: Sql, deadlineMs: number, onPlace?: OnPlace): Promise<void> => {
      if (this.#server.kind !== 'braiddb') return alone(statement, onPlace);
      await this.#transaction(bound, [{ deadlineMs }, (tx) => tx.query(statement)], onPlace);
    };
    const { settings, counts } = this.#context;
    const { scheduler } = settings;
    const onClosed = (): void => {
      if (!this.#batchers.delete(batcher)) return;
      const { stored, rejected, statements } = batcher.stats;
      counts.batches.rows += stored;
      counts.batches.rejected += rejected;
      counts.batches.statements += statements;
    };
    const host = { db, once, alone, scheduler, onClosed };
    const batcher = makeBatcher<Row>(host, table, options);
    this.#batchers.add(batcher);
    return batcher;
  }

  #stream<Row extends object>(
    bound: QueryOptions,
    args: readonly unknown[],
    callSite: CallSite,
  ): RowStream<Row> {
    const [statement, given] = readStatement(args);
    const { batchRows, signal } = readStreamOptions(given ?? {});
    if (this.#closing !== undefined) throw new UsageError('the database handle is closed');
    const closing = new AbortController();
    const own = joinOptions(joinOptions(bound, { signal }), { signal: closing.signal });
    const source = {
      ...{ context: this.#context, statement, batchRows, callSite },
      signal: own.signal ?? closing.signal,
      onStart: () => {
        if (this.#closing !== undefined) throw new UsageError('the database handle is closed');
        this.#streams.add(closing);
        let onEnd = ignore;
        void this.#track(() => new Promise<void>((resolve) => (onEnd = resolve)));
        return () => {
          this.#streams.delete(closing);
          onEnd();
        };
      },
    };
    const load = async (): Promise<RowStream<Row>> =>
      (await import('./transaction/row-stream.js')).makeRowStream<Row>(source);
    return Object.freeze(lazyIterator<Row>(load, ignore));
  }

  #stats(): DatabaseStats {
    const { pool, counts } = this.#context;
    const { statements, transactions, retries, commitsLost } = counts;
    const batches = { ...counts.batches, waiting: 0 };
    for (const { stats } of this.#batchers) {
      batches.rows += stats.stored;
      batches.rejected += stats.rejected;
      batches.statements += stats.statements;
      batches.waiting += stats.waiting;
    }
    const connections = {
      ...{ total: pool.totalCount, idle: pool.idleCount, waiting: counts.waiting },
      ...{ max: pool.options.max, reserved: this.#reserved.size },
    };
    return { connections, statements, transactions, retries, commitsLost, batches };
  }

  async #reserve({ signal }: QueryOptions, bound: QueryOptions): Promise<ReservedConnection> {
    const { makeReserved } = await import('./reserve/reserved.js');
    const context = this.#context;
    const connection = await Connection.acquire(context, signal);
    const onReleased = (): void => {
      this.#reserved.delete(reserved);
    };
    const reserved = makeReserved({ context, connection, bound, onReleased });
    this.#reserved.add(reserved);
    return reserved;
  }

  #listen(
    bound: QueryOptions,
    channels: string | readonly string[],
    options: ListenOptions,
  ): NotificationStream<never> {
    const names = channelOption('channels', channels);
    const read = readListenOptions(options);
    const settings = { ...read, ...joinOptions(bound, read) };
    if (this.#closing !== undefined) throw new UsageError('the database handle is closed');
    const closing = new AbortController();
    const leaving = new AbortController();
    const onStart = (work: Promise<void>): void => {
      this.#streams.add(closing);
      void this.#track(() => work).finally(() => this.#streams.delete(closing));
    };
    return lazyIterator(
      async () => {
        const { listen } = await import('./listen/listen.js');
        const context = this.#context;
        const call = { context, channels: names, settings, closing, leaving, onStart };
        if (this.#closing !== undefined) closing.abort();
        return listen(call) as AsyncGenerator<never, undefined, undefined>;
      },
      () => {
        leaving.abort('the reader has left');
      },
    );
  }

  async #transaction<T>(
    bound: QueryOptions,
    args: [TransactionFunction<T>] | [TransactionOptions, TransactionFunction<T>],
    onPlace?: OnPlace,
  ): Promise<T> {
    const [options, fn] = args.length === 1 ? [{}, args[0]] : args;
    if (typeof (fn as unknown) !== 'function') {
      throw new UsageError('db.transaction takes a function: db.transaction(async (tx) => …)');
    }
    const read = readTransactionOptions(options, this.#context.settings.transaction);
    return runTransaction(this.#context, { ...read, ...joinOptions(bound, read) }, fn, onPlace);
  }

  /** One statement by itself; several in a transaction, so that all take effect or none. */
  async #runWrites(request: StatementRequest): Promise<readonly DriverResult[]> {
    const { statements, signal, callSite } = request;
    const [first, second] = statements;
    if (first === undefined) return [];
    if (second === undefined) return [await this.#runWrite(first, signal, callSite)];
    const defaults = this.#context.settings.transaction;
    const settings = { ...defaults, ...(signal === undefined ? {} : { signal }) };
    return runTransaction(this.#context, settings, async (tx) => {
      const results: DriverResult[] = [];
      for (const statement of statements) {
        const { rows, count, command } = await tx.query(statement);
        results.push({ rows, rowCount: count, command });
      }
      return results;
    });
  }

  /** Runs a statement, and again where it has had no effect. */
  #again(compiled: Compiled, signal: AbortSignal | undefined): Promise<DriverResult> {
    const run = (): Promise<DriverResult> => this.#autocommit.run(compiled, signal);
    return runStatement(this.#context.settings, compiled.text, signal, run);
  }

  async #runWrite(
    statement: Sql,
    signal: AbortSignal | undefined,
    callSite: CallSite | undefined,
  ): Promise<DriverResult> {
    const compiled = statement.compile();
    try {
      return await this.#again(compiled, signal);
    } catch (error) {
      const { text, values } = compiled;
      throw attachCallSite(error, { text, parameters: values, callSite });
    }
  }

  /** Runs work unless the database is closed, and lets `close` wait for it. */
  #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) {
      return Promise.reject(new UsageError('the database handle is closed'));
    }
    const running = work();
    const done = (): void => {
      this.#running.delete(running);
    };
    this.#running.add(running);
    running.then(done, done);
    return running;
  }

  /** Waits for what is running, at most as long as `timeoutMs`; what is left then is cut. */
  async #close(options: CloseOptions): Promise<void> {
    const timeoutMs = readCloseOptions(options);
    this.#closing ??= this.#drain();
    if (timeoutMs === undefined) return this.#closing;
    const { inUse, settings } = this.#context;
    const { graceMs, scheduler } = settings;
    if (await settlesWithin(scheduler, timeoutMs, this.#closing)) return this.#closing;
    this.#closed.abort(new ClosedError());
    for (const connection of inUse) connection.cut();
    // A function that never ends keeps its connection, which has been cut: it is not waited for.
    const ended = Promise.allSettled([this.#closing, this.#endPool()]);
    await settlesWithin(scheduler, graceMs, ended);
  }

  async #drain(): Promise<void> {
    const reason = new UsageError('the stream has ended: its database handle was closed');
    for (const stream of this.#streams) stream.abort(reason);
    for (const reserved of this.#reserved) void reserved.release();
    await Promise.all([...this.#batchers].map((batcher) => batcher.close()));
    await Promise.allSettled(this.#running);
    await Promise.allSettled([...this.#reserved].map((reserved) => reserved.release()));
    await this.#endPool();
  }

  #endPool(): Promise<void> {
    const { ownPool, pool } = this.#context;
    return (this.#poolEnd ??= ownPool ? pool.end() : Promise.resolve());
  }
}

/** Runs one statement outside a transaction. */
type RunStatement = (statement: Compiled, signal: AbortSignal | undefined) => Promise<DriverResult>;

/** Starts work that `close` waits for. */
type Track = <T>(work: () => Promise<T>) => Promise<T>;
