/**
 * The worker: drains the queue round by round until it is told to stop. Any number of them share a
 * queue.
 *
 * It keeps nothing in memory that matters: it may be killed at any moment, and another one goes on.
 * When a round fails because of its data, the next ones take half as many entries, down to a single
 * one, which goes to the dead letters if it is the one; then they grow again.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '@braiddb/sdk';

import type { Drained } from './queue.js';
import { bury, drain, isPoison } from './queue.js';
import { isTemporary } from './service.js';

/** Settings of a worker. */
export interface WorkerOptions {
  /** Entries of one round. Default 500. */
  readonly batchRowsMax?: number;
  /** Milliseconds to wait when the queue is empty. Default 50. */
  readonly idleMs?: number;
  /** Ends the worker. A round that is running is cancelled and leaves no trace. */
  readonly signal: AbortSignal;
  /** Told after each round that moved something. */
  readonly onDrained?: (drained: Drained) => void;
  /** Told about each failure that the worker lives with. */
  readonly onTrouble?: (error: unknown) => void;
}

const TROUBLE_PAUSE_MS = 500;

/** Works until the signal aborts; rejects on an error that waiting does not cure. */
export async function runWorker(db: Database, options: WorkerOptions): Promise<void> {
  const { batchRowsMax = 500, idleMs = 50, signal, onDrained, onTrouble } = options;
  const stopped = (): boolean => signal.aborted;
  let rowsMax = batchRowsMax;
  while (!stopped()) {
    let pauseMs = 0;
    try {
      const drained = await (rowsMax === 1 ? bury(db, { signal }) : drain(db, rowsMax, { signal }));
      rowsMax = Math.min(rowsMax * 2, batchRowsMax);
      if (drained.taken === 0) pauseMs = idleMs;
      else onDrained?.(drained);
    } catch (error) {
      if (stopped()) return;
      if (isPoison(error) && rowsMax > 1) rowsMax = Math.floor(rowsMax / 2);
      else if (isTemporary(error)) pauseMs = TROUBLE_PAUSE_MS;
      else throw error;
      onTrouble?.(error);
    }
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
