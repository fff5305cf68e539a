/**
 * `connect` and `db`: a pool of connections, single statements and transactions.
 */

import type pg from 'pg';

import { ignore } from './abort.js';
import type { Batcher, BatcherOptions } from './batcher/index.js';
import { makeBatcher } from './batcher/index.js';
import type { CallSite } from './call-sites.js';
import { attachCallSite, captureCallSite } from './call-sites.js';
import { AutocommitRunner, runOn } from './connection/autocommit.js';
import type { DatabaseContext } from './connection/context.js';
import { Connection } from './connection/connection.js';
import type { DriverResult } from './connection/driver.js';
import { recordParameters, startupParameters } from './connection/driver.js';
import type { StatementRequest } from './connection/request.js';
import { runLater } from './connection/run-later.js';
import { lazyIterator } from './copy/lazy-iterator.js';
import type { CopyWork } from './copy/work.js';
import { UsageError } from './errors.js';
import type { ListenGap, ListenOptions, Notification, NotificationStream } from './listen/types.js';
import { readListenOptions } from './listen/types.js';
import type {
  CloseOptions,
  ConnectOptions,
  QueryOptions,
  Settings,
  StreamOptions,
  TransactionOptions,
} from './options.js';
import {
  joinOptions,
  readCloseOptions,
  readConnectOptions,
  readQueryOptions,
  readStreamOptions,
  readTransactionOptions,
} from './options.js';
import type { AwaitedCall, Executor, Queryable } from './query/queryable.js';
import { makeQueryable } from './query/queryable.js';
import type { ReservedConnection } from './reserve/handle.js';
import { settlesWithin } from './scheduler.js';
import type { ServerInfo } from './server.js';
import { detectServer, featuresOf } from './server.js';
import type { Statement, ToSqlQuery } from './sql/foreign.js';
import { readStatement } from './sql/foreign.js';
import type { Parameter } from './sql/parameters.js';
import { makeParsers } from './sql/parsers.js';
import type { AnyRow, Sql } from './sql/template.js';
import { Counts } from './stats.js';
import { ServerClock, uuidOfTime } from './transaction/commit-token.js';
import type { Stays, TransactionFunction } from './transaction/handle.js';
import type { RowStream } from './transaction/row-stream.js';
import { runTransaction } from './transaction/runner.js';

/** A database: statements outside transactions, and transactions. Made by {@link connect}. */
export interface Database extends Queryable, AsyncDisposable {
  /** Which server this is, known from its start-up parameters. */
  readonly server: ServerInfo;

  /** The same database with options for each statement and transaction; a new frozen handle. */
  with(options: QueryOptions): Database;

  /**
   * Runs the whole function again whenever the transaction fails with a transient error and has had
   * no effect (see {@link isTransient}). The function must therefore do nothing outside the
   * transaction that cannot be done twice.
   *
   * SQL: `BEGIN ISOLATION LEVEL SERIALIZABLE`, your statements, `COMMIT`; after an error
   * `ROLLBACK`, and from the start. On BraidDB and CockroachDB `SAVEPOINT cockroach_restart` after
   * BEGIN, `RELEASE SAVEPOINT cockroach_restart` before COMMIT, and after 40001 `ROLLBACK TO
   * SAVEPOINT cockroach_restart`: the next attempt keeps its locks. On BraidDB also `SET LOCAL
   * commit_token = '…'`: a connection lost during COMMIT is resolved with `SELECT
   * braid_commit_status('…')`. BEGIN travels with the first statement, COMMIT with the last writes.
   *
   * Fails with what the function throws; a {@link RetriesExhaustedError} when `attemptsMax` or
   * `deadlineMs` end it; a {@link CommitUnknownError} when nobody can tell whether it took effect.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const sum = await db.transaction({ readOnly: true }, async (tx) => {
   *   const row = await tx.one<{ sum: number }>`SELECT ${1}::int4 + ${2}::int4 AS sum`;
   *   return row.sum;
   * });
   * console.assert(sum === 3);
   * ```
   */
  transaction<T>(fn: TransactionFunction<T> & Stays<T>): Promise<T>;
  transaction<T>(options: TransactionOptions, fn: TransactionFunction<T> & Stays<T>): Promise<T>;

  /**
   * Reads the rows of a query in batches, each when the one before has been consumed. The stream
   * holds a connection from the first row to the last batch; leaving the loop gives it back. A
   * failure ends the stream: nothing is run again, because rows have been handed out already.
   *
   * SQL: `BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY`, `DECLARE braid_stream NO SCROLL CURSOR FOR
   * …`, `FETCH 1000 FROM braid_stream` as often as needed, `COMMIT`; `ROLLBACK` if it ends early.
   *
   * @example
   * ```ts
   * import { connect, sql } from '@braiddb/sdk';
   * const db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const numbers = sql<{ n: number }>`SELECT n FROM generate_series(1, ${5000}::int4) AS g(n)`;
   * let sum = 0;
   * for await (const { n } of db.stream(numbers, { batchRows: 500 })) {
   *   sum += n;
   *   if (n === 1000) break;
   * }
   * console.assert(sum === 500_500);
   * await db.close();
   * ```
   */
  stream<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): RowStream<Row>;
  stream<Row extends object = AnyRow>(
    statement: Statement<Row>,
    options?: StreamOptions,
  ): RowStream<Row>;
  stream<Row extends object = AnyRow>(query: ToSqlQuery, options?: StreamOptions): RowStream<Row>;

  /**
   * Takes a connection out of the pool for one user: for settings of the session, temporary tables,
   * advisory locks, or a transaction that you begin by hand. Waits for a free one until the signal
   * aborts, at most as long as a statement would.
   *
   * `release()`, `await using` or `db.close()` puts the session back to its start and gives the
   * connection back. Until then it counts towards `connectionsMax`.
   *
   * SQL: yours; at the end `ROLLBACK` if a transaction is open, and `DISCARD ALL`.
   *
   * Fails with a {@link ConnectionError} if there is no connection.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await using connection = await db.reserve();
   * await connection.query`SET search_path = information_schema`;
   * const row = await connection.one<{ search_path: string }>`SHOW search_path`;
   * console.assert(row.search_path === 'information_schema');
   * ```
   */
  reserve(options?: QueryOptions): Promise<ReservedConnection>;

  /**
   * Yields the notifications of one channel or several, as they come. It has a connection of its
   * own, outside of the pool, from the first `next()` to the end. A lost connection is made again,
   * with the pauses of `transaction` (`backoffBaseMs`, `backoffMaxMs`), as long as it takes.
   *
   * Notifications may be lost meanwhile, so the loop then sees a {@link ListenGap}, or `onGap` gets
   * it. It ends by `break`, by `db.close()`, or by the signal, which makes it throw its reason.
   *
   * SQL: `LISTEN "channel"`.
   *
   * Fails with a {@link DatabaseError} or {@link ConnectionError} that another attempt would meet
   * again, such as a wrong password.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const onListening = () => void db.notify('sdk_jobs', '17');
   * for await (const { channel, payload, gap } of db.listen('sdk_jobs', { onListening })) {
   *   if (gap !== undefined) continue; // Read the table of jobs again.
   *   console.assert(channel === 'sdk_jobs' && payload === '17');
   *   break;
   * }
   * ```
   */
  listen(
    channels: string | readonly string[],
    options: ListenOptions & { readonly onGap: (gap: ListenGap) => void },
  ): NotificationStream<Notification>;
  listen(
    channels: string | readonly string[],
    options?: ListenOptions,
  ): NotificationStream<Notification | ListenGap>;

  /**
   * Joins rows from any number of callers into multi-row statements: a queue of small writes becomes
   * a few large ones. `table` is a name, or schema and name. The properties of a row are columns.
   *
   * SQL: `INSERT INTO t (a, b) SELECT * FROM unnest($1::int8[], $2::text[])`, with `ON CONFLICT` for
   * upserts; `DELETE FROM t WHERE a = ANY($1::int8[])`.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await db.query`CREATE TABLE IF NOT EXISTS batch_demo (id INT8 PRIMARY KEY, celsius FLOAT8)`;
   * await using readings = db.batcher<{ id: number; celsius: number }>('batch_demo', {
   *   mode: 'upsert',
   * });
   * await Promise.all([1, 2, 3].map((id) => readings.add({ id, celsius: 20 + id })));
   * console.assert(readings.stats.stored === 3);
   * ```
   */
  batcher<Row extends object = AnyRow>(
    table: string | readonly [string, ...string[]],
    options?: BatcherOptions,
  ): Batcher<Row>;

  /**
   * Closes the batchers, ends the streams and listeners, gives reserved connections back, waits for
   * what is running, then closes the connections; a pool of your own stays open. With `timeoutMs` it
   * waits that long; what is left then fails with a {@link ClosedError}, and its connection is cut.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * const db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const row = db.one`SELECT ${1}::int4 AS one`;
   * await db.close({ timeoutMs: 10_000 });
   * console.assert((await row).one === 1);
   * ```
   */
  close(options?: CloseOptions): Promise<void>;
}

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
  const settings = readConnectOptions(options, ownPool);
  const { pool, hostCount } = ownPool
    ? (await import('./pool/pool.js')).makePool(String(target), settings)
    : { pool: target, hostCount: 1 };
  if (!ownPool) recordParameters(pool);
  const parsers = makeParsers(settings.parsers);
  // The SDK reads the answers to its own first questions with the default parsers.
  const features = featuresOf('postgresql', undefined);
  const closed = new AbortController();
  const shared = { inUse: new Set<Connection>(), counts: new Counts(), closed: closed.signal };
  const own = { pool, ownPool, hostCount, settings, ...shared };
  const basic: DatabaseContext = { ...own, parsers: makeParsers({}), features };
  try {
    const connection = await Connection.acquire(basic);
    try {
      const parameters = startupParameters(connection.client) ?? new Map<string, string>();
      const server = detectServer(parameters);
      const asks = server.kind === 'braiddb' && settings.commitTokens;
      const token = asks ? await tokenMaker(connection, settings) : undefined;
      const context = { ...basic, parsers, features: featuresOf(server.kind, token) };
      return new DatabaseHandle(context, server, closed).database({});
    } finally {
      connection.release();
    }
  } catch (error) {
    if (ownPool) await pool.end();
    throw error;
  }
}

/** Asks the server once whether it can tell the outcome of a lost commit, and for its time. */
async function tokenMaker(
  connection: Connection,
  settings: Settings,
): Promise<(() => string) | undefined> {
  const text = `SELECT current_setting('commit_token', true) IS NOT NULL AS known,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;
  const { rows } = await runOn(connection, { text, values: [] });
  if (rows[0]?.known !== true) return undefined;
  const clock = new ServerClock(Number(rows[0].now_ms), settings.scheduler.now);
  return () => uuidOfTime(clock.now());
}

/** What all handles of one database share. */
class DatabaseHandle {
  readonly #context: DatabaseContext;
  readonly #server: ServerInfo;
  readonly #autocommit: AutocommitRunner;
  readonly #running = new Set<Promise<unknown>>();
  readonly #batchers = new Set<{ close(): Promise<void> }>();
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
    const queryable = makeQueryable(this.#executor(track), bound);
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
      reserve: (options: QueryOptions = {}) =>
        this.#track(() => this.#reserve(joinOptions(bound, readQueryOptions(options)), bound)),
      listen: (channels: string | readonly string[], options: ListenOptions = {}) =>
        this.#listen(bound, channels, options),
      close,
      [Symbol.asyncDispose]: () => close(),
    });
  }

  /** How statements outside transactions are sent; `track` lets `close` wait for them. */
  #executor(track: Track): Executor {
    const run = async <T>(
      statement: Sql,
      { signal }: QueryOptions,
      { pick }: AwaitedCall<T>,
    ): Promise<T> => {
      let result;
      try {
        result = await track(() => this.#autocommit.run(statement.compile(), signal));
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
    const db = makeQueryable(
      this.#executor((work) => work()),
      bound,
    );
    const once = async (statement: Sql, deadlineMs: number): Promise<void> => {
      if (this.#server.kind === 'braiddb') {
        await this.#transaction(bound, [{ deadlineMs }, (tx) => tx.query(statement)]);
      } else await db.query(statement);
    };
    const { scheduler } = this.#context.settings;
    const onClosed = (): void => {
      this.#batchers.delete(batcher);
    };
    const host = { db, once, scheduler, onClosed };
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
    const names = typeof channels === 'string' ? [channels] : [...channels];
    if (names.length === 0) throw new UsageError('listen takes at least one channel');
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
  ): Promise<T> {
    const [options, fn] = args.length === 1 ? [{}, args[0]] : args;
    if (typeof (fn as unknown) !== 'function') {
      throw new TypeError('db.transaction takes a function: db.transaction(async (tx) => …)');
    }
    const read = readTransactionOptions(options, this.#context.settings.transaction);
    return runTransaction(this.#context, { ...read, ...joinOptions(bound, read) }, fn);
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

  async #runWrite(
    statement: Sql,
    signal: AbortSignal | undefined,
    callSite: CallSite | undefined,
  ): Promise<DriverResult> {
    const compiled = statement.compile();
    try {
      return await this.#autocommit.run(compiled, signal);
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
    this.#closed.abort();
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

/** Starts work that `close` waits for. */
type Track = <T>(work: () => Promise<T>) => Promise<T>;
