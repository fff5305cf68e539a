/** The table of applied migrations, and the lock of its runner. */

import type { Database, Queryable, Sql } from '@braiddb/sdk';
import { createOnce, sql } from '@braiddb/sdk';

import { MigrationError } from '../errors.js';

/** A migration that has been applied, or was begun. */
export interface Applied {
  readonly name: string;
  readonly checksum: string;
  readonly startedAt: Date;
  /** Null while a migration without a transaction runs, and after it has failed. */
  readonly finishedAt: Date | null;
}

/** The two tables of one history. */
export class History {
  /** The name as it is given, for messages. */
  readonly name: string;
  readonly #table: Sql;
  readonly #lock: Sql;

  constructor(name: string) {
    this.name = name;
    this.#table = sql.identifier(...split(name));
    this.#lock = sql.identifier(...split(`${name}_lock`));
  }

  /** Makes the tables where they are missing; several programs may do so at once. */
  async create(db: Database): Promise<void> {
    if ((await this.#exists(db)).lock) return;
    const statements = [
      sql`CREATE TABLE IF NOT EXISTS ${this.#table} (name TEXT PRIMARY KEY, checksum TEXT NOT NULL,
        started_at TIMESTAMPTZ NOT NULL DEFAULT now(), finished_at TIMESTAMPTZ)`,
      sql`CREATE TABLE IF NOT EXISTS ${this.#lock} (id INT4 PRIMARY KEY)`,
    ];
    for (const statement of statements) await createOnce(db, statement);
  }

  /** Runs work while no other runner does; waits for another one at most `timeoutMs`. */
  async locked<T>(db: Database, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    await db.transaction(
      (tx) => tx.query`INSERT INTO ${this.#lock} VALUES (1) ON CONFLICT DO NOTHING`,
    );
    // A row lock ends with its transaction, so no unlock can be forgotten.
    await using connection = await db.reserve();
    await connection.script(`BEGIN ISOLATION LEVEL READ COMMITTED;
      SET LOCAL lock_timeout = ${timeoutMs}; SET LOCAL idle_in_transaction_session_timeout = 0`);
    try {
      // A script leaves no portal behind, whose snapshot CREATE INDEX CONCURRENTLY would wait for.
      const { text } = this.#lock.compile();
      await connection.script(`SELECT id FROM ${text} WHERE id = 1 FOR UPDATE`);
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error;
      const message = `another program migrates this database, for more than ${timeoutMs} ms`;
      throw new MigrationError(message, { cause: error });
    }
    return await work();
  }

  /** What has been applied so far, oldest name first; nothing where there is no table yet. */
  async read(db: Database): Promise<Applied[]> {
    if (!(await this.#exists(db)).table) return [];
    const { rows } = await db.query<Applied>`SELECT name, checksum, started_at AS "startedAt",
      finished_at AS "finishedAt" FROM ${this.#table} ORDER BY name`;
    return rows;
  }

  /** Notes that a migration has begun; fails with 23505 where another runner has done so. */
  async begin(on: Queryable, name: string, checksum: string): Promise<void> {
    await on.query`INSERT INTO ${this.#table} (name, checksum) VALUES (${name}, ${checksum})`;
  }

  /** Notes that a migration has been applied. */
  async finish(on: Queryable, name: string): Promise<void> {
    await on.query`UPDATE ${this.#table} SET finished_at = clock_timestamp() WHERE name = ${name}`;
  }

  /** Notes that undoing a migration has begun. */
  async reopen(on: Queryable, name: string): Promise<void> {
    await on.query`UPDATE ${this.#table} SET finished_at = NULL WHERE name = ${name}`;
  }

  /** Forgets a migration that has been undone. */
  async forget(on: Queryable, name: string): Promise<void> {
    await on.query`DELETE FROM ${this.#table} WHERE name = ${name}`;
  }

  async #exists(db: Database): Promise<{ table: boolean; lock: boolean }> {
    const [table, lock] = [this.#table, this.#lock].map((one) => one.compile().text);
    return db.one<{ table: boolean; lock: boolean }>`SELECT
      to_regclass(${table ?? ''}) IS NOT NULL AS "table", to_regclass(${lock ?? ''}) IS NOT NULL AS lock`;
  }
}

/** A name, or schema and name. */
function split(name: string): [string, ...string[]] {
  const [first = '', ...rest] = name.split('.');
  return [first, ...rest];
}
