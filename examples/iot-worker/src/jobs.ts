/**
 * The queue between the service and the workers, by `@braiddb/queue`.
 *
 * ```text
 *  POST /events ─► intake ─► job "reading" ─► workers: store the readings, end the jobs ─► iot_reading
 *                  (durable before the answer)    │    (one transaction for up to 500)
 *                                                 └─ an event that no table takes ─► dead letters
 *  cron, each hour ─► job "retention" ─► one worker: delete old days
 * ```
 *
 * Why every event ends up exactly once in `iot_reading` or among the dead letters:
 * - The answer to the sender comes after its events are durable in the queue. Without an answer the
 *   sender sends them again: an event may then be in the queue twice.
 * - Storing readings and ending their jobs is one transaction. A crash leaves an event either in the
 *   queue or in the readings.
 * - The event's id is part of the key of the readings, so a second copy is dropped there.
 */

import type { Database } from '@braiddb/sdk';
import type { JobQueue } from '@braiddb/queue';
import { openQueue } from '@braiddb/queue';

import type { SensorEvent } from './events.js';

/** An event as JSON: its time is a text. */
export interface WireEvent extends Omit<SensorEvent, 'takenAt'> {
  readonly takenAt: string;
}

/** The payloads of the queues. */
export interface Payloads {
  readonly reading: WireEvent;
  readonly retention: { readonly keepDays: number };
}

/** The queues of the example. */
export type IotQueue = JobQueue<Payloads>;

/** Opens the queues; `onError` gets each error that a worker survives. */
export function openJobs(db: Database, onError?: (error: unknown) => void): IotQueue {
  return openQueue<Payloads>(db, {
    queues: {
      // The readings are their own history. Only what is no fault of an event uses up attempts.
      reading: { keepMs: 0, maxAttempts: 10_000, backoffBaseMs: 100, backoffMaxMs: 60_000 },
      retention: {},
    },
    schema: 'iot_jobs',
    onError,
  });
}

/** Puts events into the queue. When this returns they are durable, all of them. */
export async function enqueue(queue: IotQueue, events: readonly SensorEvent[]): Promise<void> {
  const jobs = events.map(({ takenAt, ...event }) => {
    return { payload: { ...event, takenAt: takenAt.toISOString() } };
  });
  await queue.enqueueMany('reading', jobs);
}

/** The event of a job. */
export function eventOf({ takenAt, ...event }: WireEvent): SensorEvent {
  return { ...event, takenAt: new Date(takenAt) };
}

/** Events that are joined at most. */
const JOINED_MAX = 5_000;

/** Calls of `enqueueMany` at the same time. */
const IN_FLIGHT_MAX = 2;

/**
 * Joins the events of many requests: those that come while others are on their way to the database go
 * together. A thousand small requests thus become a few multi-row inserts.
 */
export class Intake {
  readonly #queue: IotQueue;
  readonly #waiting: { events: readonly SensorEvent[]; settle: (sent: Promise<void>) => void }[] =
    [];
  #inFlight = 0;
  #accepted = 0;

  constructor(queue: IotQueue) {
    this.#queue = queue;
  }

  /** Events that were stored durably since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Resolves when the events are durable in the queue; rejects if that is not certain. */
  add(events: readonly SensorEvent[]): Promise<void> {
    if (events.length === 0) return Promise.resolve();
    const added = new Promise<void>((settle) => this.#waiting.push({ events, settle }));
    // After the other requests of this turn of the event loop.
    setImmediate(() => {
      this.#send();
    });
    return added;
  }

  #send(): void {
    while (this.#inFlight < IN_FLIGHT_MAX && this.#waiting.length > 0) {
      let count = 0;
      const fits = this.#waiting.findIndex(({ events }) => (count += events.length) > JOINED_MAX);
      // A request that is too large goes alone.
      const requests = this.#waiting.splice(0, fits < 0 ? this.#waiting.length : Math.max(1, fits));
      const events = requests.flatMap((request) => request.events);
      this.#inFlight += 1;
      const sent = enqueue(this.#queue, events).then(() => {
        this.#accepted += events.length;
      });
      for (const { settle } of requests) settle(sent);
      const next = (): void => {
        this.#inFlight -= 1;
        this.#send();
      };
      sent.then(next, next);
    }
  }
}
