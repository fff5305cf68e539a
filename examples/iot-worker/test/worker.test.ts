import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

import { startProxy } from '../../../sdk/test/proxy.js';
import { onEachServer } from '../../../sdk/test/targets.js';
import { checkReadings } from '../src/demo.js';
import type { SensorEvent } from '../src/events.js';
import type { IotQueue } from '../src/jobs.js';
import { enqueue, Intake, openJobs } from '../src/jobs.js';
import { makeService } from '../src/service.js';
import { allReadings, createTables, deleteOld, readSensor } from '../src/tables.js';
import { weatherEvents } from '../src/weather.js';
import { startRetention, startWorker } from '../src/worker.js';

/** How often workers are stopped at any moment. */
const STOPS = Number(process.env.STOP_ROUNDS ?? 15);

onEachServer('the pipeline', ({ url }) => {
  let db: Database;
  let queue: IotQueue;
  let events: SensorEvent[];
  const troubles: unknown[] = [];
  const untilEmpty = (): Promise<void> =>
    queue.idle('reading', { signal: AbortSignal.timeout(60_000) });

  beforeAll(async () => {
    db = await connect(url);
    await Promise.all([createTables(db), createTables(db)]);
    await openJobs(db).migrate();
    events = (await weatherEvents()).slice(0, 3000);
  });
  beforeEach(async () => {
    await db.script('DELETE FROM iot_jobs.job; DELETE FROM iot_jobs.cron; DELETE FROM iot_sensor');
    troubles.length = 0;
    queue = openJobs(db, (error) => troubles.push(error));
  });
  afterEach(() => queue.close({ timeoutMs: 1_000 }));
  afterAll(async () => {
    await db.script('DROP TABLE iot_reading, iot_day, iot_sensor; DROP SCHEMA iot_jobs CASCADE');
    await db.close();
  });

  it('stores events unchanged, in interleaved tables where the server has them', async () => {
    await enqueue(queue, events);
    await startWorker(queue);
    await untilEmpty();
    await checkReadings(allReadings(db), events);
    expect(troubles).toEqual([]);
    const { rows } = await db.query<{ sensor: string; last_at: Date; last_value: number }>`
      SELECT sensor, last_at, last_value FROM iot_sensor ORDER BY sensor`;
    const lastOf = (name: string): SensorEvent | undefined =>
      events.filter(({ sensor }) => sensor === name).at(-1);
    expect(rows).toHaveLength(3);
    for (const { sensor, last_at, last_value } of rows) {
      expect(lastOf(sensor)).toMatchObject({ takenAt: last_at, value: last_value });
    }
    if (db.server.kind !== 'braiddb') return;
    const tables = await db.query<{ create_statement: string }>`SHOW CREATE TABLE iot_reading`;
    expect(tables.rows[0]?.create_statement).toContain('INTERLEAVE IN PARENT');
  });

  it('stores what was sent several times once, also within a batch', async () => {
    const few = events.slice(0, 50);
    await enqueue(queue, [...few, ...few]);
    await startWorker(queue, { concurrency: 1 });
    await enqueue(queue, few);
    await untilEmpty();
    await checkReadings(allReadings(db), few);
    const newest = await readSensor(db, few[0]?.sensor ?? '', 3);
    // An old event does not replace a newer value.
    await enqueue(queue, few.slice(0, 3));
    await untilEmpty();
    expect(await readSensor(db, few[0]?.sensor ?? '', 3)).toEqual(newest);
    expect(newest?.readings).toHaveLength(3);
    expect(newest?.readings[0]).toEqual({ takenAt: newest?.lastAt, value: newest?.lastValue });
  });

  it('joins requests that come at the same time', async () => {
    const intake = new Intake(queue);
    await Promise.all(events.slice(0, 200).map((event) => intake.add([event])));
    await intake.add([]);
    expect(intake.accepted).toBe(200);
    expect((await queue.stats()).reading.here.enqueued).toBe(200);
    const before = db.stats().transactions;
    await Promise.all(events.slice(200, 400).map((event) => intake.add([event])));
    expect(db.stats().transactions - before).toBeLessThan(10);
  });

  it('loses and doubles nothing when workers are stopped at any moment', async () => {
    await enqueue(queue, events);
    for (let round = 0; round < STOPS; round++) {
      const worker = await startWorker(queue, { batchMax: 40 });
      await sleep(5 + round * 3);
      await worker.close({ timeoutMs: 0 });
    }
    await startWorker(queue);
    await untilEmpty();
    await checkReadings(allReadings(db), events);
  });

  it('loses and doubles nothing when connections break at any moment', async () => {
    await using proxy = await startProxy(url);
    await using fragile = await connect(proxy.url, { graceMs: 500 });
    await using own = openJobs(fragile);
    await enqueue(queue, events);
    let chunks = 0;
    let cuts = 0;
    await startWorker(own, { batchMax: 100, leaseMs: 1_000 });
    proxy.judge = () => {
      if (++chunks % 13 !== 0 || cuts >= 12) return 'pass';
      return ++cuts % 2 === 0 ? 'cut before' : 'cut after';
    };
    await untilEmpty();
    expect(cuts).toBeGreaterThan(0);
    await checkReadings(allReadings(db), events);
    expect(await queue.dead('reading')).toEqual([]);
  });

  it('puts events that the table refuses aside, with the reason, and stores the others', async () => {
    const good = events.slice(0, 300);
    const bad = good
      .slice(0, 3)
      .map((event, i) => ({ ...event, id: `bad-${i}`, value: 1e9 * (i + 1) }));
    await enqueue(queue, [...good.slice(0, 100), ...bad, ...good.slice(100)]);
    await startWorker(queue);
    await untilEmpty();
    await checkReadings(allReadings(db), good);
    const dead = await queue.dead('reading');
    expect(dead.map(({ payload }) => payload.id).sort()).toEqual(['bad-0', 'bad-1', 'bad-2']);
    expect(dead[0]).toMatchObject({ attempt: 1 });
    expect(dead[0]?.error).toMatch(/check constraint/);
  });

  it('deletes old days, on BraidDB by range deletes', async () => {
    await enqueue(queue, events);
    await startWorker(queue);
    await untilEmpty();
    const before = new Date('2010-01-20T00:00:00Z');
    expect(await deleteOld(db, before)).toBe(3 * 19);
    const kept = events.filter(({ takenAt }) => takenAt >= before);
    await checkReadings(allReadings(db), kept);
    expect(await deleteOld(db, before)).toBe(0);
    if (db.server.kind === 'braiddb') {
      const plan = await db.query`
        EXPLAIN DELETE FROM iot_day WHERE sensor = ANY(${['a', 'b']}::text[]) AND day < '2010-01-20'`;
      expect(JSON.stringify(plan.rows)).toContain('Range Delete: iot_day, iot_reading');
    }
    // As the cron job does it, a year after the last reading.
    await startRetention(db, queue, 365);
    await queue.enqueue('retention', { keepDays: 365 });
    await queue.idle('retention', { signal: AbortSignal.timeout(60_000) });
    await checkReadings(allReadings(db), []);
    expect(await queue.removeCron('iot-retention')).toBe(true);
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

    const array = await post('application/json; charset=utf-8', JSON.stringify(events.slice(0, 5)));
    expect(array.json()).toEqual({ accepted: 5, rejected: [] });
    expect((await post('application/json', '[{}]')).statusCode).toBe(400);
    expect((await post('application/json', '[{')).statusCode).toBe(400);
    expect((await post('text/plain', 'x')).statusCode).toBe(415);
    const tooMany = JSON.stringify(Array.from({ length: 10_001 }, () => ({})));
    expect((await post('application/json', tooMany)).statusCode).toBe(413);
    await service.close();
  });

  it('reports its health, its lag, its metrics, and what a sensor has sent', async () => {
    const service = makeService(db, queue);
    const get = (path: string) => service.inject({ url: path });
    await service.inject({ method: 'POST', url: '/events', payload: events.slice(0, 6) });
    await sleep(20);
    expect((await get('/health')).json()).toEqual({ status: 'ok' });
    const lag = (await get('/lag')).json<Record<string, number>>();
    expect(lag).toMatchObject({ ready: 6, delayed: 0, active: 0, dead: 0 });
    expect(lag.lagMs).toBeGreaterThan(0);
    expect((await get('/sensors/seattle-wind')).statusCode).toBe(404);
    await startWorker(queue);
    await untilEmpty();
    expect((await get('/lag')).json()).toMatchObject({ ready: 0, lagMs: 0 });
    const metrics = (await get('/metrics')).body;
    expect(metrics).toContain('iot_queue_jobs{state="ready"} 0\n');
    expect(metrics).toContain('iot_events_accepted_total 6\n');
    expect(metrics).toContain('iot_events_stored_total 6\n');
    const sensor = (await get('/sensors/seattle-wind')).json<{ readings: unknown[] }>();
    expect(sensor).toMatchObject({ sensor: 'seattle-wind', lastValue: events[5]?.value });
    expect(sensor.readings).toHaveLength(2);
    await service.close();
  });

  it('asks the sender to try again when the database is away', async () => {
    await using proxy = await startProxy(url);
    await using fragile = await connect(proxy.url, { transaction: { deadlineMs: 200 } });
    await using lost = openJobs(fragile);
    const service = makeService(fragile, lost);
    proxy.judge = () => 'cut before';
    const payload = events.slice(0, 1);
    const answer = await service.inject({ method: 'POST', url: '/events', payload });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    const health = await service.inject({ url: '/health' });
    expect(health.statusCode).toBe(503);
    expect(health.json<{ message: string }>().message).not.toBe('');
    await service.close();
  });
});
