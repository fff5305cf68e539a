/** Items: create, read, change, delete. */

import { withSignal } from '@braiddb/kysely';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Kysely } from 'kysely';

import type { Schema } from './database.js';
import { signalOf } from './requests.js';

/** Items of one page. */
const PAGE_ITEMS_MAX = 100;

const fields = {
  name: { type: 'string', minLength: 1, maxLength: 200 },
  // Text: a JavaScript number would lose digits of larger prices.
  price: { type: 'string', pattern: '^\\d{1,10}(\\.\\d{1,2})?$' },
  stock: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
} as const;

const item = { type: 'object', additionalProperties: false, properties: fields };
const byId = {
  params: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
};
const page = {
  querystring: {
    type: 'object',
    properties: {
      after: { type: 'integer', minimum: 0, default: 0 },
      limit: { type: 'integer', minimum: 1, maximum: PAGE_ITEMS_MAX, default: 20 },
    },
  },
};

/** What a request may set. */
interface ItemBody {
  readonly name: string;
  readonly price: string;
  readonly stock: number;
}

interface ById {
  readonly Params: { readonly id: number };
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ message: 'no such item' });
}

/** Adds `GET`, `POST /items` and `GET`, `PATCH`, `DELETE /items/:id`. */
export function addItems(service: FastifyInstance, kysely: Kysely<Schema>): void {
  const create = { schema: { body: { ...item, required: Object.keys(fields) } } };
  service.post<{ Body: ItemBody }>('/items', create, async (request, reply) => {
    const insert = kysely.insertInto('item').values(request.body).returningAll();
    const created = await insert.executeTakeFirstOrThrow();
    return reply.code(201).header('location', `/items/${created.id}`).send(created);
  });

  service.get<{ Querystring: { after: number; limit: number } }>(
    '/items',
    { schema: page },
    (request, reply) => {
      const { after, limit } = request.query;
      const read = kysely.selectFrom('item').selectAll().where('id', '>', after);
      // A reader who has gone needs no answer: the query is cancelled.
      return withSignal(signalOf(reply), () => read.orderBy('id').limit(limit).execute());
    },
  );

  service.get<ById>('/items/:id', { schema: byId }, async (request, reply) => {
    const { id } = request.params;
    const read = kysely.selectFrom('item').selectAll().where('id', '=', id);
    return (await read.executeTakeFirst()) ?? notFound(reply);
  });

  const change = { schema: { ...byId, body: { ...item, minProperties: 1 } } };
  service.patch<ById & { Body: Partial<ItemBody> }>(
    '/items/:id',
    change,
    async (request, reply) => {
      const { id } = request.params;
      const update = kysely.updateTable('item').set(request.body).where('id', '=', id);
      return (await update.returningAll().executeTakeFirst()) ?? notFound(reply);
    },
  );

  service.delete<ById>('/items/:id', { schema: byId }, async (request, reply) => {
    const { id } = request.params;
    const { numDeletedRows } = await kysely
      .deleteFrom('item')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return numDeletedRows === 0n ? notFound(reply) : reply.code(204).send();
  });
}
