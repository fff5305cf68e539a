/**
 * `@braiddb/sdk/wrap`: gives the transactions of another library over `pg` the retries of the SDK.
 * `@braiddb/knex` and `@braiddb/typeorm` are made with it. Programs that use those do not need it.
 *
 * ```text
 *  transaction.ts  wrapTransaction: attempts, COMMIT, ROLLBACK
 *  watch.ts        what the connection reports while the library uses it
 * ```
 */

export type { Attempt, BeginOptions, Library, LibraryTransaction } from './transaction.js';
export { wrapTransaction } from './transaction.js';
