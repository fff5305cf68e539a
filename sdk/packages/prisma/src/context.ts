/**
 * What a call of this package says to the adapter that Prisma calls.
 *
 * Prisma hands nothing of the caller's on to its adapter, so it travels in an `AsyncLocalStorage`.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

import type { Database, Transaction } from '@braiddb/sdk';

/** One run of a function in a transaction of the SDK: Prisma's next transaction is part of it. */
export interface BoundRun {
  readonly tx: Transaction;
  /** Prisma's transaction has begun; it does so once. */
  isTaken: boolean;
  /** The last error of the SDK in this run, which Prisma turns into one of its own. */
  failure: { readonly error: unknown } | undefined;
}

/** A question: which database does the adapter of a Prisma client have? */
export interface Inquiry {
  database: Database | undefined;
}

type Context = { readonly run: BoundRun } | { readonly inquiry: Inquiry };

const storage = new AsyncLocalStorage<Context>();

/** Runs a function for whose transactions of Prisma the context holds. */
export function withContext<T>(context: Context, fn: () => Promise<T>): Promise<T> {
  return storage.run(context, fn);
}

/** The run for the transaction that Prisma begins now, if there is one. Answers an inquiry. */
export function takeRun(database: Database): BoundRun | undefined {
  const context = storage.getStore();
  if (context === undefined) return undefined;
  if ('inquiry' in context) {
    context.inquiry.database = database;
    throw new Error('the adapter was only asked for its database');
  }
  const { run } = context;
  if (run.isTaken) return undefined;
  run.isTaken = true;
  return run;
}
