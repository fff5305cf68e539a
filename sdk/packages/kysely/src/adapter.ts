/**
 * What Kysely asks about the dialect, and the lock of its Migrator.
 *
 * ```text
 *  acquireMigrationLock ─► another connection: BEGIN, SELECT … FROM the lock table FOR UPDATE
 *  the migrations run on connections of their own
 *  releaseMigrationLock ─► COMMIT: the next migrator gets the row, and reads what has been done
 * ```
 *
 * A row lock ends with its transaction, so no unlock can be forgotten.
 */

import type { Database } from '@braiddb/sdk';
import { sql, UsageError } from '@braiddb/sdk';
import type { Kysely, MigrationLockOptions } from 'kysely';
import { PostgresAdapter } from 'kysely';

import type { DatabaseSource } from './source.js';

/** Gives a lock back. */
type Release = () => Promise<void>;

/**
 * For each database the end of the migrator that came last. Migrators that wait in the database would
 * take all connections of the pool, and the one that has the lock needs one as well.
 */
const turns = new WeakMap<Database, Promise<void>>();

/** The adapter of the dialect; it leads from a Kysely instance to its database. */
export class BraidAdapter extends PostgresAdapter {
  readonly source: DatabaseSource;
  readonly #lockTimeoutMs: number;
  readonly #locks = new WeakMap<object, Release>();

  constructor(source: DatabaseSource, lockTimeoutMs: number) {
    super();
    this.source = source;
    this.#lockTimeoutMs = lockTimeoutMs;
  }

  override async acquireMigrationLock(
    db: Kysely<unknown>,
    options: MigrationLockOptions,
  ): Promise<void> {
    const database = await this.source.get();
    const before = turns.get(database);
    let next = (): void => undefined;
    turns.set(database, new Promise((resolve) => (next = resolve)));
    await before;
    try {
      const release = await lockRow(database, options, this.#lockTimeoutMs);
      this.#locks.set(db, () => release().finally(next));
    } catch (error) {
      next();
      throw error;
    }
  }

  override async releaseMigrationLock(db: Kysely<unknown>): Promise<void> {
    const release = this.#locks.get(db);
    this.#locks.delete(db);
    await release?.();
  }
}

/** Locks the row in a transaction that stays open until the lock is given back. */
function lockRow(
  database: Database,
  { lockTable, lockRowId, lockTableSchema }: MigrationLockOptions,
  timeoutMs: number,
): Promise<Release> {
  const names: [string, ...string[]] =
    lockTableSchema === undefined ? [lockTable] : [lockTableSchema, lockTable];
  const table = sql.identifier(...names);
  return new Promise((resolve, reject) => {
    let release = (): void => undefined;
    const released = new Promise<void>((done) => (release = done));
    const options = { isolation: 'read committed', attemptsMax: 1 } as const;
    const holding = database.transaction(options, async (tx) => {
      await tx.script(`SET LOCAL lock_timeout = ${timeoutMs};
        SET LOCAL idle_in_transaction_session_timeout = 0`);
      await tx.query`SELECT id FROM ${table} WHERE id = ${lockRowId} FOR UPDATE`;
      resolve(async () => {
        release();
        // A lock that was lost with its connection is free as well.
        await holding.catch(() => undefined);
      });
      await released;
    });
    holding.catch(reject);
  });
}

/** The database behind a Kysely instance; refuses what is none, or has another dialect. */
export function sourceOf(kysely: Pick<Kysely<unknown>, 'getExecutor'>): DatabaseSource {
  const given: unknown = kysely;
  if (typeof (given as Partial<typeof kysely> | null)?.getExecutor !== 'function') {
    throw new UsageError('the first argument must be an instance of Kysely');
  }
  const { adapter } = kysely.getExecutor();
  if (adapter instanceof BraidAdapter) return adapter.source;
  throw new UsageError('the Kysely instance has another dialect than BraidDialect');
}
