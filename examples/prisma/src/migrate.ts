/**
 * Applies the migrations in `prisma/migrations`, the files that `prisma migrate dev` writes.
 *
 * `npx prisma migrate deploy` does so too, where Prisma can download its schema engine. This needs
 * no engine. Use one of the two for a database: they write down in different tables what they did.
 */

import { readdir, readFile } from 'node:fs/promises';

import type { Database } from '@braiddb/sdk';
import { createOnce, sql } from '@braiddb/sdk';

const folder = new URL('../prisma/migrations/', import.meta.url);

/** Applies what is new, in the order of the names, each file in a transaction. */
export async function migrate(db: Database): Promise<void> {
  await createOnce(db, sql`CREATE TABLE IF NOT EXISTS applied_migration (name TEXT PRIMARY KEY)`);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  for (const name of names.toSorted()) {
    const text = await readFile(new URL(`${name}/migration.sql`, folder), 'utf8');
    await db.transaction(async (tx) => {
      // Of several programs one applies the file; the others wait here, and then find it applied.
      await tx.query`LOCK TABLE applied_migration IN SHARE ROW EXCLUSIVE MODE`;
      const found = await tx.maybeOne`SELECT name FROM applied_migration WHERE name = ${name}`;
      if (found !== undefined) return;
      await tx.script(text);
      await tx.query`INSERT INTO applied_migration VALUES (${name})`;
    });
  }
}
