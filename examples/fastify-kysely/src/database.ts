/** The database: its tables as types, and its migrations. */

import { BraidDialect } from '@braiddb/kysely';
import { connect } from '@braiddb/sdk';
import type { Generated, Migration } from 'kysely';
import { Kysely, Migrator, sql } from 'kysely';

/** The tables. */
export interface Schema {
  item: { id: Generated<number>; name: string; price: string; stock: number };
  purchase: { id: Generated<number>; item: number; amount: number; made_at: Generated<Date> };
}

/** Connects; `destroy()` of the result closes the connections. */
export function openDatabase(url: string): Kysely<Schema> {
  // Numbers of rows stay far below 2^53, so INT8 may be a number.
  const db = (): ReturnType<typeof connect> => connect(url, { parsers: { int8: 'number' } });
  return new Kysely<Schema>({ dialect: new BraidDialect({ db }) });
}

const migrations: Record<string, Migration> = {
  '2026-11-01-items': {
    async up(db: Kysely<unknown>) {
      await sql`CREATE TABLE item (
        id INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        price NUMERIC(12, 2) NOT NULL CHECK (price >= 0),
        stock INT4 NOT NULL CHECK (stock >= 0))`.execute(db);
    },
  },
  '2026-11-02-purchases': {
    async up(db: Kysely<unknown>) {
      await sql`CREATE TABLE purchase (
        id INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        item INT8 NOT NULL REFERENCES item,
        amount INT4 NOT NULL CHECK (amount > 0),
        made_at TIMESTAMPTZ NOT NULL DEFAULT now())`.execute(db);
    },
  },
};

/** Brings the tables up to date; any number of processes may do so at the same time. */
export async function migrate(kysely: Kysely<Schema>): Promise<void> {
  const provider = { getMigrations: () => Promise.resolve(migrations) };
  const { error } = await new Migrator({ db: kysely, provider }).migrateToLatest();
  if (error !== undefined) throw new Error('the migration failed', { cause: error });
}
