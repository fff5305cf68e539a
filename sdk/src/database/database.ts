/**
 * What a database handle offers: the type of `db`.
 */

import type { Batcher, BatcherOptions } from '../batcher/index.js';
import type {
  ListenGap,
  ListenOptions,
  Notification,
  NotificationStream,
} from '../listen/types.js';
import type {
  CloseOptions,
  QueryOptions,
  StreamOptions,
  TransactionOptions,
} from '../options/index.js';
import type { Queryable } from '../query/queryable.js';
import type { ReservedConnection } from '../reserve/handle.js';
import type { ServerInfo } from '../server.js';
import type { Statement, ToSqlQuery } from '../sql/foreign.js';
import type { Parameter } from '../sql/parameters.js';
import type { AnyRow, Sql } from '../sql/template.js';
import type { DatabaseStats } from '../stats.js';
import type { Stays, TransactionFunction } from '../transaction/handle.js';
import type { RowStream } from '../transaction/row-stream.js';

/** A database: statements outside transactions, and transactions. Made by `connect`. */
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
   * Numbers about the pool, statements, transactions and batchers, for metrics; costs nothing.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await db.transaction((tx) => tx.query`SELECT 1`);
   * const { connections, transactions, retries } = db.stats();
   * console.assert(connections.total === 1 && transactions === 1 && retries === 0);
   * ```
   */
  stats(): DatabaseStats;

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
