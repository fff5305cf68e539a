import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import type { Database, RetryEvent, Transaction } from '../../src/index.js';
import { connect, isAmbiguous, isTransient, sql } from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, slowStatement } from '../targets.js';

onEachServer('transactions', ({ url }) => {
  let db: Database;
  const table = sql.identifier(freshName('sdk_transaction'));
  const ids = async (): Promise<number[]> => {
    const { rows } = await db.query<{ id: number }>`SELECT id FROM ${table} ORDER BY id`;
    return rows.map((row) => row.id);
  };
  beforeAll(async () => {
    db = await connect(url);
    await db.query`CREATE TABLE ${table} (id INT4 PRIMARY KEY, n INT4 NOT NULL DEFAULT 0)`;
  });
  beforeEach(async () => {
    await db.query`DELETE FROM ${table}`;
  });
  afterAll(async () => {
    await db.query`DROP TABLE ${table}`;
    await db.close();
  });

  it('commit and return what the function returns', async () => {
    const value = await db.transaction(async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      expect(await ids()).toEqual([]);
      return `attempt ${tx.attempt}`;
    });
    expect(value).toBe('attempt 1');
    expect(await ids()).toEqual([1]);
  });

  it('roll back and throw what the function throws', async () => {
    const mine = new Error('mine');
    const work = db.transaction(async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      throw mine;
    });
    await expect(work).rejects.toBe(mine);
    expect(await ids()).toEqual([]);
  });

  it('are serializable unless told otherwise', async () => {
    const level = async (tx: Transaction): Promise<unknown> =>
      (await tx.one`SHOW transaction_isolation`).transaction_isolation;
    expect(await db.transaction(level)).toBe('serializable');
    expect(await db.transaction({ isolation: 'read committed' }, level)).toBe('read committed');
  });

  it('refuse writes when read-only', async () => {
    const work = db.transaction(
      { readOnly: true },
      (tx) => tx.query`INSERT INTO ${table} VALUES (1)`,
    );
    await expect(work).rejects.toMatchObject({ code: '25006' });
  });

  it('run the whole function again when two of them cannot be ordered', async () => {
    await db.query`INSERT INTO ${table} VALUES (1, 1), (2, 1)`;
    const events: RetryEvent[] = [];
    let arrived = 0;
    let open: () => void = () => undefined;
    const bothHaveRead = new Promise<void>((resolve) => (open = resolve));
    const options = { onRetry: (event: RetryEvent) => void events.push(event) };
    // Each reads both rows and empties its own if the other is full: one must see the other's work.
    const leave = (id: number): Promise<number> =>
      db.transaction(options, async (tx) => {
        const { rows } = await tx.query<{ n: number }>`SELECT n FROM ${table}`;
        if (tx.attempt === 1 && ++arrived === 2) open();
        await bothHaveRead;
        const full = rows.filter((row) => row.n === 1).length;
        if (full === 2) await tx.query`UPDATE ${table} SET n = 0 WHERE id = ${id}`;
        return tx.attempt;
      });
    const attempts = await Promise.all([leave(1), leave(2)]);
    const left = await db.query`SELECT id FROM ${table} WHERE n = 1`;
    expect(left.count).toBe(1);
    expect(Math.max(...attempts)).toBeGreaterThan(1);
    expect(events.length).toBeGreaterThan(0);
    expect(events[0]).toMatchObject({ attempt: 1, error: { code: '40001' } });
  });

  it('lose no update, however many count at the same time', async () => {
    await db.query`INSERT INTO ${table} VALUES (1, 0)`;
    const options = { attemptsMax: 1000, backoffMaxMs: 50 };
    const count = (): Promise<void> =>
      db.transaction(options, async (tx) => {
        const { n } = await tx.one<{ n: number }>`SELECT n FROM ${table} WHERE id = 1`;
        await tx.query`UPDATE ${table} SET n = ${n + 1} WHERE id = 1`;
      });
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let round = 0; round < 5; round++) await count();
      }),
    );
    expect(await db.one`SELECT n FROM ${table} WHERE id = 1`).toEqual({ n: 40 });
  });

  it('do not commit when the function swallows the error of a statement', async () => {
    const work = db.transaction(async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      await tx.query`SELECT 1/0`.catch(() => undefined);
    });
    await expect(work).rejects.toMatchObject({ code: '22012' });
    expect(await ids()).toEqual([]);
  });

  it('commit statements that were not awaited, and fail with their errors', async () => {
    await db.transaction((tx) => {
      void tx.query`INSERT INTO ${table} VALUES (1)`;
      void tx.query`INSERT INTO ${table} VALUES (2)`;
      return Promise.resolve();
    });
    expect(await ids()).toEqual([1, 2]);
    const work = db.transaction((tx) => {
      tx.query`INSERT INTO ${table} VALUES (1)`.catch(() => undefined);
      return Promise.resolve();
    });
    await expect(work).rejects.toMatchObject({ code: '23505' });
  });

  it('report the first of several errors', async () => {
    const work = db.transaction((tx) =>
      Promise.all([
        tx.query`INSERT INTO ${table} VALUES (1)`,
        tx.query`SELECT 1/0`,
        tx.query`INSERT INTO ${table} VALUES (2)`,
      ]),
    );
    await expect(work).rejects.toMatchObject({ code: '22012' });
    expect(await ids()).toEqual([]);
  });

  it('cannot be used after their end', async () => {
    const leaked = await db.transaction((tx) => Promise.resolve(() => tx));
    const ended = { name: 'UsageError', message: 'the transaction has ended' };
    await expect(leaked().query`SELECT 1`).rejects.toMatchObject(ended);
    await expect(leaked().with({}).query`SELECT 1`).rejects.toMatchObject(ended);
    await expect(leaked().transaction(() => Promise.resolve())).rejects.toMatchObject(ended);
  });

  it('nest: what fails inside is undone, the rest stays', async () => {
    await db.transaction(async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      const inner = tx.transaction(async (nested) => {
        await nested.query`INSERT INTO ${table} VALUES (2)`;
        await nested.transaction((deep) => deep.query`INSERT INTO ${table} VALUES (3)`);
        await nested.query`INSERT INTO ${table} VALUES (1)`;
      });
      await expect(inner).rejects.toMatchObject({ code: '23505' });
      await tx.transaction((nested) => nested.query`INSERT INTO ${table} VALUES (4)`);
    });
    expect(await ids()).toEqual([1, 4]);
  });

  it('do not mix the statements of nested ones', async () => {
    const beside = db.transaction((tx) =>
      tx.transaction(() => tx.query`INSERT INTO ${table} VALUES (1)`),
    );
    await expect(beside).rejects.toThrow('use its own handle');
    const parallel = db.transaction(async (tx) => {
      const one = tx.transaction((nested) => nested.query`SELECT 1`);
      const two = tx.transaction((nested) => nested.query`SELECT 2`);
      await Promise.all([one, two]);
    });
    await expect(parallel).rejects.toThrow('use its own handle');
    const forgotten = db.transaction((tx) => {
      tx.transaction((nested) => nested.query`INSERT INTO ${table} VALUES (9)`).catch(
        () => undefined,
      );
      return Promise.resolve();
    });
    await expect(forgotten).rejects.toThrow('was not awaited');
    expect(await ids()).toEqual([]);
  });

  it('keep the error of the function when the rollback fails too', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { connectionsMax: 1 });
    proxy.judge = (chunk) => (chunk.includes('ROLLBACK') ? 'cut before' : 'pass');
    const mine = new Error('mine');
    const work = other.transaction(async (tx) => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      throw mine;
    });
    await expect(work).rejects.toBe(mine);
    expect(mine).toMatchObject({ rollbackError: { name: 'ConnectionError' } });
    expect(await other.one`SELECT count(*) AS n FROM ${table}`).toEqual({ n: 0n });
  });

  it('say that the outcome is unknown when the answer to COMMIT is lost', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { commitTokens: false });
    proxy.judge = (chunk) => (chunk.includes('COMMIT') ? 'cut after' : 'pass');
    let runs = 0;
    const work = other.transaction((tx) => {
      runs++;
      return tx.query`INSERT INTO ${table} VALUES (1)`;
    });
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'CommitUnknownError', cause: { name: 'ConnectionError' } });
    expect(isAmbiguous(error)).toBe(true);
    expect(runs).toBe(1);
    await expect.poll(ids).toEqual([1]);

    let cuts = 0;
    proxy.judge = (chunk) => (chunk.includes('COMMIT') && cuts++ < 1 ? 'cut after' : 'pass');
    const reading = await other.transaction({ readOnly: true }, (tx) => tx.query`SELECT 1`);
    expect(reading.count).toBe(1);
    expect(cuts).toBeGreaterThan(1);
  });

  it('run again when the connection is lost before COMMIT', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url);
    const insert = async (tx: Transaction): Promise<number> => {
      await tx.query`INSERT INTO ${table} VALUES (1)`;
      if (tx.attempt === 1) proxy.cutAll();
      await tx.query`INSERT INTO ${table} VALUES (2)`;
      return tx.attempt;
    };
    const error: unknown = await other
      .transaction({ attemptsMax: 1 }, insert)
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ limit: 'attempts', last: { name: 'ConnectionError' } });
    expect(isAmbiguous(error)).toBe(false);
    expect(isTransient(error)).toBe(true);
    expect(await ids()).toEqual([]);
    expect(await other.transaction(insert)).toBe(2);
    expect(await ids()).toEqual([1, 2]);
  });

  it('run again when the server ends the session, and tell its SQLSTATE', async () => {
    const heard: RetryEvent[] = [];
    const onRetry = (event: RetryEvent): void => void heard.push(event);
    await db.transaction({ onRetry }, async (tx) => {
      const { pid } = await tx.one<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
      if (tx.attempt === 1) {
        await db.query`SELECT pg_terminate_backend(${pid})`;
        // The session may end under this statement, or before it.
        await tx.query`SELECT pg_sleep(5)`;
      }
      await tx.run`INSERT INTO ${table} VALUES (1)`;
    });
    expect(heard).toMatchObject([{ from: 'begin', error: { sqlstate: '57P01' } }]);
    expect(await ids()).toEqual([1]);
  });

  it('wait for a server that is away, however few attempts they have', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url);
    let refusals = 0;
    proxy.judge = () => (refusals++ < 5 ? 'cut before' : 'pass');
    proxy.cutAll();
    const work = other.transaction({ attemptsMax: 2 }, (tx) => tx.one`SELECT 1 AS n`);
    expect(await work).toEqual({ n: 1 });
    expect(refusals).toBeGreaterThan(5);
  });

  it('do not wait forever for an answer to COMMIT once they are aborted', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { graceMs: 100, commitTokens: false });
    proxy.judge = (chunk) => (chunk.includes('COMMIT') ? 'swallow' : 'pass');
    const signal = AbortSignal.timeout(200);
    const work = other.transaction({ signal }, (tx) => tx.query`INSERT INTO ${table} VALUES (1)`);
    await expect(work).rejects.toMatchObject({ name: 'CommitUnknownError' });
  });

  it('end at their deadline, whatever they are waiting for', async () => {
    const slow = await slowStatement(url);
    const work = db.transaction({ deadlineMs: 300 }, (tx) => tx.script(slow));
    await expect(work).rejects.toMatchObject({ name: 'RetriesExhaustedError', limit: 'deadline' });
    const idle = db.transaction({ deadlineMs: 300 }, () => new Promise(() => undefined));
    await expect(idle).rejects.toMatchObject({ name: 'RetriesExhaustedError', attempts: 1 });
  });
});
