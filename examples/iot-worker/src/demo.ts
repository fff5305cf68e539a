/**
 * The example from end to end: real measurements over HTTP, through the queue, into the readings,
 * and a check that each arrived exactly once. Started by `npm run demo`.
 *
 * On purpose some requests are sent twice, as after a lost answer, and the worker is stopped in the
 * middle of its work and replaced.
 */

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';

import type { SensorEvent } from './events.js';
import { readable, showProgress } from './progress.js';
import type { Drained } from './queue.js';
import { allReadings, countRows, createTables } from './queue.js';
import { makeService } from './service.js';
import { weatherEvents } from './weather.js';
import { runWorker } from './worker.js';

/** What the demo has found. */
export interface DemoResult {
  readonly events: number;
  readonly sentTwice: number;
  readonly seconds: number;
  readonly eventsPerSecond: number;
}

const REQUEST_EVENTS = 300;
const SENDERS = 4;
/** Every how many requests one is sent twice. */
const TWICE_EVERY = 10;
const DRAIN_TIMEOUT_MS = 120_000;

/** Runs the demo on the database at `url`; rejects if an event is lost, doubled or changed. */
export async function runDemo(url: string, print: (line: string) => void): Promise<DemoResult> {
  await using db = await connect(url);
  await createTables(db);
  const before = await countRows(db);
  if (before.queued + before.stored > 0) throw new Error('the tables of the demo are not empty');
  const service = makeService(db);
  const address = await service.listen({ port: 0, host: '127.0.0.1' });
  print(`service at ${address}, database is ${db.server.kind} ${db.server.version}`);

  const events = await weatherEvents();
  let stored = 0;
  let sent = 0;
  const stopShowing = showProgress(
    () => `${readable(sent)} sent, ${readable(stored)} of ${readable(events.length)} stored`,
  );
  const startMs = performance.now();
  const workers = new WorkerShift(db, (drained) => {
    stored += drained.stored;
  });
  try {
    const replaceAt = Math.floor(events.length / 2);
    const sentTwice = await sendAll(`${address}/events`, events, (count) => {
      if (sent < replaceAt && sent + count >= replaceAt) workers.replace();
      sent += count;
    });
    await workers.untilEmpty();
    const seconds = (performance.now() - startMs) / 1000;
    stopShowing();
    print('the worker was stopped in the middle of its work and replaced once');
    await checkReadings(allReadings(db), events);
    return { events: events.length, sentTwice, seconds, eventsPerSecond: events.length / seconds };
  } finally {
    stopShowing();
    await workers.stop();
    await service.close();
  }
}

/** One worker at a time. */
class WorkerShift {
  readonly #db: Database;
  readonly #onDrained: (drained: Drained) => void;
  #stop = new AbortController();
  #running: Promise<void>;

  constructor(db: Database, onDrained: (drained: Drained) => void) {
    this.#db = db;
    this.#onDrained = onDrained;
    this.#running = this.#start();
  }

  #start(): Promise<void> {
    const { signal } = this.#stop;
    return runWorker(this.#db, { signal, onDrained: this.#onDrained });
  }

  /** Stops the worker whatever it is doing; the next one takes over. */
  replace(): void {
    const before = this.#running;
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#running = before.then(() => this.#start());
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Waits until the queue is empty; fails if the worker does, or if it takes too long. */
  async untilEmpty(): Promise<void> {
    const deadlineMs = performance.now() + DRAIN_TIMEOUT_MS;
    while ((await countRows(this.#db)).queued > 0) {
      if (performance.now() > deadlineMs) throw new Error('the queue did not run empty');
      const pause = new Promise((resolve) => setTimeout(resolve, 50));
      await Promise.race([this.#running, pause]);
    }
  }
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
