import { setTimeout as sleep } from 'node:timers/promises';

import type { Batcher, Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import { startProxy } from '../../../sdk/test/proxy.js';
import { onEachServer } from '../../../sdk/test/targets.js';
import { checkReadings } from '../src/demo.js';
import type { SensorEvent } from '../src/events.js';
import type { QueueRow } from '../src/queue.js';
import {
  allReadings,
  countRows,
  createTables,
  deadLetters,
  drain,
  enqueue,
  openQueue,
} from '../src/queue.js';
import { makeService } from '../src/service.js';
import { weatherEvents } from '../src/weather.js';
import { runWorker } from '../src/worker.js';

onEachServer('the queue', ({ url }) => {
  let db: Database;
  let queue: Batcher<QueueRow>;
  let events: SensorEvent[];
  beforeAll(async () => {
    db = await connect(url);
    await createTables(db);
    await createTables(db);
    queue = openQueue(db);
    events = (await weatherEvents()).slice(0, 3000);
  });
  beforeEach(async () => {
    await db.query`DELETE FROM iot_queue`;
    await db.query`DELETE FROM iot_reading`;
    await db.query`DELETE FROM iot_dead_letter`;
  });
  afterAll(async () => {
    await db.query`DROP TABLE iot_queue`;
    await db.query`DROP TABLE iot_reading`;
    await db.query`DROP TABLE iot_dead_letter`;
    await db.close();
  });

  it('gives entries out oldest first, all of them, unchanged', async () => {
    await enqueue(queue, events);
    expect(await drain(db, 10)).toEqual({ taken: 10, dead: 0 });
    const firstIds = events.slice(0, 10).map((event) => event.id);
    const { rows } = await db.query<{ event_id: string }>`SELECT event_id FROM iot_reading`;
    expect(rows.map((row) => row.event_id).sort()).toEqual(firstIds.sort());
    while ((await drain(db, 1000)).taken > 0);
    await checkReadings(allReadings(db, 700), events);
    expect(await countRows(db)).toEqual({ queued: 0, stored: events.length, dead: 0 });
  });

  it('stores what was sent several times once, also within a batch', async () => {
    const few = events.slice(0, 50);
    await enqueue(queue, [...few, ...few]);
    expect(await drain(db, 1000)).toEqual({ taken: 100, dead: 0 });
    await enqueue(queue, few);
    expect(await drain(db, 1000)).toEqual({ taken: 50, dead: 0 });
    await checkReadings(allReadings(db), few);
  });

  it('does nothing with nothing', async () => {
    await enqueue(queue, []);
    expect(await drain(db, 10)).toEqual({ taken: 0, dead: 0 });
  });

  it('loses and doubles nothing when workers are stopped at any moment', async () => {
    await enqueue(queue, events);
    for (let round = 0; round < 25; round++) {
      const stop = AbortSignal.timeout(5 + round * 3);
      await runWorker(db, { signal: stop, batchRowsMax: 40 });
    }
    const stop = new AbortController();
    const last = runWorker(db, { signal: stop.signal });
    await expect.poll(() => countRows(db), { timeout: 60_000 }).toMatchObject({ queued: 0 });
    stop.abort();
    await last;
    await checkReadings(allReadings(db), events);
  });

  it('loses and doubles nothing when connections break at any moment', async () => {
    await using proxy = await startProxy(url);
    await using fragile = await connect(proxy.url, { graceMs: 500 });
    let chunks = 0;
    let cuts = 0;
    proxy.judge = () => {
      if (++chunks % 13 !== 0 || cuts >= 12) return 'pass';
      return ++cuts % 2 === 0 ? 'cut before' : 'cut after';
    };
    await enqueue(queue, events);
    const stop = new AbortController();
    const worker = runWorker(fragile, { signal: stop.signal, batchRowsMax: 100 });
    await expect.poll(() => countRows(db), { timeout: 60_000 }).toMatchObject({ queued: 0 });
    await sleep(100);
    stop.abort();
    await worker;
    // The SDK runs again what was cut before COMMIT, so a worker need not notice.
    expect(cuts).toBeGreaterThan(0);
    await checkReadings(allReadings(db), events);
  });

  it('several workers share the queue; none waits for or repeats the work of another', async () => {
    await enqueue(queue, events);
    const stop = new AbortController();
    const taken = [0, 0, 0, 0];
    const troubles: unknown[] = [];
    const workers = taken.map((_, index) =>
      runWorker(db, {
        signal: stop.signal,
        batchRowsMax: 50,
        onDrained: (drained) => (taken[index] = (taken[index] ?? 0) + drained.taken),
        onTrouble: (error) => troubles.push(error),
      }),
    );
    await expect.poll(() => countRows(db), { timeout: 60_000 }).toMatchObject({ queued: 0 });
    stop.abort();
    await Promise.all(workers);
    expect(troubles).toEqual([]);
    expect(taken.reduce((sum, one) => sum + one)).toBe(events.length);
    await checkReadings(allReadings(db), events);
  });

  it('puts events that the table refuses aside, with the reason, and stores the others', async () => {
    const good = events.slice(0, 300);
    const bad = good
      .slice(0, 3)
      .map((event, i) => ({ ...event, id: `bad-${i}`, value: 1e9 * (i + 1) }));
    await enqueue(queue, [...good.slice(0, 100), ...bad, ...good.slice(100)]);
    const stop = new AbortController();
    const work = runWorker(db, { signal: stop.signal });
    await expect.poll(() => countRows(db), { timeout: 60_000 }).toMatchObject({ queued: 0 });
    stop.abort();
    await work;
    await checkReadings(allReadings(db), good);
    expect(await deadLetters(db)).toEqual(['bad-0', 'bad-1', 'bad-2']);
    const row = await db.one`SELECT code, error FROM iot_dead_letter WHERE event_id = 'bad-0'`;
    expect(row.code).toBe('23514');
    expect(row.error).toMatch(/check constraint/);
  });

  it('takes events over HTTP and reports what is wrong with each', async () => {
    const service = makeService(db, queue);
    const lines = [JSON.stringify(events[0]), '{"id":1}', JSON.stringify(events[1])];
    const post = (type: string, payload: string) =>
      service.inject({
        method: 'POST',
        url: '/events',
        headers: { 'content-type': type },
        payload,
      });

    const mixed = await post('application/x-ndjson', lines.join('\n'));
    expect(mixed.statusCode).toBe(202);
    expect(mixed.json()).toMatchObject({ accepted: 2, rejected: [{ line: 2 }] });
    expect(await countRows(db)).toMatchObject({ queued: 2, stored: 0 });

    const array = await post('application/json; charset=utf-8', JSON.stringify(events.slice(0, 5)));
    expect(array.json()).toEqual({ accepted: 5, rejected: [] });
    expect((await post('application/json', '[{}]')).statusCode).toBe(400);
    expect((await post('application/json', '[{')).statusCode).toBe(400);
    expect((await post('text/plain', 'x')).statusCode).toBe(415);
    const tooMany = JSON.stringify(Array.from({ length: 10_001 }, () => ({})));
    expect((await post('application/json', tooMany)).statusCode).toBe(413);
    const status = await service.inject({ url: '/status' });
    expect(status.json()).toEqual({ queued: 7, stored: 0, dead: 0 });
    await service.close();
  });

  it('asks the sender to try again when the database is away', async () => {
    await using proxy = await startProxy(url);
    await using fragile = await connect(proxy.url);
    await using lost = openQueue(fragile, { deadlineMs: 200 });
    const service = makeService(fragile, lost);
    proxy.judge = () => 'cut before';
    const payload = events.slice(0, 1);
    const answer = await service.inject({ method: 'POST', url: '/events', payload });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    await service.close();
  });
});
