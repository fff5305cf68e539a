/** Wrong input: each is refused at once, by a typed error that says what to do. */

import { createServer as createHttpServer } from 'node:http';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';
import { describe, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import { ClosedError, connect, OptionError, sql, table } from '../../src/index.js';
import { freshName, onEachServer } from '../targets.js';

/** What a call fails with, whether it throws or rejects. */
async function failure(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** The address of a server that is no database; it ends with the block. */
async function open(server: Server): Promise<{ url: string } & AsyncDisposable> {
  const sockets = new Set<{ destroy: () => void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://root:secret@127.0.0.1:${port}/defaultdb`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A parameter of the start of a session, as a server sends it. */
function parameter(name: string, value: string): Buffer {
  const text = Buffer.from(`${name}\0${value}\0`);
  const head = Buffer.from([0x53, 0, 0, 0, 0]);
  head.writeInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}

describe('connect', () => {
  it.each([
    [undefined, 'url'],
    [null, 'url'],
    [5, 'url'],
    [{}, 'url'],
    ['', 'url'],
    ['mysql://root@localhost', 'url'],
    ['localhost:26257', 'url'],
    ['postgresql://root:secret@127.0.0.1:99999/d', 'url'],
    ['postgresql://root:se/cret@127.0.0.1:5432/d', 'url'],
    ['postgresql://root@a:1,b:99999/d', 'hosts'],
  ])('refuses %j', async (target, option) => {
    const error = await failure(() => connect(target as never));
    expect(error).toMatchObject({ name: 'OptionError', option });
    expect(JSON.stringify([error, String(error)])).not.toContain('secret');
  });

  it('says that a server is no database', async () => {
    await using http = await open(createHttpServer((_, answer) => answer.end('hello')));
    // As MySQL greets: the first byte is no message of PostgreSQL.
    const greeting = Buffer.from([0x4a, 0, 0, 0, 10, 0x38, 0x2e, 0x30, 0, 0, 0]);
    await using other = await open(createServer((socket) => socket.write(greeting)));
    for (const { url } of [http, other]) {
      const error = await failure(() => connect(url));
      expect(error).toMatchObject({ name: 'ConnectionError' });
      expect(String(error)).toContain('does not answer as a database');
    }
    await using silent = await open(createServer());
    const late = await failure(() => connect(silent.url, { connectTimeoutMs: 200 }));
    expect(late).toMatchObject({ name: 'ConnectionError', errno: 'ETIMEDOUT' });
    expect(String(late)).toContain('took the connection and did not answer');
  });

  it('refuses a PostgreSQL that is too old', async () => {
    const hello = Buffer.concat([
      Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]),
      parameter('server_version', '8.4.22'),
      Buffer.from([0x5a, 0, 0, 0, 5, 0x49]),
    ]);
    const old = createServer((socket) => socket.once('data', () => socket.write(hello)));
    await using server = await open(old);
    await expect(connect(server.url)).rejects.toThrow('PostgreSQL 8.4.22; 10 or later is needed');
  });
});

onEachServer('bad input', ({ url }) => {
  const name = freshName('sdk_bad');
  const withTable = async (work: (db: Database) => Promise<void>): Promise<void> => {
    await using db = await connect(url);
    await db.script(`CREATE TABLE ${name} (id INT4 PRIMARY KEY, n INT4)`);
    try {
      await work(db);
    } finally {
      await db.script(`DROP TABLE ${name}`);
    }
  };

  it('names the option', () =>
    withTable(async (db) => {
      const loose = db as unknown as Record<string, (...args: unknown[]) => unknown>;
      const batcher = db.batcher(name) as unknown as typeof loose;
      const lock = (options: unknown): Promise<unknown> =>
        db.transaction((tx) => tx.query`SELECT 1`.forUpdate(options as never));
      const calls: [string, () => unknown][] = [
        ['signal', () => loose.query?.(sql`SELECT 1`, { signal: 5 })],
        ['table', () => loose.batcher?.(5)],
        ['table', () => loose.batcher?.('')],
        ['adaptive', () => loose.batcher?.(name, { adaptive: 5 })],
        ['rowsMax', () => loose.batcher?.(name, { rowsMax: 1.5 })],
        ['mode', () => loose.batcher?.(name, { mode: 'merge' })],
        ['key', () => loose.batcher?.(name, { key: [] })],
        ['signal', () => batcher.add?.({ id: 1 }, { signal: 5 })],
        ['signl', () => batcher.add?.({ id: 1 }, { signl: 5 })],
        ['signal', () => batcher.ready?.({ signal: 5 })],
        ['signal', () => batcher.addAll?.([{ id: 1 }], { signal: 5 })],
        ['onRejected', () => batcher.writable?.({ onRejected: 5 })],
        ['skipLocked', () => lock({ skipLocked: 'yes' })],
        ['of', () => lock({ of: 5 })],
        ['header', () => loose.copyFrom?.({ table: name, header: 'yes' }, 'x')],
        ['columns', () => loose.copyFrom?.({ table: name, columns: 'id' }, 'x')],
        ['format', () => loose.copyTo?.({ table: name, format: 'json' })],
        ['bufferMax', () => loose.listen?.('a', { bufferMax: 0 })],
        ['channels', () => loose.listen?.(5)],
        ['channels', () => loose.listen?.([])],
        ['channels', () => loose.listen?.('')],
        ['onConflict', () => loose.insert?.(name, { id: 1 }, { onConflict: 'ignore' })],
        ['batchRows', () => loose.stream?.(sql`SELECT 1`, { batchRows: 1.5 })],
        ['timeoutMs', () => loose.close?.({ timeoutMs: 'soon' })],
        ['key', () => table(name, { key: 'id' as never })],
      ];
      for (const [option, call] of calls) {
        const error = await failure(call);
        expect([option, error]).toEqual([option, expect.any(OptionError)]);
        expect(error).toMatchObject({ option });
      }
      expect((await db.query(sql.unsafe(`SELECT id FROM ${name}`))).count).toBe(0);
    }));

  it('of rows and values names the row, the column or the statement', () =>
    withTable(async (db) => {
      const loose = db as unknown as Record<string, (...args: unknown[]) => unknown>;
      const wrong = await failure(() => db.query`SELECT ${undefined as never}, ${1}`);
      expect(String(wrong)).toBe(
        'ValueError: parameter 1: undefined is not a value; use null for NULL; text: SELECT ${…}, ${…}',
      );
      expect(String(await failure(() => loose.insert?.(name, [{ id: 1 }, null])))).toContain(
        'row 2',
      );
      expect(String(await failure(() => loose.insert?.(name, 'x')))).toContain('row 1');
      const unfit = await failure(
        () => db.query`INSERT INTO ${sql.identifier(name)} VALUES (${'x'})`,
      );
      expect(unfit).toMatchObject({
        code: '22P02',
        statement: expect.stringContaining('INSERT') as string,
      });
      await using batcher = db.batcher<object>(name);
      const refused = await failure(() => batcher.add({ id: 'x' }));
      expect(refused).toMatchObject({ name: 'BatchRowError', code: '22P02', row: { id: 'x' } });
    }));

  it('of callbacks that throw does not stop the batcher', async () => {
    const thrown: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    try {
      await withTable(async (db) => {
        const fail = (): void => {
          throw new Error('mine');
        };
        const options = { onBatch: fail, onAdapt: fail, rowsMax: 20 };
        await using batcher = db.batcher<{ id: number }>(name, options);
        for (let from = 0; from < 4_000; from += 400) {
          await Promise.all(Array.from({ length: 400 }, (_, n) => batcher.add({ id: from + n })));
        }
        await sleep(10);
        expect(thrown.length).toBeGreaterThan(9);
        expect(thrown.every((error) => String(error) === 'Error: mine')).toBe(true);
      });
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
  });

  it('of far more rows than there is room for is refused, and the others are stored', () =>
    withTable(async (db) => {
      await using batcher = db.batcher<{ id: number }>(name, { waitingRowsMax: 50 });
      const all = Array.from({ length: 3_000 }, (_, id) => batcher.add({ id }));
      const settled = await Promise.allSettled(all);
      const refused = settled.filter(({ status }) => status === 'rejected');
      expect(refused).toHaveLength(2_000);
      expect(refused[0]).toMatchObject({ reason: { name: 'UsageError' } });
      const { count } = await db.query(sql.unsafe(`SELECT id FROM ${name}`));
      expect(count).toBe(1_000);
    }));

  it('of a function that never ends: close does, and so does the call', async () => {
    const db = await connect(url, { graceMs: 200 });
    const work = failure(() =>
      db.transaction(async (tx) => {
        await tx.query`SELECT 1`;
        await new Promise(() => undefined);
      }),
    );
    await sleep(50);
    await db.close({ timeoutMs: 50 });
    expect(await work).toBeInstanceOf(ClosedError);
  });

  it('of a statement that nobody awaits fails the transaction, not the process', async () => {
    const seen: unknown[] = [];
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', (error) => seen.push(error));
    try {
      await using db = await connect(url);
      const error = await failure(() =>
        db.transaction((tx) => {
          void tx.query`SELECT 1 / 0`;
          return Promise.resolve();
        }),
      );
      expect(error).toMatchObject({ code: '22012' });
      await sleep(20);
      expect(seen).toEqual([]);
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });

  it('of a pool that has ended, or a handle that was closed, is refused at once', async () => {
    const pool = new pg.Pool({ connectionString: url });
    const over = await connect(pool);
    await pool.end();
    const db = await connect(url);
    const batcher = db.batcher<{ id: number }>(name);
    await db.close();
    const calls = [
      () => over.query`SELECT 1`,
      () => over.transaction((tx) => tx.query`SELECT 1`),
      () => db.query`SELECT 1`,
      () => db.run`SELECT 1`,
      () => db.transaction(() => Promise.resolve(1)),
      () => db.stream`SELECT 1`.next(),
      () => db.listen('a').next(),
      () => db.reserve(),
      () => db.copyFrom({ table: name }, 'x'),
      () => db.batcher(name),
      () => batcher.add({ id: 1 }),
    ];
    const startMs = performance.now();
    for (const call of calls) expect(await failure(call)).toMatchObject({ name: 'UsageError' });
    expect(performance.now() - startMs).toBeLessThan(2_000);
  });
});
