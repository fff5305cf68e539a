/**
 * Sends one batch and finds out what became of each row.
 *
 * ```text
 *   batch ─► stored ──────────────────────────────► every row resolves
 *        ├─► a row is bad (22…, 23…, …) ─► halves ─► … ─► the bad row alone rejects
 *        ├─► the table has changed ─► described again, again
 *        ├─► transient: nothing took effect ─► pause, again
 *        ├─► outcome unknown ─► again if nothing can be stored twice, else all reject
 *        └─► anything else ─► all reject
 * ```
 *
 * An insert is a transaction whose outcome the SDK looks up by its commit token where the server has
 * tokens. Where the outcome stays unknown, a statement is sent again only if its rows are found by
 * their key. These are upserts, deletes, and inserts of rows with their primary key and ON CONFLICT
 * DO NOTHING. Other rows reject with that error.
 */

import { backoffMs } from '../transaction/retry.js';
import { BatchRowError, isAmbiguous, isTransient, ValueError } from '../errors.js';
import type { Scheduler } from '../scheduler.js';
import type { Sql } from '../sql/template.js';
import { isAboutRows, isAboutSchema, isAboutTypes } from './row-errors.js';
import type { ColumnSet } from './column-set.js';
import type { QueuedRow } from './queue.js';
import { valuesOf } from './queue.js';
import type { StatementTemplate } from './table.js';

/** How statements leave. */
export interface Sender {
  /** Runs one statement that takes effect as a whole or not at all. */
  readonly send: (statement: Sql, deadlineMs: number) => Promise<void>;
  /** Describes the table again; true if the column set's template is no longer the one that failed. */
  readonly describeAgain: (columnSet: ColumnSet, failed: StatementTemplate) => Promise<boolean>;
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
  entries: readonly QueuedRow[],
  onSettled: (entry: QueuedRow) => void,
): Promise<BatchOutcome> {
  const batch = new Batch(sender, onSettled);
  await batch.store(entries);
  return batch;
}

class Batch implements BatchOutcome {
  statements = 0;
  rejected = 0;
  readonly #sender: Sender;
  readonly #onSettled: (entry: QueuedRow) => void;
  readonly #startMs: number;

  constructor(sender: Sender, onSettled: (entry: QueuedRow) => void) {
    this.#sender = sender;
    this.#onSettled = onSettled;
    this.#startMs = sender.scheduler.now();
  }

  async store(entries: readonly QueuedRow[]): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    let template: StatementTemplate | undefined;
    try {
      const fitting = first.columnSet.template;
      template = fitting;
      const rows = entries.map((entry) => valuesOf(entry, fitting));
      await this.#send(template.statement(rows), template.canRepeat(rows));
    } catch (error) {
      const mayFit = isAboutSchema(error) || (entries.length === 1 && isAboutTypes(error));
      if (mayFit && template !== undefined && (await this.#fitsAgain(first.columnSet, template))) {
        await this.store(entries);
        return;
      }
      const isAboutSome = isAboutRows(error) || error instanceof ValueError;
      if (!isAboutSome) this.#rejectAll(entries, error);
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
  async #rejectNewest(entry: QueuedRow, error: unknown): Promise<void> {
    const bad = entry.versions.pop();
    if (bad !== undefined) {
      this.rejected += 1;
      bad.reject(isAboutRows(error) ? new BatchRowError(bad.row, error) : error);
    }
    if (entry.versions.length > 0) await this.store([entry]);
    else this.#onSettled(entry);
  }

  #rejectAll(entries: readonly QueuedRow[], error: unknown): void {
    for (const entry of entries) {
      for (const version of entry.versions) {
        this.rejected += 1;
        version.reject(error);
      }
      this.#onSettled(entry);
    }
  }

  #send(statement: Sql, canRepeat: boolean): Promise<void> {
    const { scheduler, deadlineMs } = this.#sender;
    return retryTransient({ ...this.#sender, canRepeat }, this.#startMs, () => {
      this.statements += 1;
      const leftMs = this.#startMs + deadlineMs - scheduler.now();
      return this.#sender.send(statement, Math.max(1, leftMs));
    });
  }

  /** True if the table has changed since; a table that cannot be described has not. */
  #fitsAgain(columnSet: ColumnSet, failed: StatementTemplate): Promise<boolean> {
    return this.#sender.describeAgain(columnSet, failed).catch(() => false);
  }
}

/** What decides about another attempt. */
export interface RetryLimits extends Pick<Sender, 'scheduler' | 'attemptsMax' | 'deadlineMs'> {
  /** True if work that may have taken effect can be done again. */
  readonly canRepeat: boolean;
}

/** Runs work again after transient errors, as often as its limits allow. */
export async function retryTransient<T>(
  { canRepeat, scheduler, attemptsMax, deadlineMs }: RetryLimits,
  startMs: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const again = isTransient(error) || (canRepeat && isAmbiguous(error));
      if (!again || attempt >= attemptsMax) throw error;
      const delayMs = backoffMs(BACKOFF, attempt, scheduler.random);
      if (scheduler.now() + delayMs - startMs >= deadlineMs) throw error;
      await scheduler.sleep(delayMs);
    }
  }
}
