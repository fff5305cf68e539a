/** A session of one user: settings, temporary tables and locks of a session stay. */

import { UsageError } from '@braiddb/sdk';
import type { Kysely } from 'kysely';

import { sourceOf } from './adapter.js';
import { currentSignal, withContext } from './context.js';

/** What runs in a session. */
export type SessionFunction<DB, T> = (db: Kysely<DB>) => Promise<T>;

/**
 * Runs a function whose queries all go through one connection, in the order of their calls. At the
 * end the session is put back to its start. Fails with a `UsageError` if the instance is a
 * transaction, or has another dialect; so does a transaction of Kysely inside the function.
 *
 * SQL: yours; at the end `ROLLBACK` if a transaction is open, and `DISCARD ALL`.
 *
 * @example
 * ```ts
 * import { BraidDialect, session } from '@braiddb/kysely';
 * import { connect } from '@braiddb/sdk';
 * import { Kysely, sql } from 'kysely';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * const kysely = new Kysely<object>({ dialect: new BraidDialect({ db }) });
 * const zone = await session(kysely, async (own) => {
 *   await sql`SET timezone = 'Europe/Oslo'`.execute(own);
 *   const { rows } = await sql<{ zone: string }>`
 *     SELECT current_setting('timezone') AS zone`.execute(own);
 *   return rows[0]?.zone;
 * });
 * console.assert(zone === 'Europe/Oslo');
 * ```
 */
export async function session<DB, T>(kysely: Kysely<DB>, fn: SessionFunction<DB, T>): Promise<T> {
  if (typeof (fn as unknown) !== 'function') {
    throw new UsageError('session takes a function: session(kysely, async (db) => …)');
  }
  sourceOf(kysely);
  if (kysely.isTransaction) throw new UsageError('a transaction has one session already');
  const db = await sourceOf(kysely).get();
  await using reserved = await db.reserve({ signal: currentSignal() });
  return await withContext({ bound: { session: reserved } }, () =>
    kysely.connection().execute((own) => fn(own)),
  );
}
