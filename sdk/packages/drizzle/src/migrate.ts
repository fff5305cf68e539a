/**
 * Drizzle's migrations, run by one program at a time.
 *
 * The table of applied migrations is that of Drizzle's own drivers, so either can go on where the
 * other has stopped. The files are those of drizzle-kit.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Sql, Transaction } from '@braiddb/sdk';
import { createOnce, OptionError, sql, UsageError } from '@braiddb/sdk';
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
  db: Pick<BraidDatabase, '$client'>,
  options: MigrateOptions,
): Promise<void> {
  const given: unknown = db;
  const client = (given as Partial<typeof db> | null)?.$client;
  if (
    client === undefined ||
    typeof (client as Partial<typeof client>).transaction !== 'function'
  ) {
    throw new UsageError('migrate takes a database of drizzle(…) and its options');
  }
  const { migrationsFolder, migrationsTable, migrationsSchema } = readOptions(options);
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

function readOptions(options: MigrateOptions): MigrateOptions {
  const given = ((options as unknown) ?? {}) as Readonly<Record<string, unknown>>;
  for (const name of ['migrationsFolder', 'migrationsTable', 'migrationsSchema']) {
    const value = given[name];
    const isOptional = name !== 'migrationsFolder';
    if (isOptional && value === undefined) continue;
    if (typeof value !== 'string' || value === '') throw new OptionError(name, 'must be a name');
  }
  if (existsSync(join(options.migrationsFolder, 'meta', '_journal.json'))) return options;
  const wanted = 'must be a folder that drizzle-kit has written, with meta/_journal.json';
  throw new OptionError('migrationsFolder', wanted);
}

async function apply(
  tx: Transaction,
  { sql: statements, hash, folderMillis }: MigrationMeta,
  table: Sql,
): Promise<void> {
  for (const statement of statements) await tx.script(statement);
  await tx.query(sql`INSERT INTO ${table} (hash, created_at) VALUES (${hash}, ${folderMillis})`);
}
