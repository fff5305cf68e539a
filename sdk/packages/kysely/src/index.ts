/**
 * `@braiddb/kysely`: a Kysely dialect over `@braiddb/sdk`, for BraidDB, PostgreSQL and CockroachDB.
 *
 * ```text
 *  transaction.ts       transactions that run again    queries.ts   run, withSignal
 *  dialect.ts           the dialect and its options    session.ts   one connection for a function
 *  driver.ts            what Kysely calls              adapter.ts   the lock of the Migrator
 *  connection.ts        queries and streams by the SDK
 *  ──────────────────────────────────────────────────────────────────────────
 *  context.ts           signals and transactions on their way through Kysely
 *  source.ts            the database, given or opened
 * ```
 *
 * No side effects on import, no console output.
 */

export type { BraidDialectOptions } from './dialect.js';
export { BraidDialect } from './dialect.js';
export type { WriteQuery } from './queries.js';
export { run, withSignal } from './queries.js';
export type { SessionFunction } from './session.js';
export { session } from './session.js';
export type { Attempt, KyselyTransactionFunction } from './transaction.js';
export { transaction } from './transaction.js';
