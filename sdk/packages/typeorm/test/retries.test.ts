/** Transactions of TypeORM that run again. */

import type { EntityManager } from 'typeorm';
import { DataSource } from 'typeorm';

import type { OpenLibrary } from '../../../test/retries.js';
import { testRetries } from '../../../test/retries.js';
import { transaction } from '../src/index.js';

const open: OpenLibrary<EntityManager> = async (url, connections) => {
  const source = new DataSource({ type: 'postgres', url, poolSize: connections });
  await source.initialize();
  return {
    transaction: (fn, options) => transaction(source, fn, options),
    own: (fn) => source.transaction('SERIALIZABLE', fn),
    query: (text, manager) => (manager ?? source).query<Record<string, unknown>[]>(text),
    [Symbol.asyncDispose]: () => source.destroy(),
  };
};

testRetries('TypeORM', open, { asksForOutcome: false });
