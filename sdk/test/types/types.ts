/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import { expectTypeOf } from 'vitest';

import type { Database, QueryResult, Sql, Transaction } from '../../src/index.js';
import { connect, DatabaseError, isRetryable, sql } from '../../src/index.js';

interface Reading {
  id: bigint;
  celsius: number | null;
}

export async function rowsKeepTheirType(db: Database, tx: Transaction): Promise<void> {
  expectTypeOf(await db.query<Reading>`SELECT 1`).toEqualTypeOf<QueryResult<Reading>>();
  expectTypeOf(await tx.one<Reading>`SELECT 1`).toEqualTypeOf<Reading>();
  expectTypeOf(await tx.maybeOne<Reading>`SELECT 1`).toEqualTypeOf<Reading | undefined>();
  expectTypeOf((await db.query`SELECT 1`).rows[0]?.anything).toBeUnknown();

  const typed = sql<Reading>`SELECT 1`;
  expectTypeOf(typed).toEqualTypeOf<Sql<Reading>>();
  expectTypeOf(await db.one(typed)).toEqualTypeOf<Reading>();
}

export async function transactionsReturnWhatTheFunctionReturns(db: Database): Promise<void> {
  expectTypeOf(await db.transaction(() => Promise.resolve(5))).toBeNumber();
  const row = await db.transaction({ readOnly: true }, (tx) => tx.one<Reading>`SELECT 1`);
  expectTypeOf(row.celsius).toEqualTypeOf<number | null>();
  expectTypeOf(
    await db.transaction((tx) => tx.transaction(() => Promise.resolve('x'))),
  ).toBeString();
}

export async function mistakesAreRefused(db: Database, tx: Transaction): Promise<void> {
  // @ts-expect-error a statement is not a string
  await db.query('SELECT 1');
  // @ts-expect-error undefined is not a value
  await db.query`SELECT ${undefined}`;
  // @ts-expect-error a transaction has no transaction options
  await tx.transaction({ readOnly: true }, () => Promise.resolve());
  // @ts-expect-error there is no such isolation level
  await db.transaction({ isolation: 'chaos' }, () => Promise.resolve());
  // @ts-expect-error an unknown option
  await connect('postgresql://x', { conectionsMax: 1 });
  // @ts-expect-error results cannot be replaced
  db.server = undefined;
  // @ts-expect-error a piece cannot be made by hand
  await db.query({ text: 'SELECT 1', values: [] });
}

export function errorsHaveTheirFields(error: unknown): void {
  if (error instanceof DatabaseError) {
    expectTypeOf(error.code).toBeString();
    expectTypeOf(error.position).toEqualTypeOf<number | undefined>();
  }
  expectTypeOf(isRetryable(error)).toBeBoolean();
}
