/**
 * What a call of this package says to the driver that Kysely calls: a signal, a transaction, and
 * whether anybody waits for the result.
 *
 * Kysely hands nothing of that kind on, so it travels in an `AsyncLocalStorage`.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

import type { ReservedConnection, Transaction } from '@braiddb/sdk';

/** What holds for the queries that a function runs. */
export interface Context {
  /** Cancels them. */
  readonly signal?: AbortSignal | undefined;
  /** Nobody waits for their results. */
  readonly unawaited?: boolean;
  /** The transaction or session for the next connection that Kysely asks for; taken once. */
  bound?: Bound | undefined;
}

/** What the queries of a Kysely connection go through, where the caller has said so. */
export type Bound = { readonly tx: Transaction } | { readonly session: ReservedConnection };

const storage = new AsyncLocalStorage<Context>();

/** What holds for the query that runs now. */
export function currentContext(): Context {
  return storage.getStore() ?? {};
}

/** The signal of the query that runs now, and one more. */
export function currentSignal(more?: AbortSignal): AbortSignal | undefined {
  const signals = [currentContext().signal, more].filter((signal) => signal !== undefined);
  return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
}

/** Runs a function with more of it; signals add up. */
export function withContext<T>(more: Context, fn: () => T): T {
  return storage.run({ ...more, signal: currentSignal(more.signal) }, fn);
}

/** The transaction or session for this connection, if the caller has one ready. */
export function takeBound(): Bound | undefined {
  const context = storage.getStore();
  const bound = context?.bound;
  if (context !== undefined) context.bound = undefined;
  return bound;
}
