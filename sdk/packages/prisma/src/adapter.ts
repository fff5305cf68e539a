/** The driver adapter that a Prisma client is made with. */

import type { Database } from '@braiddb/sdk';
import { OptionError } from '@braiddb/sdk';
import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';

import { ADAPTER_NAME, DatabaseSession } from './session.js';

/** Options of {@link PrismaBraid}. */
export interface PrismaBraidOptions {
  /**
   * A database of the SDK, which stays open until you close it; or a function that opens one, which
   * `prisma.$disconnect()` closes.
   */
  readonly db: Database | (() => Promise<Database>);
  /** The schema of the tables. Default: that of the server, `public`. */
  readonly schema?: string | undefined;
}

/**
 * A driver adapter for Prisma 7 over a database of the SDK. Queries outside of transactions run
 * again where they have had no effect, as those of the SDK do. Transactions of Prisma's own are
 * SERIALIZABLE unless `isolationLevel` says otherwise, and run once: a conflict is Prisma's
 * P2034. `transaction(prisma, fn)` of this package runs them again. Fails with an `OptionError`
 * if `db` is neither a database of the SDK nor a function.
 *
 * SQL: that of Prisma, which never sends BEGIN, COMMIT and ROLLBACK itself.
 */
export class PrismaBraid implements SqlDriverAdapterFactory {
  readonly provider = 'postgres';
  readonly adapterName = ADAPTER_NAME;
  readonly #options: PrismaBraidOptions;

  constructor(options: PrismaBraidOptions) {
    const { db } = options;
    const isDatabase = typeof (db as Partial<Database> | undefined)?.transaction === 'function';
    if (typeof db !== 'function' && !isDatabase) {
      throw new OptionError('db', 'must be a database of the SDK, or a function that opens one');
    }
    this.#options = options;
  }

  /** Opens the database if it is not open yet. Prisma calls this when it connects. */
  async connect(): Promise<SqlDriverAdapter> {
    const { db, schema } = this.#options;
    if (typeof db !== 'function') return new DatabaseSession(db, schema, () => Promise.resolve());
    const opened = await db();
    return new DatabaseSession(opened, schema, () => opened.close());
  }
}
