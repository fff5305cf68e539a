import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import {
  connect,
  ConstraintError,
  DatabaseError,
  sql,
  table,
  UsageError,
} from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer } from '../targets.js';

interface Item {
  id: number;
  n: number | null;
}

onEachServer('writes that nobody waits for', ({ url, name: server }) => {
  let db: Database;
  const name = freshName('sdk_write');
  const items = table<Item>(name, { key: ['id'] });
  const t = sql.identifier(name);
  const all = async (): Promise<Item[]> => {
    const { rows } = await db.query<Item>`SELECT id, n FROM ${t} ORDER BY id`;
    return rows;
  };
  beforeAll(async () => {
    db = await connect(url);
    await db.query`CREATE TABLE ${t} (id INT4 PRIMARY KEY, n INT4 DEFAULT 0 CHECK (n < 100))`;
  });
  beforeEach(async () => {
    await db.query`DELETE FROM ${t}`;
  });
  afterAll(async () => {
    await db.query`DROP TABLE ${t}`;
    await db.close();
  });

  it('take effect in order, awaited or not', async () => {
    await db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${t} VALUES (1, 1)`;
      void tx.run`UPDATE ${t} SET n = n + 1 WHERE id = 1; -- done`;
      void tx.insert(items, { id: 2 });
      expect((await tx.query`SELECT id FROM ${t}`).count).toBe(2);
      await tx.run`UPDATE ${t} SET n = n * 10 WHERE id = 1`;
    });
    expect(await all()).toEqual([
      { id: 1, n: 20 },
      { id: 2, n: 0 },
    ]);
  });

  it('count and return rows when asked to', async () => {
    await db.transaction(async (tx) => {
      expect(await tx.insert(items, [{ id: 1 }, { id: 2 }, { id: 3, n: 5 }]).count()).toBe(3);
      const rows = await tx
        .update(items, { n: sql`n + ${1}` })
        .where({ id: 3 })
        .returning('n');
      expect(rows).toEqual([{ n: 6 }]);
      expect(await tx.run`DELETE FROM ${t} WHERE id < 3`.count()).toBe(2);
      expect(
        await tx
          .delete(items)
          .where(sql`id = ${3}`)
          .returning(),
      ).toEqual([{ id: 3, n: 6 }]);
    });
    expect(await all()).toEqual([]);
  });

  it('fail the read behind them with their own stack, parameters and text', async () => {
    await db.insert(items, { id: 1 });
    const work = db.transaction(async function guiltyFunction(tx) {
      await tx.run`INSERT INTO ${t} VALUES (${7}, ${1})`;
      await tx.run`INSERT INTO ${t} VALUES (${1}, ${2})`;
      await tx.run`INSERT INTO ${t} VALUES (${8}, ${3})`;
      await tx.query`SELECT count(*) FROM ${t}`;
    });
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConstraintError);
    if (!(error instanceof ConstraintError)) return;
    expect(error.code).toBe('23505');
    expect(error.parameters).toEqual([1, 2]);
    expect(error.statements.length).toBeGreaterThan(0);
    expect(error.statements[0]?.statement).toContain('INSERT INTO');
    expect(error.stack).toContain('guiltyFunction');
    expect(error.stack).not.toContain('pg-protocol');
    expect(await all()).toEqual([{ id: 1, n: 0 }]);
  });

  it('fail the commit behind them in the same way', async () => {
    const work = db.transaction(async (tx) => {
      await tx.insert(items, { id: 1 });
      await tx.insert(items, { id: 2, n: 100 });
    });
    await expect(work).rejects.toMatchObject({ code: '23514', parameters: [2, 100] });
    expect(await all()).toEqual([]);
    // The connection is fit for use.
    await db.transaction((tx) => tx.insert(items, { id: 1 }).count());
    expect(await all()).toEqual([{ id: 1, n: 0 }]);
  });

  it('fail at once where the names are wrong, and nothing is committed', async () => {
    const work = db.transaction(async (tx) => {
      await tx.insert(items, { id: 1 });
      await tx.run`INSERT INTO ${t} (no_such_column) VALUES (1)`;
      await new Promise((resolve) => setTimeout(resolve, 100));
      await tx.run`INSERT INTO ${t} VALUES (2)`;
    });
    await expect(work).rejects.toMatchObject({ code: '42703' });
    expect(await all()).toEqual([]);
  });

  it('of a nested transaction fail that one, and the rest stays', async () => {
    await db.transaction(async (tx) => {
      await tx.insert(items, { id: 1 });
      const nested = tx.transaction(async (inner) => {
        await inner.insert(items, { id: 2 });
        await inner.insert(items, { id: 1 });
      });
      await expect(nested).rejects.toMatchObject({ code: '23505', parameters: [1] });
      await tx.insert(items, { id: 3 });
    });
    expect((await all()).map(({ id }) => id)).toEqual([1, 3]);
  });

  it('that cannot be sent fail the transaction', async () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    const work = db.transaction(async (tx) => {
      await tx.insert(items, { id: 1 });
      void tx.run`INSERT INTO ${t} VALUES (2, ${loop})`;
      await new Promise((resolve) => setTimeout(resolve, 20));
      await tx.query`SELECT 1`;
    });
    await expect(work).rejects.toThrow('circular');
    expect(await all()).toEqual([]);
  });

  it('are promises: catch and finally', async () => {
    const told: string[] = [];
    const bad = db.run`INSERT INTO ${t} VALUES (1, 1000)`;
    expect(await bad.catch((error: unknown) => (error as DatabaseError).code)).toBe('23514');
    await db.run`INSERT INTO ${t} VALUES (1, 1)`.finally(() => void told.push('outside'));
    await db.transaction(async (tx) => {
      const write: Promise<void> = tx.run`UPDATE ${t} SET n = 2 WHERE id = 1`;
      await write.finally(() => void told.push('inside'));
      const counted = tx.update(items, { n: 3 }).where({ id: 1 });
      expect(await counted.count().catch(() => 0)).toBe(1);
    });
    expect(told).toEqual(['outside', 'inside']);
    expect(await all()).toEqual([{ id: 1, n: 3 }]);
  });

  it('that fail outside a transaction and are not awaited name their statement', async () => {
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    try {
      const unhandled = new Promise<unknown>((resolve) => {
        process.once('unhandledRejection', resolve);
      });
      void db.run`INSERT INTO ${t} VALUES (${1}, ${1000})`;
      expect(await unhandled).toMatchObject({
        message: expect.stringContaining('INSERT INTO') as string,
        stack: expect.stringContaining('write.test.ts') as string,
        cause: { code: '23514', parameters: [1, 1000] },
      });
    } finally {
      for (const listener of listeners) process.on('unhandledRejection', listener);
    }
  });

  it('are refused after the end, and after an error that was swallowed nothing commits', async () => {
    const leaked = await db.transaction((tx) => Promise.resolve(() => tx));
    expect(() => leaked().insert(items, { id: 9 })).toThrow('the transaction has ended');
    const work = db.transaction(async (tx) => {
      await tx.insert(items, [{ id: 1 }, { id: 1 }]);
      await tx.query`SELECT 1`.catch(() => undefined);
      await tx.insert(items, { id: 2 }).then(undefined, () => undefined);
    });
    await expect(work).rejects.toBeInstanceOf(DatabaseError);
    expect(await all()).toEqual([]);
  });

  it('wait for room when very many are unanswered', async () => {
    await db.transaction(async (tx) => {
      for (let id = 0; id < 3000; id++) await tx.run`INSERT INTO ${t} VALUES (${id}, 1)`;
    });
    expect((await all()).length).toBe(3000);
  });

  it('cost one wait for a whole transaction of writes, two with a read in front', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { connectionsMax: 1 });
    let waits = 0;
    const syncs = (chunk: Buffer): number =>
      [...chunk.toString('latin1').matchAll(/S\0\0\0\x04/g)].length;
    proxy.judge = (chunk) => {
      waits += syncs(chunk);
      return 'pass';
    };
    await other.transaction(async (tx) => {
      await tx.insert(items, { id: 1 });
      await tx.run`UPDATE ${t} SET n = 1 WHERE id = 1`;
      await tx.delete(items).where({ id: 5 });
    });
    expect(waits).toBe(1);
    waits = 0;
    await other.transaction(async (tx) => {
      const { n } = await tx.one<Item>`SELECT n FROM ${t} WHERE id = 1`.forUpdate();
      await tx.update(items, { n: (n ?? 0) + 1 }).where({ id: 1 });
      await tx.insert(items, { id: 2 });
    });
    expect(waits).toBe(2);
    expect(await all()).toEqual([
      { id: 1, n: 2 },
      { id: 2, n: 0 },
    ]);
    if (server !== 'BraidDB') return;
    let sent = '';
    proxy.judge = (chunk) => {
      sent += chunk.toString('latin1');
      return 'pass';
    };
    await other.transaction(async (tx) => {
      await tx.run`DELETE FROM ${t} WHERE id = 1; -- x`;
    });
    expect(sent).toContain('WHERE id = 1 RETURNING NOTHING\0');
  });
});

onEachServer('typed builders', ({ url }) => {
  let db: Database;
  const name = freshName('sdk_table');
  const items = table<Item>(name, { key: ['id'] });
  beforeAll(async () => {
    db = await connect(url);
    await db.run`CREATE TABLE ${sql.identifier(name)} (id INT4 PRIMARY KEY, n INT4 DEFAULT 7)`;
  });
  afterAll(async () => {
    await db.run`DROP TABLE ${sql.identifier(name)}`;
    await db.close();
  });

  it('insert, upsert, update and delete outside transactions', async () => {
    await db.insert(items, [{ id: 1 }, { id: 2, n: null }]);
    expect(await db.insert(items, { id: 1 }, { onConflict: 'nothing' }).count()).toBe(0);
    await db.upsert(items, [
      { id: 2, n: 2 },
      { id: 3, n: 3 },
    ]);
    expect(await db.update(items, { n: null }).where({ id: 3 }).returning('id', 'n')).toEqual([
      { id: 3, n: null },
    ]);
    expect(await db.delete(items).where({ n: null }).returning('id')).toEqual([{ id: 3 }]);
    const rows = await db.delete(items).everywhere().returning();
    expect(rows.sort((a, b) => a.id - b.id)).toEqual([
      { id: 1, n: 7 },
      { id: 2, n: 2 },
    ]);
  });

  it('split rows with more values than a statement can have, all or none', async () => {
    const rows = Array.from({ length: 33_000 }, (_, id) => ({ id, n: id }));
    expect(await db.insert(items, rows).count()).toBe(33_000);
    expect(await db.delete(items).everywhere().count()).toBe(33_000);
    const twice = [...rows, { id: 0, n: 0 }];
    await expect(Promise.resolve(db.insert(items, twice))).rejects.toMatchObject({ code: '23505' });
    expect((await db.query(sql`SELECT id FROM ${sql.identifier(name)}`)).count).toBe(0);
  });

  it('carry every kind of value, or refuse it before anything is sent', async () => {
    const wide = sql.identifier(`${name}_wide`);
    await db.run`CREATE TABLE ${wide} (id INT8 PRIMARY KEY, f FLOAT8, n NUMERIC, at TIMESTAMPTZ,
      b BYTEA, j JSONB, t TEXT, list INT4[])`;
    const rows = table<Record<string, unknown>>(`${name}_wide`, { key: ['id'] });
    const at = new Date('2026-01-31T12:00:00.123Z');
    const j = { deep: [1, { er: null }], 'quo"te': '\\' };
    await db.transaction(async (tx) => {
      await tx.insert(rows, {
        id: 2n ** 62n,
        f: Number.NaN,
        n: '0.1000',
        at,
        b: Buffer.from([0, 255]),
      });
      await tx.insert(rows, { id: 2, f: -Infinity, n: Number.NaN, j, t: 'NULL', list: [1, null] });
      await tx.update(rows, { at, b: new Uint8Array(0) }).where({ id: 2n });
    });
    const { rows: found } = await db.query`SELECT * FROM ${wide} ORDER BY id DESC`;
    expect(found).toMatchObject([
      { id: 2n ** 62n, f: Number.NaN, n: '0.1000', at, b: Buffer.from([0, 255]), j: null },
      { id: 2n, f: -Infinity, n: 'NaN', at, b: Buffer.alloc(0), j, t: 'NULL', list: [1, null] },
    ]);
    const refused: [unknown, string][] = [
      [undefined, 'column "t" is undefined'],
      [Symbol('no'), 'a symbol cannot be sent'],
      [() => 1, 'a function cannot be sent'],
      [new Date(Number.NaN), 'the date is invalid'],
      ['\ud800', 'half a surrogate pair'],
      [[1, [undefined]], 'undefined is not a value'],
    ];
    for (const [t, message] of refused) {
      expect(() =>
        db.insert(rows, [
          { id: 7, t: 'x' },
          { id: 8, t },
        ]),
      ).toThrow(message);
      expect(() => db.update(rows, { t }).where({ id: 2 })).toThrow(UsageError);
    }
    // What only the server can tell.
    for (const [row, code] of [
      [{ id: Number.NaN }, '22P02'],
      [{ id: 1.5 }, '22P02'],
      [{ id: 2n ** 64n }, '22003'],
      [{ id: 7, t: 'a\0b' }, '22021'],
      [{ id: 7, at: 'yesterday at noon or so' }, '22007'],
    ] as const) {
      await expect(Promise.resolve(db.insert(rows, row))).rejects.toMatchObject({ code });
    }
    expect(await db.delete(rows).everywhere().count()).toBe(2);
    await db.run`DROP TABLE ${wide}`;
  });

  it('refuse what would surprise', async () => {
    expect(() => db.update(items, { n: 1 }).where({})).toThrow('everywhere');
    expect(() => db.update(items, {}).everywhere()).toThrow('at least one column');
    const undefinedValue = { id: 1, n: undefined } as unknown as Item;
    expect(() => db.insert(items, undefinedValue)).toThrow('column "n" is undefined');
    await db.insert(items, []);
    const write = db.insert(items, { id: 1 });
    await write;
    await expect(write.count()).rejects.toMatchObject({ name: 'UsageError' });
    await db.delete(items).everywhere();
  });
});

onEachServer('locking reads', ({ url }) => {
  describe('rows', () => {
    it('that others have locked are skipped, refused or waited for', async () => {
      await using db = await connect(url);
      const t = sql.identifier(freshName('sdk_lock'));
      await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY)`;
      await db.run`INSERT INTO ${t} VALUES (1), (2), (3)`;
      await db.transaction(async (tx) => {
        await tx.query`SELECT id FROM ${t} WHERE id = 2; -- locked`.forUpdate({ of: [] });
        const free = await db.transaction((other) =>
          other.query<{ id: number }>`SELECT id FROM ${t} ORDER BY id`.forUpdate({
            skipLocked: true,
          }),
        );
        expect(free.rows.map(({ id }) => id)).toEqual([1, 3]);
        const refused = db.transaction((other) =>
          other.query`SELECT x.id FROM ${t} AS x`.forShare({ noWait: true, of: 'x' }),
        );
        await expect(refused).rejects.toMatchObject({ code: '55P03' });
      });
      await db.transaction(async (tx) => {
        const read = tx.query`SELECT 1`;
        await read;
        expect(() => read.forUpdate()).toThrow('sent already');
        const both = { skipLocked: true, noWait: true };
        expect(() => tx.query`SELECT id FROM ${t}`.forKeyShare(both)).toThrow('skipLocked');
      });
      await db.run`DROP TABLE ${t}`;
    });
  });
});
