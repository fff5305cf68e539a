/**
 * The HTTP side: takes events, checks them, stores them durably in the queue, then answers.
 *
 * - `POST /events`: a JSON array (or one object), or NDJSON with one event a line.
 *   202 `{accepted, rejected: [{line, message}]}`; 400 where nothing could be accepted.
 *   503 where the database cannot be reached or its answer was lost: send the same events again.
 * - `GET /sensors/NAME`: the newest value of a sensor, and its last readings.
 * - `GET /health`: 200, or 503 with the reason.
 * - `GET /lag`: what waits in the queue, and for how long. Its cost is bounded.
 * - `GET /metrics`: the same numbers for Prometheus.
 */

import type { Database } from '@braiddb/sdk';
import { isAmbiguous, isTransient } from '@braiddb/sdk';
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';

import type { Parsed } from './events.js';
import { parseJson, parseNdjson } from './events.js';
import type { IotQueue } from './jobs.js';
import { Intake } from './jobs.js';
import { readSensor } from './tables.js';

const BODY_BYTES_MAX = 16 * 1024 * 1024;
const EVENTS_MAX = 10_000;

/** Milliseconds after which the database counts as away for `GET /health`. */
const HEALTH_TIMEOUT_MS = 2_000;

/** Readings of one answer of `GET /sensors/NAME`. */
const READINGS_SHOWN = 10;

/** Builds the service; the caller listens and closes. */
export function makeService(db: Database, queue: IotQueue): FastifyInstance {
  const intake = new Intake(queue);
  const service = fastify({ bodyLimit: BODY_BYTES_MAX });
  service.removeAllContentTypeParsers();
  addParser(service, ['application/json'], parseJson);
  addParser(service, ['application/x-ndjson', 'application/ndjson'], parseNdjson);

  service.post('/events', async (request, reply) => {
    const { events, problems } = request.body as Parsed;
    if (events.length + problems.length > EVENTS_MAX) {
      const message = `at most ${EVENTS_MAX} events a request`;
      return reply.code(413).send({ accepted: 0, rejected: [], message });
    }
    try {
      await intake.add(events);
    } catch (error) {
      if (!isTemporary(error)) throw error;
      const message = 'the events may not have been stored; send them again, with the same ids';
      return reply
        .code(503)
        .header('retry-after', '1')
        .send({ accepted: 0, rejected: [], message });
    }
    const refused = events.length === 0 && problems.length > 0;
    return reply.code(refused ? 400 : 202).send({ accepted: events.length, rejected: problems });
  });

  service.get<{ Params: { sensor: string } }>('/sensors/:sensor', async (request, reply) => {
    const found = await readSensor(db, request.params.sensor, READINGS_SHOWN);
    return found ?? reply.code(404).send({ message: 'this sensor has never sent anything' });
  });

  service.get('/health', async (_request, reply) => {
    try {
      await db.with({ signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) }).query`SELECT 1`;
      return { status: 'ok' };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return reply.code(503).send({ status: 'the database is away', message });
    }
  });

  service.get('/lag', async () => {
    const { jobs, lagMs } = (await queue.stats()).reading;
    return { ...jobs, lagMs: Math.round(lagMs) };
  });

  service.get('/metrics', async (_request, reply) => {
    const { jobs, lagMs, here } = (await queue.stats()).reading;
    const states = Object.entries(jobs).map(([state, rows]) => [`{state="${state}"}`, rows]);
    const lines = [
      ...metric('iot_queue_jobs', 'gauge', states as [string, number][]),
      ...metric('iot_queue_lag_seconds', 'gauge', [['', lagMs / 1000]]),
      ...metric('iot_events_accepted_total', 'counter', [['', intake.accepted]]),
      ...metric('iot_events_stored_total', 'counter', [['', here.finished]]),
      ...metric('iot_events_dead_total', 'counter', [['', here.dead]]),
    ];
    return reply.type('text/plain; version=0.0.4').send(`${lines.join('\n')}\n`);
  });
  return service;
}

/** True where the same work may succeed later. All work of the example can be done twice. */
export function isTemporary(error: unknown): boolean {
  return isTransient(error) || isAmbiguous(error);
}

/** The lines of one metric in the text format of Prometheus. */
function metric(name: string, type: string, values: readonly [string, number][]): string[] {
  return [
    `# TYPE ${name} ${type}`,
    ...values.map(([labels, value]) => `${name}${labels} ${value}`),
  ];
}

function addParser(
  service: FastifyInstance,
  types: string[],
  parse: (text: string) => Parsed,
): void {
  service.addContentTypeParser(types, { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, parse(String(body)));
    } catch (error) {
      const message = error instanceof Error ? error.message : 'the body cannot be read';
      done(Object.assign(new Error(`not JSON: ${message}`), { statusCode: 400 }));
    }
  });
}
