/** Transactions that run again on retry errors, and what their functions are given. */

import type { TransactionOptions } from '@braiddb/sdk';
import { UsageError } from '@braiddb/sdk';
import type { Kysely, Transaction } from 'kysely';

import { sourceOf } from './adapter.js';
import { currentSignal, withContext } from './context.js';

/** What the function of a transaction is told about its run. */
export interface Attempt {
  /** Which run of the function this is, counted from 1. */
  readonly attempt: number;
  /** Aborts when this run fails, and when the transaction is aborted: for work such as `fetch`. */
  readonly signal: AbortSignal;
}

/** What runs inside a transaction. It may be run several times: see {@link transaction}. */
export type KyselyTransactionFunction<DB, T> = (
  trx: Transaction<DB>,
  attempt: Attempt,
) => Promise<T>;

/**
 * Runs the whole function again whenever the transaction fails with a transient error and has had
 * no effect, as `db.transaction` of the SDK does. The function must therefore do nothing outside
 * the transaction that cannot be done twice. Plugins, schemas and logs of the Kysely instance apply.
 *
 * Options, SQL and errors are those of the SDK's `db.transaction`: isolation is SERIALIZABLE unless
 * `isolation` says otherwise, and there are 10 attempts. Fails with a `UsageError` if the instance
 * is a transaction already, or has another dialect.
 *
 * Kysely's own `kysely.transaction().execute(fn)` works too, but runs its function once: a retry
 * error reaches the caller as a `SerializationError` or `DeadlockError`.
 *
 * @example
 * ```ts
 * import { BraidDialect, transaction } from '@braiddb/kysely';
 * import { connect } from '@braiddb/sdk';
 * import { Kysely } from 'kysely';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * await db.script('CREATE TABLE IF NOT EXISTS kysely_counter (id INT4 PRIMARY KEY, n INT4)');
 * await db.run`DELETE FROM kysely_counter`;
 * const kysely = new Kysely<{ kysely_counter: { id: number; n: number } }>({
 *   dialect: new BraidDialect({ db }),
 * });
 * await kysely.insertInto('kysely_counter').values({ id: 1, n: 0 }).execute();
 * const increment = () =>
 *   transaction(kysely, async (trx) => {
 *     const read = trx.selectFrom('kysely_counter').select('n').where('id', '=', 1);
 *     const { n } = await read.executeTakeFirstOrThrow();
 *     await trx.updateTable('kysely_counter').set({ n: n + 1 }).where('id', '=', 1).execute();
 *   });
 * await Promise.all([increment(), increment(), increment()]); // conflicts run again
 * console.assert((await db.one<{ n: number }>`SELECT n FROM kysely_counter`).n === 3);
 * ```
 */
export async function transaction<DB, T>(
  kysely: Kysely<DB>,
  ...args:
    | [fn: KyselyTransactionFunction<DB, T>]
    | [options: TransactionOptions, fn: KyselyTransactionFunction<DB, T>]
): Promise<T> {
  const [options, fn] = args.length === 1 ? [{}, args[0]] : args;
  if (typeof (fn as unknown) !== 'function') {
    throw new UsageError('transaction takes a function: transaction(kysely, async (trx) => …)');
  }
  sourceOf(kysely);
  if (kysely.isTransaction) {
    throw new UsageError('the Kysely instance is a transaction: it cannot be run again from here');
  }
  const db = await sourceOf(kysely).get();
  let value: T | undefined;
  const { signal: given } = (options as TransactionOptions | null) ?? {};
  const signal = currentSignal(given);
  await db.transaction({ ...options, signal }, async (tx) => {
    const run: Attempt = { attempt: tx.attempt, signal: tx.signal };
    value = await withContext({ bound: { tx } }, () =>
      kysely.transaction().execute((trx) => fn(trx, run)),
    );
  });
  return value as T;
}
