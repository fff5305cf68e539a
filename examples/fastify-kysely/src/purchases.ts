/**
 * Purchases: an item leaves the stock, and the purchase is written down, both or none.
 *
 * The transaction reads the stock and then decides. Two buyers of the last piece cannot both have it:
 * the second one waits for the lock and sees what is left, or meets a conflict and runs again.
 */

import { run, transaction } from '@braiddb/kysely';
import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';

import type { Schema } from './database.js';
import { signalOf } from './requests.js';

/** A purchase, or why there is none. */
type Outcome =
  | { readonly status: 201; readonly left: number }
  | { readonly status: 404 | 409; readonly message: string };

interface PurchaseBody {
  readonly item: number;
  readonly amount: number;
}

const schema = {
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['item', 'amount'],
    properties: {
      item: { type: 'integer', minimum: 1 },
      amount: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    },
  },
};

/** Buys; runs again on conflicts, until the deadline of three seconds. */
export function buy(
  kysely: Kysely<Schema>,
  { item, amount }: PurchaseBody,
  signal: AbortSignal,
): Promise<Outcome> {
  return transaction(kysely, { deadlineMs: 3000, signal }, async (trx): Promise<Outcome> => {
    const read = trx.selectFrom('item').select('stock').where('id', '=', item).forUpdate();
    const found = await read.executeTakeFirst();
    if (found === undefined) return { status: 404, message: 'no such item' };
    const left = found.stock - amount;
    if (left < 0) return { status: 409, message: `only ${found.stock} left` };
    // Nobody waits for these two: they travel with COMMIT.
    await run(trx.updateTable('item').set({ stock: left }).where('id', '=', item));
    await run(trx.insertInto('purchase').values({ item, amount }));
    return { status: 201, left };
  });
}

/** Adds `POST /purchases`. */
export function addPurchases(service: FastifyInstance, kysely: Kysely<Schema>): void {
  service.post<{ Body: PurchaseBody }>('/purchases', { schema }, async (request, reply) => {
    const { status, ...answer } = await buy(kysely, request.body, signalOf(reply));
    return reply.code(status).send(answer);
  });
}
