/**
 * The service over HTTP. Amounts are strings of digits, in the smallest unit of the currency.
 *
 * - `POST /accounts` `{ id, minimum }`: 201, or 409 if there is one.
 * - `GET /accounts/ID`, `GET /accounts/ID/entries?after=0&limit=100`.
 * - `POST /transfers` `{ from, to, amount }` with the header `idempotency-key`: 201; 200 if an
 *   earlier request of the key has made the transfer; 402, 404, 409 or 422 if it is refused; 503 if
 *   the same request must be sent again.
 * - `GET /transfers/KEY`: what has become of a key.
 * - `GET /health`: 200, or 503 with the reason. `GET /audit`: reads everything.
 */

import type { Database } from '@braiddb/sdk';
import { isAmbiguous, isTransient, RetriesExhaustedError } from '@braiddb/sdk';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { fastify } from 'fastify';

import { audit } from './audit.js';
import type { Refusal } from './errors.js';
import { LedgerError } from './errors.js';
import { openAccount, readAccount, readEntries, readTransfer, transfer } from './transfers.js';

/** Milliseconds after which the database counts as away for `GET /health`. */
const HEALTH_TIMEOUT_MS = 2_000;

const STATUS: Readonly<Record<Refusal, number>> = {
  'account exists': 409,
  'no such account': 404,
  'same account': 422,
  'insufficient funds': 402,
  'key used before': 409,
  'number too large': 422,
};

const name = { type: 'string', pattern: '^[A-Za-z0-9:._-]{1,100}$' } as const;
// At most 18 digits: any of them is within INT8.
const amount = { type: 'string', pattern: '^[1-9][0-9]{0,17}$' } as const;
const minimum = { type: ['string', 'null'], pattern: '^(0|-[1-9][0-9]{0,17})$' } as const;

const object = (properties: Readonly<Record<string, object>>): object => ({
  ...{ type: 'object', properties, required: Object.keys(properties) },
  additionalProperties: false,
});
const accountBody = { body: object({ id: name, minimum }) };
const transferRequest = {
  headers: {
    type: 'object',
    properties: { 'idempotency-key': name },
    required: ['idempotency-key'],
  },
  body: object({ from: name, to: name, amount }),
};
const page = {
  querystring: {
    type: 'object',
    properties: {
      after: { type: 'string', pattern: '^[0-9]{1,18}$', default: '0' },
      limit: { type: 'string', pattern: '^([1-9][0-9]{0,2}|1000)$', default: '100' },
    },
  },
};

/** Builds the service; the caller listens and closes. */
export function makeService(db: Database): FastifyInstance {
  // Without it a number would pass as an amount, and large ones would have lost digits.
  const service = fastify({ ajv: { customOptions: { coerceTypes: false } } });
  // A bigint is a string in JSON.
  service.setReplySerializer((payload) =>
    JSON.stringify(payload, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
  );
  answerErrors(service);
  addAccounts(service, db);
  addTransfers(service, db);
  addChecks(service, db);
  return service;
}

function addAccounts(service: FastifyInstance, db: Database): void {
  service.post<{ Body: { id: string; minimum: string | null } }>(
    '/accounts',
    { schema: accountBody },
    async ({ body }, reply) => {
      const limit = body.minimum === null ? null : BigInt(body.minimum);
      return reply.code(201).send(await openAccount(db, body.id, limit));
    },
  );
  service.get<{ Params: { id: string } }>('/accounts/:id', async ({ params }, reply) => {
    return (await readAccount(db, params.id)) ?? notFound(reply, 'no such account');
  });
  service.get<{ Params: { id: string }; Querystring: { after: string; limit: string } }>(
    '/accounts/:id/entries',
    { schema: page },
    async ({ params, query }) => {
      const { after, limit } = query;
      return readEntries(db, params.id, { after: BigInt(after), limit: Number(limit) });
    },
  );
}

function addTransfers(service: FastifyInstance, db: Database): void {
  service.post<{
    Body: { from: string; to: string; amount: string };
    Headers: { 'idempotency-key': string };
  }>('/transfers', { schema: transferRequest }, async ({ body, headers }, reply) => {
    const { from, to } = body;
    const order = { key: headers['idempotency-key'], from, to, amount: BigInt(body.amount) };
    const receipt = await transfer(db, order);
    return reply.code(receipt.repeated ? 200 : 201).send(receipt);
  });
  service.get<{ Params: { key: string } }>('/transfers/:key', async ({ params }, reply) => {
    return (await readTransfer(db, params.key)) ?? notFound(reply, 'no transfer has this key');
  });
}

function addChecks(service: FastifyInstance, db: Database): void {
  service.get('/health', async (_request, reply) => {
    try {
      const { waiting } = await db.with({ signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) }).one<{
        waiting: boolean;
      }>`SELECT EXISTS (SELECT 1 FROM ledger_outbox) AS waiting`;
      const { retries, commitsLost } = db.stats();
      return { status: 'ok', eventsWaiting: waiting, retries, commitsLost };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return reply.code(503).send({ status: 'the database is away', message });
    }
  });
  service.get('/audit', () => audit(db));
}

function notFound(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ message });
}

/** Answers errors: the status of a refusal, or 503 where the same request should be sent again. */
function answerErrors(service: FastifyInstance): void {
  service.setErrorHandler((error, _request, reply) => {
    if (error instanceof LedgerError) {
      const { reason, message } = error;
      return reply.code(STATUS[reason]).send({ reason, message });
    }
    if (isAmbiguous(error)) {
      const message = 'it may have been done; send the same request again, with the same key';
      return reply.code(503).header('retry-after', '1').send({ message });
    }
    if (isTransient(error) || error instanceof RetriesExhaustedError) {
      const message = 'nothing was done; send the same request again';
      return reply.code(503).header('retry-after', '1').send({ message });
    }
    return reply.send(error);
  });
}
