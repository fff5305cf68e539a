/** `db.stream`: rows in batches, and every way in which a stream can end. */

import { beforeEach, afterEach, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import { connect, DatabaseError, OptionError, sql, UsageError } from '../../src/index.js';
import { onEachServer, slowStatement } from '../targets.js';

onEachServer('streams', ({ url }) => {
  let db: Database;
  // With one connection a stream that does not give it back makes the next statement wait.
  beforeEach(async () => {
    db = await connect(url, { connectionsMax: 1, connectTimeoutMs: 5000 });
  });
  afterEach(() => db.close());

  const numbers = (count: number): ReturnType<typeof sql<{ n: number }>> =>
    sql<{ n: number }>`SELECT n FROM generate_series(1, ${count}::int4) AS g(n)`;
  const isFree = async (): Promise<void> => {
    expect(await db.one`SELECT 1::int4 AS one`).toEqual({ one: 1 });
  };

  it.each([0, 1, 9, 10, 11, 100])('reads %i rows in batches of ten', async (count) => {
    const seen: number[] = [];
    for await (const { n } of db.stream(numbers(count), { batchRows: 10 })) seen.push(n);
    expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    await isFree();
  });

  it('is a template tag as well, and answers calls that come before their rows', async () => {
    const stream = db.stream<{ n: bigint }>`SELECT ${7}::int8 AS n`;
    const both = await Promise.all([stream.next(), stream.next(), stream.next()]);
    expect(both.map(({ value }) => value)).toEqual([{ n: 7n }, undefined, undefined]);
    await isFree();
  });

  it('gives its connection back when the loop is left or the reader throws', async () => {
    for await (const { n } of db.stream(numbers(100), { batchRows: 10 })) if (n === 15) break;
    await isFree();
    const read = async (): Promise<void> => {
      for await (const { n } of db.stream(numbers(100), { batchRows: 10 })) {
        if (n === 15) throw new RangeError('enough');
      }
    };
    await expect(read()).rejects.toThrow('enough');
    await isFree();
  });

  it('holds no connection where no row is ever asked for', async () => {
    const stream = db.stream(numbers(10));
    await isFree();
    await stream.return();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('ends by its signal: before, between and during reads', async () => {
    const reason = new Error('stop');
    const before = db.stream(numbers(10), { signal: AbortSignal.abort(reason) });
    await expect(before.next()).rejects.toBe(reason);
    await isFree();

    const between = new AbortController();
    const stream = db.stream(numbers(100), { batchRows: 10, signal: between.signal });
    await stream.next();
    between.abort(reason);
    // Nobody reads, and the connection comes back all the same.
    await isFree();
    await expect(stream.next()).rejects.toBe(reason);

    const during = new AbortController();
    const slow = db.stream(sql.unsafe(await slowStatement(url)), { signal: during.signal });
    setTimeout(() => {
      during.abort(reason);
    }, 50);
    await expect(slow.next()).rejects.toBe(reason);
    await isFree();
  });

  it('fails with the error of its statement, and only reads', async () => {
    const wrong = db.stream(sql`SELECT 1 / (n - ${25}::int4) FROM generate_series(1, 50) AS g(n)`, {
      batchRows: 10,
    });
    const read = async (): Promise<void> => {
      for await (const row of wrong) expect(row).toBeDefined();
    };
    const error: unknown = await read().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DatabaseError);
    expect(error).toMatchObject({ code: '22012', parameters: [25] });
    await isFree();
    await expect(db.stream`DELETE FROM nothing`.next()).rejects.toBeInstanceOf(DatabaseError);
    await isFree();
  });

  it('is ended by close, also where nobody reads it any more', async () => {
    const other = await connect(url, { connectionsMax: 1 });
    const stream = other.stream(numbers(100), { batchRows: 10 });
    const unread = other.stream(numbers(100));
    await stream.next();
    await other.close();
    await expect(stream.next()).rejects.toBeInstanceOf(UsageError);
    await expect(unread.next()).rejects.toBeInstanceOf(UsageError);
    expect(() => other.stream(numbers(1))).toThrow(UsageError);
  });

  it('reads streams with other columns after each other on a connection that prepares', async () => {
    const prepared = await connect(url, { connectionsMax: 1, prepare: true });
    const read = async (stream: AsyncIterable<object>): Promise<object[]> => {
      const rows: object[] = [];
      for await (const row of stream) rows.push(row);
      return rows;
    };
    for (let round = 0; round < 2; round++) {
      expect(await read(prepared.stream(numbers(2)))).toEqual([{ n: 1 }, { n: 2 }]);
      expect(await read(prepared.stream`SELECT 'x' AS a, ${1}::int4 AS b`)).toEqual([
        { a: 'x', b: 1 },
      ]);
    }
    await prepared.close();
  });

  it('names the caller in the stack of an error', async () => {
    const error: unknown = await db.stream`SELECT 1 / 0`.next().catch((caught: unknown) => caught);
    expect((error as Error).stack).toContain('stream.test.ts');
  });

  it('refuses wrong options', () => {
    expect(() => db.stream(numbers(1), { batchRows: 0 })).toThrow(OptionError);
    expect(() => db.stream(numbers(1), { batchRows: 1.5 })).toThrow('whole number');
  });
});
