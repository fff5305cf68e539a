/** Transactions of Prisma that run again on transient errors. */

import type { Database, TransactionOptions } from '@braiddb/sdk';
import { isTransient, UsageError } from '@braiddb/sdk';

import type { BoundRun, Inquiry } from './context.js';
import { withContext } from './context.js';

/** What the function of a transaction is told about its run. */
export interface Attempt {
  /** Which run of the function this is, counted from 1. */
  readonly attempt: number;
  /** Aborts when this run fails, and when the transaction is aborted: for work such as `fetch`. */
  readonly signal: AbortSignal;
}

/** What this package uses of a Prisma client. */
export interface PrismaClientLike {
  // Prisma generates its signatures: any will do here.
  readonly $transaction: (...args: never[]) => unknown;
}

/** A Prisma client inside a transaction. */
export type TransactionClient<Client> = Omit<
  Client,
  '$connect' | '$disconnect' | '$extends' | '$on' | '$use'
>;

/** What runs inside a transaction. It may be run several times: see {@link transaction}. */
export type PrismaTransactionFunction<Client, T> = (
  tx: TransactionClient<Client>,
  attempt: Attempt,
) => Promise<T>;

/** Prisma's own limits of time: the deadline and the signal of the SDK take their place. */
const UNLIMITED = { maxWait: 86_400_000, timeout: 86_400_000 } as const;

/** The database of each client that has been asked for it. */
const databases = new WeakMap<object, Database>();

/**
 * Runs the whole function again whenever the transaction fails with a transient error and has had
 * no effect, as `db.transaction` of the SDK does. The function must therefore do nothing outside
 * the transaction that cannot be done twice. Prisma's limits `maxWait` and `timeout` do not apply.
 *
 * Options, SQL and errors of the transaction are those of the SDK's `db.transaction`: isolation
 * is SERIALIZABLE unless `isolation` says otherwise, and there are 10 attempts. A statement that
 * fails for good throws Prisma's error. Fails with a `UsageError` if `prisma` is a transaction
 * already, or has another adapter than {@link PrismaBraid}.
 */
export async function transaction<Client extends PrismaClientLike, T>(
  prisma: Client,
  fn: PrismaTransactionFunction<Client, T>,
  options: TransactionOptions = {},
): Promise<T> {
  if (typeof (fn as unknown) !== 'function') {
    throw new UsageError('transaction takes a function as its second argument');
  }
  if (typeof (prisma as Partial<Client>).$transaction !== 'function') {
    throw new UsageError('the Prisma client is a transaction: it cannot run again from here');
  }
  const db = databases.get(prisma) ?? (await databaseOf(prisma));
  let value: T | undefined;
  await db.transaction(options, async (tx) => {
    const run: BoundRun = { tx, isTaken: false, failure: undefined };
    const told: Attempt = {
      attempt: tx.attempt,
      get signal() {
        return tx.signal;
      },
    };
    try {
      value = await withContext({ run }, () => begin<Client, T>(prisma, (own) => fn(own, told)));
    } catch (error) {
      // Prisma's error does not say whether the transaction may run again; that of the SDK does.
      throw run.failure !== undefined && isTransient(run.failure.error) ? run.failure.error : error;
    }
  });
  return value as T;
}

/** Prisma's own transaction. */
function begin<Client extends PrismaClientLike, T>(
  prisma: Client,
  fn: (tx: TransactionClient<Client>) => Promise<T>,
): Promise<T> {
  // The signatures of a client are generated, and those of extended clients differ.
  const client = prisma as unknown as {
    $transaction(work: typeof fn, options: object): Promise<T>;
  };
  return client.$transaction(fn, UNLIMITED);
}

/** Asks the adapter of a client for its database, by a transaction that it refuses. */
async function databaseOf(prisma: PrismaClientLike): Promise<Database> {
  const inquiry: Inquiry = { database: undefined };
  const asked = withContext({ inquiry }, () => begin(prisma, () => Promise.resolve()));
  // An error is the answer, or the reason why Prisma could not connect.
  const failure = await asked.then(
    () => new UsageError('the Prisma client is a transaction, or has another adapter'),
    (error: unknown) => error,
  );
  const { database } = inquiry;
  if (database === undefined) throw failure;
  databases.set(prisma, database);
  return database;
}
