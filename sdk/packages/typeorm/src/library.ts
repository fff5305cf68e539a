/** How TypeORM begins and ends a transaction. */

import type { BeginOptions, Library, LibraryTransaction } from '@braiddb/sdk/wrap';
import type pg from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { QueryRunnerAlreadyReleasedError } from 'typeorm';

/** The levels of the SDK in the words of TypeORM. */
const LEVELS = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
  server: undefined,
} as const;

/** Transactions of one data source. */
export class TypeOrmLibrary implements Library<EntityManager> {
  readonly #dataSource: DataSource;

  constructor(dataSource: DataSource) {
    this.#dataSource = dataSource;
  }

  async begin({ isolation, readOnly }: BeginOptions): Promise<LibraryTransaction<EntityManager>> {
    const runner = this.#dataSource.createQueryRunner('master');
    try {
      const client = (await runner.connect()) as pg.ClientBase;
      await runner.startTransaction(LEVELS[isolation]);
      if (readOnly) await runner.query('SET TRANSACTION READ ONLY');
      return {
        handle: runner.manager,
        client,
        commit: () => runner.commitTransaction(),
        rollback: () => runner.rollbackTransaction(),
        release: () => runner.release(),
      };
    } catch (error) {
      // A transaction that has begun ends with the connection, unless it can be rolled back.
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      await runner.release();
      throw error;
    }
  }

  /** TypeORM gives a lost connection back by itself, and then refuses further queries. */
  reportsLoss(error: Error): boolean {
    return error instanceof QueryRunnerAlreadyReleasedError;
  }
}
