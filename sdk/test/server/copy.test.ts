/** `copyFrom` and `copyTo`: every format, back-pressure, and every way in which a COPY can end. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

import type { CopyStream, Database } from '../../src/index.js';
import {
  connect,
  ConnectionError,
  CopySourceError,
  DatabaseError,
  OptionError,
  sql,
  UsageError,
} from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, socketCount } from '../targets.js';

const never = new Promise<never>(() => undefined);

async function* lines(count: number): AsyncGenerator<string> {
  for (let id = 1; id <= count; id++) {
    if (id % 1000 === 0) await sleep(0);
    yield `${id}\tname ${id}\n`;
  }
}

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

onEachServer('COPY', ({ url }) => {
  let db: Database;
  const name = freshName('sdk_copy');
  const t = sql.identifier(name);
  const target = { table: name, columns: ['id', 'name'] };
  // With one connection a COPY that does not give it back makes the next statement wait.
  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 1, connectTimeoutMs: 5000 });
    await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY, name TEXT)`;
  });
  beforeEach(() => db.run`DELETE FROM ${t}`);
  afterAll(async () => {
    await db.run`DROP TABLE ${t}`;
    await db.close();
  });
  const rowCount = async (): Promise<number> =>
    Number((await db.one<{ n: bigint }>`SELECT count(*) AS n FROM ${t}`).n);
  afterEach(async () => {
    expect(await db.one`SELECT 1::int4 AS one`).toEqual({ one: 1 });
  });

  it('takes iterables, generators, node streams, web streams, strings and bytes', async () => {
    expect(await db.copyFrom(target, ['1\ta\n', '2\t', 'b\n'])).toBe(2);
    await db.run`DELETE FROM ${t}`;
    expect(await db.copyFrom(target, lines(5000))).toBe(5000);
    await db.run`DELETE FROM ${t}`;
    expect(await db.copyFrom(target, Readable.from(lines(50)))).toBe(50);
    expect(await db.copyFrom(target, ReadableStream.from(['101\tx\n']))).toBe(1);
    expect(await db.copyFrom(target, '102\t\\N\n')).toBe(1);
    expect(await db.copyFrom(target, Buffer.from('103\tné\n'))).toBe(1);
    expect(await db.copyFrom(sql`COPY ${t} FROM STDIN`, [])).toBe(0);
    expect(await db.one`SELECT name FROM ${t} WHERE id = 103`).toEqual({ name: 'né' });
    expect(await db.one`SELECT name FROM ${t} WHERE id = 102`).toEqual({ name: null });
  });

  it('goes out and in again in each format', async () => {
    await db.copyFrom(target, lines(3000));
    for (const format of ['text', 'csv', 'binary'] as const) {
      const header = format === 'csv';
      const chunks: Uint8Array[] = [];
      const out = db.copyTo({ ...target, format, header });
      expect(out.count).toBeUndefined();
      for await (const chunk of out) chunks.push(chunk);
      expect(out.count).toBe(3000);
      await db.run`DELETE FROM ${t}`;
      expect(await db.copyFrom({ ...target, format, header }, chunks)).toBe(3000);
    }
    const sums = await db.one`SELECT count(*) AS n, sum(id) AS s, max(name) AS m FROM ${t}`;
    expect(sums).toEqual({ n: 3000n, s: 4_501_500n, m: 'name 999' });
  });

  it('joins characters that were cut between two strings, and refuses half of one', async () => {
    expect(await db.copyFrom(target, ['1\t\ud83d', '\ude00\n'])).toBe(1);
    expect(await db.one`SELECT name FROM ${t}`).toEqual({ name: '😀' });
    await expect(db.copyFrom(target, ['2\t\ud83d\n'])).rejects.toBeInstanceOf(CopySourceError);
    await expect(db.copyFrom(target, ['2\tx\n\ud83d'])).rejects.toBeInstanceOf(CopySourceError);
    expect(await rowCount()).toBe(1);
  });

  it('splits large chunks and joins small ones', async () => {
    const large = 'x'.repeat(300_000);
    expect(await db.copyFrom(target, `1\t${large}\n2\t${large}\n`)).toBe(2);
    const { n } = await db.one<{ n: bigint }>`SELECT sum(length(name)) AS n FROM ${t}`;
    expect(n).toBe(600_000n);
    expect(await textOf(db.copyTo(target))).toHaveLength(600_006);
  });

  it('stores nothing when the source throws, before, between and instead of chunks', async () => {
    const cause = new Error('the disk is gone');
    const failing = async function* (count: number): AsyncGenerator<string> {
      yield* lines(count);
      throw cause;
    };
    for (const count of [0, 1, 20_000]) {
      const error: unknown = await db.copyFrom(target, failing(count)).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(CopySourceError);
      expect(error).toMatchObject({ cause });
      expect(await rowCount()).toBe(0);
    }
    const wrong = [1, 2] as unknown as string[];
    await expect(db.copyFrom(target, wrong)).rejects.toThrow('a string or bytes');
    await expect(db.copyFrom(target, 5 as unknown as string)).rejects.toThrow(UsageError);
    await expect(db.copyFrom(target, null as unknown as string)).rejects.toThrow(UsageError);
  });

  it('reads a file, and fails with the error of one that is not there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braiddb-copy-'));
    await writeFile(join(folder, 'rows.csv'), 'id,name\n1,one\n2,two\n');
    const csv = { ...target, format: 'csv', header: true } as const;
    expect(await db.copyFrom(csv, createReadStream(join(folder, 'rows.csv')))).toBe(2);
    const missing = createReadStream(join(folder, 'none.csv'));
    const error: unknown = await db.copyFrom(csv, missing).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'CopySourceError', cause: { code: 'ENOENT' } });
    await rm(folder, { recursive: true });
  });

  it('ends the source when the server refuses a row or the statement', async () => {
    let isClosed = false;
    const endless = async function* (): AsyncGenerator<string> {
      try {
        for (let id = 0; ; id++) {
          if (id % 1000 === 0) await sleep(0);
          yield id === 5000 ? 'wrong\trow\n' : `${id}\tx\n`;
        }
      } finally {
        isClosed = true;
      }
    };
    const refused: unknown = await db.copyFrom(target, endless()).catch((e: unknown) => e);
    expect(refused).toBeInstanceOf(DatabaseError);
    expect(refused).toMatchObject({ code: '22P02' });
    expect((refused as Error).stack).toContain('copy.test.ts');
    await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);

    const stream = Readable.from(endless());
    await expect(db.copyFrom({ table: 'no_such_table' }, stream)).rejects.toMatchObject({
      code: '42P01',
    });
    expect(stream.destroyed).toBe(true);
    // A source that never gives anything does not keep a COPY that has failed.
    const silent = (async function* () {
      await never;
      yield '';
    })();
    await expect(db.copyFrom({ table: 'no_such_table' }, silent)).rejects.toThrow('no_such_table');
    expect(await rowCount()).toBe(0);
  });

  it('of rows is aborted before, during and after', async () => {
    const reason = new Error('stop');
    const before = { signal: AbortSignal.abort(reason) };
    const unread = Readable.from(lines(1));
    await expect(db.copyFrom(target, unread, before)).rejects.toBe(reason);
    expect(unread.destroyed).toBe(true);

    for (const delayMs of [0, 5, 50]) {
      const abort = new AbortController();
      const endless = async function* (): AsyncGenerator<string> {
        for (let id = 0; ; id++) {
          if (id % 100 === 0) await sleep(0);
          yield `${id}\tx\n`;
        }
      };
      const running = db.copyFrom(target, endless(), { signal: abort.signal });
      setTimeout(() => {
        abort.abort(reason);
      }, delayMs);
      await expect(running).rejects.toBe(reason);
      expect(await rowCount()).toBe(0);
    }
    // A source that gives nothing more.
    const stuck = new PassThrough();
    stuck.write('1\tx\n');
    const signal = AbortSignal.timeout(50);
    await expect(db.copyFrom(target, stuck, { signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(stuck.destroyed).toBe(true);
    const after = new AbortController();
    expect(await db.copyFrom(target, lines(2), { signal: after.signal })).toBe(2);
    after.abort(reason);
    expect(await rowCount()).toBe(2);
  });

  it('makes a fast source wait for the server', async () => {
    await using proxy = await startProxy(url);
    await using slow = await connect(proxy.url, { connectionsMax: 1, graceMs: 200 });
    let given = 0;
    let isBlocked = false;
    const chunk = Buffer.alloc(65_536, 'x');
    const fast = async function* (): AsyncGenerator<Uint8Array> {
      for (;;) {
        await Promise.resolve();
        given += chunk.length;
        if (given > chunk.length * 20) isBlocked = true;
        yield chunk;
      }
    };
    // The proxy reads nothing more once rows come.
    proxy.judge = () => (isBlocked ? 'hold' : 'pass');
    const work = slow.copyFrom(target, fast(), { signal: AbortSignal.timeout(1500) });
    await expect(work).rejects.toMatchObject({ name: 'TimeoutError' });
    // What fits into the buffers of the sockets, not what a second can make.
    expect(given).toBeLessThan(200_000_000);
  });

  it('leaves the server waiting for a slow reader', async () => {
    const big = sql`COPY (SELECT repeat('x', 1000) FROM generate_series(1, 300000)) TO STDOUT`;
    const before = process.memoryUsage();
    const stream = db.copyTo(big);
    await stream.next();
    await sleep(500);
    const used = process.memoryUsage();
    expect(used.arrayBuffers - before.arrayBuffers).toBeLessThan(50_000_000);
    await stream.return();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('gives its connection back however the reader leaves', async () => {
    const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
    for await (const chunk of db.copyTo(many)) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect(await rowCount()).toBe(0);
    const read = async (): Promise<void> => {
      for await (const chunk of db.copyTo(many)) throw new RangeError(`enough: ${chunk.length}`);
    };
    await expect(read()).rejects.toThrow('enough');
    expect(await rowCount()).toBe(0);
    const unread = db.copyTo(many);
    expect(await rowCount()).toBe(0);
    await unread.return();
    expect(await unread.next()).toEqual({ done: true, value: undefined });
    const pending = db.copyTo(many);
    const all = [pending.next(), pending.return(), pending.next()] as const;
    expect((await Promise.all(all)).at(-1)).toEqual({ done: true, value: undefined });
    const failing = new Writable({
      write: (_chunk, _encoding, done) => {
        done(new Error('no space left'));
      },
    });
    await expect(pipeline(db.copyTo(many), failing)).rejects.toThrow('no space left');
    expect(await rowCount()).toBe(0);
  });

  it('to a reader is aborted before, between and during reads', async () => {
    const reason = new Error('stop');
    const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
    const before = db.copyTo(many, { signal: AbortSignal.abort(reason) });
    await expect(before.next()).rejects.toBe(reason);
    const between = new AbortController();
    const stream = db.copyTo(many, { signal: between.signal });
    await stream.next();
    between.abort(reason);
    // Nobody reads, and the connection comes back all the same.
    expect(await rowCount()).toBe(0);
    await expect(stream.next()).rejects.toBe(reason);
    const during = new AbortController();
    setTimeout(() => {
      during.abort(reason);
    }, 20);
    await expect(textOf(db.copyTo(many, { signal: during.signal }))).rejects.toBe(reason);
  });

  it('fails with the error of its statement', async () => {
    const wrong = db.copyTo(
      sql`COPY (SELECT 1 / (n - 5000) FROM generate_series(1, 9999) AS g(n)) TO STDOUT`,
    );
    const error: unknown = await textOf(wrong).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: '22012' });
    expect((error as Error).stack).toContain('copy.test.ts');
    await expect(db.copyTo({ table: 'no_such_table' }).next()).rejects.toMatchObject({
      code: '42P01',
    });
  });

  it('is refused where it does not belong, by a hint', async () => {
    await db.copyFrom(target, lines(3));
    await expect(db.query`COPY ${t} TO STDOUT`).rejects.toThrow('copyTo');
    await expect(db.script(`COPY ${name} TO STDOUT`)).rejects.toThrow('copyTo');
    await expect(db.query`COPY ${t} FROM STDIN`).rejects.toThrow('copyFrom');
    await expect(db.query`COPY ${t} FROM STDIN`).rejects.toBeInstanceOf(UsageError);
    await expect(db.script(`COPY ${name} FROM STDIN`)).rejects.toThrow('copyFrom');
    await expect(db.transaction((tx) => tx.query`COPY ${t} FROM STDIN`)).rejects.toThrow(
      'copyFrom',
    );
    await expect(db.copyFrom(sql`COPY ${t} TO STDOUT`, lines(1))).rejects.toThrow('copyTo');
    await expect(db.copyTo(sql`COPY ${t} FROM STDIN`).next()).rejects.toThrow();
    await expect(db.copyFrom(sql`SELECT 1`, lines(1))).rejects.toThrow('no COPY … FROM STDIN');
    await expect(db.copyTo(sql`SELECT 1`).next()).rejects.toThrow('no COPY … TO STDOUT');
    await expect(db.copyFrom(sql`COPY ${t} FROM ${1}`, [])).rejects.toThrow('takes no values');
    expect(() => db.copyTo({ table: name, format: 'xml' as 'csv' })).toThrow(OptionError);
    expect(() => db.copyTo({ table: name, format: 'binary', header: true })).toThrow(OptionError);
    expect(await rowCount()).toBe(3);
  });

  it('is part of a transaction', async () => {
    await db.transaction(async (tx) => {
      expect(await tx.copyFrom(target, lines(10))).toBe(10);
      expect(await textOf(tx.copyTo(target))).toContain('10\tname 10\n');
      await tx.run`DELETE FROM ${t} WHERE id = 1`;
    });
    expect(await rowCount()).toBe(9);
    const failed = db.transaction(async (tx) => {
      await tx.run`DELETE FROM ${t}`;
      await tx.copyFrom(target, ['1\tx\n', '1\ty\n']);
    });
    await expect(failed).rejects.toMatchObject({ code: '23505' });
    const thrown = db.transaction((tx) =>
      tx.copyFrom(
        target,
        (async function* () {
          yield '77\tx\n';
          await sleep(1);
          throw new Error('no more');
        })(),
      ),
    );
    await expect(thrown).rejects.toBeInstanceOf(CopySourceError);
    // A write that was not waited for comes first, and is to blame.
    const earlier = db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${t} VALUES (${2}, 'again')`;
      await tx.copyFrom(target, lines(1));
    });
    await expect(earlier).rejects.toMatchObject({ code: '23505', parameters: [2] });
    // Code that ignores the error does not commit what came before.
    const ignored = db.transaction(async (tx) => {
      await tx.run`DELETE FROM ${t}`;
      await tx.copyFrom(target, ['1\tx\n', '1\ty\n']).catch(() => undefined);
    });
    await expect(ignored).rejects.toMatchObject({ code: '23505' });
    // In a nested transaction it can be undone.
    await db.transaction(async (tx) => {
      const inner = tx.transaction((nested) => nested.copyFrom(target, ['2\tx\n']));
      await expect(inner).rejects.toMatchObject({ code: '23505' });
      await tx.copyFrom(target, ['50\tx\n']);
    });
    expect(await rowCount()).toBe(10);
  });

  it('that is left early lets its transaction go on', async () => {
    await db.copyFrom(target, lines(3));
    await db.transaction(async (tx) => {
      await tx.run`DELETE FROM ${t} WHERE id = 1`;
      const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
      for await (const chunk of tx.copyTo(many)) {
        expect(chunk.length).toBeGreaterThan(0);
        // Its connection is busy: nothing waits here for itself.
        await expect(tx.query`SELECT 1`).rejects.toBeInstanceOf(UsageError);
        break;
      }
      expect(await tx.one`SELECT count(*) AS n FROM ${t}`).toEqual({ n: 2n });
    });
    expect(await rowCount()).toBe(2);
  });

  it('that a transaction leaves behind fails it', async () => {
    const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
    let left: CopyStream | undefined;
    const work = db.transaction(async (tx) => {
      left = tx.copyTo(many);
      await left.next();
    });
    await expect(work).rejects.toThrow('not read to its end');
    await expect(left?.next()).rejects.toBeInstanceOf(UsageError);
    const stuck = new PassThrough();
    const aborted = db.transaction({ signal: AbortSignal.timeout(100) }, (tx) =>
      tx.copyFrom(target, stuck),
    );
    await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' });
    const selfish = db.transaction((tx) =>
      tx.copyFrom(
        target,
        (async function* () {
          yield '1\tx\n';
          await tx.query`SELECT 1`;
        })(),
      ),
    );
    await expect(selfish).rejects.toMatchObject({ cause: { name: 'UsageError' } });
  });

  it('refuses to read a source again in the next attempt', async () => {
    const source = Readable.from(lines(5));
    const work = db.transaction(async (tx) => {
      await tx.copyFrom(target, source);
      if (tx.attempt === 1) {
        throw new DatabaseError({ code: '40P01', message: 'again', severity: 'ERROR' });
      }
    });
    await expect(work).rejects.toThrow('make a new one');
    await db.transaction(async (tx) => {
      await tx.copyFrom(target, ['1\ta\n', '2\tb\n']);
      if (tx.attempt === 1) {
        throw new DatabaseError({ code: '40P01', message: 'again', severity: 'ERROR' });
      }
    });
    expect(await rowCount()).toBe(2);
  });

  it('that loses its connection says whether it may have taken effect', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { connectionsMax: 1 });
    const cutting = async function* (): AsyncGenerator<string> {
      yield* lines(10_000);
      await sleep(20);
      proxy.cutAll();
      await sleep(20);
      yield* lines(10_000);
    };
    const error: unknown = await other.copyFrom(target, cutting()).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ ambiguous: false });
    expect(await rowCount()).toBe(0);
    const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
    const read = async (): Promise<void> => {
      for await (const chunk of other.copyTo(many)) if (chunk.length > 0) proxy.cutAll();
    };
    await expect(read()).rejects.toBeInstanceOf(ConnectionError);
    expect((await other.query`SELECT 1`).count).toBe(1);
  });

  it('works over a pool of the caller, as do reserve and listen', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const other = await connect(pool);
    expect(await other.copyFrom(target, lines(2))).toBe(2);
    expect(await textOf(other.copyTo({ ...target, columns: ['id'] }))).toBe('1\n2\n');
    {
      await using connection = await other.reserve();
      await connection.query`SET search_path = information_schema`;
      await connection.query`BEGIN`;
    }
    const { rows } = await pool.query<{ search_path: string }>('SHOW search_path');
    expect(rows[0]?.search_path).not.toBe('information_schema');
    const onListening = (): void => void other.notify(name, 'x');
    for await (const { payload } of other.listen(name, { onListening })) {
      expect(payload).toBe('x');
      break;
    }
    await other.close();
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
    await pool.end();
  });

  it('is ended or awaited by close, and leaves no handle', async () => {
    const sockets = socketCount();
    const other = await connect(url, { connectionsMax: 2 });
    const many = sql`COPY (SELECT n FROM generate_series(1, 2000000) AS g(n)) TO STDOUT`;
    const stream = other.copyTo(many);
    await stream.next();
    const writing = other.copyFrom(target, lines(2000));
    await sleep(1);
    await other.close();
    await expect(stream.next()).rejects.toBeInstanceOf(UsageError);
    expect(await writing).toBe(2000);
    await expect(other.copyFrom(target, lines(1))).rejects.toBeInstanceOf(UsageError);
    await expect(other.copyTo(many).next()).rejects.toBeInstanceOf(UsageError);
    await expect.poll(socketCount, { timeout: 10_000 }).toBeLessThanOrEqual(sockets);
  });
});
