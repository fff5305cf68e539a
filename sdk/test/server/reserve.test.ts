/** `db.reserve`: a connection for one user, and what is left of it when it is given back. */

import { beforeEach, afterEach, expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import { connect, ConnectionError, isTransient, sql, table, UsageError } from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, slowStatement, socketCount } from '../targets.js';

onEachServer('a reserved connection', ({ url }) => {
  let db: Database;
  beforeEach(async () => {
    db = await connect(url, { connectionsMax: 1, prepare: true });
  });
  afterEach(() => db.close());
  const pidOf = sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`;

  it('is one session, whose settings do not reach the next user', async () => {
    const before = await db.one`SHOW search_path`;
    const { pid } = await db.one(pidOf);
    {
      await using connection = await db.reserve();
      await connection.query`SET search_path = information_schema`;
      expect(await connection.one`SHOW search_path`).toEqual({ search_path: 'information_schema' });
      expect((await connection.one(pidOf)).pid).toBe(pid);
      expect(connection.processId).toBe(pid);
      expect(await connection.one`SELECT ${1}::int4 AS a`).toEqual({ a: 1 });
    }
    expect(await db.one`SHOW search_path`).toEqual(before);
    // The same connection, whose prepared statements the server has forgotten.
    expect((await db.one(pidOf)).pid).toBe(pid);
    expect(await db.one`SELECT ${1}::int4 AS a`).toEqual({ a: 1 });
  });

  it('may begin a transaction by hand; what is open is rolled back', async () => {
    const name = freshName('sdk_reserve');
    const t = sql.identifier(name);
    await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY)`;
    const connection = await db.reserve();
    await connection.query`BEGIN`;
    await connection.run`INSERT INTO ${t} VALUES (1)`;
    await connection.query`COMMIT`;
    await connection.query`BEGIN`;
    await connection.insert(table<{ id: number }>(name), [{ id: 2 }, { id: 3 }]);
    await connection.release();
    await connection.release();
    expect((await db.query`SELECT id FROM ${t}`).rows).toEqual([{ id: 1 }]);
    // Also after an error inside of it.
    const failed = await db.reserve();
    await failed.script(`BEGIN; INSERT INTO ${name} VALUES (9)`);
    await expect(failed.query`SELECT 1 / 0`).rejects.toMatchObject({ code: '22012' });
    await expect(failed.query`SELECT 1`).rejects.toMatchObject({ code: '25P02' });
    await failed.release();
    expect((await db.query`SELECT id FROM ${t}`).count).toBe(1);
    await db.run`DROP TABLE ${t}`;
  });

  it('runs statements in the order of their calls, writes included', async () => {
    const name = freshName('sdk_reserve');
    await using connection = await db.reserve();
    const all = await Promise.all([
      connection.script(`CREATE TABLE ${name} (id INT4 PRIMARY KEY)`),
      connection.run`INSERT INTO ${sql.identifier(name)} VALUES (1)`.count(),
      connection.one`SELECT count(*) AS n FROM ${sql.identifier(name)}`,
      connection.copyFrom({ table: name }, '2\n3\n'),
    ]);
    expect(all[1]).toBe(1);
    expect(await connection.one`SELECT count(*) AS n FROM ${sql.identifier(name)}`).toEqual({
      n: 3n,
    });
    let text = '';
    for await (const chunk of connection.copyTo({ table: name })) text += chunk.toString();
    expect(text.split('\n').toSorted()).toEqual(['', '1', '2', '3']);
    const stream = connection.copyTo(sql`COPY (SELECT generate_series(1, 1000000)) TO STDOUT`);
    await stream.next();
    await expect(connection.query`SELECT 1`).rejects.toBeInstanceOf(UsageError);
    await stream.return();
    await connection.run`DROP TABLE ${sql.identifier(name)}`;
  });

  it('counts towards the limit of the pool; the wait for one can be aborted', async () => {
    const connection = await db.reserve();
    const signal = AbortSignal.timeout(50);
    await expect(db.reserve({ signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    const waiting = db.query(sql`SELECT 1`, { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    const next = db.reserve();
    await connection.release();
    await (await next).release();
    await expect(connection.query`SELECT 1`).rejects.toThrow('given back');
    expect((await db.query`SELECT 1`).count).toBe(1);
  });

  it('aborts a statement, and one that waits for its turn', async () => {
    await using connection = await db.reserve();
    const slow = await slowStatement(url);
    const running = connection.script(slow, { signal: AbortSignal.timeout(100) });
    const waiting = connection.query(sql`SELECT 1`, { signal: AbortSignal.timeout(20) });
    const last = connection.one`SELECT 5::int4 AS a`;
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(running).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await last).toEqual({ a: 5 });
    const bound = connection.with({ signal: AbortSignal.abort(new Error('no')) });
    await expect(bound.query`SELECT 1`).rejects.toThrow('no');
  });

  it('that is lost fails with a typed error and does not go back', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { connectionsMax: 1 });
    const connection = await other.reserve();
    await connection.query`SELECT 1`;
    proxy.judge = () => 'cut after';
    const error: unknown = await connection.query`SELECT 2`.catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ ambiguous: true });
    proxy.judge = () => 'pass';
    const later: unknown = await connection.query`SELECT 3`.catch((e: unknown) => e);
    expect(later).toBeInstanceOf(ConnectionError);
    expect(isTransient(later)).toBe(true);
    await connection.release();
    expect((await other.query`SELECT 1`).count).toBe(1);
  });

  it('is given back by close, and leaves no handle', async () => {
    const sockets = socketCount();
    const other = await connect(url, { connectionsMax: 2 });
    const connection = await other.reserve();
    const reading = await other.reserve();
    const stream = reading.copyTo(sql`COPY (SELECT generate_series(1, 1000000)) TO STDOUT`);
    await stream.next();
    await connection.query`SELECT 1`;
    await other.close();
    await expect(connection.query`SELECT 1`).rejects.toBeInstanceOf(UsageError);
    await expect(stream.next()).rejects.toBeInstanceOf(UsageError);
    await expect(other.reserve()).rejects.toBeInstanceOf(UsageError);
    await expect.poll(socketCount, { timeout: 10_000 }).toBeLessThanOrEqual(sockets);
  });
});
