/**
 * The events that the SDK publishes through `node:diagnostics_channel`. Without a subscriber they
 * cost nothing.
 *
 * - `braiddb:transaction:retry`: a {@link RetryEvent}, before each pause.
 * - `braiddb:transaction:commit-lost`: a {@link CommitLostEvent}, when a connection was lost during
 *   COMMIT and its outcome is known, or will not be.
 */

import { channel } from 'node:diagnostics_channel';

import type { RetryEvent } from './options.js';

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
