/** `CREATE … IF NOT EXISTS` by several sessions at once. */

import { checkMethod } from '../options/checks.js';
import type { Statement } from '../sql/foreign.js';
import type { Database } from './database.js';

/** What PostgreSQL may answer to `IF NOT EXISTS` while another session creates the same thing. */
const CREATED_MEANWHILE = ['23505', '42710', '42P06', '42P07'];

const TRIES = 5;

/**
 * Runs a `CREATE … IF NOT EXISTS`, again where another session is creating the same thing: the clause
 * alone does not keep PostgreSQL from an error then.
 *
 * @example
 * ```ts
 * import { connect, createOnce, sql } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * const statement = sql`CREATE TABLE IF NOT EXISTS sdk_created (id INT8 PRIMARY KEY)`;
 * await Promise.all([createOnce(db, statement), createOnce(db, statement)]);
 * ```
 */
export async function createOnce(
  db: Pick<Database, 'transaction'>,
  statement: Statement<object>,
): Promise<void> {
  checkMethod(db, 'transaction', 'createOnce takes a database of connect, and a statement');
  for (let tries = 1; ; tries++) {
    try {
      await db.transaction((tx) => tx.query(statement));
      return;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (tries >= TRIES || !CREATED_MEANWHILE.includes(String(code))) throw error;
    }
  }
}
