/** The service over a database of its own. */

import { connect, type Database } from '@braiddb/sdk';
import { createDatabase, type TestDatabase } from '@braiddb/server';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { onEachServer } from '../../../sdk/test/targets.js';
import { audit } from '../src/audit.js';
import { Relay } from '../src/relay.js';
import { makeService } from '../src/service.js';
import type { LedgerEvent } from '../src/tables.js';
import { createTables } from '../src/tables.js';

onEachServer('the ledger', ({ url }) => {
  let database: TestDatabase;
  let db: Database;
  let service: FastifyInstance;
  beforeEach(async () => {
    database = await createDatabase(url, { prefix: 'ledger' });
    db = await connect(database.url);
    // As many processes do that start at the same time.
    await Promise.all([createTables(db), createTables(db)]);
    service = makeService(db);
    await ask('POST', '/accounts', { id: 'bank', minimum: null });
    for (const id of ['ada', 'grace']) await ask('POST', '/accounts', { id, minimum: '0' });
  });
  afterEach(async () => {
    await service.close();
    await db.close();
    await database.drop();
  });

  /** Status and body of an answer. */
  async function ask(
    method: NonNullable<InjectOptions['method']>,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<[number, unknown]> {
    const answer = await service.inject({ method, url: path, headers, ...(body && { body }) });
    return [answer.statusCode, answer.json()];
  }

  function move(key: string, from: string, to: string, amount: string): Promise<[number, unknown]> {
    return ask('POST', '/transfers', { from, to, amount }, { 'idempotency-key': key });
  }

  it('moves money, and writes two entries and two events', async () => {
    expect(await move('t1', 'bank', 'ada', '1050')).toEqual([
      ...[201, { key: 't1', from: 'bank', to: 'ada', amount: '1050', repeated: false }],
    ]);
    expect(await move('t2', 'ada', 'grace', '50')).toMatchObject([201, { repeated: false }]);
    expect(await ask('GET', '/accounts/ada')).toEqual([
      ...[200, { id: 'ada', minimum: '0', balance: '1000', entries: '2' }],
    ]);
    expect(await ask('GET', '/accounts/ada/entries?after=1')).toEqual([
      ...[200, [{ account: 'ada', number: '2', transfer: 't2', amount: '-50', balance: '1000' }]],
    ]);
    expect(await ask('GET', '/transfers/t2')).toMatchObject([200, { debit: 'ada', amount: '50' }]);
    expect(await ask('GET', '/audit')).toEqual([200, { sum: '0', transfers: 2, faults: [] }]);
    expect(await ask('GET', '/health')).toMatchObject([200, { status: 'ok', eventsWaiting: true }]);
  });

  it('makes one transfer of a key, however often it is asked', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => move('once', 'bank', 'ada', '7')),
    );
    const statuses = answers.map(([status]) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 200, 201]);
    expect(await ask('GET', '/accounts/ada')).toMatchObject([200, { balance: '7', entries: '1' }]);
    expect(await move('once', 'bank', 'ada', '8')).toMatchObject([409, {}]);
  });

  it('takes a key for one transfer only, also between other accounts at once', async () => {
    await ask('POST', '/accounts', { id: 'mint', minimum: null });
    for (let round = 0; round < 5; round++) {
      const key = `shared-${round}`;
      const answers = await Promise.all([
        move(key, 'bank', 'ada', '1'),
        move(key, 'mint', 'grace', '1'),
      ]);
      expect(answers.map(([status]) => status).sort()).toEqual([201, 409]);
    }
    expect(await audit(db)).toEqual({ sum: 0n, transfers: 5, faults: [] });
  });

  it('refuses what is wrong, and writes nothing', async () => {
    expect(await move('t1', 'ada', 'bank', '1')).toMatchObject([
      ...[402, { reason: 'insufficient funds' }],
    ]);
    expect((await move('t1', 'ada', 'nobody', '1'))[0]).toBe(404);
    expect((await move('t1', 'ada', 'ada', '1'))[0]).toBe(422);
    expect(await ask('POST', '/accounts', { id: 'ada', minimum: '0' })).toMatchObject([
      ...[409, { reason: 'account exists' }],
    ]);
    const wrong = ['0', '-1', '1.5', '', '1'.repeat(19), 1];
    for (const amount of wrong) {
      const body = { from: 'bank', to: 'ada', amount };
      const headers = { 'idempotency-key': 't1' };
      expect((await ask('POST', '/transfers', body, headers))[0]).toBe(400);
    }
    expect((await ask('GET', '/accounts/ada/entries?limit=0'))[0]).toBe(400);
    expect((await ask('POST', '/transfers', { from: 'bank', to: 'ada', amount: '1' }))[0]).toBe(
      400,
    );
    expect((await ask('GET', '/accounts/nobody'))[0]).toBe(404);
    expect((await ask('GET', '/transfers/t1'))[0]).toBe(404);
    expect(await audit(db)).toEqual({ sum: 0n, transfers: 0, faults: [] });
    // A refused key may be used later.
    expect((await move('t1', 'bank', 'ada', '1'))[0]).toBe(201);
  });

  it('refuses a balance that no INT8 can hold', async () => {
    const most = '9'.repeat(18);
    for (let number = 1; number <= 9; number++) await move(`t${number}`, 'bank', 'ada', most);
    expect(await move('t10', 'bank', 'ada', most)).toMatchObject([
      ...[422, { reason: 'number too large' }],
    ]);
    expect(await audit(db)).toEqual({ sum: 0n, transfers: 9, faults: [] });
  });

  it('never overdraws an account, however many spend at once', async () => {
    await move('seed', 'bank', 'ada', '10');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => move(`spend-${at}`, 'ada', 'grace', '1')),
    );
    expect(answers.filter(([status]) => status === 201)).toHaveLength(10);
    expect(answers.filter(([status]) => status === 402)).toHaveLength(10);
    expect(await audit(db)).toEqual({ sum: 0n, transfers: 11, faults: [] });
  });

  it('finds faults', async () => {
    await move('t1', 'bank', 'ada', '5');
    await db.run`UPDATE ledger_account SET balance = 6, entries = 2 WHERE id = 'ada'`;
    await db.run`DELETE FROM ledger_entry WHERE account = 'bank'`;
    expect((await audit(db)).faults).toEqual([
      '"ada" has a balance that is not the sum of its entries',
      '"bank" has a balance that is not the sum of its entries',
      '"ada" has a gap in the numbers of its entries',
      '"bank" has a gap in the numbers of its entries',
      '"t1" has other entries than one debit and one credit of its amount',
      'the balances sum to 1',
    ]);
  });

  it('delivers events after a failure, in order, while other accounts go on', async () => {
    await move('t1', 'bank', 'ada', '1');
    await move('t2', 'bank', 'ada', '2');
    const arrived: LedgerEvent[] = [];
    const errors: unknown[] = [];
    const deliver = (event: LedgerEvent): Promise<void> => {
      if (event.account === 'ada' && errors.length < 2) return Promise.reject(new Error('away'));
      arrived.push(event);
      return Promise.resolve();
    };
    const options = { pollMs: 20, pauseMs: 20, onError: (error: unknown) => errors.push(error) };
    await using relay = new Relay(db, deliver, options);
    // A notification wakes it as well.
    await move('t3', 'bank', 'grace', '3');
    await expect.poll(() => arrived.length, { timeout: 20_000 }).toBe(6);
    await relay.close();
    const of = (account: string): string[] =>
      arrived.filter((event) => event.account === account).map((event) => event.number);
    expect([of('bank'), of('ada'), of('grace')]).toEqual([['1', '2', '3'], ['1', '2'], ['1']]);
    expect(errors).toEqual([new Error('away'), new Error('away')]);
    expect((await db.query`SELECT 1 FROM ledger_outbox`).rows).toEqual([]);
  });

  it('notes what has arrived when it is closed in between', async () => {
    for (const key of ['t1', 't2', 't3']) await move(key, 'bank', 'ada', '1');
    const arrived: LedgerEvent[] = [];
    const deliver = (event: LedgerEvent): Promise<void> => {
      arrived.push(event);
      return Promise.resolve();
    };
    const relay = new Relay(db, deliver, { concurrency: 1 });
    await expect.poll(() => arrived.length, { interval: 1 }).toBeGreaterThan(1);
    await relay.close();
    const { rows } = await db.query<{ n: number }>`SELECT count(*)::int4 AS n FROM ledger_outbox`;
    expect(rows).toEqual([{ n: 6 - arrived.length }]);
  });
});
