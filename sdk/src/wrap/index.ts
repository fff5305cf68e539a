/**
 * `@braiddb/sdk/wrap`: gives the transactions of another library over `pg` the retries of the SDK.
 * `@braiddb/knex` and `@braiddb/typeorm` are made with it, and parts of `@braiddb/kysely` and
 * `@braiddb/prisma`. Programs that use those do not need it.
 *
 * ```text
 *  transaction.ts       wrapTransaction: attempts, COMMIT, ROLLBACK
 *  watch.ts             what the connection reports while the library uses it
 *  open-transaction.ts  begin and commit as calls, over the SDK's function
 * ```
 */

export { OpenTransaction } from './open-transaction.js';
export type { Attempt, BeginOptions, Library, LibraryTransaction } from './transaction.js';
export { wrapTransaction } from './transaction.js';
