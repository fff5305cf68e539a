/** Queries: what Drizzle builds, and what comes back. */

import { ConstraintError, DatabaseError, OptionError } from '@braiddb/sdk';
import { and, count, eq, gt, sql } from 'drizzle-orm';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { drizzle } from '../src/index.js';
import { failure, fixtureOn } from './tables.js';

onEachServer('queries', ({ url }) => {
  it('insert, update, delete and select', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    const inserted = await db
      .insert(purses)
      .values([{ id: 3, coins: 5, ownerId: 2 }, { id: 4 }])
      .returning();
    expect(inserted).toEqual([
      { id: 3, coins: 5, ownerId: 2 },
      { id: 4, coins: 0, ownerId: null },
    ]);
    const updated = await db.update(purses).set({ coins: 7 }).where(gt(purses.id, 2));
    expect(updated).toMatchObject({ rowCount: 2, command: 'UPDATE', rows: [] });
    const upserted = await db
      .insert(purses)
      .values({ id: 3, coins: 1 })
      .onConflictDoUpdate({ target: purses.id, set: { coins: sql`${purses.coins} + 1` } })
      .returning({ coins: purses.coins });
    expect(upserted).toEqual([{ coins: 8 }]);
    const removed = await db.delete(purses).where(eq(purses.id, 4)).returning({ id: purses.id });
    expect(removed).toEqual([{ id: 4 }]);
    expect(await db.$count(purses, gt(purses.coins, 0))).toBe(2);
  });

  it('join tables whose columns have the same names', async () => {
    await using fixture = await fixtureOn(url);
    const { db, owners, purses } = fixture;
    await db.update(purses).set({ ownerId: 2 }).where(eq(purses.id, 1));
    const rows = await db
      .select({ purse: purses, owner: owners, total: count() })
      .from(purses)
      .leftJoin(owners, eq(purses.ownerId, owners.id))
      .groupBy(purses.id, owners.id)
      .orderBy(purses.id);
    expect(rows).toEqual([
      { purse: { id: 1, coins: 10, ownerId: 2 }, owner: { id: 2, name: 'Bo' }, total: 1 },
      { purse: { id: 2, coins: 0, ownerId: null }, owner: null, total: 1 },
    ]);
  });

  it('follow relations', async () => {
    await using fixture = await fixtureOn(url);
    const { db } = fixture;
    const found = await db.query.owners.findMany({
      with: { purses: { columns: { coins: true } } },
      orderBy: (owner, { asc }) => asc(owner.id),
    });
    expect(found).toEqual([
      { id: 1, name: 'Ada', purses: [{ coins: 10 }] },
      { id: 2, name: 'Bo', purses: [] },
    ]);
    const first = await db.query.purses.findFirst({ with: { owner: true } });
    expect(first?.owner?.name).toBe('Ada');
  });

  it('read each type as Drizzle declares it', async () => {
    await using fixture = await fixtureOn(url);
    const { db, things } = fixture;
    const seenAt = new Date('2026-01-31T12:34:56.789Z');
    const thing = {
      ...{ small: 2 ** 50, large: 9_223_372_036_854_775_807n, price: '1234567890.10', seenAt },
      ...{ madeAt: '2026-01-31 12:34:56.123456', day: '2026-01-31', span: '1 day 02:00:00' },
      ...{ isOpen: true, tags: ['a "b"', 'c,d'], days: ['2026-01-01', '2026-12-31'] },
      more: { a: [1, 2] },
    };
    const [stored] = await db.insert(things).values(thing).returning();
    expect(stored).toMatchObject(thing);
    const [nulls] = await db.insert(things).values({}).returning();
    expect(Object.values(nulls ?? {}).filter((value) => value !== null)).toHaveLength(1);
  });

  it('run SQL of their own, with rows as the driver for pg has them', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    const result = await db.execute<{ id: number; total: string }>(
      sql`SELECT ${purses.id}, sum(${purses.coins}) OVER () AS total FROM ${purses}
        WHERE ${purses.id} = ${1}`,
    );
    expect(result.rows).toEqual([{ id: 1, total: '10' }]);
    expect(result.fields.map(({ name }) => name)).toEqual(['id', 'total']);
    expect(result.rowCount).toBe(1);
    const moment = await db.execute<{ at: string }>(sql`SELECT DATE '2026-01-31' AS at`);
    expect(moment.rows).toEqual([{ at: '2026-01-31' }]);
  });

  it('are prepared under a name, with placeholders', async () => {
    await using fixture = await fixtureOn(url, { connectionsMax: 1 });
    const { db, client, purses } = fixture;
    const byId = db
      .select()
      .from(purses)
      .where(and(eq(purses.id, sql.placeholder('id'))))
      .prepare('purse_by_id');
    for (const id of [1, 2, 1]) expect(await byId.execute({ id })).toMatchObject([{ id }]);
    const known =
      await client.query`SELECT 1 FROM pg_prepared_statements WHERE statement LIKE ${`%${getTableConfig(purses).name}%`}`;
    expect(known.count).toBe(1);
    // A migration changes what the statement returns; it is prepared again.
    await client.script(`ALTER TABLE ${getTableConfig(purses).name} ALTER coins TYPE INT8`);
    expect(await byId.execute({ id: 1 })).toMatchObject([{ id: 1 }]);
    await db.transaction(async (tx) => {
      const inside = tx
        .select()
        .from(purses)
        .where(eq(purses.id, sql.placeholder('id')));
      expect(await inside.prepare('inside').execute({ id: 2 })).toMatchObject([{ id: 2 }]);
    });
  });

  it('fail with an error whose cause is one of the SDK', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    const error = await failure(db.insert(purses).values({ id: 1 }));
    expect(error).toBeInstanceOf(DrizzleQueryError);
    const { cause } = error as DrizzleQueryError;
    expect(cause).toBeInstanceOf(ConstraintError);
    expect(cause).toMatchObject({ code: '23505', kind: 'unique' });
    const nonsense = await failure(db.execute(sql`SELECT nonsense`));
    expect((nonsense as Error).cause).toBeInstanceOf(DatabaseError);
  });

  it('are cancelled by a signal of the database', async () => {
    await using fixture = await fixtureOn(url);
    const { client, purses } = fixture;
    const reason = new Error('stop');
    const stopped = drizzle(client.with({ signal: AbortSignal.abort(reason) }));
    const error = await failure(stopped.select().from(purses));
    expect((error as Error).cause).toBe(reason);
  });

  it('are logged', async () => {
    const lines: string[] = [];
    const logger = { logQuery: (text: string) => void lines.push(text) };
    await using fixture = await fixtureOn(url, {}, { logger });
    const { db, purses } = fixture;
    await db.select().from(purses);
    await db.run(db.delete(purses));
    await db.transaction(async (tx) => {
      await tx.run(tx.delete(purses));
    });
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['select', 'delete', 'delete']);
  });

  it('take names in another case', async () => {
    await using fixture = await fixtureOn(url, {}, { casing: 'snake_case' });
    const { db, owners } = fixture;
    expect(await db.select().from(owners).where(eq(owners.id, 2))).toEqual([{ id: 2, name: 'Bo' }]);
  });

  it('need a database of the SDK', () => {
    expect(() => drizzle({ query: () => undefined } as never)).toThrow(OptionError);
    expect(() => drizzle({ client: undefined } as never)).toThrow(OptionError);
  });
});
