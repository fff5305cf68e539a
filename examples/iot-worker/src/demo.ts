/**
 * The example from end to end: real measurements over HTTP, through the queue, into the readings,
 * and a check that each arrived exactly once. Started by `npm run demo`.
 *
 * On purpose some requests are sent twice, as after a lost answer, one of the two workers is stopped
 * in the middle of its work and replaced, and a few events carry values that the table refuses. At the
 * end retention deletes half a year.
 */

import { connect } from '@braiddb/sdk';
import type { Worker } from '@braiddb/queue';

import type { SensorEvent } from './events.js';
import type { IotQueue } from './jobs.js';
import { openJobs } from './jobs.js';
import { readable, showProgress } from './progress.js';
import { makeService } from './service.js';
import { allReadings, createTables, deleteOld } from './tables.js';
import { weatherEvents } from './weather.js';
import { startWorker } from './worker.js';

/** What the demo has found. */
export interface DemoResult {
  readonly events: number;
  readonly sentTwice: number;
  /** Events that went to the dead letters. */
  readonly dead: number;
  readonly seconds: number;
  readonly eventsPerSecond: number;
}

/** Finite, so the service accepts them; the readings table does not. */
const POISON_VALUES = [1e300, -2e9, 1.5e6];
const REQUEST_EVENTS = 300;
const SENDERS = 4;
/** Every how many requests one is sent twice. */
const TWICE_EVERY = 10;
const DRAIN_TIMEOUT_MS = 120_000;
/** The readings are of the year 2010. */
const KEEP_FROM = new Date('2010-07-01T00:00:00Z');

/** Runs the demo on the database at `url`; rejects if an event is lost, doubled or changed. */
export async function runDemo(url: string, print: (line: string) => void): Promise<DemoResult> {
  await using db = await connect(url);
  await createTables(db);
  const known = await db.maybeOne`SELECT sensor FROM iot_sensor LIMIT 1`;
  if (known !== undefined) throw new Error('the tables of the demo are not empty');
  await using queue = openJobs(db);
  await queue.migrate();
  const service = makeService(db, queue);
  const address = await service.listen({ port: 0, host: '127.0.0.1' });
  print(`service at ${address}, database is ${db.server.kind} ${db.server.version}`);

  const events = await weatherEvents();
  const poison = POISON_VALUES.map((value, index): SensorEvent => {
    return { id: `poison-${index}`, sensor: 'broken', takenAt: new Date(0), value };
  });
  const all = [...events, ...poison];
  let sent = 0;
  let moved = 0;
  const stopShowing = showProgress(() => {
    void queue.stats().then(({ reading: { here } }) => (moved = here.finished), ignore);
    return `${readable(sent)} sent, ${readable(moved)} stored, those that were sent twice included`;
  });
  const startMs = performance.now();
  const workers = await WorkerShift.start(queue);
  try {
    const replaceAt = Math.floor(events.length / 2);
    const sentTwice = await sendAll(`${address}/events`, all, (count) => {
      if (sent < replaceAt && sent + count >= replaceAt) workers.replace();
      sent += count;
    });
    await workers.replaced;
    await queue.idle('reading', { signal: AbortSignal.timeout(DRAIN_TIMEOUT_MS) });
    const seconds = (performance.now() - startMs) / 1000;
    moved = (await queue.stats()).reading.here.finished;
    stopShowing();
    print('one of two workers was stopped in the middle of its work and replaced');
    await checkReadings(allReadings(db), events);
    const dead = (await queue.dead('reading')).map(({ payload }) => payload.id).sort();
    if (dead.join() !== poison.map((event) => event.id).join()) {
      throw new Error(`the dead letters are ${dead.join()}`);
    }
    const deleteMs = performance.now();
    const days = await deleteOld(db, KEEP_FROM);
    const tookMs = (performance.now() - deleteMs).toFixed(1);
    const kept = events.filter(({ takenAt }) => takenAt >= KEEP_FROM);
    await checkReadings(allReadings(db), kept);
    const gone = readable(events.length - kept.length);
    print(`retention: ${readable(days)} days with ${gone} readings deleted in ${tookMs} ms`);
    const eventsPerSecond = all.length / seconds;
    return { events: events.length, sentTwice, dead: dead.length, seconds, eventsPerSecond };
  } finally {
    stopShowing();
    await workers.stop();
    await service.close();
  }
}

/** Two workers, one of which can be replaced. */
class WorkerShift {
  readonly #queue: IotQueue;
  readonly #steady: Worker;
  #second: Promise<Worker>;

  private constructor(queue: IotQueue, steady: Worker) {
    this.#queue = queue;
    this.#steady = steady;
    this.#second = startWorker(queue, { concurrency: 1 });
  }

  static async start(queue: IotQueue): Promise<WorkerShift> {
    const shift = new WorkerShift(queue, await startWorker(queue, { concurrency: 1 }));
    await shift.replaced;
    return shift;
  }

  /** Resolves when the second worker works; fails if it could not be replaced. */
  get replaced(): Promise<unknown> {
    return this.#second;
  }

  /** Stops one worker whatever it is doing; what it had goes back, and the next one takes over. */
  replace(): void {
    this.#second = this.#second.then(async (worker) => {
      await worker.close({ timeoutMs: 0 });
      return startWorker(this.#queue, { concurrency: 1 });
    });
    this.#second.catch(ignore);
  }

  async stop(): Promise<void> {
    await this.#steady.close();
    await this.#second.then((worker) => worker.close(), ignore);
  }
}

function ignore(): void {
  // Reported elsewhere: progress is only shown, and `replaced` fails with the error of a worker.
}

/** Sends everything, by several senders, as JSON and NDJSON in turn. Returns how many twice. */
async function sendAll(
  url: string,
  events: readonly SensorEvent[],
  onSent: (count: number) => void,
): Promise<number> {
  const requests: SensorEvent[][] = [];
  for (let start = 0; start < events.length; start += REQUEST_EVENTS) {
    requests.push(events.slice(start, start + REQUEST_EVENTS));
  }
  let next = 0;
  let sentTwice = 0;
  const sender = async (): Promise<void> => {
    for (;;) {
      const number = next++;
      const request = requests[number];
      if (request === undefined) return;
      await send(url, request, number % 2 === 0);
      onSent(request.length);
      if (number % TWICE_EVERY === 0) {
        await send(url, request, true);
        sentTwice += request.length;
      }
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  return sentTwice;
}

async function send(url: string, events: readonly SensorEvent[], asJson: boolean): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': asJson ? 'application/json' : 'application/x-ndjson' },
    body: asJson ? JSON.stringify(events) : events.map((one) => JSON.stringify(one)).join('\n'),
  });
  const answer = (await response.json()) as { accepted?: number };
  if (response.status !== 202 || answer.accepted !== events.length) {
    throw new Error(`the service answered ${response.status}: ${JSON.stringify(answer)}`);
  }
}

/** Compares what is stored with what was sent, one by one. */
export async function checkReadings(
  readings: AsyncIterable<SensorEvent>,
  events: readonly SensorEvent[],
): Promise<void> {
  const missing = new Map(events.map((event) => [event.id, event]));
  for await (const reading of readings) {
    const event = missing.get(reading.id);
    if (event === undefined) throw new Error(`"${reading.id}" was stored twice or never sent`);
    missing.delete(reading.id);
    const same =
      reading.sensor === event.sensor &&
      reading.value === event.value &&
      reading.takenAt.getTime() === event.takenAt.getTime();
    if (!same) throw new Error(`"${reading.id}" was stored with other values`);
  }
  if (missing.size > 0) throw new Error(`${missing.size} events were lost`);
}
