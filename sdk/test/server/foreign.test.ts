/** Queries that Kysely and Drizzle have built, and texts of `sql.unsafe`. */

import { eq, sql as drizzleSql } from 'drizzle-orm';
import { drizzle as drizzleDatabase } from 'drizzle-orm/pg-proxy';
import { integer, pgTable, timestamp } from 'drizzle-orm/pg-core';
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import { connect, ConstraintError, sql } from '../../src/index.js';
import { freshName, onEachServer } from '../targets.js';

interface Item {
  id: number;
  amount: number | null;
  at: Date | null;
}

const name = freshName('sdk_foreign');
const kysely = new Kysely<Record<string, Item>>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
const item = pgTable(name, {
  id: integer('id').primaryKey(),
  amount: integer('amount'),
  at: timestamp('at', { withTimezone: true }),
});
const drizzle = drizzleDatabase(() => Promise.reject(new Error('it must not send anything')));
const moment = new Date('2026-01-31T23:59:59.123Z');

onEachServer('queries of other libraries', ({ url }) => {
  let db: Database;
  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 2 });
    await db.query`CREATE TABLE ${sql.identifier(name)} (
      id INT4 PRIMARY KEY, amount INT4, at TIMESTAMPTZ)`;
  });
  beforeEach(() => db.run`DELETE FROM ${sql.identifier(name)}`);
  afterAll(async () => {
    await db.query`DROP TABLE ${sql.identifier(name)}`;
    await db.close();
  });

  it('runs queries of Kysely', async () => {
    const insert = kysely.insertInto(name).values([
      { id: 1, amount: 5, at: moment },
      { id: 2, amount: null, at: null },
    ]);
    expect(await db.query(insert)).toMatchObject({ count: 2, command: 'INSERT' });
    const read = kysely.selectFrom(name).selectAll().orderBy('id');
    expect((await db.query(read)).rows).toEqual([
      { id: 1, amount: 5, at: moment },
      { id: 2, amount: null, at: null },
    ]);
    expect(await db.one(read.limit(1))).toMatchObject({ id: 1 });
    expect(await db.maybeOne(read.where('id', '=', 9))).toBeUndefined();
  });

  it('runs queries of Drizzle', async () => {
    const values = [{ id: 1, amount: 5, at: moment }, { id: 2 }];
    expect((await db.query(drizzle.insert(item).values(values))).count).toBe(2);
    const read = drizzle.select().from(item).where(eq(item.id, 1));
    expect(await db.one<Item>(read)).toEqual({ id: 1, amount: 5, at: moment });
    await expect(
      db.query(
        drizzle
          .select()
          .from(item)
          .where(eq(item.id, drizzleSql.placeholder('id'))),
      ),
    ).rejects.toThrow('parameter 1 is a placeholder');
  });

  it('runs them inside transactions, without waiting and with locks', async () => {
    await db.transaction(async (tx) => {
      await tx.run(kysely.insertInto(name).values({ id: 1, amount: 1, at: null }));
      await tx.run(drizzle.insert(item).values({ id: 2, amount: 2 }));
      await tx.run(sql.unsafe(`INSERT INTO ${name} VALUES ($1, $1)`, [3]));
      const read = kysely.selectFrom(name).select('amount').orderBy('id');
      const { rows } = await tx.query(read).forUpdate();
      expect(rows).toEqual([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
      const changed = tx.run(drizzle.update(item).set({ amount: 0 }).where(eq(item.id, 3)));
      expect(await changed.count()).toBe(1);
    });
    expect(await db.run(kysely.deleteFrom(name)).count()).toBe(3);
  });

  it('names the statement of an error', async () => {
    const insert = kysely.insertInto(name).values({ id: 1, amount: 7, at: null });
    await db.query(insert);
    const error: unknown = await db
      .transaction(async (tx) => {
        await tx.run(insert);
      })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConstraintError);
    expect(error).toMatchObject({ code: '23505', parameters: [1, 7, null] });
  });

  it('runs a text of the caller, and refuses values that cannot be sent', async () => {
    expect(await db.one(sql.unsafe('SELECT $1::int4 + $1::int4 AS sum', [2]))).toEqual({ sum: 4 });
    await expect(db.query(sql.unsafe('SELECT $1::int4', []))).rejects.toMatchObject({
      name: 'UsageError',
    });
    const unset = { compile: () => ({ sql: 'SELECT $1', parameters: [undefined] }) };
    await expect(db.query(unset as never)).rejects.toThrow('parameter 1: undefined');
  });
});

describe('sql.unsafe and objects that look like a query', () => {
  it('keeps the text, and may be part of another statement where it has no values', () => {
    expect(sql.unsafe('SELECT $2, $1', [1, 'a']).compile()).toEqual({
      text: 'SELECT $2, $1',
      values: [1, 'a'],
    });
    const order = sql.unsafe('ORDER BY a DESC');
    expect(sql`SELECT ${1} ${order}`.compile().text).toBe('SELECT $1 ORDER BY a DESC');
    expect(() => sql`${sql.unsafe('a = $1', [1])}`.compile()).toThrow('part of another');
  });

  it('refuses what is not a text, not an array, or too long', () => {
    expect(() => sql.unsafe(1 as never)).toThrow('takes a text');
    expect(() => sql.unsafe('SELECT $1', 'x' as never)).toThrow('must be an array');
    expect(() => sql.unsafe('SELECT 1\0')).toThrow('NUL');
    expect(() =>
      sql.unsafe(
        '',
        Array.from({ length: 65_536 }, () => 1),
      ),
    ).toThrow('65536');
  });
});

onEachServer('objects that only look like a query', ({ url }) => {
  it('are refused, before anything is sent', async () => {
    const db = await connect(url, { connectionsMax: 1 });
    const broken = [
      { compile: () => ({ text: 'SELECT 1', values: [] }) },
      { toSQL: () => ({ sql: 'SELECT 1' }) },
      { compile: () => undefined },
    ];
    for (const one of broken) {
      await expect(db.query(one as never)).rejects.toThrow('did not return { sql, param');
    }
    const thrower = {
      compile: () => {
        throw new RangeError('cannot compile');
      },
    };
    await expect(db.query(thrower as never)).rejects.toThrow('cannot compile');
    const json = JSON.parse('{"compile":"x","toSQL":{"sql":"SELECT 1"}}') as never;
    await expect(db.query(json)).rejects.toThrow('a statement is a template');
    await db.close();
  });
});
