import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, expect, it } from 'vitest';

import { connect, sql } from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, slowStatement } from '../targets.js';

onEachServer('an abort', ({ url }) => {
  let slow = '';
  beforeAll(async () => {
    slow = await slowStatement(url);
  });

  it('cancels the statement on the server and rejects with the reason', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    const reason = new Error('changed my mind');
    const abort = new AbortController();
    const startMs = performance.now();
    const running = db.script(slow, { signal: abort.signal });
    await sleep(100);
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    // The only connection is free again, so the statement really has ended.
    expect((await db.query`SELECT 1`).count).toBe(1);
  });

  it('hits only its own statement, whenever it comes', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    for (let round = 0; round < 40; round++) {
      const abort = new AbortController();
      const signal = abort.signal;
      const first = db.query(sql`SELECT sum(i) AS s FROM generate_series(1, 20000) AS g (i)`, {
        signal,
      });
      const second = db.query`SELECT sum(i) AS s FROM generate_series(1, 20000) AS g (i)`;
      await sleep(round / 8);
      abort.abort(new Error('aborted'));
      await first.catch((error: unknown) => {
        expect(error).toMatchObject({ message: 'aborted' });
      });
      expect((await second).rows).toEqual([{ s: 200010000n }]);
    }
  });

  it('before the start sends nothing', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(db.query(sql`SELECT 1`, { signal })).rejects.toThrow('too late');
    await expect(db.with({ signal }).query`SELECT 1`).rejects.toThrow('too late');
    await expect(db.transaction({ signal }, () => Promise.resolve())).rejects.toThrow('too late');
  });

  it('ends the wait for a connection', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    await db.transaction(async (tx) => {
      const waiting = db.query(sql`SELECT 1`, { signal: AbortSignal.timeout(50) });
      await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
      await tx.query`SELECT 1`;
    });
    expect((await db.query`SELECT 1`).count).toBe(1);
  });

  it('ends a transaction, and what it wrote is gone', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    const table = sql.identifier(freshName('sdk_abort'));
    await db.query`CREATE TABLE ${table} (id INT4)`;
    const signal = AbortSignal.timeout(150);
    const work = db.transaction({ signal }, async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      await tx.script(slow);
    });
    await expect(work).rejects.toMatchObject({ name: 'TimeoutError' });
    expect((await db.query`SELECT id FROM ${table}`).count).toBe(0);
    await db.query`DROP TABLE ${table}`;
  });

  it('of a nested transaction leaves the outer one in order', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    const row = await db.transaction(async (tx) => {
      const nested = tx.transaction((inner) =>
        inner.script(slow, { signal: AbortSignal.timeout(100) }),
      );
      await expect(nested).rejects.toMatchObject({ name: 'TimeoutError' });
      return tx.one`SELECT 1::int4 AS a`;
    });
    expect(row).toEqual({ a: 1 });
  });

  it('of a statement that waits for its turn gives it up at once', async () => {
    await using db = await connect(url, { connectionsMax: 1 });
    const signal = AbortSignal.timeout(300);
    const work = db.transaction({ signal }, async (tx) => {
      const first = tx.script(slow);
      const second = tx.query(sql`SELECT 1`, { signal: AbortSignal.timeout(50) });
      await expect(second).rejects.toMatchObject({ name: 'TimeoutError' });
      await first;
    });
    await expect(work).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('is over after the grace period when the server cannot be reached', async () => {
    await using proxy = await startProxy(url);
    await using db = await connect(proxy.url, { graceMs: 100, connectionsMax: 1 });
    proxy.judge = () => 'swallow';
    const running = db.query(sql`SELECT 1`, { signal: AbortSignal.timeout(50) });
    await expect(running).rejects.toMatchObject({ name: 'TimeoutError' });
    proxy.judge = () => 'pass';
    expect((await db.query`SELECT 1`).count).toBe(1);
  });
});
