/**
 * `@braiddb/knex`: transactions of Knex that run again after a conflict, for BraidDB, PostgreSQL
 * and CockroachDB.
 *
 * ```text
 *  transaction.ts  transaction(knex, fn): what a caller sees
 *  library.ts      how Knex begins and ends a transaction
 * ```
 *
 * The retry rules are those of `@braiddb/sdk`. Knex keeps its own pool, over `pg`.
 *
 * No side effects on import, no console output.
 */

export type { KnexTransactionFunction } from './transaction.js';
export { transaction } from './transaction.js';
export type { Attempt } from '@braiddb/sdk/wrap';
