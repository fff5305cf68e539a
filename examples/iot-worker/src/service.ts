/**
 * The HTTP side: takes events, checks them, stores them durably in the queue, then answers.
 *
 * - `POST /events`: a JSON array (or one object), or NDJSON with one event a line.
 *   202 `{accepted, rejected: [{line, message}]}`; 400 where nothing could be accepted.
 *   503 where the database cannot be reached or its answer was lost: send the same events again.
 * - `GET /status`: `{queued, stored, dead}`.
 */

import type { Batcher, Database } from '@braiddb/sdk';
import { isAmbiguous, isTransient } from '@braiddb/sdk';
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';

import type { Parsed } from './events.js';
import { parseJson, parseNdjson } from './events.js';
import type { QueueRow } from './queue.js';
import { countRows, enqueue } from './queue.js';

const BODY_BYTES_MAX = 16 * 1024 * 1024;
const EVENTS_MAX = 10_000;

/** Builds the service; the caller listens and closes. */
export function makeService(db: Database, queue: Batcher<QueueRow>): FastifyInstance {
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
      await enqueue(queue, events);
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

  service.get('/status', () => countRows(db));
  return service;
}

/** True where the same work may succeed later. All work of the example can be done twice. */
export function isTemporary(error: unknown): boolean {
  return isTransient(error) || isAmbiguous(error);
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
