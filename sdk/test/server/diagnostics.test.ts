/** The tracing channels and `db.stats()`. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, expect, it } from 'vitest';

import type {
  AcquireTrace,
  BatchTrace,
  ConnectTrace,
  QueryTrace,
  TransactionTrace,
} from '../../src/index.js';
import { connect, DatabaseError, sql } from '../../src/index.js';
import { freshName, onEachServer } from '../targets.js';

const undo: (() => void)[] = [];

interface Collected<Trace> {
  readonly traces: Trace[];
  readonly events: string[];
}

/** Collects the traces of a channel when they end, and the names of their events. */
function collect<Trace extends object>(name: string): Collected<Trace> {
  const found: Collected<Trace> = { traces: [], events: [] };
  const on = tracingChannel<unknown, Trace>(`braiddb:${name}`);
  const note = (event: string) => (): void => void found.events.push(event);
  const subscribers = {
    start: note('start'),
    end: note('end'),
    error: note('error'),
    asyncStart: note('asyncStart'),
    asyncEnd: (trace: Trace): void => {
      found.events.push('asyncEnd');
      found.traces.push(trace);
    },
  };
  on.subscribe(subscribers);
  undo.push(() => {
    on.unsubscribe(subscribers);
  });
  return found;
}

onEachServer('diagnostics', ({ url }) => {
  const server = new URL(url).host;
  afterEach(() => {
    for (const call of undo.splice(0)) call();
  });

  it('trace connections, waits and statements outside transactions', async () => {
    const connects = collect<ConnectTrace>('connect');
    const acquisitions = collect<AcquireTrace>('acquire');
    const { traces, events } = collect<QueryTrace>('query');
    await using db = await connect(url, { connectionsMax: 1 });
    expect(connects.traces).toEqual([expect.objectContaining({ server })]);
    expect(acquisitions.traces[0]).toMatchObject({ server, waiting: 0 });
    await db.query`SELECT ${1}::int4 AS a`;
    expect(events).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
    await expect(db.query`SELECT 1 / 0`).rejects.toBeInstanceOf(DatabaseError);
    await db.script('SELECT 1; SELECT 2');
    let text = '';
    const copy = sql`COPY (SELECT 7) TO STDOUT`;
    for await (const chunk of db.copyTo(copy)) text += chunk.toString();
    expect(text).toBe('7\n');
    await using connection = await db.reserve();
    await connection.query`SELECT 3`;
    const outside = { server, attempt: undefined };
    expect(traces).toMatchObject([
      { ...outside, text: 'SELECT $1::int4 AS a', rows: 1 },
      { ...outside, text: 'SELECT 1 / 0', error: { code: '22012' } },
      { ...outside, text: 'SELECT 1; SELECT 2' },
      { ...outside, text: 'COPY (SELECT 7) TO STDOUT', rows: 1 },
      { ...outside, text: 'SELECT 3' },
    ]);
    expect(traces.every(({ waitMs }) => Number(waitMs) >= 0)).toBe(true);
    const failing = connect('postgresql://root@127.0.0.1:1/x');
    await expect(failing).rejects.toThrow();
    expect(connects.traces[1]).toMatchObject({
      server: '127.0.0.1:1',
      error: expect.any(Error) as Error,
    });
    expect(acquisitions.events).toContain('error');
  });

  it('trace transactions, their attempts and their statements', async () => {
    await using db = await connect(url);
    const t = sql.identifier(freshName('sdk_trace'));
    await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY)`;
    const transactions = collect<TransactionTrace>('transaction');
    const { traces } = collect<QueryTrace>('query');
    await db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${t} VALUES (1)`;
      await tx.query`SELECT id FROM ${t}`;
      if (tx.attempt === 1) {
        throw new DatabaseError({ code: '40P01', message: 'again', severity: 'ERROR' });
      }
    });
    expect(transactions.traces).toEqual([
      expect.objectContaining({ server, attempts: 2, isolation: 'serializable', readOnly: false }),
    ]);
    expect(traces.map(({ attempt, text }) => [attempt, text.slice(0, 6)])).toEqual([
      [1, 'INSERT'],
      [1, 'SELECT'],
      [2, 'INSERT'],
      [2, 'SELECT'],
    ]);
    expect(traces[1]).toMatchObject({ server, rows: 1 });
    const failed = db.transaction((tx) => tx.query`SELECT 1 / 0`);
    await expect(failed).rejects.toMatchObject({ code: '22012' });
    expect(transactions.traces[1]).toMatchObject({ attempts: 1, error: { code: '22012' } });
    expect(transactions.events.filter((event) => event === 'error')).toHaveLength(1);
    await db.run`DROP TABLE ${t}`;
  });

  it('trace batches, and carry the context of a span', async () => {
    await using db = await connect(url);
    const name = freshName('sdk_trace');
    await db.run`CREATE TABLE ${sql.identifier(name)} (id INT4 PRIMARY KEY)`;
    const { traces } = collect<BatchTrace>('batch');
    await using batcher = db.batcher<{ id: number }>(name);
    await batcher.add({ id: 1 });
    await expect(batcher.add({ id: 1 })).rejects.toMatchObject({ code: '23505' });
    expect(traces).toMatchObject([
      { table: `"${name}"`, mode: 'insert', rows: 1, statements: 1, rejected: 0 },
      { table: `"${name}"`, mode: 'insert', rows: 1, rejected: 1 },
    ]);
    const spans = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const channel = tracingChannel<string, QueryTrace>('braiddb:query');
    channel.start.bindStore(spans, ({ text }) => text);
    const onAcquire = (): void => void seen.push(spans.getStore());
    subscribe('tracing:braiddb:acquire:start', onAcquire);
    // The connection of the last statement has gone back to the pool by then.
    await sleep(5);
    await db.query`SELECT 5`;
    unsubscribe('tracing:braiddb:acquire:start', onAcquire);
    channel.start.unbindStore(spans);
    expect(seen).toEqual(['SELECT 5']);
    await db.run`DROP TABLE ${sql.identifier(name)}`;
  });

  it('count what a database has done', async () => {
    const db = await connect(url, { connectionsMax: 3 });
    const name = freshName('sdk_stats');
    await db.run`CREATE TABLE ${sql.identifier(name)} (id INT4 PRIMARY KEY)`;
    await db.transaction(async (tx) => {
      await tx.query`SELECT 1`;
      if (tx.attempt < 3) {
        throw new DatabaseError({ code: '40P01', message: 'again', severity: 'ERROR' });
      }
    });
    await db.transaction(() => Promise.reject(new Error('no'))).catch(() => undefined);
    {
      await using batcher = db.batcher<{ id: number }>(name);
      await batcher.add({ id: 1 });
      await batcher.add({ id: 1 }).catch(() => undefined);
      expect(db.stats().batches).toMatchObject({ rows: 1, rejected: 1, waiting: 0 });
    }
    const all = await Promise.all([1, 2, 3].map(() => db.reserve()));
    const waiting = db.query`SELECT 1`;
    await Promise.resolve();
    expect(db.stats()).toMatchObject({
      connections: { total: 3, idle: 0, waiting: 1, max: 3, reserved: 3 },
      ...{ transactions: db.server.kind === 'braiddb' ? 4 : 2, retries: 2, commitsLost: 0 },
      batches: { rows: 1, rejected: 1, waiting: 0 },
    });
    for (const one of all) await one.release();
    await waiting;
    expect(db.stats().connections).toMatchObject({ waiting: 0, reserved: 0 });
    expect(db.stats().statements).toBeGreaterThan(1);
    await db.run`DROP TABLE ${sql.identifier(name)}`;
    await db.close();
    expect(db.stats().connections.total).toBe(0);
  });
});
