/**
 * Rows that wait, in lanes: one lane for each column set, because only rows that set the same columns
 * can share a statement.
 *
 * ```text
 *   add ─► key free ──────────► lane of its columns ──► batch ─► settled ─► next of its key, if any
 *      └─► key waiting or sent ─► blocked by the row before it
 * ```
 *
 * Of each key at most one entry is in a lane or on its way. So rows of one key take effect in the
 * order of `add`, whatever else is in flight, and no statement meets a key twice. Where the later
 * row replaces the earlier one anyway (upsert with the same columns, delete) it joins the entry
 * that still waits: one write serves all.
 */

import type { Parameter } from '../sql/parameters.js';
import type { ColumnSet } from './column-set.js';
import type { StatementTemplate } from './table.js';

/** One `add`: a row, and the promise that settles with it. */
export interface PendingRow {
  readonly row: object;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** The values as they are sent, encoded for this template; not yet known while there is none. */
  values: readonly Parameter[];
  template: StatementTemplate | undefined;
  /** Stops listening to the signal of `add`, which gives up only the wait for room. */
  stopListening: () => void;
  /** The table was described again because this row did not fit. */
  isSecondTry: boolean;
}

/** A row in the queue or on its way, with the rows that it replaces, oldest first. */
export interface QueuedRow {
  readonly columnSet: ColumnSet;
  readonly key: string | undefined;
  readonly versions: PendingRow[];
  bytes: number;
  addedMs: number;
  state: 'blocked' | 'waiting' | 'sent' | 'settled';
}

/** The values that are to be stored, for a statement of this template: the newest version's. */
export function valuesOf(entry: QueuedRow, template: StatementTemplate): readonly Parameter[] {
  const newest = entry.versions.at(-1);
  if (newest === undefined) throw new Error('an entry without a version');
  if (newest.template === template) return newest.values;
  return template.values(newest.row as Record<string, unknown>);
}

/** The waiting rows of one column set, oldest first. */
interface Lane {
  readonly columnSet: ColumnSet;
  readonly entries: QueuedRow[];
  /** Where the first entry is; those before it have been taken. */
  head: number;
}

/** Limits of one batch. */
export interface BatchLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Taken entries are cut off when there are this many. */
const TAKEN_MAX = 4096;

/** All rows that wait. */
export class Queue {
  readonly #joins: boolean;
  readonly #lanes = new Map<ColumnSet, Lane>();
  /** The newest entry of each key that is not settled, and the rows that wait for others. */
  readonly #newest = new Map<string, QueuedRow>();
  readonly #blocked = new Map<QueuedRow, QueuedRow>();
  #rows = 0;
  #bytes = 0;
  #ready = 0;

  /** `joins`: a later row of the same key and column set replaces an earlier one that waits. */
  constructor(joins: boolean) {
    this.#joins = joins;
  }

  /** Rows that wait, those blocked by others included. */
  get rows(): number {
    return this.#rows;
  }

  /** Their bytes, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows that could be sent now. */
  get ready(): number {
    return this.#ready;
  }

  add(
    columnSet: ColumnSet,
    key: string | undefined,
    pending: PendingRow,
    size: { bytes: number; nowMs: number },
  ): void {
    const before = key === undefined ? undefined : this.#newest.get(key);
    this.#rows += 1;
    this.#bytes += size.bytes;
    const waits = before?.state === 'waiting' || before?.state === 'blocked';
    if (before !== undefined && waits && this.#joins && before.columnSet === columnSet) {
      before.versions.push(pending);
      before.bytes += size.bytes;
      return;
    }
    const entry: QueuedRow = {
      columnSet,
      key,
      versions: [pending],
      bytes: size.bytes,
      addedMs: size.nowMs,
      state: before === undefined ? 'waiting' : 'blocked',
    };
    if (key !== undefined) this.#newest.set(key, entry);
    if (before === undefined) this.#enter(entry);
    else this.#blocked.set(before, entry);
  }

  /** When the row that waits longest (and could be sent) was added. */
  oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const lane of this.#lanes.values()) {
      const first = lane.entries[lane.head];
      if (first !== undefined && (oldest === undefined || first.addedMs < oldest)) {
        oldest = first.addedMs;
      }
    }
    return oldest;
  }

  /** True if a lane could fill a batch. */
  fillsBatch(limits: BatchLimits): boolean {
    if (this.#bytes >= limits.bytes && this.#ready > 0) return true;
    for (const { columnSet, entries, head } of this.#lanes.values()) {
      if (entries.length - head >= Math.min(limits.rows, columnSet.rowsMax)) return true;
    }
    return false;
  }

  /** Takes the next batch, from the lane whose first row waits longest. */
  take(limits: BatchLimits): QueuedRow[] {
    let lane: Lane | undefined;
    for (const other of this.#lanes.values()) {
      const at = other.entries[other.head]?.addedMs ?? Infinity;
      if (at < (lane?.entries[lane.head]?.addedMs ?? Infinity)) lane = other;
    }
    const batch: QueuedRow[] = [];
    if (lane === undefined) return batch;
    const rowsMax = Math.min(limits.rows, lane.columnSet.rowsMax);
    let bytes = 0;
    while (batch.length < rowsMax) {
      const entry = lane.entries[lane.head];
      if (entry === undefined || (batch.length > 0 && bytes + entry.bytes > limits.bytes)) break;
      lane.head += 1;
      bytes += entry.bytes;
      entry.state = 'sent';
      batch.push(entry);
      this.#rows -= entry.versions.length;
    }
    this.#bytes -= bytes;
    this.#ready -= batch.length;
    if (lane.head === lane.entries.length) this.#lanes.delete(lane.columnSet);
    else if (lane.head > TAKEN_MAX) {
      lane.entries.splice(0, lane.head);
      lane.head = 0;
    }
    return batch;
  }

  /** The entry is stored or refused: the next of its key may go. */
  settled(entry: QueuedRow): void {
    entry.state = 'settled';
    const next = this.#blocked.get(entry);
    this.#blocked.delete(entry);
    if (next !== undefined) {
      next.state = 'waiting';
      this.#enter(next);
    } else if (entry.key !== undefined && this.#newest.get(entry.key) === entry) {
      this.#newest.delete(entry.key);
    }
  }

  #enter(entry: QueuedRow): void {
    const lane = this.#lanes.get(entry.columnSet);
    if (lane === undefined) {
      this.#lanes.set(entry.columnSet, { columnSet: entry.columnSet, entries: [entry], head: 0 });
    } else lane.entries.push(entry);
    this.#ready += 1;
  }
}
