/** How connections are made, chosen, replaced and ended. */

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, inject, it } from 'vitest';

import { startServer } from '../../../examples/iot-worker/server.mjs';
import type { Database } from '../../src/index.js';
import {
  ClosedError,
  CommitUnknownError,
  connect,
  ConnectionError,
  isAmbiguous,
  isTransient,
  RetriesExhaustedError,
  sql,
} from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, slowStatement, socketCount } from '../targets.js';
import { startStandIn } from '../tikv-store.js';

const never = new Promise<never>(() => undefined);

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that takes connections and never answers. */
async function silentServer(): Promise<{ port: number; taken: () => number } & AsyncDisposable> {
  let taken = 0;
  const sockets: { destroy(): void }[] = [];
  const server = createServer((socket) => {
    taken += 1;
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    taken: () => taken,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

onEachServer('connections', ({ url }) => {
  const { hostname, port, username, pathname } = new URL(url);
  const urlOf = (hosts: string): string => `postgresql://${username}@${hosts}${pathname}`;
  const here = `${hostname}:${port}`;
  const pidOf = async (db: Database): Promise<number> =>
    (await db.one<{ pid: number }>`SELECT pg_backend_pid() AS pid`).pid;

  it('go to the first of several hosts that is there', async () => {
    const nobody = `127.0.0.1:${await closedPort()}`;
    for (const target of [`${nobody},${here}`, `${here},${nobody}`]) {
      await using db = await connect(urlOf(target));
      expect((await db.query`SELECT 1`).count).toBe(1);
    }
    await using more = await connect(urlOf(nobody), { hosts: [nobody, here] });
    expect((await more.query`SELECT 1`).count).toBe(1);
    await using only = await connect(urlOf(''), { hosts: [here], loadBalance: 'random' });
    expect((await only.query`SELECT 1`).count).toBe(1);
    await expect(connect(urlOf(`${nobody},${nobody}`))).rejects.toMatchObject({
      ...{ name: 'ConnectionError', errno: 'ECONNREFUSED' },
    });
  });

  it('do not wait for a host that does not answer longer than for one connection', async () => {
    await using silent = await silentServer();
    const target = urlOf(`127.0.0.1:${silent.port},${here}`);
    await using db = await connect(target, { connectTimeoutMs: 200 });
    expect((await db.query`SELECT 1`).count).toBe(1);
    const alone = connect(urlOf(`127.0.0.1:${silent.port}`), { connectTimeoutMs: 200 });
    await expect(alone).rejects.toMatchObject({ name: 'ConnectionError', errno: 'ETIMEDOUT' });
    const startMs = performance.now();
    const late = connect(urlOf(`127.0.0.1:${silent.port}`), { acquireTimeoutMs: 200 });
    await expect(late).rejects.toBeInstanceOf(ConnectionError);
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  it('are spread over all hosts where asked to', async () => {
    await using first = await startProxy(url);
    await using second = await startProxy(url);
    const seen = [0, 0];
    first.judge = () => ((seen[0] = 1), 'pass');
    second.judge = () => ((seen[1] = 1), 'pass');
    const hosts = [new URL(first.url).host, new URL(second.url).host];
    await using db = await connect(urlOf(''), { hosts, loadBalance: 'random' });
    const all = Array.from({ length: 10 }, () => db.reserve());
    for (const connection of await Promise.all(all)) await connection.release();
    expect(seen).toEqual([1, 1]);
  });

  it('are waited for as long as acquireTimeoutMs says, and the error says why', async () => {
    await using db = await connect(url, { connectionsMax: 1, acquireTimeoutMs: 1000 });
    const connection = await db.reserve();
    const error: unknown = await db.query`SELECT 1`.catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toContain('connectionsMax');
    expect(isTransient(error)).toBe(true);
    // The deadline of a transaction is another matter: it waits again and again.
    const work = db.transaction({ deadlineMs: 500 }, (tx) => tx.query`SELECT 1`);
    await expect(work).rejects.toBeInstanceOf(RetriesExhaustedError);
    const later = db.transaction({ deadlineMs: 30_000 }, (tx) => tx.query`SELECT 1`);
    await sleep(1300);
    await connection.release();
    expect((await later).count).toBe(1);
    expect((await db.query`SELECT 1`).count).toBe(1);
  });

  it('are replaced after their lifetime, also while nobody uses them', async () => {
    await using db = await connect(url, { connectionsMax: 1, lifetimeMs: 150 });
    const first = await pidOf(db);
    await expect.poll(() => db.stats().connections.total, { timeout: 10_000 }).toBe(0);
    expect(await pidOf(db)).not.toBe(first);
    // One in use lives on until it is given back.
    await using connection = await db.reserve();
    const { processId } = connection;
    await sleep(250);
    const row = await connection.one<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
    expect(row.pid).toBe(processId);
    await connection.release();
    expect(await pidOf(db)).not.toBe(processId);
  });

  it('ask for their password each time', async () => {
    const role = freshName('sdk_role');
    await using admin = await connect(url);
    const isSecret = await admin.script(`CREATE ROLE ${role} LOGIN PASSWORD 'right'`).then(
      () => true,
      () => false,
    );
    let asked = 0;
    const target = `postgresql://${isSecret ? role : username}@${here}${pathname}`;
    const password = async (): Promise<string> => {
      await sleep(1);
      asked += 1;
      return 'right';
    };
    const wrong = connect(target, { password: 'wrong' }).then(
      async (db) => {
        await db.close();
        return undefined;
      },
      (error: unknown) => error,
    );
    const refused = await wrong;
    // Servers that trust this machine ask for none.
    if (refused !== undefined)
      expect(refused).toMatchObject({ name: 'DatabaseError', code: '28P01' });
    const db = await connect(target, { password });
    await db.query`SELECT 1`;
    if (refused !== undefined) expect(asked).toBe(1);
    const cause = new Error('the vault is closed');
    const failing = connect(target, { password: () => Promise.reject(cause) });
    if (refused !== undefined) await expect(failing).rejects.toMatchObject({ cause });
    else await (await failing).close();
    await db.close();
    if (isSecret) await admin.script(`DROP ROLE ${role}`);
  });

  it('use TLS where asked to, and refuse a server without', async () => {
    const tls = { rejectUnauthorized: false };
    const secure = await connect(url, { tls }).catch((error: unknown) => error);
    if (secure instanceof Error) expect(secure).toBeInstanceOf(ConnectionError);
    else await (secure as Database).close();
    await expect(connect(`${url}?sslmode=require`, { tls })).rejects.toMatchObject({
      option: 'tls',
    });
    await using plain = await connect(url, { tls: false });
    expect((await plain.query`SELECT 1`).count).toBe(1);
  });

  it('close: what is done in time succeeds, what is left fails with a ClosedError', async () => {
    const sockets = socketCount();
    const slow = await slowStatement(url);
    const db = await connect(url, { connectionsMax: 2, graceMs: 500 });
    const name = freshName('sdk_close');
    await db.run`CREATE TABLE ${sql.identifier(name)} (id INT4 PRIMARY KEY)`;
    const quick = db.query`SELECT 1`;
    const running = db.script(slow);
    const working = db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${sql.identifier(name)} VALUES (1)`;
      await tx.query`SELECT 1`;
      await never;
    });
    const waiting = db.query`SELECT 2`;
    const all = Promise.allSettled([quick, running, waiting]);
    working.catch(() => undefined);
    await sleep(100);
    const startMs = performance.now();
    await db.close({ timeoutMs: 200 });
    expect(performance.now() - startMs).toBeLessThan(5000);
    const [done, cut, unsent] = await all;
    expect(done.status).toBe('fulfilled');
    expect(cut).toMatchObject({ reason: { name: 'ClosedError' } });
    expect(cut.status === 'rejected' && isAmbiguous(cut.reason)).toBe(true);
    expect(unsent.status).toBe('rejected');
    expect(unsent.status === 'rejected' && unsent.reason).toBeInstanceOf(ClosedError);
    expect(unsent.status === 'rejected' && isTransient(unsent.reason)).toBe(false);
    await expect.poll(socketCount, { timeout: 10_000 }).toBeLessThanOrEqual(sockets);
    await using after = await connect(url);
    expect((await after.query`SELECT id FROM ${sql.identifier(name)}`).count).toBe(0);
    await after.run`DROP TABLE ${sql.identifier(name)}`;
  });

  it('close: a COMMIT that is cut is unknown, and a batch rejects its rows', async () => {
    const name = freshName('sdk_close');
    const t = sql.identifier(name);
    await using admin = await connect(url);
    await admin.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY)`;
    await using proxy = await startProxy(url);
    const db = await connect(proxy.url, { connectionsMax: 2, graceMs: 200 });
    const batcher = db.batcher<{ id: number }>(name);
    await batcher.add({ id: 1 });
    proxy.judge = (chunk) => (chunk.includes('COMMIT') ? 'swallow' : 'pass');
    const working = db.transaction((tx) => tx.run`INSERT INTO ${t} VALUES (7)`);
    const outcome = working.catch((error: unknown) => error);
    const row = batcher.add({ id: 2 }).catch((error: unknown) => error);
    await sleep(200);
    await db.close({ timeoutMs: 50 });
    expect(await outcome).toBeInstanceOf(CommitUnknownError);
    if (db.server.kind === 'braiddb') expect(await row).toBeInstanceOf(Error);
    await admin.run`DROP TABLE ${t}`;
  });

  it('close: may be given a limit while it waits already, and is done at once when idle', async () => {
    const db = await connect(url, { graceMs: 200 });
    const working = db.script(await slowStatement(url)).catch((error: unknown) => error);
    await sleep(50);
    const patient = db.close();
    await db.close({ timeoutMs: 50 });
    await patient;
    expect(await working).toBeInstanceOf(ClosedError);
    await expect(db.close({ timeoutMs: -1 })).rejects.toMatchObject({ option: 'timeoutMs' });
    const idle = await connect(url);
    await idle.close({ timeoutMs: 0 });
    await idle.close();
  });
});

describe.skipIf(inject('braidBinary') === undefined)('gateways that are restarted', () => {
  // Two servers of their own stand for gateways of one store where the stand-in is not built.
  // A gateway that is killed leaves COMMITs behind that only another gateway of its store can explain.
  const ways = inject('standIn') === undefined ? (['stop'] as const) : (['stop', 'kill'] as const);
  it.each(ways)('by %s cost no call that could be repeated', async (how) => {
    const standIn = inject('standIn');
    using store = standIn === undefined ? undefined : await startStandIn(standIn);
    const more = store === undefined ? [] : ['--store', store.url];
    const args = ['--shutdown-timeout', '2s', ...more];
    const binary = inject('braidBinary') ?? '';
    const folders = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'braid-'))));
    const hosts = [`127.0.0.1:${await closedPort()}`, `127.0.0.1:${await closedPort()}`];
    const start = (index: number): ReturnType<typeof startServer> =>
      startServer(binary, { folder: folders[index] ?? '', listen: hosts[index] ?? '', args });
    const gateways = [await start(0), await start(1)];
    for (const host of store === undefined ? hosts : hosts.slice(0, 1)) {
      await using one = await connect(`postgresql://root@${host}/defaultdb`);
      await one.script('CREATE TABLE beat (id INT4 PRIMARY KEY, n INT4)');
      await one.script('INSERT INTO beat SELECT g, 0 FROM generate_series(0, 7) AS s(g)');
    }
    const target = `postgresql://root@${hosts.join(',')}/defaultdb`;
    const db = await connect(target, { connectionsMax: 6, loadBalance: 'random' });
    const stop = new AbortController();
    const failures: unknown[] = [];
    const done = { transactions: 0, statements: 0 };
    const work = async (id: number): Promise<void> => {
      while (!stop.signal.aborted) {
        await db.transaction(async (tx) => {
          await tx.one`SELECT n FROM beat WHERE id = ${id}`;
          await tx.run`UPDATE beat SET n = n + 1 WHERE id = ${id}`;
        });
        done.transactions += 1;
        await db.query`SELECT count(*) FROM beat`.then(
          () => (done.statements += 1),
          (error: unknown) => failures.push(error),
        );
      }
    };
    const workers = Promise.all(Array.from({ length: 8 }, (_, id) => work(id)));
    for (const index of [0, 1]) {
      await sleep(500);
      await gateways[index]?.[how]();
      await sleep(300);
      gateways[index] = await start(index);
    }
    await sleep(500);
    stop.abort();
    // No transaction failed: each was run again where its gateway went away, and none ran twice.
    await workers;
    const { n } = await db.one<{ n: bigint }>`SELECT sum(n) AS n FROM beat`;
    if (store !== undefined) expect(Number(n)).toBe(done.transactions);
    expect(done.transactions).toBeGreaterThan(20);
    expect(done.statements).toBeGreaterThan(20);
    // A single statement failed only where it had been sent, so that it may have taken effect.
    expect(failures.filter((error) => !isAmbiguous(error))).toEqual([]);
    await db.close();
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  });
});
