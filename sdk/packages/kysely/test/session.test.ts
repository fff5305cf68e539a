/** Sessions: one connection for all queries of a function. */

import { UsageError } from '@braiddb/sdk';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { session, transaction, withSignal } from '../src/index.js';
import { failure, purses } from './tables.js';

const zone = sql<{ zone: string }>`SELECT current_setting('timezone') AS zone`;

onEachServer('session()', ({ url }) => {
  it('keeps settings and temporary tables, and leaves none behind', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, db, name } = fixture;
    const before = await zone.execute(kysely);
    const value = await session(kysely, async (own) => {
      await sql`SET timezone = 'Europe/Oslo'`.execute(own);
      await sql`CREATE TEMP TABLE mine (id INT4)`.execute(own);
      await sql`INSERT INTO mine VALUES (7)`.execute(own);
      expect((await zone.execute(own)).rows).toEqual([{ zone: 'Europe/Oslo' }]);
      const { rows } = await sql<{ id: number }>`SELECT id FROM mine`.execute(own);
      await sql`BEGIN`.execute(own);
      await own.updateTable(name).set({ coins: 99 }).execute();
      const streamed: number[] = [];
      for await (const row of own.selectFrom(name).select('coins').stream()) {
        streamed.push(row.coins);
      }
      expect(streamed).toEqual([99, 99]);
      return rows[0]?.id;
    });
    expect(value).toBe(7);
    expect(db.stats().connections.reserved).toBe(0);
    expect((await zone.execute(kysely)).rows).toEqual(before.rows);
    expect(await failure(sql`SELECT * FROM mine`.execute(kysely))).toMatchObject({ code: '42P01' });
    // The transaction that was left open has been rolled back.
    const { coins } = await kysely
      .selectFrom(name)
      .select('coins')
      .where('id', '=', 1)
      .executeTakeFirstOrThrow();
    expect(coins).toBe(10);
  });

  it('gives its connection back after an error, and takes a signal', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, db } = fixture;
    const mine = new Error('mine');
    expect(await failure(session(kysely, () => Promise.reject(mine)))).toBe(mine);
    expect(db.stats().connections.reserved).toBe(0);
    const reason = new Error('stop');
    const never = withSignal(AbortSignal.abort(reason), () =>
      session(kysely, (own) => zone.execute(own)),
    );
    expect(await failure(never)).toBe(reason);
    expect((await zone.execute(kysely)).rows).toHaveLength(1);
  });

  it('refuses transactions inside and outside', async () => {
    await using fixture = await purses(url);
    const { kysely } = fixture;
    const inside = session(kysely, (own) => own.transaction().execute((trx) => zone.execute(trx)));
    expect(await failure(inside)).toBeInstanceOf(UsageError);
    const outside = transaction(kysely, (trx) => session(trx, (own) => zone.execute(own)));
    expect(await failure(outside)).toBeInstanceOf(UsageError);
    expect(await failure(session(kysely, 7 as never))).toBeInstanceOf(UsageError);
  });

  it('runs beside other queries of the instance', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    await session(kysely, async (own) => {
      await sql`SET timezone = 'Europe/Oslo'`.execute(own);
      const other = await zone.execute(kysely);
      expect(other.rows[0]?.zone).not.toBe('Europe/Oslo');
      expect(await kysely.selectFrom(name).selectAll().execute()).toHaveLength(2);
    });
  });
});
