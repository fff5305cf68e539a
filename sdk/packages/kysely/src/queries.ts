/** How single queries are run: without waiting for their results, or until a signal aborts. */

import { OptionError, UsageError } from '@braiddb/sdk';
import type { DeleteResult, InsertResult, MergeResult, UpdateResult } from 'kysely';

import { withContext } from './context.js';

/** An INSERT, UPDATE, DELETE or MERGE of Kysely without `returning`. */
export interface WriteQuery {
  /** Kysely's method; `run` calls it. */
  execute(): Promise<(InsertResult | UpdateResult | DeleteResult | MergeResult)[]>;
}

/**
 * Runs a write without asking for its result. Inside a transaction it is sent without waiting: the
 * next query that is awaited, or COMMIT, reports its failure. On BraidDB independent ones run side
 * by side. Outside a transaction `run` waits until the write is done.
 *
 * SQL: the statement, with ` RETURNING NOTHING` at its end inside a transaction on BraidDB.
 *
 * @example
 * ```ts
 * import { BraidDialect, run, transaction } from '@braiddb/kysely';
 * import { connect } from '@braiddb/sdk';
 * import { Kysely } from 'kysely';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * await db.script('CREATE TABLE IF NOT EXISTS kysely_leg (id INT4 PRIMARY KEY, amount INT4)');
 * const kysely = new Kysely<{ kysely_leg: { id: number; amount: number } }>({
 *   dialect: new BraidDialect({ db }),
 * });
 * await transaction(kysely, async (trx) => {
 *   await run(trx.deleteFrom('kysely_leg')); // these travel together, with COMMIT
 *   await run(trx.insertInto('kysely_leg').values({ id: 1, amount: -7 }));
 *   await run(trx.insertInto('kysely_leg').values({ id: 2, amount: 7 }));
 * });
 * const rows = await kysely.selectFrom('kysely_leg').selectAll().orderBy('id').execute();
 * console.assert(rows.length === 2 && rows[0]?.amount === -7);
 * ```
 */
export async function run(query: WriteQuery): Promise<void> {
  if (typeof (query as Partial<WriteQuery> | null)?.execute !== 'function') {
    throw new UsageError('run takes a write of Kysely: run(kysely.insertInto(…).values(…))');
  }
  await withContext({ unawaited: true }, () => query.execute());
}

/**
 * Runs a function whose queries are cancelled on the server when the signal aborts; they reject
 * with the reason of the signal. A transaction that begins in the function is rolled back, unless its
 * COMMIT is on its way. For a stream, the loop that reads it must be in the function.
 *
 * @example
 * ```ts
 * import { BraidDialect, withSignal } from '@braiddb/kysely';
 * import { connect } from '@braiddb/sdk';
 * import { Kysely, sql } from 'kysely';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * const kysely = new Kysely<object>({ dialect: new BraidDialect({ db }) });
 * const { rows } = await withSignal(AbortSignal.timeout(5000), () =>
 *   sql<{ one: number }>`SELECT 1::int4 AS one`.execute(kysely),
 * );
 * console.assert(rows[0]?.one === 1);
 * ```
 */
export function withSignal<T>(signal: AbortSignal, fn: () => Promise<T>): Promise<T> {
  if (!((signal as unknown) instanceof AbortSignal)) {
    throw new OptionError('signal', 'must be an AbortSignal');
  }
  if (typeof (fn as unknown) !== 'function') {
    throw new UsageError('withSignal takes a function: withSignal(signal, async () => …)');
  }
  return withContext({ signal }, fn);
}
