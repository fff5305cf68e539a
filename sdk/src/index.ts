/**
 * `@braiddb/sdk`: serializable transactions that retry themselves, SQL without string pasting and
 * typed errors, for BraidDB, PostgreSQL and CockroachDB, on top of `pg`.
 *
 * The map:
 *
 * ```text
 *  client.ts       connect, db: single statements, transactions, close
 *  transaction.ts  tx: BEGIN, savepoints, COMMIT, ROLLBACK; which outcome is which error
 *  retry.ts        attempts, pauses, the deadline
 *  queryable.ts    query, one, maybeOne, script: what db and tx share
 *  sql.ts          the sql tag: text and parameters
 *  batcher/        rows of many callers joined into multi-row statements; the adaptive size
 *  connection.ts   one connection in use: statements in order, cancelling, loss
 *  ─────────────────────────────────────────────────────────────────────────
 *  errors.ts  options.ts  parameters.ts  parsers.ts  scheduler.ts  abort.ts  server.ts  driver.ts (pg)
 * ```
 *
 * The words, one meaning each:
 *
 * - **statement**: one SQL command with its parameters. **script**: text with several, without any.
 * - **piece**: a part of a statement made by `sql`. **parameter**: a value that travels apart.
 * - **transaction**: a function that the SDK runs between BEGIN and COMMIT. **attempt**: one run of it.
 * - **retry error**: 40001 or 40P01; nothing took effect, another attempt may succeed.
 * - **ambiguous**: failed, but may have taken effect.
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
export { BatchRowError, BatchTableError } from './batcher/index.js';
export type { Database } from './client.js';
export { connect } from './client.js';
export type { ConstraintKind } from './errors.js';
export {
  BraidError,
  CommitUnknownError,
  ConnectionError,
  ConstraintError,
  DatabaseError,
  DeadlockError,
  isAmbiguous,
  isRetryable,
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
export type { Queryable, QueryResult } from './queryable.js';
export type { Scheduler } from './scheduler.js';
export type { ServerInfo } from './server.js';
export { detectServer } from './server.js';
export type { AnyRow, Compiled, Parameter, Sql } from './sql.js';
export { sql } from './sql.js';
export type { Transaction, TransactionFunction } from './transaction.js';
