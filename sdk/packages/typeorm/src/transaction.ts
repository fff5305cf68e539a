/** Transactions of TypeORM that run again on transient errors. */

import type { TransactionOptions } from '@braiddb/sdk';
import { UsageError } from '@braiddb/sdk';
import type { Attempt } from '@braiddb/sdk/wrap';
import { wrapTransaction } from '@braiddb/sdk/wrap';
import type { DataSource, EntityManager } from 'typeorm';

import { TypeOrmLibrary } from './library.js';

/** What runs inside a transaction. It may be run several times: see {@link transaction}. */
export type TypeOrmTransactionFunction<T> = (
  manager: EntityManager,
  attempt: Attempt,
) => Promise<T>;

/**
 * Runs the whole function again whenever the transaction fails with a transient error and has had
 * no effect, as `db.transaction` of the SDK does. The function must therefore do nothing outside
 * the transaction that cannot be done twice. It must read its entities itself: one that was read
 * before, or by an earlier run, has values that the conflict has made old.
 *
 * Options are those of the SDK's `db.transaction`: isolation is SERIALIZABLE unless `isolation`
 * says otherwise, and there are 10 attempts. Fails with a `RetriesExhaustedError` at a limit, and
 * with a `CommitUnknownError` if the answer to COMMIT was lost: then it may have committed. An
 * error that does not pass is thrown as TypeORM throws it. Fails with a `UsageError` if the
 * entity manager is in a transaction, or if the type of the data source is not `postgres`.
 *
 * SQL: `START TRANSACTION`, `SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`, your queries,
 * `COMMIT` or `ROLLBACK`.
 *
 * @example
 * ```ts
 * import { transaction } from '@braiddb/typeorm';
 * import { DataSource, EntitySchema } from 'typeorm';
 * interface Counter { id: number; n: number }
 * const Counter = new EntitySchema<Counter>({
 *   name: 'typeorm_counter',
 *   columns: { id: { type: 'int', primary: true }, n: { type: 'int' } },
 * });
 * const dataSource = new DataSource({
 *   type: 'postgres',
 *   url: 'postgresql://root@127.0.0.1:26257/defaultdb',
 *   entities: [Counter],
 *   installExtensions: false,
 * });
 * await dataSource.initialize();
 * await dataSource.query(
 *   'CREATE TABLE IF NOT EXISTS typeorm_counter (id INT4 PRIMARY KEY, n INT4 NOT NULL)',
 * );
 * await dataSource.manager.save(Counter, { id: 1, n: 0 });
 * const increment = () =>
 *   transaction(dataSource, async (manager) => {
 *     const counter = await manager.findOneByOrFail(Counter, { id: 1 });
 *     counter.n += 1;
 *     await manager.save(Counter, counter);
 *   });
 * await Promise.all([increment(), increment(), increment()]); // conflicts run again
 * console.assert((await dataSource.manager.findOneByOrFail(Counter, { id: 1 })).n === 3);
 * await dataSource.destroy();
 * ```
 */
export async function transaction<T>(
  source: DataSource | EntityManager,
  fn: TypeOrmTransactionFunction<T>,
  options?: TransactionOptions,
): Promise<T> {
  const { queryRunner } = source as Partial<EntityManager>;
  if (queryRunner?.isTransactionActive === true) {
    throw new UsageError(
      'the manager is in a transaction: use manager.transaction for a savepoint',
    );
  }
  const dataSource = 'dataSource' in source ? source.dataSource : source;
  const { type } = dataSource.options;
  if (type !== 'postgres') {
    // The driver `cockroachdb` repeats recorded statements, with the values of the failed run.
    throw new UsageError(`the data source has the type "${type}"; it must be "postgres"`);
  }
  return wrapTransaction(new TypeOrmLibrary(dataSource), fn, options);
}
