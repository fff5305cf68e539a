/** The queries of Drizzle's driver for `pg`, sent by the SDK. */

import type { Queryable, QueryOptions, TypeParsers } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';
import type { NodePgClient } from 'drizzle-orm/node-postgres';

/** An insert, update or delete of Drizzle without `returning`. */
export interface WriteQuery {
  /** Only for its type: a query with `returning` has rows that somebody wants. */
  readonly _: { readonly returning: undefined };
  /** The text with $1, $2, … and the values. */
  toSQL(): { readonly sql: string; readonly params: readonly unknown[] };
}

/** What Drizzle's driver asks its client for. */
interface DriverQuery {
  readonly text: string;
  /** The name of a prepared query. The SDK has names of its own, one for each text. */
  readonly name?: string | undefined;
  readonly rowMode?: 'array' | undefined;
  readonly types: TypeParsers;
}

/** What it reads of the answer: the same as `pg` returns. */
interface DriverAnswer {
  readonly rows: unknown[];
  readonly rowCount: number;
  readonly command: string;
  readonly fields: readonly object[];
}

/** A client for Drizzle's driver, over a database or a transaction of the SDK. */
export function clientOf(queryable: Queryable, options: QueryOptions = {}): NodePgClient {
  const query = async (
    { text, name, rowMode, types }: DriverQuery,
    values: readonly unknown[] = [],
  ): Promise<DriverAnswer> => {
    const prepare = name === undefined ? undefined : true;
    const statement = sql.unsafe(text, values, { rowMode, types, prepare });
    const { rows, count, command, fields } = await queryable.query(statement, options);
    return { rows, rowCount: count, command, fields };
  };
  // Drizzle's driver calls nothing else; the transactions of this package are not its own.
  return { query } as unknown as NodePgClient;
}
