/** What requests have in common: a signal for each, and an answer for each error. */

import { ConstraintError, isAmbiguous, isTransient, RetriesExhaustedError } from '@braiddb/sdk';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Aborts when the client goes away before it has its answer. */
export function signalOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('the client has gone'));
  });
  return gone.signal;
}

/** The status of each kind of constraint: the request is at fault, not the service. */
const STATUS: Partial<Record<ConstraintError['kind'], number>> = {
  unique: 409,
  'foreign key': 409,
  restrict: 409,
  check: 422,
  'not null': 422,
};

/** Answers errors of the database: 409 and 422 for the request, 503 for the moment. */
export function answerErrors(service: FastifyInstance): void {
  service.setErrorHandler((error, _request, reply) => {
    if (error instanceof ConstraintError) {
      const { kind, constraint, message } = error;
      return reply.code(STATUS[kind] ?? 500).send({ message, constraint });
    }
    if (isTransient(error) || error instanceof RetriesExhaustedError) {
      return reply.code(503).header('retry-after', '1').send({ message: 'try again' });
    }
    if (isAmbiguous(error)) {
      return reply.code(503).send({ message: 'it may have been done: look before you try again' });
    }
    return reply.send(error);
  });
}
