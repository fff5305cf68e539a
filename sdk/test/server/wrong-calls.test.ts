/** Every public function and method, with values that it cannot take in each of its arguments. */

import { describe, expect, it } from 'vitest';

import type { Database, Queryable, QueryOptions } from '../../src/index.js';
import {
  connect,
  createOnce,
  detectServer,
  isAmbiguous,
  isRetryable,
  isTransient,
  readTimeline,
  sql,
  table,
  timelineSvg,
} from '../../src/index.js';
import * as everything from '../../src/index.js';
import { freshName, onEachServer } from '../targets.js';
import type { WrongCall } from '../wrong-calls.js';
import { findRawErrors, SOME_VALUES } from '../wrong-calls.js';

type Calls = Readonly<Record<string, WrongCall>>;

const one = sql`SELECT 1`;
const soon = (): AbortSignal => AbortSignal.timeout(100);

/** The methods that `db`, `tx` and reserved connections share. */
function sharedCalls(
  db: Queryable & { readonly with: (options: QueryOptions) => unknown },
  name: string,
): Calls {
  const columns = { table: name, columns: ['id'] };
  return {
    query: (value) => db.query(value),
    'query options': (value) => db.query(one, value),
    'query of Kysely': (value) => db.query({ compile: value, execute: value } as never),
    'query of Kysely that compiles': (value) => db.query({ compile: () => value } as never),
    'query of Drizzle': (value) => db.query({ toSQL: () => ({ sql: value, params: value }) }),
    'a value': (value) => db.query`SELECT ${value}::text`,
    'values in an array': (value) => db.query`SELECT ${[value]}::text[]`,
    one: (value) => db.one(value),
    maybeOne: (value) => db.maybeOne(value),
    run: (value) => db.run(value),
    'run options': (value) => db.run(one, value),
    'insert table': (value) => db.insert(value, { id: 1 }),
    'insert rows': (value) => db.insert(name, value),
    'insert row': (value) => db.insert(name, [{ id: 1 }, value]),
    'insert value': (value) => db.insert(name, { id: value, n: value }),
    'insert options': (value) => db.insert(name, { id: 1, n: 0 }, value),
    'upsert table': (value) => db.upsert(value, { id: 1 }),
    'upsert described': (value) => db.upsert({ name: value, key: value }, { id: 1 }),
    'upsert rows': (value) => db.upsert(table(name, { key: ['id'] }), value),
    'update table': (value) => db.update(value, { n: 1 }).everywhere(),
    'update values': (value) => db.update(name, value).everywhere(),
    'update where': (value) => db.update(name, { n: 1 }).where(value),
    'delete table': (value) => db.delete(value).everywhere(),
    'delete where': (value) => db.delete(name).where(value),
    returning: (value) => db.delete(name).where({ id: -1 }).returning(value),
    'notify channel': (value) => db.notify(value, ''),
    'notify payload': (value) => db.notify('a', value),
    'notify options': (value) => db.notify('a', '', value),
    script: (value) => db.script(value),
    'script options': (value) => db.script('', value),
    'copyFrom target': (value) => db.copyFrom(value, ''),
    'copyFrom table': (value) => db.copyFrom({ table: value, columns: value }, ''),
    'copyFrom format': (value) => db.copyFrom({ ...columns, format: value }, ''),
    'copyFrom source': (value) => db.copyFrom(columns, value),
    'copyFrom options': (value) => db.copyFrom(columns, '', value),
    'copyTo target': (value) => db.copyTo(value),
    'copyTo options': (value) => db.copyTo(columns, value),
    with: (value) => {
      db.with(value);
    },
  };
}

describe('without a server', () => {
  it('fails with an error that says what is wrong', async () => {
    const calls: Calls = {
      sql: (value) => sql(value),
      'sql value': (value) => sql`${value}`.compile(),
      'sql.identifier': (value) => sql.identifier(value),
      'sql.join': (value) => sql.join(value),
      'sql.join separator': (value) => sql.join([1, 2], value),
      'sql.values': (value) => sql.values(value),
      'sql.values row': (value) => sql.values([[1], value]),
      'sql.json': (value) => sql.json(value),
      'sql.unsafe': (value) => sql.unsafe(value),
      'sql.unsafe values': (value) => sql.unsafe('', value),
      'sql.unsafe options': (value) => sql.unsafe('', [], value),
      table: (value) => table(value),
      'table options': (value) => table('t', value),
      'table key': (value) => table('t', { key: value }),
      detectServer: (value) => detectServer(value),
      readTimeline: (value) => readTimeline(value),
      timelineSvg: (value) => timelineSvg(value),
      'timelineSvg entry': (value) => timelineSvg([value]),
      'timelineSvg options': (value) => timelineSvg([], value),
      'timelineSvg title': (value) => timelineSvg([], { title: value, width: value }),
      createOnce: (value) => createOnce(value, one),
      isRetryable: (value) => isRetryable(value),
      isTransient: (value) => isTransient(value),
      isAmbiguous: (value) => isAmbiguous(value),
      connect: (value) => connect(value),
      'connect options': (value) => connect('postgresql://127.0.0.1:1/d', value),
      'connect hosts': (value) => connect('postgresql://127.0.0.1:1/d', { hosts: [value] }),
      'connect zone': (value) => connect('postgresql://127.0.0.1:1/d', { zone: value }),
      'connect parsers': (value) => connect('postgresql://127.0.0.1:1/d', { parsers: value }),
      'connect custom parsers': (value) =>
        connect('postgresql://127.0.0.1:1/d', { parsers: { custom: value } }),
      'connect transaction': (value) =>
        connect('postgresql://127.0.0.1:1/d', { transaction: value }),
      'connect scheduler': (value) => connect('postgresql://127.0.0.1:1/d', { scheduler: value }),
    };
    expect(await findRawErrors(calls)).toEqual([]);
    // Classes of errors are made by the SDK. Every function is called here or below.
    const functions = Object.entries(everything)
      .filter(([, value]) => typeof value === 'function' && !String(value).startsWith('class'))
      .map(([name]) => name);
    expect(functions.filter((name) => calls[name] === undefined)).toEqual([]);
  });

  it('says what to do where nobody listens', async () => {
    await expect(connect('postgresql://root@127.0.0.1:1/d')).rejects.toMatchObject({
      name: 'ConnectionError',
      errno: 'ECONNREFUSED',
      message: expect.stringContaining('is the server running') as string,
    });
    await expect(connect('postgresql://root@no-such-host.invalid/d')).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringMatching(/no-such-host\.invalid.*\?/) as string,
    });
  });
});

onEachServer('wrong calls', ({ url }) => {
  const name = freshName('sdk_wrong');
  const withTable = async (work: (db: Database) => Promise<void>): Promise<void> => {
    await using db = await connect(url, { connectionsMax: 4, transaction: { attemptsMax: 1 } });
    await db.script(`CREATE TABLE ${name} (id INT4 PRIMARY KEY, n INT4)`);
    try {
      await work(db);
    } finally {
      await db.script(`DROP TABLE ${name}`);
    }
  };

  it('of a database and a reserved connection say what is wrong', () =>
    withTable(async (db) => {
      const own: Calls = {
        transaction: (value) => db.transaction(value),
        'transaction options': (value) => db.transaction(value, () => Promise.resolve(1)),
        'transaction isolation': (value) =>
          db.transaction({ isolation: value }, () => Promise.resolve(1)),
        'transaction function': (value) => db.transaction({}, value),
        stream: (value) => db.stream(value),
        'stream options': (value) => db.stream(one, value),
        'stream batchRows': (value) => db.stream(one, { batchRows: value }),
        reserve: (value) => db.reserve(value),
        listen: (value) => db.listen(value, { signal: soon() }),
        'listen to one of': (value) => db.listen([value], { signal: soon() }),
        'listen options': (value) => db.with({ signal: soon() }).listen('a', value),
        batcher: (value) => db.batcher(value),
        'batcher options': (value) => db.batcher(name, value),
        createOnce: (value) => createOnce(db, value),
      };
      expect(await findRawErrors({ ...sharedCalls(db, name), ...own })).toEqual([]);
      const connection = await db.reserve();
      expect(await findRawErrors(sharedCalls(connection, name), SOME_VALUES)).toEqual([]);
      await connection.release();
      const close: WrongCall = async (value) => {
        await using another = await connect(url);
        await another.close(value);
      };
      expect(await findRawErrors({ close }, SOME_VALUES)).toEqual([]);
    }));

  it('of a transaction say what is wrong', () =>
    withTable(async (db) => {
      const calls = sharedCalls(db, name);
      const inside = Object.keys(calls).map((title): [string, WrongCall] => [
        title,
        (value) =>
          db.transaction(async (tx) => {
            await sharedCalls(tx, name)[title]?.(value);
          }),
      ]);
      const own: Calls = {
        transaction: (value) => db.transaction((tx) => tx.transaction(value)),
        forUpdate: (value) => db.transaction((tx) => tx.query`SELECT 1`.forUpdate(value)),
        'forUpdate of': (value) =>
          db.transaction((tx) => tx.query`SELECT 1`.forShare({ of: value })),
      };
      expect(await findRawErrors(Object.fromEntries(inside), SOME_VALUES)).toEqual([]);
      expect(await findRawErrors(own)).toEqual([]);
    }));

  it('of a batcher say what is wrong', () =>
    withTable(async (db) => {
      await using batcher = db.batcher<{ id: number; n: number }>(name);
      const calls: Calls = {
        add: (value) => batcher.add(value),
        'add value': (value) => batcher.add({ id: 1, n: value }),
        'add options': (value) => batcher.add({ id: 2, n: 1 }, value),
        ready: (value) => batcher.ready(value),
        addAll: (value) => batcher.addAll(value),
        'addAll row': (value) => batcher.addAll([value]),
        'addAll options': (value) => batcher.addAll([{ id: 3, n: 1 }], value),
        writable: (value) => {
          batcher.writable(value).destroy();
        },
      };
      expect(await findRawErrors(calls)).toEqual([]);
    }));

  it('name the statement', () =>
    withTable(async (db) => {
      const loop: Record<string, unknown> = {};
      loop.self = loop;
      const messageOf = (work: Promise<unknown>): Promise<string> => work.then(String, String);
      const values = messageOf(db.query(sql.unsafe('SELECT $1::int4', [1, 2])));
      expect(await values).toContain('; text: SELECT $1::int4');
      for (const value of [loop, { n: 1n }]) {
        const message = await messageOf(db.query`SELECT ${1}::int4, ${value}::jsonb`);
        expect(message).toMatch(/^ValueError: parameter 2: .*; text: SELECT \$1::int4, \$2/);
        const inside = db.transaction((tx) => tx.run`SELECT ${value}::jsonb`);
        expect(await messageOf(inside)).toMatch(/^ValueError: parameter 1: .*; text: SELECT \$1/);
      }
      const copy = messageOf(db.query(sql.unsafe(`COPY ${name} FROM STDIN`)));
      expect(await copy).toMatch(/copyFrom; text: COPY/);
      const out = messageOf(db.query(sql.unsafe(`COPY ${name} TO STDOUT`)));
      expect(await out).toMatch(/copyTo; text: COPY/);
      expect(await messageOf(db.script(`COPY ${name} TO STDOUT`))).toMatch(/copyTo; text: COPY/);
      const wrong = messageOf(db.copyFrom(sql`SELECT 1`, 'x'));
      expect(await wrong).toContain('; text: SELECT 1');
    }));

  it('of a channel whose name is too long fails at once', () =>
    withTable(async (db) => {
      const long = 'a'.repeat(64);
      const failed = { name: 'OptionError' };
      expect(() => db.listen(long)).toThrow(expect.objectContaining(failed));
      expect(() => db.listen('ä'.repeat(32))).toThrow(expect.objectContaining(failed));
      await expect(db.notify(long)).rejects.toMatchObject({ ...failed, option: 'channel' });
      await db.notify('a'.repeat(63));
      const payload = 5 as never;
      await expect(db.notify('a', payload)).rejects.toMatchObject({ ...failed, option: 'payload' });
    }));
});
