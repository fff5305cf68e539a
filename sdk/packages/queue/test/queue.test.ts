/**
 * Enqueue, work, failures and the end of jobs.
 *
 * A handler runs again when its transaction meets a conflict, so the tests keep sets of what handlers
 * have seen. Rows that handlers write show that each job was done once.
 */

import { connect, OptionError, sql } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { startProxy } from '../../../test/proxy.js';
import { freshName, onEachServer } from '../../../test/targets.js';
import type { Job, LongJob } from '../src/index.js';
import {
  DeadJobError,
  openQueue,
  PayloadError,
  QueueClosedError,
  QueueSchemaError,
  UnknownQueueError,
} from '../src/index.js';
import type { Note } from './bench.js';
import { bench, sleep, untilEmpty } from './bench.js';

onEachServer('the queue', ({ url }) => {
  const place = bench(url);
  const { schema, errors, open, done } = place;
  const sqlDone = (): ReturnType<typeof sql.identifier> => sql.identifier(schema, 'done');
  const history = async (queue: string): Promise<string[]> => {
    const { rows } = await place.db.query<{ id: string }>`
      SELECT id FROM ${sql.identifier(schema, 'history')} WHERE queue = ${queue}`;
    return rows.map(({ id }) => id);
  };

  it('runs each job once, with its payload, and keeps it in the history', async () => {
    const { queue, name } = open();
    const ids = await queue.enqueueMany(
      name,
      Array.from({ length: 200 }, (_, n) => ({ payload: { n } })),
    );
    expect(new Set(ids).size).toBe(200);
    const worker = await queue.work(name, async ({ payload: { n } }, tx) => {
      await tx.run`INSERT INTO ${sqlDone()} VALUES (${n}, ${name})`;
    });
    await untilEmpty(queue, name);
    expect(await done(name)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    expect((await history(name)).toSorted()).toEqual(ids.toSorted());
    await worker.close();
    const { here } = (await queue.stats())[name] ?? {};
    expect(here).toMatchObject({ enqueued: 200, finished: 200, retried: 0, dead: 0, lost: 0 });
    expect(here?.finishedPerSecond).toBeGreaterThan(0);
  });

  it('commits a job with the transaction of its caller, or not at all', async () => {
    const { queue, name } = open();
    const failed = place.db.transaction(async (tx) => {
      await queue.enqueue(tx, name, { n: 1 });
      throw new Error('changed my mind');
    });
    await expect(failed).rejects.toThrow('changed my mind');
    const id = await place.db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${sqlDone()} VALUES (0, ${`${name}-caller`})`;
      return queue.enqueue(tx, name, { n: 2 });
    });
    expect((await queue.stats())[name]?.jobs.ready).toBe(1);
    let seen: Job<Note> | undefined;
    await queue.work(name, (job) => void (seen = job));
    await untilEmpty(queue, name);
    expect(seen).toMatchObject({ id, queue: name, payload: { n: 2 }, attempt: 1, maxAttempts: 10 });
    expect(seen?.enqueuedAt).toBeInstanceOf(Date);
  });

  it('enqueues a key once, also beside others and after its job', async () => {
    const { queue, name } = open();
    const id = await queue.enqueue(name, { n: 1 }, { key: 'a' });
    expect(await queue.enqueue(name, { n: 2 }, { key: 'a' })).toBe(id);
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => queue.enqueue(name, { n }, { key: `b${n % 4}` })),
    );
    expect(new Set(many).size).toBe(4);
    const mixed = await queue.enqueueMany(name, [
      { payload: { n: 1 }, key: 'a' },
      { payload: { n: 3 }, key: 'c' },
      { payload: { n: 4 } },
      { payload: { n: 5 }, key: 'c' },
    ]);
    expect(mixed[0]).toBe(id);
    expect(mixed[1]).toBe(mixed[3]);
    expect((await queue.stats())[name]?.jobs.ready).toBe(1 + 4 + 2);
    await queue.work(name, () => undefined);
    await untilEmpty(queue, name);
    expect(await queue.enqueue(name, { n: 9 }, { key: 'a' })).toBe(id);
    const inside = await place.db.transaction((tx) =>
      queue.enqueue(tx, name, { n: 9 }, { key: 'a' }),
    );
    expect(inside).toBe(id);
    expect((await queue.stats())[name]?.jobs.ready).toBe(0);
  });

  it('takes the smaller priority first, then the older job; delayed ones in their time', async () => {
    const { queue, name } = open();
    await queue.enqueue(name, { n: 4 }, { delayMs: 3_000 });
    await queue.enqueue(name, { n: 5 }, { runAt: new Date(Date.now() + 4_000) });
    await queue.enqueue(name, { n: 3 }, { priority: 5 });
    await queue.enqueue(name, { n: 1 });
    await queue.enqueue(name, { n: 2 });
    await queue.enqueue(name, { n: 0 }, { priority: -5, runAt: new Date(0) });
    expect((await queue.stats())[name]?.jobs).toMatchObject({ ready: 4, delayed: 2 });
    const order = new Set<number>();
    const startMs = performance.now();
    await queue.work(name, { concurrency: 1 }, ({ payload: { n } }) => void order.add(n));
    await untilEmpty(queue, name);
    expect([...order]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(performance.now() - startMs).toBeGreaterThan(300);
  });

  it('tries again with pauses, then puts the job aside; redrive brings it back', async () => {
    const { queue, name } = open({ maxAttempts: 3 });
    const attempts = new Set<number>();
    let isBroken = true;
    await queue.work(name, async ({ attempt, payload: { n } }, tx) => {
      attempts.add(attempt);
      await tx.run`INSERT INTO ${sqlDone()} VALUES (${n}, ${name})`;
      if (isBroken) throw new TypeError('no such address');
    });
    const id = await queue.enqueue(name, { n: 7 });
    await untilEmpty(queue, name);
    expect([...attempts]).toEqual([1, 2, 3]);
    expect(await done(name)).toEqual([]);
    const [dead] = await queue.dead(name);
    expect(dead).toMatchObject({ id, payload: { n: 7 }, attempt: 3 });
    expect(dead?.error).toBe('TypeError: no such address');
    expect((await queue.stats())[name]).toMatchObject({
      jobs: { dead: 1 },
      here: { retried: 2, dead: 1 },
    });
    expect(errors.some((error) => String(error).includes('no such address'))).toBe(true);
    isBroken = false;
    expect(await queue.redrive(name, { ids: [id] })).toBe(1);
    await untilEmpty(queue, name);
    expect(await done(name)).toEqual([7]);
    expect(await queue.dead(name)).toEqual([]);
    expect(await queue.redrive(name)).toBe(0);
  });

  it('puts a job aside at once for a DeadJobError; discard deletes it', async () => {
    const { queue, name } = open();
    await queue.work(name, () => {
      throw new DeadJobError('the account is closed');
    });
    await queue.enqueueMany(name, [{ payload: { n: 1 } }, { payload: { n: 2 } }]);
    await untilEmpty(queue, name);
    const dead = await queue.dead(name, { limit: 1 });
    expect(dead).toHaveLength(1);
    expect(dead[0]?.attempt).toBe(1);
    expect(await queue.discard(name, { limit: 1 })).toBe(1);
    expect(await queue.discard(name)).toBe(1);
  });

  it('ends handlers that never end, ignores those that reject late, and goes on', async () => {
    const { queue, name } = open({ maxAttempts: 1 });
    const reasons: unknown[] = [];
    const worker = await queue.work(name, { timeoutMs: 3_000, concurrency: 2 }, async (job, tx) => {
      await tx.run`INSERT INTO ${sqlDone()} VALUES (${job.payload.n}, ${name})`;
      if (job.payload.n === 0) await new Promise(() => undefined);
      if (job.payload.n === 1) {
        await sleep(3_500);
        reasons.push(job.signal.reason);
        throw new Error('too late');
      }
    });
    await queue.enqueueMany(
      name,
      [0, 1, 2, 3].map((n) => ({ payload: { n } })),
    );
    await untilEmpty(queue, name);
    expect(await done(name)).toEqual([2, 3]);
    const dead = await queue.dead(name);
    expect(dead.map(({ payload }) => payload.n).toSorted()).toEqual([0, 1]);
    expect(dead[0]?.error).toContain('JobTimeoutError');
    await expect.poll(() => String(reasons[0]), { timeout: 10_000 }).toContain('timeoutMs');
    await worker.close();
  });

  it('works on batches, and only the bad job of one fails', async () => {
    const { queue, name } = open({ maxAttempts: 1 });
    await queue.enqueueMany(
      name,
      Array.from({ length: 50 }, (_, n) => ({ payload: { n } })),
    );
    const sizes: number[] = [];
    await queue.workBatch(name, { batchMax: 20, concurrency: 1 }, async (jobs, tx) => {
      sizes.push(jobs.length);
      for (const { payload } of jobs) {
        await tx.run`INSERT INTO ${sqlDone()} VALUES (${payload.n === 13 ? null : payload.n}, ${name})`;
      }
    });
    await untilEmpty(queue, name);
    expect(sizes[0]).toBe(20);
    expect(await done(name)).toEqual(
      Array.from({ length: 50 }, (_, n) => n).filter((n) => n !== 13),
    );
    expect((await queue.dead(name)).map(({ payload }) => payload.n)).toEqual([13]);
  });

  it('keeps long jobs by heartbeats, and finishes them with what is written', async () => {
    const { queue, name } = open();
    const other = open({}, { name });
    const calls: number[] = [];
    const handler = async (job: LongJob<Note>): Promise<void> => {
      calls.push(job.payload.n);
      await sleep(4_500);
      await job.finish(async (tx) => {
        await tx.run`INSERT INTO ${sqlDone()} VALUES (${job.payload.n}, ${name})`;
      });
    };
    await queue.workLong(name, { leaseMs: 3_000 }, handler);
    await other.queue.workLong(name, { leaseMs: 3_000 }, handler);
    await queue.enqueueMany(name, [{ payload: { n: 1 } }, { payload: { n: 2 } }]);
    await untilEmpty(queue, name);
    expect(calls.toSorted()).toEqual([1, 2]);
    expect(await done(name)).toEqual([1, 2]);
    expect(await history(name)).toHaveLength(2);
  });

  it('ends a call whose job is lost, and lets another worker finish the job', async () => {
    const { queue, name } = open();
    const reasons: unknown[] = [];
    await queue.workLong(name, { leaseMs: 300, concurrency: 1 }, async (job) => {
      if (job.attempt === 1) {
        await place.db.query`
          UPDATE ${sql.identifier(schema, 'job')} SET state = 'ready', due_at = NULL, lease = NULL
          WHERE id = ${job.id}`;
        await new Promise((resolve) => {
          job.signal.addEventListener('abort', resolve);
        });
        reasons.push(job.signal.reason);
        return;
      }
      await job.finish((tx) => tx.run`INSERT INTO ${sqlDone()} VALUES (5, ${name})`);
    });
    await queue.enqueue(name, { n: 5 });
    await untilEmpty(queue, name);
    expect(String(reasons[0])).toContain('LeaseLostError');
    expect(await done(name)).toEqual([5]);
  });

  it('brings jobs back whose worker is gone, at most maxAttempts times', async () => {
    const { queue, name } = open({ maxAttempts: 2 });
    const takes = async (): Promise<void> => {
      await place.db.query`
        UPDATE ${sql.identifier(schema, 'job')} SET state = 'active', attempt = attempt + 1,
          lease = gen_random_uuid(), due_at = now() WHERE queue = ${name}`;
    };
    await queue.enqueue(name, { n: 1 });
    await takes();
    const attempts = new Set<number>();
    const worker = await queue.work(name, ({ attempt }) => void attempts.add(attempt));
    await untilEmpty(queue, name);
    expect([...attempts]).toEqual([2]);
    await worker.close();
    await queue.enqueue(name, { n: 2 });
    await takes();
    await takes();
    await expect.poll(() => queue.dead(name), { timeout: 10_000 }).toHaveLength(1);
  });

  it('drains: close waits for what runs, or gives it back after its time', async () => {
    const { queue, name } = open();
    const running = new Set<number>();
    const ended = new Set<number>();
    let onFull = (): void => undefined;
    const full = new Promise<void>((resolve) => (onFull = resolve));
    await queue.work(name, { concurrency: 3 }, async ({ payload: { n } }, tx) => {
      await tx.run`INSERT INTO ${sqlDone()} VALUES (${n}, ${name})`;
      if (running.add(n).size === 3) onFull();
      await sleep(n === 0 ? 20_000 : 300);
      ended.add(n);
    });
    await queue.enqueueMany(
      name,
      Array.from({ length: 10 }, (_, n) => ({ payload: { n } })),
    );
    await full;
    const startMs = performance.now();
    await queue.close({ timeoutMs: 5_000 });
    expect(performance.now() - startMs).toBeLessThan(15_000);
    expect([...ended].toSorted()).toEqual([1, 2]);
    expect(await done(name)).toEqual([1, 2]);
    const after = open({}, { name });
    expect((await after.queue.stats())[name]?.jobs).toMatchObject({ ready: 8, active: 0, dead: 0 });
    const attempts = new Map<number, number>();
    await after.queue.work(name, ({ attempt, payload: { n } }) => void attempts.set(n, attempt));
    await untilEmpty(after.queue, name);
    expect([...attempts.values()]).toEqual(Array.from({ length: 8 }, () => 1));
    await expect(queue.enqueue(name, { n: 1 })).rejects.toThrow(QueueClosedError);
    await expect(queue.work(name, () => undefined)).rejects.toThrow(QueueClosedError);
    await queue.close();
  });

  it('wakes workers by notifications, and without them by polling', async () => {
    const slow = open({}, { pollMs: 60_000 });
    await slow.queue.work(slow.name, () => undefined);
    await sleep(500);
    const startMs = performance.now();
    await slow.queue.enqueue(slow.name, { n: 1 });
    await untilEmpty(slow.queue, slow.name, 10_000);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    const deaf = open({}, { listen: false });
    await deaf.queue.work(deaf.name, () => undefined);
    await deaf.queue.enqueue(deaf.name, { n: 1 });
    await untilEmpty(deaf.queue, deaf.name, 10_000);
  });

  it('loses and doubles nothing when connections break at any moment', async () => {
    await using proxy = await startProxy(url);
    const fragile = await connect(proxy.url, { graceMs: 500 });
    const { queue, name } = open({ maxAttempts: 1_000 }, { on: fragile });
    const watcher = open({}, { name }).queue;
    const numbers = Array.from({ length: 150 }, (_, n) => n);
    await watcher.enqueueMany(
      name,
      numbers.map((n) => ({ payload: { n } })),
    );
    let chunks = 0;
    let cuts = 0;
    await queue.work(name, { leaseMs: 500 }, async ({ payload: { n } }, tx) => {
      await tx.run`INSERT INTO ${sqlDone()} VALUES (${n}, ${name})`;
    });
    proxy.judge = () => {
      if (++chunks % 13 !== 0 || cuts >= 12) return 'pass';
      return ++cuts % 2 === 0 ? 'cut before' : 'cut after';
    };
    await untilEmpty(watcher, name);
    expect(cuts).toBeGreaterThan(0);
    expect(await done(name)).toEqual(numbers);
    expect(await watcher.dead(name)).toEqual([]);
    await queue.close();
    await fragile.close();
  });

  it('deletes old history and old keys, and keeps keys of jobs that wait', async () => {
    const { queue, name } = open({ keepMs: 1, keepKeysMs: 1_000 });
    await queue.enqueue(name, { n: 1 }, { key: 'old' });
    const waits = await queue.enqueue(name, { n: 2 }, { key: 'waits', delayMs: 60_000 });
    await queue.work(name, { timeoutMs: 3_000 }, () => undefined);
    const finished = async (): Promise<unknown> => (await queue.stats())[name]?.here.finished;
    await expect.poll(finished, { timeout: 20_000 }).toBe(1);
    await expect.poll(() => history(name), { timeout: 20_000 }).toEqual([]);
    const keys = async (): Promise<string[]> => {
      const { rows } = await place.db.query<{ key: string }>`
        SELECT key FROM ${sql.identifier(schema, 'key')} WHERE queue = ${name}`;
      return rows.map(({ key }) => key);
    };
    await expect.poll(keys, { timeout: 20_000 }).toEqual(['waits']);
    expect(await queue.enqueue(name, { n: 3 }, { key: 'waits' })).toBe(waits);
  });

  it('keeps no history where it is told to', async () => {
    const { queue, name } = open({ keepMs: 0 });
    await queue.enqueue(name, { n: 1 });
    await queue.work(name, () => undefined);
    await untilEmpty(queue, name);
    expect(await history(name)).toEqual([]);
  });

  it('refuses bad input with errors that say what is wrong', async () => {
    const { queue, name } = open();
    const loose = queue as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const refused = async (call: Promise<unknown> | undefined): Promise<unknown> =>
      call?.then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await refused(queue.enqueue('mial', { n: 1 }))).toBeInstanceOf(UnknownQueueError);
    expect(await refused(queue.work('mial', () => 1))).toBeInstanceOf(UnknownQueueError);
    expect(await refused(queue.dead('mial'))).toBeInstanceOf(UnknownQueueError);
    expect(await refused(loose.enqueue?.(name, undefined))).toBeInstanceOf(PayloadError);
    expect(await refused(loose.enqueue?.(name, { n: 1n }))).toBeInstanceOf(PayloadError);
    for (const call of [
      loose.enqueue?.(name, 1, { delay: 5 }),
      loose.enqueue?.(name, 1, { priority: 0.5 }),
      loose.enqueue?.(name, 1, { delayMs: -1 }),
      loose.enqueue?.(name, 1, { runAt: 'tomorrow' }),
      loose.enqueue?.(name, 1, { runAt: new Date(), delayMs: 1 }),
      loose.enqueue?.(name, 1, { key: '' }),
      loose.enqueue?.(name, 1, { key: 'x'.repeat(501) }),
      loose.enqueue?.(name, 1, { concurrencyKey: 'a' }),
      loose.enqueue?.({}, name, 1),
      loose.enqueue?.(),
      loose.enqueueMany?.(name, 5),
      loose.enqueueMany?.(name, [{ payload: 1, kye: 'a' }]),
      loose.work?.(name, 5),
      loose.work?.(name, { concurrency: 0 }, () => 1),
      loose.work?.(name, { concurrency: 30 }, () => 1),
      loose.work?.(name, { batchMax: 5 }, () => 1),
      loose.work?.(name, { timeoutMs: 0 }, () => 1),
      loose.dead?.(name, { ids: ['x'] }),
      loose.redrive?.(name, { limit: 0 }),
    ]) {
      expect(await refused(call)).toBeInstanceOf(OptionError);
    }
    expect(await queue.enqueueMany(name, [])).toEqual([]);
  });

  it('says that the tables are missing', async () => {
    const { queue, name } = open({}, { schema: freshName('missing') });
    await expect(queue.work(name, () => undefined)).rejects.toThrow(QueueSchemaError);
    await expect(queue.enqueue(name, { n: 1 })).rejects.toThrow(QueueSchemaError);
  });

  it('works at other isolation levels and with parsers of the caller', async () => {
    const own = await connect(url, {
      parsers: { timestamp: 'string', int8: 'number' },
      transaction: { isolation: 'repeatable read' },
    });
    const queue = openQueue<{ a: Note }>(own, { schema, queues: { a: {} }, pollMs: 50 });
    await queue.enqueueMany(
      'a',
      Array.from({ length: 20 }, (_, n) => ({ payload: { n } })),
    );
    const dates: unknown[] = [];
    await queue.work(
      'a',
      { isolation: 'read committed' },
      ({ enqueuedAt }) => void dates.push(enqueuedAt),
    );
    await expect.poll(() => dates.length, { timeout: 20_000 }).toBe(20);
    expect(dates[0]).toBeInstanceOf(Date);
    await queue.close();
    await own.close();
  });
});
