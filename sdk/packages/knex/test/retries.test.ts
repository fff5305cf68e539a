/** Transactions of Knex that run again. */

import knex, { type Knex } from 'knex';

import type { OpenLibrary } from '../../../test/retries.js';
import { testRetries } from '../../../test/retries.js';
import { transaction } from '../src/index.js';

const open: OpenLibrary<Knex.Transaction> = (url, connections) => {
  const pool = { min: 0, max: connections };
  const ignore = (): void => undefined;
  // Knex reports lost connections on the console.
  const log = { warn: ignore, error: ignore };
  const db = knex({ client: 'pg', connection: url, pool, log });
  return Promise.resolve({
    transaction: (fn, options) => transaction(db, fn, options),
    own: (fn) => db.transaction((trx) => fn(trx), { isolationLevel: 'serializable' }),
    query: async (text, trx) => {
      const { rows } = await (trx ?? db).raw<{ rows: Record<string, unknown>[] }>(text);
      return rows;
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  });
};

testRetries('Knex', open, { asksForOutcome: false });
