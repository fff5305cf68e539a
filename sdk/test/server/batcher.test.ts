/**
 * The batcher against real servers: every row settles, bad rows reject alone, order of a key, lost
 * connections, backpressure, streams.
 */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { afterAll, beforeAll, expect, it } from 'vitest';

import type { BatchEvent, Database } from '../../src/index.js';
import {
  BatchRowError,
  BatchTableError,
  connect,
  OptionError,
  sql,
  UsageError,
} from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer } from '../targets.js';

interface Reading {
  id: number | bigint;
  name?: string | null | undefined;
  value?: number | undefined;
}

const numbers = (count: number, from = 1): number[] =>
  Array.from({ length: count }, (_, i) => from + i);

onEachServer('batcher', ({ url }) => {
  let db: Database;
  const made: string[] = [];

  beforeAll(async () => {
    db = await connect(url);
  });
  afterAll(async () => {
    for (const table of made) await db.query`DROP TABLE IF EXISTS ${sql.identifier(table)}`;
    await db.close();
  });

  async function table(
    columns = sql`id INT8 PRIMARY KEY, name VARCHAR(10), value FLOAT8 DEFAULT 7`,
  ) {
    const name = freshName('batch');
    made.push(name);
    await db.query`CREATE TABLE ${sql.identifier(name)} (${columns})`;
    return name;
  }
  const count = async (name: string): Promise<number> => {
    const row = await db.one<{ n: bigint }>`SELECT count(*) AS n FROM ${sql.identifier(name)}`;
    return Number(row.n);
  };

  it('joins rows of many callers, and each is durable when add resolves', async () => {
    const name = await table();
    const events: BatchEvent[] = [];
    await using batcher = db.batcher<Reading>(name, { onBatch: (event) => events.push(event) });
    await Promise.all(
      numbers(5000).map((id) => batcher.add({ id, name: `n${id}`, value: id / 2 })),
    );
    expect(await count(name)).toBe(5000);
    expect(batcher.stats.stored).toBe(5000);
    expect(batcher.stats.statements).toBeLessThan(200);
    expect(events.reduce((sum, event) => sum + event.rows, 0)).toBe(5000);
  });

  it('lets one bad row reject alone, with its row', async () => {
    const name = await table();
    await db.query`INSERT INTO ${sql.identifier(name)} (id) VALUES (77)`;
    await using batcher = db.batcher<Reading>(name, { adaptive: false });
    const bad = { id: 500, name: 'far too long for ten' };
    const results = await Promise.allSettled([
      ...numbers(200).map((id) => batcher.add({ id })),
      batcher.add(bad),
    ]);
    const failed = results.flatMap((one) =>
      one.status === 'rejected' ? [one.reason as unknown] : [],
    );
    expect(failed).toHaveLength(2);
    const errors = failed.filter((error) => error instanceof BatchRowError);
    expect(errors.map((error) => error.code).sort()).toEqual(['22001', '23505']);
    expect(errors.find((error) => error.code === '22001')?.row).toBe(bad);
    expect(await count(name)).toBe(200);
  });

  it('refuses rows that cannot be sent, before they are', async () => {
    const name = await table();
    await using batcher = db.batcher<Record<string, unknown>>(name);
    await expect(batcher.add({ id: 1, wrong: 1 })).rejects.toThrow(BatchTableError);
    await expect(batcher.add({ id: Symbol('no') })).rejects.toThrow(/column "id"/);
    await expect(batcher.add({ id: 1, name: [1] })).rejects.toThrow(UsageError);
    await expect(batcher.add([] as never)).rejects.toThrow(UsageError);
    await batcher.add({ id: 2 });
    expect(await count(name)).toBe(1);
    await using lost = db.batcher(freshName('missing'));
    await expect(lost.add({ id: 1 })).rejects.toMatchObject({ code: '42P01' });
    expect(() => db.batcher(name, { rowsMax: 0 })).toThrow(OptionError);
    expect(() => db.batcher(name, { rowMax: 1 } as never)).toThrow(OptionError);
  });

  it('keeps values: defaults, NULL, NaN, bigint, dates, bytes, JSON, quotes', async () => {
    const name = await table(sql`id INT8 PRIMARY KEY, t TEXT, f FLOAT8 DEFAULT 7, at TIMESTAMPTZ,
      b BYTEA, j JSONB, n NUMERIC(10,2), flag BOOL`);
    await using batcher = db.batcher<Record<string, unknown>>(name);
    const at = new Date('2026-01-31T12:00:00.123Z');
    const odd = 'NULL, "quoted" \\ {braces} \n 日本';
    await Promise.all([
      batcher.add({
        id: 9007199254740993n,
        t: odd,
        f: Number.NaN,
        at,
        b: Buffer.from([0, 255, 92]),
      }),
      batcher.add({
        id: 2,
        t: null,
        f: undefined,
        j: { a: [1, { b: '"' }] },
        n: '12.345',
        flag: true,
      }),
      batcher.add({ id: 3, t: 'NULL', j: [1, 'x'], f: Infinity }),
      batcher.add({ id: 4, t: '', j: null }),
    ]);
    const { rows } = await db.query`SELECT * FROM ${sql.identifier(name)} ORDER BY id`;
    expect(rows[0]).toMatchObject({ id: 2n, t: null, f: 7, n: '12.35', flag: true });
    expect(rows[0]?.j).toEqual({ a: [1, { b: '"' }] });
    expect(rows[1]).toMatchObject({ id: 3n, t: 'NULL', f: Infinity, j: [1, 'x'] });
    expect(rows[2]).toMatchObject({ id: 4n, t: '', j: null, f: 7 });
    expect(rows[3]).toMatchObject({ id: 9007199254740993n, t: odd, f: Number.NaN, at });
    expect(rows[3]?.b).toEqual(Buffer.from([0, 255, 92]));
  });

  it('stores array columns, beyond the limit of parameters', async () => {
    const name = await table(sql`id INT8 PRIMARY KEY, tags TEXT[]`);
    await using batcher = db.batcher<{ id: number; tags: string[] }>(name, {
      adaptive: false,
      rowsMax: 100_000,
    });
    await Promise.all(numbers(40_000).map((id) => batcher.add({ id, tags: ['a', `"${id}"`] })));
    const row = await db.one`SELECT tags FROM ${sql.identifier(name)} WHERE id = 40000`;
    expect(row.tags).toEqual(['a', '"40000"']);
    expect(await count(name)).toBe(40_000);
  });

  it('upserts: the last row of a key wins, whatever is in flight', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, {
      mode: 'upsert',
      rowsMax: 16,
      inFlightMax: 4,
    });
    const adds: Promise<void>[] = [];
    for (let round = 0; round < 50; round++) {
      for (const id of numbers(20)) adds.push(batcher.add({ id, name: `r${round}` }));
      if (round % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(adds);
    const { rows } = await db.query`SELECT DISTINCT name FROM ${sql.identifier(name)}`;
    expect(rows).toEqual([{ name: 'r49' }]);
    expect(await count(name)).toBe(20);
  });

  it('upserts: a bad row does not take along the good one that it was to replace', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, { mode: 'upsert' });
    const good = batcher.add({ id: 1, name: 'good' });
    const bad = batcher.add({ id: 1, name: 'longer than ten' });
    const results = await Promise.allSettled([good, bad]);
    expect(results.map((one) => one.status)).toEqual(['fulfilled', 'rejected']);
    const row = await db.one`SELECT name FROM ${sql.identifier(name)}`;
    expect(row.name).toBe('good');
  });

  it('inserts in order: the first row of a key is stored, the second rejects', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name);
    const results = await Promise.allSettled([
      batcher.add({ id: 1, name: 'first' }),
      batcher.add({ id: 1, name: 'second' }),
      batcher.add({ id: 2 }),
    ]);
    expect(results.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const row = await db.one`SELECT name FROM ${sql.identifier(name)} WHERE id = 1`;
    expect(row.name).toBe('first');
  });

  it('deletes, by single and by composite keys', async () => {
    const single = await table();
    await db.query`INSERT INTO ${sql.identifier(single)} (id) SELECT generate_series(1, 100)`;
    await using one = db.batcher<Reading>(single, { mode: 'delete' });
    await Promise.all(numbers(90).map((id) => one.add({ id, name: 'ignored' })));
    expect(await count(single)).toBe(10);
    const double = await table(sql`a INT8, b TEXT, c INT8, PRIMARY KEY (a, b)`);
    await db.query`INSERT INTO ${sql.identifier(double)}
      SELECT i, 'x' || i, i FROM generate_series(1, 100) AS i`;
    await using two = db.batcher<{ a: number; b: string }>(double, { mode: 'delete' });
    await Promise.all(numbers(99).map((a) => two.add({ a, b: `x${a}` })));
    expect(await count(double)).toBe(1);
    await expect(two.add({ a: 1 } as never)).rejects.toThrow(BatchTableError);
  });

  it('waits at the high-water mark, and gives up waiting on a signal', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, { waitingRowsMax: 10, rowsMax: 5, delayMs: 0 });
    const first = numbers(10).map((id) => batcher.add({ id }));
    const stop = new AbortController();
    const late = batcher.add({ id: 11 }, { signal: stop.signal });
    const later = batcher.add({ id: 12 });
    expect(batcher.stats.waiting).toBeGreaterThanOrEqual(10);
    stop.abort(new Error('enough'));
    await expect(late).rejects.toThrow('enough');
    await Promise.all([...first, later]);
    await batcher.ready();
    expect(await count(name)).toBe(11);
  });

  it('holds rows for delayMs, unless a batch is full or flush asks', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, {
      delayMs: 60_000,
      rowsMax: 10,
      adaptive: false,
    });
    const full = numbers(10).map((id) => batcher.add({ id }));
    await Promise.all(full);
    const alone = batcher.add({ id: 11 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await count(name)).toBe(10);
    await batcher.flush();
    await alone;
    expect(await count(name)).toBe(11);
  });

  it('takes iterables and streams, and reports refused rows', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, { waitingRowsMax: 100 });
    async function* rows(from: number, to: number): AsyncGenerator<Reading> {
      for (let id = from; id <= to; id++) {
        if (id % 100 === 0) await Promise.resolve();
        yield { id, name: id === 500 ? 'much too long a name' : 'ok' };
      }
    }
    const { stored, rejected } = await batcher.addAll(rows(1, 1000));
    expect(stored).toBe(999);
    expect(rejected.map((error) => error.row.id)).toEqual([500]);
    const refused: unknown[] = [];
    await pipeline(
      Readable.from(rows(1000, 3000)),
      batcher.writable({ onRejected: (error) => refused.push(error.row.id) }),
    );
    expect(refused).toEqual([1000]);
    expect(await count(name)).toBe(2999);
    await expect(pipeline(Readable.from(rows(1, 10)), batcher.writable())).rejects.toThrow(
      BatchRowError,
    );
  });

  it('refuses rows after close, and close waits for all', async () => {
    const name = await table();
    const batcher = db.batcher<Reading>(name, { delayMs: 1000 });
    const adds = numbers(100).map((id) => batcher.add({ id }));
    await batcher.close();
    expect(await count(name)).toBe(100);
    await Promise.all(adds);
    await expect(batcher.add({ id: 1000 })).rejects.toThrow(UsageError);
  });

  it('loses and doubles nothing when connections die', async () => {
    const name = await table(sql`id INT8 PRIMARY KEY, copies INT8 DEFAULT 1`);
    const proxy = await startProxy(url);
    await using cut = await connect(proxy.url);
    await using batcher = cut.batcher<{ id: number }>(name, {
      onConflict: 'nothing',
      rowsMax: 50,
    });
    const adds: Promise<void>[] = [];
    for (let id = 1; id <= 2000; id++) {
      adds.push(batcher.add({ id }));
      if (id % 200 === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        proxy.cutAll();
      }
    }
    await Promise.all(adds);
    expect(await count(name)).toBe(2000);
    await batcher.close();
    await cut.close();
    await proxy[Symbol.asyncDispose]();
  });

  it('stores nothing twice where a row has no key, or its row was taken away', async () => {
    const keyless = await table(sql`id INT8, n INT8`);
    const queue = await table(sql`id INT8 PRIMARY KEY, n INT8`);
    await using proxy = await startProxy(url);
    await using cut = await connect(proxy.url);
    for (const name of [keyless, queue]) {
      await using batcher = cut.batcher<{ id: number }>(name, { onConflict: 'nothing' });
      await batcher.add({ id: 0 });
      let cuts = 0;
      proxy.judge = (chunk) => {
        if (!chunk.includes('INSERT INTO') || cuts++ > 0) return 'pass';
        return 'cut after';
      };
      const added = [1, 2, 3].map((id) => batcher.add({ id }));
      const outcomes = await Promise.allSettled(added);
      proxy.judge = () => 'pass';
      const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
      if (db.server.kind === 'braiddb') expect(stored).toBe(3);
      await expect.poll(() => count(name)).toBe(4);
    }
  });

  it('describes its table again after a migration', async () => {
    const name = await table(sql`id INT4 PRIMARY KEY, value INT4`);
    const t = sql.identifier(name);
    await using batcher = db.batcher<Record<string, unknown>>(name, { adaptive: false });
    await batcher.add({ id: 1, value: 1 });
    // A value that the old type refuses.
    await db.query`ALTER TABLE ${t} ALTER COLUMN value TYPE INT8`;
    await Promise.all([batcher.add({ id: 2, value: 3e9 }), batcher.add({ id: 3, value: 3 })]);
    // A column that was not there.
    await db.query`ALTER TABLE ${t} ADD COLUMN note TEXT`;
    await Promise.all([
      batcher.add({ id: 4, value: 4, note: 'four' }),
      batcher.add({ id: 5, value: 5 }),
    ]);
    // The statement no longer fits: another type, and the table made again.
    await db.query`DROP TABLE ${t}`;
    await db.query`CREATE TABLE ${t} (note TEXT, id INT8 PRIMARY KEY, value JSONB)`;
    await Promise.all([6, 7].map((id) => batcher.add({ id, value: { id }, note: 'x' })));
    await batcher.add({ id: 8, value: [8] });
    await expect(batcher.add({ id: 9, nobody: 1 })).rejects.toThrow(BatchTableError);
    const { rows } = await db.query`SELECT id, value FROM ${t} ORDER BY id`;
    expect(rows).toEqual([
      { id: 6n, value: { id: 6 } },
      { id: 7n, value: { id: 7 } },
      { id: 8n, value: [8] },
    ]);
  });

  it('joins rows whose properties come in another order', async () => {
    const name = await table();
    await using batcher = db.batcher<Reading>(name, { adaptive: false });
    await batcher.add({ id: 0 });
    const { statements } = batcher.stats;
    await Promise.all([
      batcher.add({ id: 1, name: 'a', value: 1 }),
      batcher.add({ value: 2, id: 2, name: 'b' }),
      batcher.add({ name: 'c', value: 3, id: 3 }),
    ]);
    expect(batcher.stats.statements - statements).toBe(1);
    expect(await count(name)).toBe(4);
  });

  it('a plain insert whose outcome is unknown is never sent again blindly', async () => {
    const name = await table(sql`id INT8, run INT8`);
    const proxy = await startProxy(url);
    await using cut = await connect(proxy.url);
    await using batcher = cut.batcher<{ id: number; run: number }>(name, { rowsMax: 20 });
    const results: Promise<boolean>[] = [];
    for (let id = 1; id <= 1000; id++) {
      results.push(
        batcher.add({ id, run: 1 }).then(
          () => true,
          () => false,
        ),
      );
      if (id % 100 === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        proxy.cutAll();
      }
    }
    const stored = await Promise.all(results);
    const { rows } = await db.query<{ id: bigint; n: bigint }>`
      SELECT id, count(*) AS n FROM ${sql.identifier(name)} GROUP BY id`;
    const found = new Map(rows.map((row) => [Number(row.id), Number(row.n)]));
    expect([...found.values()].every((n) => n === 1)).toBe(true);
    stored.forEach((was, index) => {
      if (was) expect(found.get(index + 1)).toBe(1);
    });
    await batcher.close();
    await cut.close();
    await proxy[Symbol.asyncDispose]();
  });
});
