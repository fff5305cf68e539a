/**
 * What of a Prisma client the tests need: `$transaction` over an adapter, as Prisma's own client
 * calls it. A generated client is tested with `examples/prisma`.
 */

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import type {
  ArgType,
  IsolationLevel,
  SqlDriverAdapter,
  SqlQueryable,
  Transaction,
} from '@prisma/driver-adapter-utils';

import { PrismaBraid } from '../src/index.js';

/** Options of a transaction of Prisma. */
interface Options {
  readonly isolationLevel?: IsolationLevel;
}

/** Such a client. */
export interface TestClient extends AsyncDisposable {
  readonly db: Database;
  readonly adapter: SqlDriverAdapter;
  $transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: Options): Promise<T>;
}

/** Opens a client. */
export async function clientOn(url: string, connectionsMax = 4): Promise<TestClient> {
  const db = await connect(url, { connectionsMax });
  const adapter = await new PrismaBraid({ db }).connect();
  return {
    db,
    adapter,
    $transaction: async (fn, options = {}) => {
      const transaction = await adapter.startTransaction(options.isolationLevel);
      let value;
      try {
        value = await fn(transaction);
      } catch (error) {
        await transaction.rollback();
        throw error;
      }
      await transaction.commit();
      return value;
    },
    [Symbol.asyncDispose]: () => db.close(),
  };
}

/** A value, and Prisma's type for it. */
export type Argument = readonly [value: unknown, type: ArgType['scalarType'], dbType?: string];

/** The arguments of a query in the words of Prisma; arrays are lists. */
export function queryOf(
  sql: string,
  ...given: readonly Argument[]
): Parameters<SqlQueryable['queryRaw']>[0] {
  return {
    sql,
    args: given.map(([value]) => value),
    argTypes: given.map(([value, scalarType, dbType]) => ({
      scalarType,
      arity: Array.isArray(value) ? 'list' : 'scalar',
      ...(dbType !== undefined && { dbType }),
    })),
  };
}
