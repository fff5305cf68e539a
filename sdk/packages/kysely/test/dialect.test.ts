/** Queries, errors, streams and cancelling by the dialect. */

import { connect, ConstraintError, OptionError } from '@braiddb/sdk';
import type { LogEvent } from 'kysely';
import { CamelCasePlugin, Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';

import { onEachServer, slowStatement } from '../../../test/targets.js';
import { BraidConnection } from '../src/connection.js';
import { BraidDialect, withSignal } from '../src/index.js';
import { failure, purses } from './tables.js';

onEachServer('the dialect', ({ url }) => {
  it('runs queries and counts what they change', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    expect(await kysely.selectFrom(name).selectAll().where('id', '=', 1).execute()).toEqual([
      { id: 1, coins: 10, owner: 'Ada' },
    ]);
    const inserted = await kysely
      .insertInto(name)
      .values([
        { id: 3, coins: 1, owner: null },
        { id: 4, coins: 1, owner: null },
      ])
      .executeTakeFirst();
    expect(inserted.numInsertedOrUpdatedRows).toBe(2n);
    const update = kysely.updateTable(name).set({ coins: 2 }).where('coins', '=', 1);
    expect((await update.executeTakeFirst()).numUpdatedRows).toBe(2n);
    const returned = await update.returning('id').execute();
    expect(returned).toEqual([]);
    const removed = await kysely.deleteFrom(name).where('id', '>', 2).executeTakeFirst();
    expect(removed.numDeletedRows).toBe(2n);
    const count = kysely.selectFrom(name).select(({ fn }) => fn.countAll().as('count'));
    expect(await count.executeTakeFirst()).toEqual({ count: 2n });
  });

  it('throws the errors of the SDK', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    const insert = kysely.insertInto(name).values({ id: 1, coins: 1, owner: null });
    const error = await failure(insert.execute());
    expect(error).toBeInstanceOf(ConstraintError);
    expect(error).toMatchObject({ code: '23505', kind: 'unique', parameters: [1, 1, null] });
  });

  it('applies plugins and logs', async () => {
    const events: LogEvent[] = [];
    const log = (event: LogEvent): void => void events.push(event);
    await using fixture = await purses(url, {}, { plugins: [new CamelCasePlugin()], log });
    const { rows } = await sql<{ twoWords: number }>`SELECT 1::int4 AS two_words`.execute(
      fixture.kysely,
    );
    expect(rows).toEqual([{ twoWords: 1 }]);
    await failure(sql`SELECT nonsense`.execute(fixture.kysely));
    expect(events.map(({ level }) => level)).toEqual(['query', 'error']);
  });

  it('streams rows, and gives the connection back', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely } = fixture;
    const series = sql<{ n: number }>`generate_series(1, 2500)`.as<'g'>(sql`g(n)`);
    const numbers = kysely.selectFrom(series).select(sql<number>`n`.as('n'));
    let sum = 0;
    for await (const { n } of numbers.stream(1000)) sum += n;
    expect(sum).toBe((2500 * 2501) / 2);
    for await (const { n } of numbers.stream(10)) if (n === 15) break;
    expect((await numbers.limit(1).execute())[0]).toEqual({ n: 1 });
    // In a transaction: a cursor of that one.
    const seen: number[] = [];
    await kysely.transaction().execute(async (trx) => {
      const { name } = fixture;
      await trx.insertInto(name).values({ id: 9, coins: 9, owner: null }).execute();
      for await (const { id } of trx.selectFrom(name).select('id').orderBy('id').stream(2)) {
        seen.push(id);
      }
      for await (const { id } of trx.deleteFrom(name).returning('id').stream()) seen.push(id);
    });
    expect(seen.slice(0, 3)).toEqual([1, 2, 9]);
    expect(seen).toHaveLength(6);
  });

  it('cancels queries, streams and transactions by a signal', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, name } = fixture;
    const text = await slowStatement(url);
    const slow = sql.raw(text);
    const reason = new Error('enough');
    const soon = (): AbortSignal => {
      const controller = new AbortController();
      setTimeout(() => {
        controller.abort(reason);
      }, 50);
      return controller.signal;
    };
    expect(await failure(withSignal(soon(), () => slow.execute(kysely)))).toBe(reason);
    const loop = async (): Promise<void> => {
      const rows = kysely.selectFrom(sql`(${sql.raw(text)})`.as('g')).selectAll();
      for await (const row of rows.stream(100)) expect(row).toBe('the first row');
    };
    expect(await failure(withSignal(soon(), loop))).toBe(reason);
    const whole = withSignal(soon(), () =>
      kysely.transaction().execute(async (trx) => {
        await trx.deleteFrom(name).execute();
        await slow.execute(trx);
      }),
    );
    expect(await failure(whole)).toBe(reason);
    // Kysely 0.29 has a signal of its own, and hands it on.
    const compiled = sql`${slow}`.compile(kysely);
    const byOption = kysely.getExecutor().provideConnection((connection) => {
      if (!(connection instanceof BraidConnection)) throw new Error('another connection');
      return connection.executeQuery(compiled, { signal: soon() });
    });
    expect(await failure(byOption)).toBe(reason);
    // Nothing is left open: there is one connection.
    expect(await kysely.selectFrom(name).select('id').execute()).toHaveLength(2);
  });

  it('opens a database at the first query, and closes what it has opened', async () => {
    let count = 0;
    const open = async (): ReturnType<typeof connect> => {
      if (++count === 1) throw new Error('not yet');
      return connect(url, { connectionsMax: 1 });
    };
    const kysely = new Kysely<object>({ dialect: new BraidDialect({ db: open }) });
    const one = sql<{ one: number }>`SELECT 1::int4 AS one`;
    expect(await failure(one.execute(kysely))).toEqual(new Error('not yet'));
    expect((await one.execute(kysely)).rows).toEqual([{ one: 1 }]);
    await Promise.all([one.execute(kysely), one.execute(kysely)]);
    expect(count).toBe(2);
    await kysely.destroy();
    await expect(one.execute(kysely)).rejects.toThrow('destroyed');

    const db = await connect(url, { connectionsMax: 1 });
    const other = new Kysely<object>({ dialect: new BraidDialect({ db }) });
    await one.execute(other);
    await other.destroy();
    expect(await db.one`SELECT 1::int4 AS a`).toEqual({ a: 1 });
    await db.close();
  });
});

it('refuses options that are wrong', () => {
  const db = (): Promise<never> => Promise.reject(new Error('never called'));
  for (const options of [{}, { db: 'postgresql://' }, { db, migrationLockTimeoutMs: 0 }]) {
    expect(() => new BraidDialect(options as never)).toThrow(OptionError);
  }
});
