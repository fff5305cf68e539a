/** How Knex begins and ends a transaction. */

import { UsageError } from '@braiddb/sdk';
import type { BeginOptions, Library, LibraryTransaction } from '@braiddb/sdk/wrap';
import type { Knex } from 'knex';
import type pg from 'pg';

/** What a transaction of Knex has besides its public types. */
interface Internals {
  readonly client: { acquireConnection(): Promise<pg.ClientBase> };
}

/** Transactions of one Knex instance. */
export class KnexLibrary implements Library<Knex.Transaction> {
  readonly #knex: Knex;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  async begin({
    isolation,
    readOnly,
  }: BeginOptions): Promise<LibraryTransaction<Knex.Transaction>> {
    const level = isolation === 'server' ? {} : { isolationLevel: isolation };
    const trx = await this.#knex.transaction({ ...level, readOnly });
    const ended = trx.executionPromise;
    // Each end below waits for it.
    ended.catch(() => undefined);
    // Knex hands out a transaction whose BEGIN has failed.
    if (trx.isCompleted()) await ended;
    const client = await (trx as unknown as Internals).client.acquireConnection();
    return {
      handle: trx,
      client,
      commit: async () => {
        if (trx.isCompleted()) {
          throw new UsageError('the function has ended its transaction itself');
        }
        // The promise of COMMIT itself is fulfilled even if COMMIT fails.
        void trx.commit();
        await ended;
      },
      rollback: async () => {
        if (!trx.isCompleted()) void trx.rollback();
        await ended;
      },
      release: async () => {
        // Knex gives the connection back at the end of the transaction, also if that was lost.
        if (!trx.isCompleted()) void trx.rollback();
        await ended.catch(() => undefined);
      },
    };
  }
}
