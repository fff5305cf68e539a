/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Database, Write } from '@braiddb/sdk';
import { eq } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { expectTypeOf } from 'vitest';

import type { BraidDatabase } from '../src/index.js';
import { drizzle } from '../src/index.js';

const city = pgTable('city', { id: integer('id').primaryKey(), name: text('name').notNull() });
const schema = { city };

export async function databasesKnowTheirSchema(client: Database): Promise<void> {
  const db = drizzle(client, { schema });
  expectTypeOf(db).toEqualTypeOf<BraidDatabase<typeof schema>>();
  expectTypeOf(drizzle({ client, schema })).toEqualTypeOf<BraidDatabase<typeof schema>>();
  const found = await db.query.city.findMany();
  expectTypeOf(found).toEqualTypeOf<{ id: number; name: string }[]>();
  // @ts-expect-error The table does not exist.
  expectTypeOf(db.query.town).toBeAny();
  // @ts-expect-error A URL is no database.
  drizzle('postgresql://localhost');
}

export async function transactionsKeepTheirTypes(db: BraidDatabase<typeof schema>): Promise<void> {
  const names = await db.transaction(
    async (tx) => {
      expectTypeOf(tx.attempt).toEqualTypeOf<number>();
      const inner = await tx.transaction((nested) => nested.query.city.findMany());
      return inner.map(({ name }) => name);
    },
    { isolationLevel: 'read committed', attemptsMax: 3 },
  );
  expectTypeOf(names).toEqualTypeOf<string[]>();
  // @ts-expect-error There is no such level.
  await db.transaction(() => Promise.resolve(1), { isolationLevel: 'snapshot' });
  // @ts-expect-error It would have no effect.
  await db.transaction(() => Promise.resolve(1), { deferrable: true });
}

export function onlyWritesWithoutResultsAreUnawaited(db: BraidDatabase): void {
  const insert = db.insert(city).values({ id: 1, name: 'Bergen' });
  expectTypeOf(db.run(insert)).toEqualTypeOf<Write>();
  void db.run(insert.onConflictDoNothing());
  void db.run(db.update(city).set({ name: 'Porto' }).where(eq(city.id, 1)));
  void db.run(db.delete(city).where(eq(city.id, 1)));
  // @ts-expect-error Somebody wants the rows.
  void db.run(db.insert(city).values({ id: 1, name: 'Bergen' }).returning());
  // @ts-expect-error A read has rows.
  void db.run(db.select().from(city));
}
