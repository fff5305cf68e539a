/** The tables; `npx drizzle-kit generate` writes the migrations in `drizzle/` from them. */

import { sql } from 'drizzle-orm';
import { bigint, check, integer, pgTable } from 'drizzle-orm/pg-core';

export const account = pgTable(
  'account',
  { id: integer('id').primaryKey(), balance: integer('balance').notNull() },
  ({ balance }) => [check('account_balance', sql`${balance} >= 0`)],
);

const accountId = (name: string) =>
  integer(name)
    .notNull()
    .references(() => account.id);

export const transfer = pgTable('transfer', {
  id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
  from: accountId('from_account'),
  to: accountId('to_account'),
  amount: integer('amount').notNull(),
});
