/**
 * What the SDK publishes through `node:diagnostics_channel`. Without a subscriber it costs nothing.
 *
 * Channels with one message for each event:
 *
 * - `braiddb:transaction:retry`: a {@link RetryEvent}, before each pause.
 * - `braiddb:transaction:commit-lost`: a {@link CommitLostEvent}, when a connection was lost during
 *   COMMIT and its outcome is known, or will not be.
 *
 * Tracing channels, for spans; each message is the same object from `start` to `asyncEnd`:
 *
 * - `braiddb:query`: a {@link QueryTrace}, for each statement, script, COPY and stream of the caller,
 *   and each LISTEN.
 * - `braiddb:transaction`: a {@link TransactionTrace}, for each call of `db.transaction`.
 * - `braiddb:acquire`: an {@link AcquireTrace}, for each connection taken out of the pool.
 * - `braiddb:connect`: a {@link ConnectTrace}, for each connection that the SDK opens.
 * - `braiddb:batch`: a {@link BatchTrace}, for each batch of a batcher.
 */

import { channel, tracingChannel } from 'node:diagnostics_channel';

import type { RetryEvent } from './options/index.js';
import type { ServerInfo } from './server.js';

/** How a COMMIT without an answer was resolved. */
export interface CommitLostEvent {
  /** What the server answered; `unknown` also where nobody could be asked. */
  readonly outcome: 'committed' | 'aborted' | 'unknown';
  /** How often the server was asked. */
  readonly asked: number;
  /** Milliseconds from the loss to the outcome. */
  readonly elapsedMs: number;
  /** The token of the transaction; undefined on servers without commit tokens. */
  readonly token: string | undefined;
  /** The error of the lost connection. */
  readonly error: unknown;
}

const retryChannel = channel('braiddb:transaction:retry');
const commitLostChannel = channel('braiddb:transaction:commit-lost');

/** Publishes a retry. */
export function publishRetry(event: RetryEvent): void {
  if (retryChannel.hasSubscribers) retryChannel.publish(event);
}

/** Publishes the outcome of a lost commit. */
export function publishCommitLost(event: CommitLostEvent): void {
  if (commitLostChannel.hasSubscribers) commitLostChannel.publish(event);
}

/** Where a traced call goes to; undefined before there is a connection. */
export interface Place {
  /** `host:port` of the server. */
  server: string | undefined;
  /** Which kind of server it is. */
  system: ServerInfo['kind'] | undefined;
  /** The name of the database. */
  database: string | undefined;
}

/** The place of a call that has no connection yet. */
export const NO_PLACE: Place = { server: undefined, system: undefined, database: undefined };

/** Gets the place of a connection that has been taken. */
export type OnPlace = (place: Place) => void;

/** What every trace may have at its end. */
interface Trace {
  /** Why it failed; set before `error` and `asyncEnd` are published. */
  error?: unknown;
}

/**
 * A statement, script, COPY, stream or LISTEN: the messages of the tracing channel `braiddb:query`. A
 * stream lasts from its first row to its end.
 */
export interface QueryTrace extends Trace, Place {
  /** The text as it was given, without its values. */
  readonly text: string;
  /** The attempt of the transaction around it, counted from 1; undefined outside. */
  readonly attempt: number | undefined;
  /** Milliseconds of waiting for a connection, or for its turn in a transaction. */
  waitMs: number | undefined;
  /** Rows returned or changed, as the server counts them; undefined before the end. */
  rows: number | undefined;
}

/**
 * A call of `db.transaction`: the messages of the tracing channel `braiddb:transaction`. The place is
 * that of the last attempt.
 */
export interface TransactionTrace extends Trace, Place {
  readonly isolation: string;
  readonly readOnly: boolean;
  /** Attempts so far: retries and one. */
  attempts: number;
  /** Milliseconds of waiting for connections, all attempts together. */
  waitMs: number;
}

/** A wait for a connection of the pool: the messages of the tracing channel `braiddb:acquire`. */
export interface AcquireTrace extends Trace, Place {
  /** Calls that waited already. */
  readonly waiting: number;
}

/** A connection being opened: the messages of the tracing channel `braiddb:connect`. */
export interface ConnectTrace extends Trace, Place {}

/**
 * A batch on its way: the messages of the tracing channel `braiddb:batch`. The place is that of its
 * last statement.
 */
export interface BatchTrace extends Trace, Place {
  /** The table's name, quoted. */
  readonly table: string;
  readonly mode: 'insert' | 'upsert' | 'delete';
  /** Rows in the batch. */
  readonly rows: number;
  /** Statements that it took; undefined before the end. */
  statements: number | undefined;
  /** Rows that were refused; undefined before the end. */
  rejected: number | undefined;
}

interface Subscribable {
  readonly hasSubscribers: boolean;
}

/** What the SDK uses of a tracing channel; its type differs between versions of Node's types. */
interface Traces<Message extends object> {
  readonly start: Subscribable;
  readonly end: Subscribable;
  readonly asyncStart: Subscribable;
  readonly asyncEnd: Subscribable;
  readonly error: Subscribable;
  readonly tracePromise: <T>(work: () => Promise<T>, trace: Message) => Promise<T>;
}

const tracesOf = <Message extends object>(name: string): Traces<Message> =>
  tracingChannel(`braiddb:${name}`);

export const queries = tracesOf<QueryTrace>('query');
export const transactions = tracesOf<TransactionTrace>('transaction');
export const acquisitions = tracesOf<AcquireTrace>('acquire');
export const connects = tracesOf<ConnectTrace>('connect');
export const batchTraces = tracesOf<BatchTrace>('batch');

/** True if anybody listens to a tracing channel. */
export function isTraced({ start, end, asyncStart, asyncEnd, error }: Traces<never>): boolean {
  if (start.hasSubscribers || end.hasSubscribers || error.hasSubscribers) return true;
  return asyncStart.hasSubscribers || asyncEnd.hasSubscribers;
}

/** Runs work, which fills in its trace; where nobody listens there is none. */
export function traced<Message extends object, T>(
  on: Traces<Message>,
  make: () => Message,
  work: (trace?: Message) => Promise<T>,
): Promise<T> {
  if (!isTraced(on)) return work();
  const trace = make();
  return on.tracePromise(() => work(trace), trace);
}

/** The trace of a statement outside a transaction. */
export function traceOf(text: string): QueryTrace {
  return { text, ...NO_PLACE, attempt: undefined, waitMs: undefined, rows: undefined };
}
