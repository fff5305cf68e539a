/** Transactions of Knex that run again on transient errors. */

import type { TransactionOptions } from '@braiddb/sdk';
import { UsageError } from '@braiddb/sdk';
import type { Attempt } from '@braiddb/sdk/wrap';
import { wrapTransaction } from '@braiddb/sdk/wrap';
import type { Knex } from 'knex';

import { KnexLibrary } from './library.js';

/** What runs inside a transaction. It may be run several times: see {@link transaction}. */
export type KnexTransactionFunction<T> = (trx: Knex.Transaction, attempt: Attempt) => Promise<T>;

/**
 * Runs the whole function again whenever the transaction fails with a transient error and has had
 * no effect, as `db.transaction` of the SDK does. The function must therefore do nothing outside
 * the transaction that cannot be done twice. It leaves `trx.commit` and `trx.rollback` to this
 * call.
 *
 * Options are those of the SDK's `db.transaction`: isolation is SERIALIZABLE unless `isolation`
 * says otherwise, and there are 10 attempts. Fails with a `RetriesExhaustedError` at a limit, and
 * with a `CommitUnknownError` if the answer to COMMIT was lost: then it may have committed. An
 * error that does not pass is thrown as Knex throws it. Fails with a `UsageError` if `knex` is a
 * transaction, or is not for PostgreSQL.
 *
 * SQL: `BEGIN TRANSACTION ISOLATION LEVEL serializable`, your queries, `COMMIT` or `ROLLBACK`.
 *
 * @example
 * ```ts
 * import { transaction } from '@braiddb/knex';
 * import knex from 'knex';
 * const db = knex({
 *   client: 'pg',
 *   connection: 'postgresql://root@127.0.0.1:26257/defaultdb',
 * });
 * await db.raw('CREATE TABLE IF NOT EXISTS knex_counter (id INT4 PRIMARY KEY, n INT4 NOT NULL)');
 * await db('knex_counter').insert({ id: 1, n: 0 }).onConflict('id').merge();
 * const increment = () =>
 *   transaction(db, async (trx) => {
 *     const { n } = await trx('knex_counter').where({ id: 1 }).first('n');
 *     await trx('knex_counter').where({ id: 1 }).update({ n: n + 1 });
 *   });
 * await Promise.all([increment(), increment(), increment()]); // conflicts run again
 * console.assert((await db('knex_counter').first('n')).n === 3);
 * await db.destroy();
 * ```
 */
export async function transaction<T>(
  knex: Knex,
  fn: KnexTransactionFunction<T>,
  options?: TransactionOptions,
): Promise<T> {
  if (knex.isTransaction === true) {
    throw new UsageError('the Knex instance is a transaction: use trx.transaction for a savepoint');
  }
  const { dialect, driverName } = (knex.client ?? {}) as { dialect?: string; driverName?: string };
  if (dialect !== 'postgresql' || driverName === 'pgnative') {
    throw new UsageError('the Knex instance has another client than "pg"');
  }
  return wrapTransaction(new KnexLibrary(knex), fn, options);
}
