/**
 * `@braiddb/sdk`: serializable transactions that retry themselves, SQL without string pasting and
 * typed errors, for BraidDB, PostgreSQL and CockroachDB, on top of `pg`.
 *
 * The map:
 *
 * ```text
 *  client.ts       connect, db: single statements, transactions, close
 *  transaction.ts  attempts of a transaction: BEGIN, COMMIT, the restart savepoint, ROLLBACK
 *  run.ts          one attempt: the tx handle, nested ones, which call an error belongs to
 *  outcome.ts      what became of a COMMIT whose answer was lost    token.ts  what it is asked by
 *  retry.ts        attempts, pauses, the deadline
 *  batcher/        rows of many callers joined into multi-row statements; the adaptive size
 *  queryable.ts    query, one, maybeOne, script, run, insert, …: what db and tx share
 *  write.ts        writes whose result nobody asked for    locking.ts  forUpdate and its sisters
 *  sql.ts          the sql tag: text and parameters        tables.ts   typed insert, update, …
 *  timeline.ts     a transaction's timeline as a picture
 *  connection.ts   one connection in use: order, holding writes, cancelling, loss
 *  single.ts       one statement outside of a transaction: the short way
 *  pipe.ts         groups of statements on the wire, written ahead of their answers
 *  ─────────────────────────────────────────────────────────────────────────
 *  errors.ts  calls.ts  options.ts  diagnostics.ts  parameters.ts  parsers.ts  sqltext.ts
 *  scheduler.ts  abort.ts  server.ts  tx.ts (types)  driver.ts (pg)
 * ```
 *
 * The words, one meaning each:
 *
 * - **statement**: one SQL command with its parameters. **script**: text with several, without any.
 * - **piece**: a part of a statement made by `sql`. **parameter**: a value that travels apart.
 * - **transaction**: a function that the SDK runs between BEGIN and COMMIT. **attempt**: one run of it.
 * - **retry error**: 40001 or 40P01; nothing took effect, another attempt may succeed.
 * - **transient**: a retry error, or another one of the moment without effect, such as a lost connection.
 * - **ambiguous**: failed, but may have taken effect.
 * - **write**: a statement whose result nobody asked for. **awaited**: one whose answer is waited for.
 * - **group**: statements in front of one Sync. **barrier**: the answer that tells what writes did.
 * - **abort**: the caller's signal. **cancel**: what the SDK then asks the server to do.
 *
 * - **batch**: rows that one statement stores. **shape**: the set of columns that a row sets.
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
export type { Database } from './client.js';
export { connect } from './client.js';
export type { CommitLostEvent } from './diagnostics.js';
export type { ConstraintKind, FailedStatement } from './errors.js';
export {
  BatchRowError,
  BatchTableError,
  BraidError,
  CommitAbortedError,
  CommitUnknownError,
  ConnectionError,
  ConstraintError,
  DatabaseError,
  DeadlockError,
  isAmbiguous,
  isRetryable,
  isTransient,
  OptionError,
  RetriesExhaustedError,
  SerializationError,
  UsageError,
} from './errors.js';
export type {
  ConnectOptions,
  Isolation,
  ParserOptions,
  QueryOptions,
  RetryEvent,
  TransactionOptions,
} from './options.js';
export type { Lockable, LockOptions } from './locking.js';
export type { Queryable, QueryResult } from './queryable.js';
export type { Scheduler } from './scheduler.js';
export type { ServerInfo } from './server.js';
export { detectServer } from './server.js';
export type { AnyRow, Compiled, Parameter, Sql } from './sql.js';
export { sql } from './sql.js';
export type { Condition, InsertOptions, RowValues, Table, TableLike } from './tables.js';
export { table } from './tables.js';
export type { TimelineEntry, TimelineOptions } from './timeline.js';
export { readTimeline, timelineSvg } from './timeline.js';
export type { Stays, Transaction, TransactionFunction } from './tx.js';
export type { RowWrite, Scope, Write } from './write.js';
