/**
 * Drizzle's migrations, run by one program at a time.
 *
 * The table of applied migrations is that of Drizzle's own drivers, so either can go on where the
 * other has stopped. The files are those of drizzle-kit.
 */

import type { Database, Sql, Transaction } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';
import type { MigrationMeta } from 'drizzle-orm/migrator';
import { readMigrationFiles } from 'drizzle-orm/migrator';

import type { BraidDatabase } from './driver.js';

/** Options of {@link migrate}, as Drizzle's own drivers take them. */
export interface MigrateOptions {
  /** The folder that drizzle-kit writes. */
  readonly migrationsFolder: string;
  /** Default `'__drizzle_migrations'`. */
  readonly migrationsTable?: string | undefined;
  /** Default `'drizzle'`. */
  readonly migrationsSchema?: string | undefined;
}

/**
 * Applies the migrations of a folder that are newer than the last applied one, all in one
 * transaction. Of several programs that do so at once, one applies them and the others wait.
 *
 * SQL: `CREATE SCHEMA IF NOT EXISTS`, `CREATE TABLE IF NOT EXISTS`; then in a transaction `LOCK
 * TABLE … IN SHARE ROW EXCLUSIVE MODE` and the statements of the files.
 */
export async function migrate(
  { $client: client }: Pick<BraidDatabase, '$client'>,
  { migrationsFolder, migrationsTable, migrationsSchema }: MigrateOptions,
): Promise<void> {
  const migrations = readMigrationFiles({ migrationsFolder });
  const schema = sql.identifier(migrationsSchema ?? 'drizzle');
  const table = sql`${schema}.${sql.identifier(migrationsTable ?? '__drizzle_migrations')}`;
  await createOnce(client, sql`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  await createOnce(
    client,
    sql`CREATE TABLE IF NOT EXISTS ${table} (
      id SERIAL PRIMARY KEY, hash text NOT NULL, created_at bigint)`,
  );
  await client.transaction(async (tx) => {
    await tx.query(sql`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
    const { at } = await tx.one<{ at: string | null }>`
      SELECT max(created_at)::text AS at FROM ${table}`;
    const lastMs = Number(at ?? -1);
    for (const migration of migrations) {
      if (migration.folderMillis > lastMs) await apply(tx, migration, table);
    }
  });
}

/** What PostgreSQL may answer to `IF NOT EXISTS` while another session creates the same thing. */
const CREATED_MEANWHILE = ['23505', '42P06', '42P07'];

const TRIES = 5;

/** Runs CREATE … IF NOT EXISTS, again where another session is doing the same. */
async function createOnce(client: Database, statement: Sql): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await client.transaction((tx) => tx.query(statement));
      return;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (tries >= TRIES || !CREATED_MEANWHILE.includes(String(code))) throw error;
    }
  }
}

async function apply(
  tx: Transaction,
  { sql: statements, hash, folderMillis }: MigrationMeta,
  table: Sql,
): Promise<void> {
  for (const statement of statements) await tx.script(statement);
  await tx.query(sql`INSERT INTO ${table} (hash, created_at) VALUES (${hash}, ${folderMillis})`);
}
