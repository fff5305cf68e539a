/** What is particular to TypeORM: entities, savepoints, subscribers, and what is refused. */

import { RetriesExhaustedError, UsageError } from '@braiddb/sdk';
import type { EntitySubscriberInterface } from 'typeorm';
import { DataSource, EntitySchema, QueryFailedError } from 'typeorm';
import { expect, it } from 'vitest';

import { startProxy } from '../../../test/proxy.js';
import { freshName, onEachServer } from '../../../test/targets.js';
import { transaction } from '../src/index.js';

interface Book {
  id: number;
  title: string;
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it was to fail');
}

/** An entity `Book` with a table of its own, and a data source with one connection. */
async function fixtureOn(url: string): Promise<
  AsyncDisposable & {
    readonly source: DataSource;
    readonly Book: EntitySchema<Book>;
  }
> {
  const name = freshName('book');
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
  const Book = new EntitySchema<Book>({
    name,
    columns: { id: { type: 'int', primary: true }, title: { type: 'text' } },
  });
  const source = new DataSource({
    ...{ type: 'postgres', url, poolSize: 1, entities: [Book], installExtensions: false },
  });
  await source.initialize();
  await source.query(`CREATE TABLE ${name} (id INT4 PRIMARY KEY, title TEXT NOT NULL)`);
  const dispose = async (): Promise<void> => {
    await source.query(`DROP TABLE ${name}`);
    await source.destroy();
  };
  return { source, Book, [Symbol.asyncDispose]: dispose };
}

onEachServer('TypeORM', ({ url }) => {
  it('entities and savepoints work in the transaction', async () => {
    await using fixture = await fixtureOn(url);
    const { source, Book } = fixture;
    const titles = await transaction(source.manager, async (manager) => {
      await manager.save(Book, { id: 1, title: 'one' });
      const inner = manager.transaction((nested) => nested.insert(Book, { id: 1, title: 'two' }));
      expect(await failure(inner)).toBeInstanceOf(QueryFailedError);
      await manager.transaction((nested) => nested.save(Book, { id: 2, title: 'two' }));
      return (await manager.find(Book, { order: { id: 'ASC' } })).map(({ title }) => title);
    });
    expect(titles).toEqual(['one', 'two']);
    expect(await source.manager.count(Book)).toBe(2);
  });

  it('refuses transactions, other databases and what is no function', async () => {
    await using fixture = await fixtureOn(url);
    const { source, Book } = fixture;
    const nested = transaction(source, (manager) => transaction(manager, () => Promise.resolve()));
    expect(await failure(nested)).toBeInstanceOf(UsageError);
    const noFunction = transaction(source, { attemptsMax: 3 } as never);
    expect(await failure(noFunction)).toBeInstanceOf(UsageError);
    const other = new DataSource({ type: 'postgres', url });
    Object.assign(other, { options: { type: 'cockroachdb' } });
    expect(await failure(transaction(other, () => Promise.resolve()))).toBeInstanceOf(UsageError);
    expect(await source.manager.count(Book)).toBe(0);
  });

  it('rolls back where a subscriber refuses the commit', async () => {
    await using fixture = await fixtureOn(url);
    const { source, Book } = fixture;
    const refusal = new Error('not now');
    const subscriber: EntitySubscriberInterface = {
      beforeTransactionCommit: () => Promise.reject(refusal),
    };
    source.subscribers.push(subscriber);
    const work = transaction(source, (manager) => manager.save(Book, { id: 1, title: 'one' }));
    expect(await failure(work)).toBe(refusal);
    source.subscribers.pop();
    // The only connection of the pool is in no transaction.
    expect(await source.manager.count(Book)).toBe(0);
    await source.query('BEGIN');
    await source.query('COMMIT');
  });

  it('does not run again what has committed', async () => {
    await using fixture = await fixtureOn(url);
    const { source, Book } = fixture;
    const late = Object.assign(new Error('late'), { code: '40001', severity: 'ERROR' });
    const subscriber: EntitySubscriberInterface = {
      afterTransactionCommit: () => Promise.reject(late),
    };
    source.subscribers.push(subscriber);
    let runs = 0;
    const work = transaction(source, async (manager) => {
      runs += 1;
      await manager.insert(Book, { id: runs, title: 'one' });
    });
    expect(await failure(work)).toBe(late);
    source.subscribers.pop();
    expect(runs).toBe(1);
    expect(await source.manager.count(Book)).toBe(1);
  });

  it('waits for a server that is away, until the deadline', async () => {
    const proxy = await startProxy(url);
    const source = new DataSource({
      ...{ type: 'postgres', url: proxy.url, poolSize: 1, installExtensions: false },
    });
    await source.initialize();
    await proxy[Symbol.asyncDispose]();
    let runs = 0;
    const work = transaction(
      source,
      () => {
        runs += 1;
        return Promise.resolve();
      },
      { deadlineMs: 500 },
    );
    const error = await failure(work);
    expect(error).toBeInstanceOf(RetriesExhaustedError);
    expect(error).toMatchObject({ limit: 'deadline', last: { errno: 'ECONNREFUSED' } });
    expect(runs).toBe(0);
    await source.destroy();
  });
});
