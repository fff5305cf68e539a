/** The service over a database of its own. */

import { request } from 'node:http';

import { createDatabase, type TestDatabase } from '@braiddb/server';
import type { FastifyInstance, InjectOptions } from 'fastify';
import type { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { onEachServer } from '../../../sdk/test/targets.js';
import type { Schema } from '../src/database.js';
import { migrate, openDatabase } from '../src/database.js';
import { makeService } from '../src/service.js';

const LAMP = { name: 'lamp', price: '19.90', stock: 5 };

onEachServer('the shop', ({ url }) => {
  let database: TestDatabase;
  let kysely: Kysely<Schema>;
  let service: FastifyInstance;
  beforeEach(async () => {
    database = await createDatabase(url, { prefix: 'shop' });
    kysely = openDatabase(database.url);
    // As many processes do that start at the same time.
    const other = openDatabase(database.url);
    await Promise.all([migrate(kysely), migrate(other)]);
    await other.destroy();
    service = makeService(kysely);
  });
  afterEach(async () => {
    await service.close();
    await kysely.destroy();
    await database.drop();
  });

  /** Status and body of an answer. */
  async function ask(
    method: NonNullable<InjectOptions['method']>,
    path: string,
    body?: object,
  ): Promise<[number, unknown]> {
    const answer = await service.inject({ method, url: path, ...(body && { body }) });
    return [answer.statusCode, answer.body === '' ? undefined : answer.json()];
  }

  it('creates, reads, changes and deletes items', async () => {
    expect(await ask('POST', '/items', LAMP)).toEqual([201, { id: 1, ...LAMP }]);
    expect(await ask('GET', '/items/1')).toEqual([200, { id: 1, ...LAMP }]);
    expect(await ask('PATCH', '/items/1', { stock: 6 })).toMatchObject([200, { stock: 6 }]);
    expect(await ask('DELETE', '/items/1')).toEqual([204, undefined]);
    for (const method of ['GET', 'DELETE'] as const) {
      expect((await ask(method, '/items/1'))[0]).toBe(404);
    }
    expect((await ask('PATCH', '/items/1', { stock: 6 }))[0]).toBe(404);
  });

  it('lists items page by page', async () => {
    for (let number = 1; number <= 5; number++) {
      await ask('POST', '/items', { ...LAMP, name: `lamp ${number}` });
    }
    const [, first] = await ask('GET', '/items?limit=2');
    expect(first).toMatchObject([{ id: 1 }, { id: 2 }]);
    const [, rest] = await ask('GET', '/items?after=2');
    expect(rest).toMatchObject([{ id: 3 }, { id: 4 }, { id: 5 }]);
  });

  it('answers what is wrong with a request', async () => {
    await ask('POST', '/items', LAMP);
    expect(await ask('POST', '/items', LAMP)).toMatchObject([409, { constraint: 'item_name_key' }]);
    const wrong = [{ ...LAMP, price: 'much' }, { name: 'lamp 2' }, { ...LAMP, stock: -1 }];
    for (const body of wrong) expect((await ask('POST', '/items', body))[0]).toBe(400);
    expect((await ask('GET', '/items/none'))[0]).toBe(400);
    expect((await ask('POST', '/purchases', { item: 9, amount: 1 }))[0]).toBe(404);
    await ask('POST', '/purchases', { item: 1, amount: 1 });
    expect((await ask('DELETE', '/items/1'))[0]).toBe(409);
  });

  it('sells each piece once, however many want it', async () => {
    await ask('POST', '/items', { ...LAMP, stock: 20 });
    const buyers = Array.from({ length: 30 }, () =>
      ask('POST', '/purchases', { item: 1, amount: 1 }),
    );
    const statuses = (await Promise.all(buyers)).map(([status]) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(20);
    expect(statuses.filter((status) => status === 409)).toHaveLength(10);
    expect(await ask('GET', '/items/1')).toMatchObject([200, { stock: 0 }]);
    const { sold } = await kysely
      .selectFrom('purchase')
      .select(({ fn }) => fn.sum<number>('amount').as('sold'))
      .executeTakeFirstOrThrow();
    expect(sold).toBe(20);
  });

  it('buys nothing for a client that has gone', async () => {
    const failed = new Promise<Error>((resolve) => {
      service.addHook('onError', (_request, _reply, error, done) => {
        resolve(error);
        done();
      });
    });
    await ask('POST', '/items', LAMP);
    const address = await service.listen({ port: 0, host: '127.0.0.1' });
    const headers = { 'content-type': 'application/json' };
    // Another buyer has locked the item until the client has gone.
    await kysely.transaction().execute(async (trx) => {
      await trx.selectFrom('item').select('id').forUpdate().execute();
      const client = request(`${address}/purchases`, { method: 'POST', headers, agent: false });
      client.on('error', () => undefined); // the connection that is cut below
      client.end(JSON.stringify({ item: 1, amount: 1 }));
      setTimeout(() => client.destroy(), 200);
      expect((await failed).message).toBe('the client has gone');
    });
    expect(await kysely.selectFrom('purchase').selectAll().execute()).toEqual([]);
    expect(await kysely.selectFrom('item').select('stock').execute()).toEqual([{ stock: 5 }]);
  });
});
