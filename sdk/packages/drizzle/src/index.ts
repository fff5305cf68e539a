/**
 * `@braiddb/drizzle`: a Drizzle driver over `@braiddb/sdk`, for BraidDB, PostgreSQL and CockroachDB.
 *
 * ```text
 *  driver.ts   drizzle(): the database       migrate.ts  Drizzle's migrations, under a lock
 *  session.ts  queries and transactions of a database, or of a transaction
 *  ─────────────────────────────────────────────────────────────────────────
 *  client.ts   the queries of Drizzle, sent by the SDK
 *  options.ts  options of transactions
 * ```
 *
 * Building queries and reading rows is left to Drizzle's own driver for `pg`. This package gives it
 * another client, and other transactions.
 *
 * No side effects on import, no console output.
 */

export type { BraidDrizzleConfig } from './driver.js';
export { BraidDatabase, drizzle } from './driver.js';
export type { MigrateOptions } from './migrate.js';
export { migrate } from './migrate.js';
export type { DrizzleTransactionOptions } from './options.js';
export type { DrizzleTransactionFunction } from './session.js';
export { BraidTransaction } from './session.js';
export type { WriteQuery } from './client.js';
