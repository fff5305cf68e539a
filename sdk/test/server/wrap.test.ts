/** `@braiddb/sdk/wrap`: transactions of another library, here those of `pg` itself. */

import pg from 'pg';

import type { Library } from '../../src/wrap/index.js';
import { wrapTransaction } from '../../src/wrap/index.js';
import type { OpenLibrary } from '../retries.js';
import { testRetries } from '../retries.js';

/** Transactions on connections of a pool. */
function libraryOf(pool: pg.Pool): Library<pg.PoolClient> {
  return {
    begin: async ({ isolation, readOnly }) => {
      const client = await pool.connect();
      let lost: Error | undefined;
      const onError = (error: Error): void => void (lost = error);
      client.on('error', onError);
      const release = (): Promise<void> => {
        client.removeListener('error', onError);
        client.release(lost);
        return Promise.resolve();
      };
      const level = isolation === 'server' ? '' : ` ISOLATION LEVEL ${isolation}`;
      try {
        await client.query(`BEGIN${level}${readOnly ? ' READ ONLY' : ''}`);
      } catch (error) {
        await release();
        throw error;
      }
      return {
        ...{ handle: client, client, release },
        commit: () => client.query('COMMIT'),
        rollback: () => client.query('ROLLBACK'),
      };
    },
  };
}

const open: OpenLibrary<pg.PoolClient> = (url, connections) => {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const library = libraryOf(pool);
  return Promise.resolve({
    transaction: (fn, options) => wrapTransaction(library, fn, options),
    own: async (fn) => {
      const open = await library.begin({ isolation: 'serializable', readOnly: false });
      try {
        await fn(open.handle);
        await open.commit();
      } catch (error) {
        await open.rollback();
        throw error;
      } finally {
        await open.release();
      }
    },
    query: async (text, client) => {
      const { rows } = await (client ?? pool).query<Record<string, unknown>>(text);
      return rows;
    },
    [Symbol.asyncDispose]: () => pool.end(),
  });
};

testRetries('pg', open, { asksForOutcome: false });
