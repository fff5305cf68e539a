/**
 * `connect` and `db`: a pool of connections, single statements and transactions.
 */

import pg from 'pg';

import { ignore } from './abort.js';
import type { Batcher, BatcherOptions } from './batcher/index.js';
import { makeBatcher } from './batcher/index.js';
import type { Call } from './calls.js';
import { blame } from './calls.js';
import type { Shared } from './connection.js';
import { Connection } from './connection.js';
import type { DriverResult } from './driver.js';
import { recordingParameters, recordParameters, startupParameters } from './driver.js';
import { BraidError, OptionError, UsageError } from './errors.js';
import type { ConnectOptions, QueryOptions, Settings, TransactionOptions } from './options.js';
import { readConnectOptions, readQueryOptions, readTransactionOptions } from './options.js';
import { makeParsers } from './parsers.js';
import type { Executor, Queryable } from './queryable.js';
import { joinOptions, makeQueryable } from './queryable.js';
import type { ServerInfo } from './server.js';
import { detectServer, featuresOf } from './server.js';
import type { AnyRow, Sql } from './sql.js';
import { leftOpen, Singles } from './single.js';
import { ServerClock, uuidOfTime } from './token.js';
import { runTransaction } from './transaction.js';
import type { Stays, TransactionFunction } from './tx.js';
import type { PendingWrite } from './write.js';

/** A database: statements outside transactions, and transactions. Made by {@link connect}. */
export interface Database extends Queryable, AsyncDisposable {
  /** Which server this is, known from its start-up parameters. */
  readonly server: ServerInfo;

  /** The same database with options for each statement and transaction; a new frozen handle. */
  with(options: QueryOptions): Database;

  /**
   * Runs the whole function again whenever the transaction fails with a transient error and has had
   * no effect (see {@link isTransient}), so it must not do anything outside the transaction that
   * cannot be done twice.
   *
   * SQL: `BEGIN ISOLATION LEVEL SERIALIZABLE`, your statements, `COMMIT`; after an error
   * `ROLLBACK`, and from the start. On BraidDB and CockroachDB `SAVEPOINT cockroach_restart` behind
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
   * Closes the batchers, waits for what is running, then closes the connections; a pool of your own
   * stays open.
   */
  close(): Promise<void>;
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
  const pool = ownPool ? makePool(String(target), settings) : target;
  if (!ownPool) recordParameters(pool);
  const parsers = makeParsers(settings.parsers);
  // The first questions are read in our way, whatever the caller wants for his own.
  const features = featuresOf('postgresql', undefined);
  const basic = { pool, ownPool, settings, parsers: makeParsers({}), features };
  try {
    const connection = await Connection.acquire(basic);
    try {
      const parameters = startupParameters(connection.client) ?? new Map<string, string>();
      const server = detectServer(parameters);
      const asks = server.kind === 'braiddb' && settings.commitTokens;
      const token = asks ? await tokenMaker(connection, settings) : undefined;
      const shared: Shared = { ...basic, parsers, features: featuresOf(server.kind, token) };
      return new Handle(shared, ownPool, server).database({});
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
  const { rows } = await connection.run({ text, values: [] });
  if (rows[0]?.known !== true) return undefined;
  const clock = new ServerClock(Number(rows[0].now_ms), settings.scheduler.now);
  return () => uuidOfTime(clock.now());
}

function makePool(url: string, settings: Settings): pg.Pool {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new OptionError('url', 'must start with postgresql:// or postgres://');
  }
  const config: pg.PoolConfig = {
    connectionString: url,
    max: settings.connectionsMax,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    idleTimeoutMillis: settings.idleTimeoutMs,
    fallback_application_name: settings.applicationName,
    keepAlive: true,
    Client: recordingParameters(pg.Client),
  };
  const pool = new pg.Pool(config);
  // Without a listener the loss of an unused connection would end the process.
  pool.on('error', settings.onConnectionLost ?? ignore);
  return pool;
}

/** What all handles of one database share. */
class Handle {
  readonly #shared: Shared;
  readonly #ownPool: boolean;
  readonly #server: ServerInfo;
  readonly #singles: Singles;
  readonly #running = new Set<Promise<unknown>>();
  readonly #batchers = new Set<{ close(): Promise<void> }>();
  #closing: Promise<void> | undefined;

  constructor(shared: Shared, ownPool: boolean, server: ServerInfo) {
    this.#shared = shared;
    this.#ownPool = ownPool;
    this.#server = server;
    this.#singles = new Singles(shared);
  }

  /** The public face, with options bound to it. */
  database(bound: QueryOptions): Database {
    const close = (): Promise<void> => (this.#closing ??= this.#close());
    const tracked = <T>(work: () => Promise<T>): Promise<T> => this.#track(work);
    const queryable = makeQueryable(this.#executor(tracked), bound);
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
      close,
      [Symbol.asyncDispose]: close,
    });
  }

  /** How statements outside transactions are sent; `track` lets `close` wait for them. */
  #executor(track: <T>(work: () => Promise<T>) => Promise<T>): Executor {
    return {
      features: this.#shared.features,
      execute: ({ statement }, options, call) =>
        track(() => this.#execute(statement, options, call)),
      single: this.#ownPool ? (statement) => track(() => this.#singles.run(statement)) : undefined,
      script: (text, options, call) => track(() => this.#execute(text, options, call)),
      write: (statements, options, call) => this.#write(statements, options, call, track),
    };
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
    const { scheduler } = this.#shared.settings;
    const onClosed = (): void => {
      this.#batchers.delete(batcher);
    };
    const host = { db, once, scheduler, onClosed };
    const batcher = makeBatcher<Row>(host, table, options);
    this.#batchers.add(batcher);
    return batcher;
  }

  async #transaction<T>(
    bound: QueryOptions,
    args: [TransactionFunction<T>] | [TransactionOptions, TransactionFunction<T>],
  ): Promise<T> {
    const [options, fn] = args.length === 1 ? [{}, args[0]] : args;
    if (typeof (fn as unknown) !== 'function') {
      throw new TypeError('db.transaction takes a function: db.transaction(async (tx) => …)');
    }
    const read = readTransactionOptions(options, this.#shared.settings.transaction);
    return runTransaction(this.#shared, { ...read, ...joinOptions(bound, read) }, fn);
  }

  async #execute(
    statement: Sql | string,
    options: QueryOptions,
    call: Call,
  ): Promise<DriverResult> {
    const { text, values } =
      typeof statement === 'string' ? { text: statement, values: [] } : statement.compile();
    const onFailure = (error: unknown): unknown => blame(error, { text, parameters: values, call });
    if (typeof statement !== 'string' && options.signal === undefined && this.#ownPool) {
      return this.#singles.run(statement).catch((error: unknown) => {
        throw onFailure(error);
      });
    }
    const connection = await Connection.acquire(this.#shared, options.signal);
    const runOptions = { ...options, autocommit: true, onFailure };
    try {
      if (typeof statement !== 'string')
        return checkClosed(connection, await connection.run({ text, values }, runOptions));
      try {
        return checkClosed(connection, await connection.script(text, runOptions));
      } finally {
        await connection.idle();
        if (connection.inTransaction) connection.cut();
      }
    } finally {
      connection.release();
    }
  }

  /** Runs writes, later in this turn, so that their result can still be asked for. */
  #write(
    statements: readonly Sql[],
    options: QueryOptions,
    call: Call,
    track: <T>(work: () => Promise<T>) => Promise<T>,
  ): PendingWrite {
    let change = (statement: Sql): Sql => statement;
    let started = false;
    let awaited = false;
    const work = Promise.resolve().then(() => {
      started = true;
      const changed = statements.map(change);
      return track(() => this.#writeAll(changed, options, call));
    });
    work.catch((error: unknown) => {
      // An unhandled rejection, as of any promise that nobody looks at; it names the statement.
      if (!awaited) void Promise.reject(unawaitedFailure(statements, error, call));
    });
    return {
      accepted: () => {
        awaited = true;
        return work.then(ignore);
      },
      ordinary: (wanted) => {
        if (started) throw new UsageError('ask for the result at once: the write has been sent');
        change = wanted;
        awaited = true;
        return work;
      },
    };
  }

  /** One statement by itself; several in a transaction, so that all take effect or none. */
  async #writeAll(
    statements: readonly Sql[],
    options: QueryOptions,
    call: Call,
  ): Promise<readonly DriverResult[]> {
    const [first, second] = statements;
    if (first === undefined) return [];
    if (second === undefined) return [await this.#execute(first, options, call)];
    const settings = { ...this.#shared.settings.transaction, ...options };
    return runTransaction(this.#shared, settings, async (tx) => {
      const results: DriverResult[] = [];
      for (const statement of statements) {
        const { rows, count, command } = await tx.query(statement);
        results.push({ rows, rowCount: count, command });
      }
      return results;
    });
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

  async #close(): Promise<void> {
    await Promise.all([...this.#batchers].map((batcher) => batcher.close()));
    await Promise.allSettled(this.#running);
    if (this.#ownPool) await this.#shared.pool.end();
  }
}

/** The error of a write that failed and that nobody has awaited, with the text of its statement. */
function unawaitedFailure(statements: readonly Sql[], error: unknown, call: Call): BraidError {
  const text = statements[0]?.compile().text ?? '';
  const reason = error instanceof Error ? error.message : String(error);
  const message = `a write that nobody awaits has failed: ${reason}; statement: ${text}`;
  const failure = new BraidError(message, { cause: error });
  blame(failure, { text, parameters: [], call });
  return failure;
}

/** Refuses a BEGIN outside `db.transaction`: the next user of the connection would be inside it. */
function checkClosed(connection: Connection, result: DriverResult): DriverResult {
  if (!connection.inTransaction) return result;
  connection.cut();
  throw leftOpen();
}
