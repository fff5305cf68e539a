/** Tables of their own for the tests, and Drizzle databases on them. */

import type { ConnectOptions, Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import type { DrizzleConfig } from 'drizzle-orm';
import { relations, sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  integer,
  interval,
  jsonb,
  numeric,
  pgTable,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

import { freshName } from '../../../test/targets.js';
import type { BraidDatabase } from '../src/index.js';
import { drizzle } from '../src/index.js';

/** Owners and their purses, under names that no other test uses. */
function tablesOf(suffix: string) {
  const owners = pgTable(`owner_${suffix}`, {
    id: integer('id').primaryKey(),
    name: text('name').notNull(),
  });
  const purses = pgTable(`purse_${suffix}`, {
    id: integer('id').primaryKey(),
    coins: integer('coins').notNull().default(0),
    ownerId: integer('owner_id').references(() => owners.id),
  });
  const things = pgTable(`thing_${suffix}`, {
    id: uuid('id')
      .primaryKey()
      .default(sql`gen_random_uuid()`),
    small: bigint('small', { mode: 'number' }),
    large: bigint('large', { mode: 'bigint' }),
    price: numeric('price', { precision: 12, scale: 2 }),
    seenAt: timestamp('seen_at', { withTimezone: true }),
    madeAt: timestamp('made_at', { mode: 'string', precision: 6 }),
    day: date('day'),
    span: interval('span'),
    isOpen: boolean('is_open'),
    tags: text('tags').array(),
    days: date('days').array(),
    more: jsonb('more').$type<{ a: number[] }>(),
  });
  const ownersRelations = relations(owners, ({ many }) => ({ purses: many(purses) }));
  const pursesRelations = relations(purses, ({ one }) => ({
    owner: one(owners, { fields: [purses.ownerId], references: [owners.id] }),
  }));
  return { owners, purses, things, ownersRelations, pursesRelations };
}

/** The tables of a fixture. */
export type Schema = ReturnType<typeof tablesOf>;

/** Tables with two owners and two purses, and how to reach them. */
export interface Fixture extends AsyncDisposable, Schema {
  readonly client: Database;
  readonly db: BraidDatabase<Schema>;
}

/** Makes such tables; they are dropped with the fixture. */
export async function fixtureOn(
  url: string,
  options: ConnectOptions = {},
  config: DrizzleConfig = {},
): Promise<Fixture> {
  const suffix = freshName('drizzle');
  const client = await connect(url, { connectionsMax: 4, ...options });
  await client.script(`CREATE TABLE owner_${suffix} (id INT4 PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE purse_${suffix} (id INT4 PRIMARY KEY,
      coins INT4 NOT NULL DEFAULT 0 CHECK (coins >= 0), owner_id INT4 REFERENCES owner_${suffix});
    CREATE TABLE thing_${suffix} (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), small INT8,
      large INT8, price NUMERIC(12, 2), seen_at TIMESTAMPTZ, made_at TIMESTAMP, day DATE,
      span INTERVAL, is_open BOOL, tags TEXT[], days DATE[], more JSONB);
    INSERT INTO owner_${suffix} VALUES (1, 'Ada'), (2, 'Bo');
    INSERT INTO purse_${suffix} VALUES (1, 10, 1), (2, 0, NULL)`);
  const schema = tablesOf(suffix);
  const db = drizzle(client, { ...config, schema });
  const dispose = async (): Promise<void> => {
    await client.script(`DROP TABLE thing_${suffix}, purse_${suffix}, owner_${suffix}`);
    await client.close();
  };
  return { client, db, ...schema, [Symbol.asyncDispose]: dispose };
}

/** The coins of purses 1 and 2. */
export async function coins({ db, purses }: Fixture): Promise<number[]> {
  const rows = await db.select({ coins: purses.coins }).from(purses).orderBy(purses.id);
  return rows.map((row) => row.coins);
}

/** The error of a promise that rejects. */
export async function failure(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}
