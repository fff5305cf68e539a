/** What is particular to Knex: its builders, savepoints, and what is refused. */

import { RetriesExhaustedError, UsageError } from '@braiddb/sdk';
import knex, { type Knex } from 'knex';
import { expect, it } from 'vitest';

import { codeOf } from '../../../test/retries.js';
import { freshName, onEachServer } from '../../../test/targets.js';
import { transaction } from '../src/index.js';

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}

/** A table `book`, and Knex over it with one connection. */
async function fixtureOn(
  url: string,
): Promise<AsyncDisposable & { readonly db: Knex; readonly book: string }> {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
  const book = freshName('book');
  await db.schema.createTable(book, (table) => {
    table.integer('id').primary();
    table.text('title').notNullable();
  });
  const dispose = async (): Promise<void> => {
    await db.schema.dropTable(book);
    await db.destroy();
  };
  return { db, book, [Symbol.asyncDispose]: dispose };
}

onEachServer('Knex', ({ url }) => {
  it('builders and savepoints work in the transaction', async () => {
    await using fixture = await fixtureOn(url);
    const { db, book } = fixture;
    const titles = await transaction(db, async (trx) => {
      await trx(book).insert({ id: 1, title: 'one' });
      const inner = trx.transaction((nested) => nested(book).insert({ id: 1, title: 'again' }));
      expect(codeOf(await failure(inner))).toBe('23505');
      await trx.transaction((nested) => nested(book).insert({ id: 2, title: 'two' }));
      return trx(book).orderBy('id').pluck('title');
    });
    expect(titles).toEqual(['one', 'two']);
    expect(await db(book).count({ n: '*' }).first()).toEqual({ n: '2' });
  });

  it('refuses transactions, other clients and what is no function', async () => {
    await using fixture = await fixtureOn(url);
    const { db, book } = fixture;
    const nested = transaction(db, (trx) => transaction(trx, () => Promise.resolve()));
    expect(await failure(nested)).toBeInstanceOf(UsageError);
    const noFunction = transaction(db, { attemptsMax: 3 } as never);
    expect(await failure(noFunction)).toBeInstanceOf(UsageError);
    const other = knex({ client: class extends knex.Client {} });
    expect(await failure(transaction(other, () => Promise.resolve()))).toBeInstanceOf(UsageError);
    const ended = transaction(db, async (trx) => {
      await trx(book).insert({ id: 1, title: 'one' });
      await trx.rollback();
    });
    expect(await failure(ended)).toBeInstanceOf(UsageError);
    expect(await db(book)).toEqual([]);
  });

  it('reports a write that nobody has awaited', async () => {
    await using fixture = await fixtureOn(url);
    const { db, book } = fixture;
    let late: Promise<unknown> | undefined;
    const work = transaction(db, async (trx) => {
      await trx(book).insert({ id: 1, title: 'one' });
      late = failure(trx(book).insert({ id: 1, title: 'again' }).then());
    });
    expect(codeOf(await failure(work))).toBe('23505');
    expect(codeOf(await late)).toBe('23505');
    expect(await db(book)).toEqual([]);
  });

  it('waits for a server that is away, until the deadline', async () => {
    const away = new URL(url);
    away.port = '1';
    const db = knex({ client: 'pg', connection: away.href, pool: { min: 0, max: 1 } });
    let runs = 0;
    const work = transaction(
      db,
      () => {
        runs += 1;
        return Promise.resolve();
      },
      { deadlineMs: 300 },
    );
    const error = await failure(work);
    expect(error).toBeInstanceOf(RetriesExhaustedError);
    expect(error).toMatchObject({ limit: 'deadline', last: { errno: 'ECONNREFUSED' } });
    expect(runs).toBe(0);
    await db.destroy();
  });
});
