/**
 * Sends one batch and finds out what became of each row.
 *
 * ```text
 *   batch ─► stored ──────────────────────────────► every row resolves
 *        ├─► a row is bad (22…, 23…, …) ─► halves ─► … ─► the bad row alone rejects
 *        ├─► retry error, connection lost before anything could take effect ─► pause, again
 *        ├─► connection lost, outcome unknown ─► again if that does no harm, else all reject
 *        └─► anything else ─► all reject
 * ```
 *
 * Sending again does no harm for upserts, deletes and inserts with ON CONFLICT DO NOTHING. A plain
 * insert is a transaction whose outcome the SDK looks up by its commit token where the server has
 * tokens; where it has none, rows whose outcome is unknown reject with that error.
 */

import { backoffMs } from '../retry.js';
import { BatchRowError, ConnectionError, isAmbiguous, isRetryable } from '../errors.js';
import type { Scheduler } from '../scheduler.js';
import type { Sql } from '../sql.js';
import { isAboutRows } from './errors.js';
import type { Entry } from './queue.js';
import { valuesOf } from './queue.js';

/** How statements leave. */
export interface Sender {
  /** Runs one statement that takes effect as a whole or not at all. */
  readonly send: (statement: Sql) => Promise<void>;
  /** True if a statement that may have taken effect can be sent again. */
  readonly harmless: boolean;
  readonly scheduler: Scheduler;
  readonly attemptsMax: number;
  readonly deadlineMs: number;
}

/** What became of a batch. */
export interface BatchOutcome {
  readonly statements: number;
  readonly rejected: number;
}

const BACKOFF = { backoffBaseMs: 5, backoffMaxMs: 500 };

/** Sends a batch; settles each of its rows. Never rejects. */
export async function sendBatch(
  sender: Sender,
  entries: readonly Entry[],
  onSettled: (entry: Entry) => void,
): Promise<BatchOutcome> {
  const batch = new Batch(sender, onSettled);
  await batch.store(entries);
  return batch;
}

class Batch implements BatchOutcome {
  statements = 0;
  rejected = 0;
  readonly #sender: Sender;
  readonly #onSettled: (entry: Entry) => void;
  readonly #startMs: number;

  constructor(sender: Sender, onSettled: (entry: Entry) => void) {
    this.#sender = sender;
    this.#onSettled = onSettled;
    this.#startMs = sender.scheduler.now();
  }

  async store(entries: readonly Entry[]): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    try {
      await this.#send(first.shape.statement(entries.map(valuesOf)));
    } catch (error) {
      if (!isAboutRows(error)) this.#rejectAll(entries, error);
      else if (entries.length === 1) await this.#rejectNewest(first, error);
      else {
        // One after the other: rows of a batch take effect in their order.
        const middle = entries.length >> 1;
        await this.store(entries.slice(0, middle));
        await this.store(entries.slice(middle));
      }
      return;
    }
    for (const entry of entries) {
      for (const version of entry.versions) version.resolve();
      this.#onSettled(entry);
    }
  }

  /** Only the newest version was sent; those that it was to replace are still good. */
  async #rejectNewest(entry: Entry, error: unknown): Promise<void> {
    const bad = entry.versions.pop();
    if (bad !== undefined) {
      this.rejected += 1;
      bad.reject(isAboutRows(error) ? new BatchRowError(bad.row, error) : error);
    }
    if (entry.versions.length > 0) await this.store([entry]);
    else this.#onSettled(entry);
  }

  #rejectAll(entries: readonly Entry[], error: unknown): void {
    for (const entry of entries) {
      for (const version of entry.versions) {
        this.rejected += 1;
        version.reject(error);
      }
      this.#onSettled(entry);
    }
  }

  #send(statement: Sql): Promise<void> {
    return persisting(this.#sender, this.#startMs, () => {
      this.statements += 1;
      return this.#sender.send(statement);
    });
  }
}

/** What decides about another attempt. */
export type Persistence = Pick<Sender, 'harmless' | 'scheduler' | 'attemptsMax' | 'deadlineMs'>;

/** Runs work again after retry errors and lost connections, as often as its limits allow. */
export async function persisting<T>(
  { harmless, scheduler, attemptsMax, deadlineMs }: Persistence,
  startMs: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const again =
        isRetryable(error) || (isAmbiguous(error) ? harmless : error instanceof ConnectionError);
      if (!again || attempt >= attemptsMax) throw error;
      const delayMs = backoffMs(BACKOFF, attempt, scheduler.random);
      if (scheduler.now() + delayMs - startMs >= deadlineMs) throw error;
      await scheduler.sleep(delayMs);
    }
  }
}
