/**
 * What the package publishes through `node:diagnostics_channel`. Without a subscriber it costs
 * nothing.
 *
 * - `braiddb:queue:event`: a {@link QueueEvent} for each job that failed, died or was lost.
 * - `braiddb:queue:job`, a tracing channel: a {@link JobTrace} for each call of a handler.
 */

import { channel, tracingChannel } from 'node:diagnostics_channel';

/** Something that has happened to a job. */
export interface QueueEvent {
  /**
   * `retry`: it failed, and will be tried again. `dead`: it went to the dead letters. `lost`: its
   * lease ended before the job, here or in a process that is gone. `returned`: closing gave it back.
   */
  readonly kind: 'retry' | 'dead' | 'lost' | 'returned';
  readonly queue: string;
  readonly id: string;
  /** Which attempt it was, counted from 1. */
  readonly attempt: number;
  /** Why; undefined where the process that had the job is gone. */
  readonly error: unknown;
}

/** A call of a handler: the messages of the tracing channel `braiddb:queue:job`. */
export interface JobTrace {
  readonly queue: string;
  /** The jobs of the call: one, or those of a batch. */
  readonly ids: readonly string[];
  /** Which attempt it is, counted from 1; of a batch the highest. */
  readonly attempt: number;
  /** Milliseconds that the first job has waited since it could run. */
  readonly lagMs: number;
  /** Why the call failed; set before `error` and `asyncEnd` are published. */
  error?: unknown;
}

const events = channel('braiddb:queue:event');
const calls = tracingChannel('braiddb:queue:job');

/** Publishes an event. */
export function publishEvent(event: QueueEvent): void {
  if (events.hasSubscribers) events.publish(event);
}

/** Runs a call of a handler, traced where somebody listens. */
export function tracedCall<T>(trace: JobTrace, work: () => Promise<T>): Promise<T> {
  return calls.tracePromise(work, trace);
}
