/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import { createReadStream } from 'node:fs';

import { integer, pgTable, QueryBuilder } from 'drizzle-orm/pg-core';
import type { Dialect } from 'kysely';
import { Kysely } from 'kysely';
import { expectTypeOf } from 'vitest';

import type {
  Database,
  Insertable,
  ListenGap,
  Lockable,
  Notification,
  QueryResult,
  Selectable,
  Sql,
  Stays,
  Transaction,
  TransactionFunction,
  Updateable,
  Write,
} from '../../src/index.js';
import { connect, DatabaseError, isRetryable, sql, table } from '../../src/index.js';

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

export async function streamsHaveTheTypeOfTheirItems(db: Database, tx: Transaction): Promise<void> {
  for await (const item of db.listen('a')) {
    expectTypeOf(item).toEqualTypeOf<Notification | ListenGap>();
    if (item.gap === undefined) expectTypeOf(item).toEqualTypeOf<Notification>();
    else expectTypeOf(item.dropped).toEqualTypeOf<number | undefined>();
  }
  const gaps: ListenGap[] = [];
  const onGap = (gap: ListenGap): void => void gaps.push(gap);
  for await (const { payload } of db.listen(['a', 'b'], { onGap })) {
    expectTypeOf(payload).toBeString();
  }
  for await (const chunk of tx.copyTo({ table: 'a' })) expectTypeOf(chunk).toEqualTypeOf<Buffer>();
  expectTypeOf(await tx.copyFrom(sql`COPY a FROM STDIN`, createReadStream('a'))).toBeNumber();
  await using connection = await db.reserve();
  expectTypeOf(await connection.one<Reading>`SELECT 1`).toEqualTypeOf<Reading>();
  // @ts-expect-error there is no such format
  db.copyTo({ table: 'a', format: 'xml' });
  // @ts-expect-error rows are no bytes
  await db.copyFrom({ table: 'a' }, [{ id: 1 }]);
  expectTypeOf(tx).not.toHaveProperty('reserve');
  // @ts-expect-error an unknown option
  await db.close({ timeout: 5 });
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

const items = table<{ id: number; label: string | null }>('item', { key: ['id'] });

export async function transactionsEnd(db: Database): Promise<void> {
  // @ts-expect-error tx cannot be used after its end
  await db.transaction((tx) => Promise.resolve(tx));
  // @ts-expect-error nor with options bound to it
  await db.transaction({ readOnly: true }, (tx) => Promise.resolve(tx.with({})));
  // @ts-expect-error nor out of a nested one
  await db.transaction((tx) => tx.transaction((inner) => Promise.resolve(inner)));
  // @ts-expect-error nor inside something else
  await db.transaction((tx) => Promise.resolve({ leaked: tx }));
  // @ts-expect-error nor in a list
  await db.transaction((tx) => Promise.resolve([tx]));
  // @ts-expect-error nor perhaps
  await db.transaction((tx) => Promise.resolve(Math.random() < 0.5 ? tx : undefined));
  // What a transaction returns otherwise is left alone, however little is known about it.
  expectTypeOf(await db.transaction(() => Promise.resolve<unknown>(1))).toBeUnknown();
  const whatever = (): Promise<any> => Promise.resolve(1); // eslint-disable-line @typescript-eslint/no-explicit-any
  expectTypeOf(await db.transaction(whatever)).toBeAny();
  expectTypeOf(db.transaction((tx) => tx.run`SELECT 1`)).resolves.toBeVoid();
  const list = await db.transaction(() => Promise.resolve([{ id: 1 }]));
  expectTypeOf(list).toEqualTypeOf<{ id: number }[]>();
  expectTypeOf(await inTransaction(db, () => Promise.resolve('x'))).toBeString();
  // @ts-expect-error nor through a helper
  await inTransaction(db, (tx) => Promise.resolve(tx));
  const thrown: Promise<never> = db.transaction(() => Promise.reject(new Error('no')));
  await thrown;
}

/** A helper of a caller that hands functions on. */
function inTransaction<T>(db: Database, fn: TransactionFunction<T> & Stays<T>): Promise<T> {
  return db.transaction({ attemptsMax: 3 }, fn);
}

export async function rowTypesFlowThrough(db: Database): Promise<void> {
  const readings = await db.transaction(async (tx) => {
    const { rows } = await tx.query<Reading>`SELECT 1`;
    const [only] = await tx.insert(items, { id: 1 }).returning('id');
    const nested = await tx.transaction(async (inner) => ({
      one: await inner.one<Reading>`SELECT 1`.forShare(),
      count: await inner.delete(items).where({ id: 1 }).count(),
    }));
    return { rows, only, nested };
  });
  expectTypeOf(readings.rows[0]?.celsius).toEqualTypeOf<number | null | undefined>();
  expectTypeOf(readings.only).toEqualTypeOf<{ id: number } | undefined>();
  expectTypeOf(readings.nested).toEqualTypeOf<{ one: Reading; count: number }>();
  const batcher = db.batcher<Reading>('reading');
  await batcher.add({ id: 1n, celsius: null });
  // @ts-expect-error a wrong type
  await batcher.add({ id: 'x', celsius: null });
  const { rejected } = await batcher.addAll([{ id: 1n, celsius: 1 }]);
  expectTypeOf(rejected[0]?.row).toEqualTypeOf<Reading | undefined>();
}

export async function buildersKnowTheirRows(db: Database, tx: Transaction): Promise<void> {
  expectTypeOf(await db.insert(items, [{ id: 1 }]).count()).toBeNumber();
  expectTypeOf(await tx.insert(items, { id: 1 }).returning('id')).toEqualTypeOf<
    Pick<{ id: number; label: string | null }, 'id'>[]
  >();
  expectTypeOf(await db.delete(items).everywhere().returning()).toEqualTypeOf<
    { id: number; label: string | null }[]
  >();
  await db.update(items, { label: sql`upper(label)` }).where({ id: 1, label: null });
  await db.insert('untyped', { anything: 1 });
  // @ts-expect-error no such column
  await db.insert(items, { id: 1, nope: 2 });
  // @ts-expect-error a wrong type
  await tx.update(items, { id: 'one' }).everywhere();
  // @ts-expect-error no such column to return
  await tx.delete(items).everywhere().returning('nope');
  // @ts-expect-error an update without rows is not a write
  const write: Write = tx.update(items, { id: 1 });
  await write;
  // @ts-expect-error a key is a column
  table<{ id: number }>('item', { key: ['nope'] });
}

export async function locksKeepTheRowType(db: Database, tx: Transaction): Promise<void> {
  const row = await tx.one<Reading>`SELECT 1`.forUpdate({ skipLocked: true, of: ['a'] });
  expectTypeOf(row).toEqualTypeOf<Reading>();
  // @ts-expect-error locks end with the statement outside a transaction
  const read: Lockable<QueryResult> = db.query`SELECT 1`;
  await read;
}

export async function queriesOfLibrariesKeepTheirType(
  db: Database,
  tx: Transaction,
): Promise<void> {
  const kysely = new Kysely<{ reading: Reading }>({ dialect: {} as Dialect });
  const all = kysely.selectFrom('reading').selectAll();
  expectTypeOf(await db.query(all)).toEqualTypeOf<QueryResult<Reading>>();
  expectTypeOf(await tx.query(all).forUpdate()).toEqualTypeOf<QueryResult<Reading>>();
  expectTypeOf(await tx.one(kysely.selectFrom('reading').select('id'))).toEqualTypeOf<{
    id: bigint;
  }>();
  expectTypeOf(await db.maybeOne(all)).toEqualTypeOf<Reading | undefined>();
  const inserted = kysely.insertInto('reading').values({ id: 1n, celsius: 2 });
  expectTypeOf(tx.run(inserted)).toEqualTypeOf<Write>();
  expectTypeOf(await db.one(inserted.returning('id'))).toEqualTypeOf<{ id: bigint }>();

  const drizzle = new QueryBuilder()
    .select()
    .from(pgTable('reading', { id: integer('id'), celsius: integer('celsius') }));
  expectTypeOf((await db.query(drizzle)).rows[0]?.celsius).toBeUnknown();
  expectTypeOf(await db.one<Reading>(drizzle)).toEqualTypeOf<Reading>();
  expectTypeOf(tx.run(drizzle)).toEqualTypeOf<Write>();
  expectTypeOf(await db.one(sql.unsafe<Reading>('SELECT $1', [1]))).toEqualTypeOf<Reading>();
  // @ts-expect-error a compiled query of a library goes through sql.unsafe
  await db.query({ sql: 'SELECT 1', parameters: [] });
}

export async function streamsKeepTheirType(db: Database): Promise<void> {
  for await (const row of db.stream<Reading>`SELECT 1`) expectTypeOf(row).toEqualTypeOf<Reading>();
  const kysely = new Kysely<{ reading: Reading }>({ dialect: {} as Dialect });
  const ids = db.stream(kysely.selectFrom('reading').select('id'), { batchRows: 10 });
  for await (const row of ids) expectTypeOf(row).toEqualTypeOf<{ id: bigint }>();
  // @ts-expect-error an unknown option
  db.stream(sql`SELECT 1`, { batchSize: 10 });
}

export async function tablesHaveRowTypes(db: Database): Promise<void> {
  const reading = table<Reading>('reading', { key: ['id'] });
  type Of = typeof reading;
  expectTypeOf<Selectable<Of>>().toEqualTypeOf<Reading>();
  expectTypeOf<Insertable<Of>>().toEqualTypeOf<{ celsius?: number | null; id: bigint }>();
  expectTypeOf<Insertable<Of, 'id'>>().toEqualTypeOf<{ id?: bigint; celsius?: number | null }>();
  expectTypeOf<Updateable<Of>>().toEqualTypeOf<Partial<Reading>>();
  const row: Insertable<Of> = { id: 1n };
  const change: Updateable<Of> = { celsius: 2 };
  await db.insert(reading, [row]);
  await db.update(reading, change).where({ id: 1n });
  // @ts-expect-error a column that is never null and has no default is needed
  const missing: Insertable<Of> = { celsius: 1 };
  await db.insert(reading, missing);
}
