/**
 * `@braiddb/typeorm`: transactions of TypeORM that run again after a conflict, for BraidDB,
 * PostgreSQL and CockroachDB.
 *
 * ```text
 *  transaction.ts  transaction(dataSource, fn): what a caller sees
 *  library.ts      how TypeORM begins and ends a transaction
 * ```
 *
 * The retry rules are those of `@braiddb/sdk`. TypeORM keeps its own pool, over `pg`.
 *
 * No side effects on import, no console output.
 */

export type { TypeOrmTransactionFunction } from './transaction.js';
export { transaction } from './transaction.js';
export type { Attempt } from '@braiddb/sdk/wrap';
