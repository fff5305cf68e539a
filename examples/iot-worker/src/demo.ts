/**
 * The example from end to end: real measurements over HTTP, through the queue, into the readings,
 * and a check that each arrived exactly once. Started by `npm run demo`.
 *
 * On purpose some requests are sent twice, as after a lost answer, one of the two workers is stopped
 * in the middle of its work and replaced, and a few events carry values that the table refuses.
 */

import type { Batcher, Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';

import type { SensorEvent } from './events.js';
import { readable, showProgress } from './progress.js';
import type { Drained, QueueRow } from './queue.js';
import { allReadings, countRows, createTables, deadLetters, openQueue } from './queue.js';
import { makeService } from './service.js';
import { weatherEvents } from './weather.js';
import { runWorker } from './worker.js';

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

/** Runs the demo on the database at `url`; rejects if an event is lost, doubled or changed. */
export async function runDemo(url: string, print: (line: string) => void): Promise<DemoResult> {
  await using db = await connect(url);
  await createTables(db);
  const before = await countRows(db);
  if (before.queued + before.stored > 0) throw new Error('the tables of the demo are not empty');
  await using queue = openQueue(db);
  const service = makeService(db, queue);
  const address = await service.listen({ port: 0, host: '127.0.0.1' });
  print(`service at ${address}, database is ${db.server.kind} ${db.server.version}`);

  const events = await weatherEvents();
  const poison = POISON_VALUES.map((value, index): SensorEvent => {
    return { id: `poison-${index}`, sensor: 'broken', takenAt: new Date(0), value };
  });
  let stored = 0;
  let sent = 0;
  const stopShowing = showProgress(
    () =>
      `${readable(sent)} sent, ${readable(stored)} moved ${describeQueue(queue, sent - stored)}`,
  );
  const startMs = performance.now();
  const workers = new WorkerShift(db, (drained) => {
    stored += drained.taken;
  });
  try {
    const replaceAt = Math.floor(events.length / 2);
    const all = [...events, ...poison];
    const sentTwice = await sendAll(`${address}/events`, all, (count) => {
      if (sent < replaceAt && sent + count >= replaceAt) workers.replace();
      sent += count;
    });
    await workers.untilEmpty();
    const seconds = (performance.now() - startMs) / 1000;
    stopShowing();
    print('one of two workers was stopped in the middle of its work and replaced');
    await checkReadings(allReadings(db), events);
    const dead = await deadLetters(db);
    if (dead.join() !== poison.map((event) => event.id).join()) {
      throw new Error(`the dead letters are ${dead.join()}`);
    }
    const eventsPerSecond = all.length / seconds;
    return { events: events.length, sentTwice, dead: dead.length, seconds, eventsPerSecond };
  } finally {
    stopShowing();
    await workers.stop();
    await service.close();
  }
}

function describeQueue(queue: Batcher<QueueRow>, waiting: number): string {
  const depth = Math.max(0, waiting);
  return `(${readable(depth)} in the queue, batches of ${readable(queue.stats.batchRows)})`;
}

/** Two workers, one of which can be replaced. */
class WorkerShift {
  readonly #db: Database;
  readonly #onDrained: (drained: Drained) => void;
  readonly #steady = new AbortController();
  #stop = new AbortController();
  #running: Promise<unknown>;

  constructor(db: Database, onDrained: (drained: Drained) => void) {
    this.#db = db;
    this.#onDrained = onDrained;
    this.#running = Promise.all([this.#start(this.#steady), this.#start(this.#stop)]);
  }

  #start({ signal }: AbortController): Promise<void> {
    return runWorker(this.#db, { signal, onDrained: this.#onDrained });
  }

  /** Stops one worker whatever it is doing; the next one takes over. */
  replace(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#running = Promise.all([this.#running, this.#start(this.#stop)]);
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#steady.abort();
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
