/** The driver that Kysely calls. */

import type { Isolation, Sql, TransactionOptions } from '@braiddb/sdk';
import { sql, UsageError } from '@braiddb/sdk';
import type { DatabaseConnection, Driver, IsolationLevel, TransactionSettings } from 'kysely';

import { BraidConnection } from './connection.js';
import { takeBound } from './context.js';
import type { DatabaseSource } from './source.js';

/** What the SDK calls each isolation level of Kysely. PostgreSQL knows no `snapshot`. */
const LEVELS: Readonly<Record<IsolationLevel, Isolation | undefined>> = {
  // PostgreSQL's READ UNCOMMITTED is READ COMMITTED.
  'read uncommitted': 'read committed',
  'read committed': 'read committed',
  'repeatable read': 'repeatable read',
  serializable: 'serializable',
  snapshot: undefined,
};

/** A driver over a database of the SDK. */
export class BraidDriver implements Driver {
  readonly #source: DatabaseSource;

  constructor(source: DatabaseSource) {
    this.#source = source;
  }

  async init(): Promise<void> {
    await this.#source.get();
  }

  async acquireConnection(): Promise<BraidConnection> {
    const bound = takeBound();
    return new BraidConnection(await this.#source.get(), bound);
  }

  beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    return settle(() => {
      ours(connection).begin(readSettings(settings));
    });
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return ours(connection).commit();
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return ours(connection).rollback();
  }

  savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    return control(connection, sql`SAVEPOINT ${sql.identifier(name)}`);
  }

  rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    return control(connection, sql`ROLLBACK TO SAVEPOINT ${sql.identifier(name)}`);
  }

  releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    return control(connection, sql`RELEASE SAVEPOINT ${sql.identifier(name)}`);
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    // Nothing is open after a commit or a rollback; what is left must not keep a connection.
    await ours(connection).rollback();
  }

  destroy(): Promise<void> {
    return this.#source.close();
  }
}

function control(connection: DatabaseConnection, statement: Sql): Promise<void> {
  return ours(connection).control(statement);
}

function ours(connection: DatabaseConnection): BraidConnection {
  if (connection instanceof BraidConnection) return connection;
  throw new UsageError('the connection belongs to another dialect');
}

function readSettings({ isolationLevel, accessMode }: TransactionSettings): TransactionOptions {
  const isolation = isolationLevel === undefined ? undefined : LEVELS[isolationLevel];
  if (isolationLevel !== undefined && isolation === undefined) {
    throw new UsageError(`the isolation level "${isolationLevel}" does not exist here`);
  }
  return { isolation, readOnly: accessMode === undefined ? undefined : accessMode === 'read only' };
}

/** The outcome of a function as a promise. */
async function settle(fn: () => void): Promise<void> {
  await Promise.resolve();
  fn();
}
