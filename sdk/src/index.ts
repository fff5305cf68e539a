/**
 * `@braiddb/sdk`: serializable transactions that retry themselves, SQL without string pasting and
 * typed errors, for BraidDB, PostgreSQL and CockroachDB, on top of `pg`.
 *
 * The map; a folder uses only folders below it:
 *
 * ```text
 *  client.ts        connect, db: single statements, transactions, close
 *  database/        the type of db    create-once.ts: CREATE … IF NOT EXISTS by several sessions
 *                   ask-features.ts: the settings that a server has
 *  wrap/            transactions of other libraries that run again: `@braiddb/sdk/wrap`
 *  timeline.ts      a transaction's timeline, read and drawn as a picture
 *  reserve/         a connection of the pool for one user
 *  listen/          notifications, on a connection of their own
 *  batcher/         rows of many callers joined into multi-row statements; the adaptive batch size
 *  transaction/     runner.ts: attempts, BEGIN, COMMIT, ROLLBACK    attempt.ts: one attempt, its handles
 *                   retry.ts: pauses and the deadline               commit-outcome.ts: a lost COMMIT
 *                   commit-token.ts  level.ts  handle.ts (the types of tx)
 *                   statement.ts: single statements that run again
 *  query/           queryable.ts: query, one, run, insert, …: what db and tx share
 *                   write.ts: Write and RowWrite                    locking.ts: forUpdate and its sisters
 *  copy/            copy-in.ts, copy-out.ts: rows in and out as bytes; loaded when they are used
 *                   source.ts  work.ts  methods.ts  lazy-iterator.ts (streams that load late)
 *  pool/            pool.ts: the pool that the SDK makes    hosts.ts: several hosts
 *  connection/      request.ts: one call's statements, from the call to the answer
 *                   statement-queue.ts: requests of a transaction   autocommit.ts: single statements
 *                   acquire.ts: the wait for a connection           run-later.ts: writes outside transactions
 *                   connection.ts: in use, lost, cancelled          pipeline.ts, group.ts: the wire
 *                   prepared.ts  trace-context.ts  driver.ts (pg)
 *  sql/             template.ts: the sql tag    builders.ts: typed insert, update, …
 *                   clauses.ts  parameters.ts  parsers.ts
 *  ──────────────────────────────────────────────────────────────────────────────
 *  options/         index.ts, connect.ts, batcher.ts: every option, its default and limits    checks.ts
 *  errors.ts  sqlstates.ts  call-sites.ts  diagnostics.ts  scheduler.ts  abort.ts  server.ts  stats.ts
 * ```
 *
 * A `tx.insert(…)` on its way: `queryable.ts` builds the SQL and one `StatementRequest`; `attempt.ts`
 * checks that the transaction is open; `StatementQueue` holds the request and sends it with the next
 * one; `Pipeline` writes it; the answer settles the request, and with it the `RowWrite` of the caller.
 *
 * The glossary, one meaning for each word:
 *
 * - **statement**: one SQL command with its parameters. **script**: a text of several statements
 *   without parameters.
 * - **piece**: a part of a statement, made by `sql`. **parameter**: a value that is sent apart from
 *   the text.
 * - **transaction**: a function that the SDK runs between BEGIN and COMMIT. **attempt**: one run of
 *   that function. **level**: a transaction or a nested one.
 * - **request**: the statements of one call, from the call to the answer.
 * - **awaited**: the caller waits for the result. **unawaited**: a write that the caller does not wait for.
 * - **group**: statements before one Sync message. **opening**: BEGIN and what belongs to it.
 * - **barrier**: the statement whose answer reports what the unawaited writes before it did.
 * - **retry error**: 40001 or 40P01. Nothing took effect, and another attempt may succeed.
 * - **transient**: a retry error, or another temporary failure without effect, such as a lost
 *   connection. **ambiguous**: failed, but may have taken effect.
 * - **abort**: the caller's signal. **cancel**: the request that the SDK then sends to the server.
 * - **batch**: rows that one statement stores. **column set**: the columns that a row sets.
 *   **statement template**: the statement of a column set.
 * - **gap**: a moment in a stream of notifications at which some may have been lost.
 * - **call site**: the place in the caller's source where a query method was called.
 *
 * No side effects on import, no console output.
 */

export type {
  AdaptEvent,
  AddedRows,
  Batcher,
  BatcherOptions,
  BatcherStats,
  BatchEvent,
  BatchMode,
} from './batcher/index.js';
export { createOnce } from './database/create-once.js';
export type { Database } from './database/database.js';
export { connect } from './client.js';
export type { Field } from './connection/driver.js';
export type { Copyable, CopyStream } from './copy/methods.js';
export type { LazyIterator } from './copy/lazy-iterator.js';
export type { CopyFormat, CopySource, CopyTable } from './copy/work.js';
export type {
  AcquireTrace,
  BatchTrace,
  CommitLostEvent,
  ConnectTrace,
  Place,
  QueryTrace,
  TransactionTrace,
} from './diagnostics.js';
export type { ConstraintKind, FailedStatement } from './errors.js';
export {
  BatchRowError,
  BatchTableError,
  BraidError,
  ClosedError,
  CommitAbortedError,
  CommitUnknownError,
  ConnectionError,
  ConstraintError,
  CopySourceError,
  DatabaseError,
  DeadlockError,
  isAmbiguous,
  isRetryable,
  isTransient,
  OptionError,
  RetriesExhaustedError,
  SerializationError,
  UsageError,
  ValueError,
} from './errors.js';
export type { ListenGap, ListenOptions, Notification, NotificationStream } from './listen/types.js';
export type { ConnectOptions, HostAddress, ParserOptions } from './options/connect.js';
export type {
  CloseOptions,
  Isolation,
  QueryOptions,
  RetryEvent,
  StreamOptions,
  TransactionOptions,
} from './options/index.js';
export type { Lockable, LockOptions } from './query/locking.js';
export type { Queryable, QueryResult } from './query/queryable.js';
export type { ReservedConnection } from './reserve/handle.js';
export type { Scheduler } from './scheduler.js';
export type { ServerInfo } from './server.js';
export { detectServer } from './server.js';
export type { DatabaseStats } from './stats.js';
export type { CompilableQuery, Statement, ToSqlQuery } from './sql/foreign.js';
export type { Parameter } from './sql/parameters.js';
export type { TypeParsers } from './sql/parsers.js';
export type { AnyRow, Compiled, Sql, TextOptions } from './sql/template.js';
export { sql } from './sql/template.js';
export type {
  Condition,
  Insertable,
  InsertOptions,
  RowValues,
  Selectable,
  Table,
  TableLike,
  Updateable,
} from './sql/builders.js';
export { table } from './sql/builders.js';
export type { TimelineEntry, TimelineOptions } from './timeline.js';
export { readTimeline, timelineSvg } from './timeline.js';
export type { RowStream } from './transaction/row-stream.js';
export type { Stays, Transaction, TransactionFunction } from './transaction/handle.js';
export type { RowWrite, Scope, Write } from './query/write.js';
