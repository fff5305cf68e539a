/** Transactions of Prisma that run again. */

import type { Transaction } from '@prisma/driver-adapter-utils';

import type { OpenLibrary } from '../../../test/retries.js';
import { testRetries } from '../../../test/retries.js';
import { transaction } from '../src/index.js';
import { clientOn, queryOf } from './client.js';

const open: OpenLibrary<Transaction> = async (url, connections) => {
  const client = await clientOn(url, connections);
  return {
    transaction: (fn, options) =>
      transaction(client, (tx, attempt) => fn(tx as unknown as Transaction, attempt), options),
    own: (fn) => client.$transaction(fn, { isolationLevel: 'SERIALIZABLE' }),
    query: async (text, tx) => {
      const { columnNames, rows } = await (tx ?? client.adapter).queryRaw(queryOf(text));
      return rows.map((row) => {
        const fields = row.map((value, at): [string, unknown] => [columnNames[at] ?? '', value]);
        return Object.fromEntries(fields);
      });
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};

testRetries('Prisma', open, { asksForOutcome: true });
