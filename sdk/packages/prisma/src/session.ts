/** Queries and transactions, as Prisma asks its adapter for them. */

import type { Database, Isolation, Queryable, Transaction } from '@braiddb/sdk';
import { OptionError, sql } from '@braiddb/sdk';
import { OpenTransaction } from '@braiddb/sdk/wrap';
import type {
  ConnectionInfo,
  IsolationLevel,
  SqlDriverAdapter,
  SqlQuery,
  SqlQueryable,
  SqlResultSet,
  Transaction as PrismaTransaction,
} from '@prisma/driver-adapter-utils';

import { columnTypes, parsers } from './columns.js';
import type { BoundRun } from './context.js';
import { takeRun } from './context.js';
import { toPrisma } from './errors.js';
import { parameterOf } from './parameters.js';

/** The name under which Prisma knows the adapter. */
export const ADAPTER_NAME = '@braiddb/prisma';

const LEVELS: Readonly<Record<string, Isolation>> = {
  // PostgreSQL's READ UNCOMMITTED is READ COMMITTED.
  'READ UNCOMMITTED': 'read committed',
  'READ COMMITTED': 'read committed',
  'REPEATABLE READ': 'repeatable read',
  SERIALIZABLE: 'serializable',
};

/** Sends queries by the SDK, and turns its errors into those of Prisma. */
abstract class Session implements SqlQueryable {
  readonly provider = 'postgres';
  readonly adapterName = ADAPTER_NAME;

  /** What the queries go through. */
  protected abstract queryable(): Promise<Queryable>;

  async queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    const { rows, fields } = await this.#send(query);
    const columnNames = fields.map(({ name }) => name);
    // An array of values for each row: `rowMode` says so.
    return { columnNames, columnTypes: columnTypes(fields), rows: rows as unknown as unknown[][] };
  }

  async executeRaw(query: SqlQuery): Promise<number> {
    const { count } = await this.#send(query);
    return count;
  }

  #send({ sql: text, args, argTypes }: SqlQuery) {
    const values = args.map((value, at) => parameterOf(value, argTypes[at]));
    const statement = sql.unsafe(text, values, { rowMode: 'array', types: parsers });
    return this.translated(async () => (await this.queryable()).query(statement));
  }

  /** Runs work of the SDK; its errors become those of Prisma. */
  protected async translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toPrisma(error);
    }
  }
}

/** The queries of a Prisma client outside of transactions, and its transactions. */
export class DatabaseSession extends Session implements SqlDriverAdapter {
  readonly #database: Database;
  readonly #schema: string | undefined;
  readonly #close: () => Promise<void>;

  constructor(database: Database, schema: string | undefined, close: () => Promise<void>) {
    super();
    this.#database = database;
    this.#schema = schema;
    this.#close = close;
  }

  protected queryable(): Promise<Queryable> {
    return Promise.resolve(this.#database);
  }

  executeScript(script: string): Promise<void> {
    return this.translated(async () => {
      await this.#database.script(script);
    });
  }

  async startTransaction(level?: IsolationLevel): Promise<PrismaTransaction> {
    const run = takeRun(this.#database);
    if (run !== undefined) return new BoundTransaction(run);
    const isolation = level === undefined ? undefined : LEVELS[level];
    if (level !== undefined && isolation === undefined) {
      throw new OptionError('isolationLevel', `"${level}" is not known to PostgreSQL`);
    }
    const open = new OpenTransaction(this.#database, { isolation });
    await this.translated(() => open.handle());
    return new OwnTransaction(open);
  }

  getConnectionInfo(): ConnectionInfo {
    return {
      ...(this.#schema !== undefined && { schemaName: this.#schema }),
      supportsRelationJoins: true,
    };
  }

  dispose(): Promise<void> {
    return this.#close();
  }
}

/** What both kinds of transactions of Prisma have in common. */
abstract class TransactionSession extends Session implements PrismaTransaction {
  // The SDK sends BEGIN, COMMIT and ROLLBACK; Prisma only logs them.
  readonly options = { usePhantomQuery: true };

  protected abstract override queryable(): Promise<Transaction>;
  abstract commit(): Promise<void>;
  abstract rollback(): Promise<void>;

  createSavepoint(name: string): Promise<void> {
    return this.#control(`SAVEPOINT ${name}`);
  }

  rollbackToSavepoint(name: string): Promise<void> {
    return this.#control(`ROLLBACK TO SAVEPOINT ${name}`);
  }

  releaseSavepoint(name: string): Promise<void> {
    return this.#control(`RELEASE SAVEPOINT ${name}`);
  }

  async #control(text: string): Promise<void> {
    await this.translated(async () => (await this.queryable()).query(sql.unsafe(text)));
  }
}

/** A transaction that Prisma has begun: it is run once. */
class OwnTransaction extends TransactionSession {
  readonly #open: OpenTransaction;

  constructor(open: OpenTransaction) {
    super();
    this.#open = open;
  }

  protected queryable(): Promise<Transaction> {
    return this.#open.handle();
  }

  commit(): Promise<void> {
    return this.translated(() => this.#open.commit());
  }

  rollback(): Promise<void> {
    return this.#open.rollback();
  }
}

/** One run of a transaction that the SDK runs: the SDK commits, rolls back and runs it again. */
class BoundTransaction extends TransactionSession {
  readonly #run: BoundRun;

  constructor(run: BoundRun) {
    super();
    this.#run = run;
  }

  protected queryable(): Promise<Transaction> {
    return Promise.resolve(this.#run.tx);
  }

  protected override async translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#run.failure = { error };
      throw toPrisma(error);
    }
  }

  commit(): Promise<void> {
    return Promise.resolve();
  }

  rollback(): Promise<void> {
    return Promise.resolve();
  }
}
