import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import {
  connect,
  ConnectionError,
  ConstraintError,
  DatabaseError,
  isAmbiguous,
  OptionError,
  sql,
  UsageError,
} from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, targets } from '../targets.js';

onEachServer('statements', ({ url, name }) => {
  let db: Database;
  const table = sql.identifier(freshName('sdk_query'));
  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 4 });
    await db.query`CREATE TABLE ${table} (
      id INT8 PRIMARY KEY, name TEXT NOT NULL, amount NUMERIC(20, 4) CHECK (amount > 0))`;
  });
  afterAll(async () => {
    await db.query`DROP TABLE ${table}`;
    await db.close();
  });

  it('is told by its start-up parameters', () => {
    if (name === 'BraidDB') expect(db.server.kind).toBe('braiddb');
    expect(db.server.version).toMatch(/\d/);
  });

  it('inserts, reads and counts', async () => {
    const rows = [
      [1n, 'a', '0.1000'],
      [2n, 'b', null],
    ] as const;
    const inserted = await db.query`INSERT INTO ${table} VALUES ${sql.values(rows)}`;
    expect(inserted).toMatchObject({ count: 2, command: 'INSERT', rows: [] });
    const read = await db.query`SELECT id, name, amount FROM ${table} ORDER BY id`;
    expect(read.rows).toEqual([
      { id: 1n, name: 'a', amount: '0.1000' },
      { id: 2n, name: 'b', amount: null },
    ]);
    const some = await db.query`SELECT name FROM ${table} WHERE id = ANY(${[2n, 3n]})`;
    expect(some.rows).toEqual([{ name: 'b' }]);
  });

  it('reads rows as arrays, with parsers of the statement', async () => {
    const text = 'SELECT $1::int8 AS a, NULL AS b, 2::int4 AS a';
    const types = { getTypeParser: (oid: number) => (value: string) => `${oid}:${value}` };
    for (const options of [{}, { prepare: true }]) {
      const statement = sql.unsafe(text, [7n], { rowMode: 'array', ...options });
      const plain = await db.query(statement);
      expect(plain.rows).toEqual([[7n, null, 2]]);
      expect(plain.fields.map(({ name }) => name)).toEqual(['a', 'b', 'a']);
      const own = sql.unsafe(text, [7n], { rowMode: 'array', types, ...options });
      expect((await db.query(own)).rows).toEqual([['20:7', null, '23:2']]);
      await db.transaction(async (tx) => {
        expect((await tx.query(own)).rows).toEqual([['20:7', null, '23:2']]);
        expect((await tx.query(sql.unsafe(text, [7n], options))).rows).toEqual([{ a: 2, b: null }]);
      });
    }
    expect(() => sql.unsafe(text, [7n], { rowmode: 'array' } as never)).toThrow(OptionError);
  });

  it('sends every kind of value so that it comes back the same', async () => {
    const moment = new Date('2026-01-31T23:59:59.123Z');
    const row = await db.one`SELECT ${9223372036854775807n}::int8 AS big, ${-1.5}::float8 AS float,
      ${true}::bool AS flag, ${'ü "\\ 😀'}::text AS text, ${moment}::timestamptz AS at,
      ${moment}::timestamp AS local, ${new Uint8Array([0, 255])}::bytea AS bytes,
      ${{ a: [1, null] }}::jsonb AS json, ${sql.json([1, 'x'])}::jsonb AS list,
      ${null}::text AS nothing, ${['a"b', null, 'c,\\d']}::text[] AS texts,
      ${[1n, 2n]}::int8[] AS bigs, ${['1.50']}::numeric[] AS amounts`;
    expect(row).toEqual({
      big: 9223372036854775807n,
      float: -1.5,
      flag: true,
      text: 'ü "\\ 😀',
      at: moment,
      local: moment,
      bytes: Buffer.from([0, 255]),
      json: { a: [1, null] },
      list: [1, 'x'],
      nothing: null,
      texts: ['a"b', null, 'c,\\d'],
      bigs: [1n, 2n],
      amounts: ['1.50'],
    });
  });

  it('returns one row, or none, or says that it is not so', async () => {
    expect(await db.maybeOne`SELECT 1::int4 AS a WHERE false`).toBeUndefined();
    await expect(db.one`SELECT 1 WHERE false`).rejects.toMatchObject({ code: 'P0002' });
    const two = sql`SELECT 1 UNION ALL SELECT 2`;
    await expect(db.maybeOne(two)).rejects.toMatchObject({ code: 'P0003' });
  });

  it('distinguishes constraints', async () => {
    const insert = (id: bigint, text: string | null, amount: string): Promise<unknown> =>
      db.query`INSERT INTO ${table} VALUES (${id}, ${text}, ${amount})`;
    await insert(10n, 'x', '1');
    await expect(insert(10n, 'x', '1')).rejects.toMatchObject({
      name: 'ConstraintError',
      code: '23505',
      kind: 'unique',
    });
    await expect(insert(11n, null, '1')).rejects.toMatchObject({
      kind: 'not null',
      column: 'name',
    });
    await expect(insert(12n, 'x', '-1')).rejects.toMatchObject({ kind: 'check' });
    await expect(insert(12n, 'x', '-1')).rejects.toBeInstanceOf(ConstraintError);
  });

  it('passes on what else the server refuses', async () => {
    await expect(db.query`SELEC 1`).rejects.toMatchObject({
      name: 'DatabaseError',
      code: '42601',
      position: 1,
      statement: 'SELEC 1',
    });
    await expect(db.query`SELECT ${'x'}::int4`).rejects.toMatchObject({ code: '22P02' });
    await expect(db.query`SELECT 1; SELECT 2`).rejects.toMatchObject({ code: '42601' });
    await expect(db.query('SELECT 1' as never)).rejects.toThrow(UsageError);
    await expect(db.query`SELECT 1/${0}::int4`).rejects.toBeInstanceOf(DatabaseError);
  });

  it('reports where a failed statement was called, and with what parameters', async () => {
    async function guiltyFunction(): Promise<void> {
      await db.query`SELECT ${1}::int4 / ${0}::int4`;
    }
    const signal = AbortSignal.timeout(60_000);
    const calls: (() => Promise<unknown>)[] = [
      guiltyFunction,
      async function guiltyFunction() {
        await Promise.all([db.query`SELECT 1`, db.one`SELECT ${1}::int4 / ${0}::int4`]);
      },
      async function guiltyFunction() {
        await db.query(sql`SELECT ${1}::int4 / ${0}::int4`, { signal });
      },
      async function guiltyFunction() {
        await db.run`SELECT ${1}::int4 / ${0}::int4`;
      },
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: '22012', parameters: [1, 0] });
      expect((error as Error).stack).toContain('guiltyFunction');
      expect((error as Error).stack).toMatch(/^DatabaseError: division by zero\n/);
      expect((error as Error).stack).not.toContain('pg-protocol');
      expect((error as DatabaseError).statements).toHaveLength(1);
    }
  });

  it('shares connections among statements, transactions and waiting callers', async () => {
    await using two = await connect(url, { connectionsMax: 2 });
    const backend = async (): Promise<unknown> =>
      (await two.one`SELECT pg_backend_pid() AS pid`).pid;
    const first = await backend();
    for (let round = 0; round < 50; round++) expect(await backend()).toBe(first);
    // A statement, then at once a transaction of more statements than there are connections.
    const mixed = Array.from({ length: 60 }, (_, index) =>
      index % 3 === 0
        ? two.transaction(async (tx) => (await tx.one`SELECT ${index}::int4 AS n`).n)
        : two.one`SELECT ${index}::int4 AS n`.then(({ n }) => n),
    );
    expect(await Promise.all(mixed)).toEqual(mixed.map((_, index) => index));
    // One that fails, and one that is cut, leave the others in order.
    await expect(two.query`SELECT 1/0`).rejects.toMatchObject({ code: '22012' });
    await expect(two.query`BEGIN`).rejects.toThrow('left a transaction open');
    expect(await two.one`SELECT 1 AS n`).toEqual({ n: 1 });
  });

  it('reads rows by what the server says now, also of prepared statements', async () => {
    await using prepared = await connect(url, { prepare: true, connectionsMax: 1 });
    const t = sql.identifier(freshName('sdk_shape'));
    await prepared.query`CREATE TABLE ${t} (id INT4, n INT4)`;
    await prepared.query`INSERT INTO ${t} VALUES (1, 7)`;
    const read = (): Promise<unknown> => prepared.one`SELECT n FROM ${t} WHERE id = ${1}`;
    expect(await read()).toEqual({ n: 7 });
    expect(await read()).toEqual({ n: 7 });
    // The text is the same, the type is not.
    await prepared.query`DROP TABLE ${t}`;
    await prepared.query`CREATE TABLE ${t} (id INT4, n INT8)`;
    await prepared.query`INSERT INTO ${t} VALUES (1, 8)`;
    expect(await read()).toEqual({ n: 8n });
    await prepared.query`DROP TABLE ${t}`;
  });

  it('prepares again after a migration, in transactions too', async () => {
    await using prepared = await connect(url, { prepare: true, connectionsMax: 1 });
    const t = sql.identifier(freshName('sdk_migration'));
    await db.query`CREATE TABLE ${t} (id INT4 PRIMARY KEY, n INT4)`;
    await db.query`INSERT INTO ${t} VALUES (1, 7)`;
    const { signal } = new AbortController();
    const reads: (() => Promise<unknown>)[] = [
      () => prepared.one`SELECT * FROM ${t} WHERE id = ${1}`,
      () => prepared.one(sql`SELECT * FROM ${t} WHERE id = ${1}`, { signal }),
      () => prepared.transaction((tx) => tx.one`SELECT * FROM ${t} WHERE id = ${1}`),
    ];
    for (const [index, read] of reads.entries()) {
      const before = await read();
      expect(await read()).toEqual(before);
      await db.query`ALTER TABLE ${t} ADD COLUMN ${sql.identifier(`m${index}`)} INT4 DEFAULT 5`;
      expect(await read()).toEqual({ ...(before as object), [`m${index}`]: 5 });
      await prepared.query`DEALLOCATE ALL`;
      await expect(read().catch(() => read())).resolves.toMatchObject({ n: 7 });
    }
    await db.query`DROP TABLE ${t}`;
  });

  it('names the expected and the given number of values where they differ', async () => {
    const one = await connect(url, { connectionsMax: 1 });
    const few: unknown = await one
      .query(sql.unsafe('SELECT $1::int4 + $2::int4', [1]))
      .catch((e: unknown) => e);
    expect(few).toBeInstanceOf(UsageError);
    expect(few).toMatchObject({
      message: expect.stringMatching(/takes 2 values, 1 given/) as string,
    });
    await expect(one.query(sql.unsafe('SELECT 1', [1, 2]))).rejects.toThrow('takes 0 values, 2');
    const { pid } = await one.one<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
    const work = one.transaction((tx) => tx.query(sql.unsafe('SELECT $1::int4', [])));
    await expect(work).rejects.toThrow('takes 1 value, 0 given');
    // The connection is as good as before.
    expect(await one.one`SELECT pg_backend_pid() AS pid`).toEqual({ pid });
    await one.close();
  });

  it('refuses the rows of COPY TO STDOUT instead of dropping them', async () => {
    const t = sql.identifier(freshName('sdk_copy'));
    await db.query`CREATE TABLE ${t} (id INT4)`;
    await expect(db.query`COPY ${t} TO STDOUT`).rejects.toThrow('COPY');
    await db.query`INSERT INTO ${t} VALUES (1), (2)`;
    await expect(db.query`COPY ${t} TO STDOUT`).rejects.toThrow('COPY');
    await expect(db.transaction((tx) => tx.query`COPY ${t} TO STDOUT`)).rejects.toThrow('COPY');
    expect((await db.query`SELECT id FROM ${t}`).count).toBe(2);
    await db.query`DROP TABLE ${t}`;
  });

  it('runs a script of several statements', async () => {
    const scratch = freshName('sdk_script');
    await db.script(`CREATE TABLE ${scratch} (a INT4); INSERT INTO ${scratch} VALUES (1), (2);`);
    expect((await db.query`SELECT a FROM ${sql.identifier(scratch)}`).count).toBe(2);
    await db.script(`DROP TABLE ${scratch}`);
  });

  it('does not leave a transaction open on a connection of the pool', async () => {
    await expect(db.query`BEGIN`).rejects.toThrow('left a transaction open');
    await expect(db.script('BEGIN')).rejects.toThrow('left a transaction open');
    await expect(db.script('BEGIN; SELECT nonsense')).rejects.toMatchObject({ code: '42703' });
    const many = Array.from({ length: 8 }, () => db.query`SELECT 1`);
    await expect(Promise.all(many)).resolves.toHaveLength(8);
  });

  it('keeps statements prepared where asked to', async () => {
    await using prepared = await connect(url, { prepare: true, connectionsMax: 1 });
    for (const value of [1, 2, 3]) {
      const row = await prepared.one`SELECT ${value}::int4 + 1 AS next`;
      expect(row.next).toBe(value + 1);
    }
  });

  it('reads values as the options say', async () => {
    await using plain = await connect(url, { parsers: { int8: 'number', numeric: 'number' } });
    expect(await plain.one`SELECT 5::int8 AS a, 1.5::numeric AS b`).toEqual({ a: 5, b: 1.5 });
    const tooBig = plain.query`SELECT 9007199254740993::int8`;
    await expect(tooBig).rejects.toBeInstanceOf(RangeError);
    expect(await plain.one`SELECT 5::int8 AS a`).toEqual({ a: 5 });
  });
});

onEachServer('connections', ({ url }) => {
  it('fail with a ConnectionError where nobody listens', async () => {
    const refused = connect('postgresql://root@127.0.0.1:1/defaultdb');
    await expect(refused).rejects.toMatchObject({ name: 'ConnectionError', errno: 'ECONNREFUSED' });
  });

  it('fail with what the server says', async () => {
    const wrong = new URL(url);
    wrong.pathname = '/no_such_database';
    await expect(connect(wrong)).rejects.toMatchObject({ name: 'DatabaseError', code: '3D000' });
  });

  it('work with a pool of the caller, and leave it open and as it was', async () => {
    const pool = new pg.Pool({ connectionString: url });
    const db = await connect(pool);
    expect(await db.one`SELECT 5::int8 AS a`).toEqual({ a: 5n });
    expect(db.server.version).not.toBe('');
    await db.close();
    const { rows } = await pool.query<{ a: string }>('SELECT 5::int8 AS a');
    expect(rows).toEqual([{ a: '5' }]);
    await pool.end();
  });

  it('tell about the loss of one that nobody uses, and are replaced', async () => {
    await using proxy = await startProxy(url);
    const lost: Error[] = [];
    const onConnectionLost = (error: Error): void => void lost.push(error);
    await using db = await connect(proxy.url, { connectionsMax: 1, onConnectionLost });
    proxy.cutAll();
    await expect.poll(() => lost.length).toBe(1);
    expect(await db.one`SELECT 1::int4 AS a`).toEqual({ a: 1 });
  });

  it('lost under a statement leave its outcome open', async () => {
    await using proxy = await startProxy(url);
    await using db = await connect(proxy.url);
    proxy.judge = () => 'cut after';
    const error: unknown = await db.query`SELECT 1`.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'ConnectionError', ambiguous: true });
    expect(isAmbiguous(error)).toBe(true);
  });

  it('close after what is running, and refuse what comes later', async () => {
    const db = await connect(url);
    const running = db.query`SELECT 1::int4 AS a`;
    await Promise.all([db.close(), db.close()]);
    expect((await running).rows).toEqual([{ a: 1 }]);
    await expect(db.query`SELECT 1`).rejects.toMatchObject({ name: 'UsageError' });
    await expect(db.transaction(() => Promise.resolve())).rejects.toMatchObject({
      name: 'UsageError',
    });
  });

  it('print nothing, however many statements share a signal', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    await using db = await connect(url, { connectionsMax: 3 });
    const shared = db.with({ signal: new AbortController().signal });
    await Promise.all(Array.from({ length: 60 }, () => shared.query`SELECT 1`));
    await shared.transaction(async (tx) => {
      await Promise.all(Array.from({ length: 60 }, () => tx.query`SELECT 1`));
    });
    await new Promise((resolve) => setImmediate(resolve));
    process.removeListener('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('without a server', () => {
  it('a connection error is not ambiguous', async () => {
    const error = await connect('postgresql://root@127.0.0.1:1/x').catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ ambiguous: false });
    expect(targets().length).toBeGreaterThanOrEqual(0);
  });
});
