/**
 * Rows that wait, in lanes: one lane for each form, because only rows that set the same columns can
 * share a statement.
 *
 * ```text
 *   add ─► key free ──────────► lane of its form ──► batch ─► settled ─► next of its key, if any
 *      └─► key waiting or sent ─► behind the row before it
 * ```
 *
 * Of each key at most one entry is in a lane or on its way. So rows of one key take effect in the
 * order of `add`, whatever else is in flight, and no statement meets a key twice. Where the later
 * row replaces the earlier one anyway (upsert with the same columns, delete) it joins the entry
 * that still waits: one write serves all.
 */

import type { Parameter } from '../sql.js';
import type { Form } from './form.js';
import type { Shape } from './table.js';

/** One `add`. */
export interface Waiter {
  readonly row: object;
  /** The values as they are sent, made for this shape. */
  readonly values: readonly Parameter[];
  readonly shape: Shape;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A row that waits or is on its way; with what it replaces, oldest first. */
export interface Entry {
  readonly form: Form;
  readonly key: string | undefined;
  readonly versions: Waiter[];
  bytes: number;
  addedMs: number;
  state: 'behind' | 'waiting' | 'sent' | 'settled';
}

/** The values that are to be stored, for a statement of this shape: the newest version's. */
export function valuesOf(entry: Entry, shape: Shape): readonly Parameter[] {
  const newest = entry.versions.at(-1);
  if (newest === undefined) throw new Error('an entry without a version');
  if (newest.shape === shape) return newest.values;
  return shape.values(newest.row as Record<string, unknown>);
}

/** The waiting rows of one form, oldest first. */
interface Lane {
  readonly form: Form;
  readonly entries: Entry[];
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
  readonly #lanes = new Map<Form, Lane>();
  /** The newest entry of each key that is not settled, and those behind others. */
  readonly #newest = new Map<string, Entry>();
  readonly #behind = new Map<Entry, Entry>();
  #rows = 0;
  #bytes = 0;
  #ready = 0;

  /** `joins`: a later row of the same key and form replaces an earlier one that waits. */
  constructor(joins: boolean) {
    this.#joins = joins;
  }

  /** Rows that wait, those behind others included. */
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
    form: Form,
    key: string | undefined,
    waiter: Waiter,
    size: { bytes: number; nowMs: number },
  ): void {
    const before = key === undefined ? undefined : this.#newest.get(key);
    this.#rows += 1;
    this.#bytes += size.bytes;
    const waits = before?.state === 'waiting' || before?.state === 'behind';
    if (before !== undefined && waits && this.#joins && before.form === form) {
      before.versions.push(waiter);
      before.bytes += size.bytes;
      return;
    }
    const entry: Entry = {
      form,
      key,
      versions: [waiter],
      bytes: size.bytes,
      addedMs: size.nowMs,
      state: before === undefined ? 'waiting' : 'behind',
    };
    if (key !== undefined) this.#newest.set(key, entry);
    if (before === undefined) this.#enter(entry);
    else this.#behind.set(before, entry);
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
    for (const { form, entries, head } of this.#lanes.values()) {
      if (entries.length - head >= Math.min(limits.rows, form.rowsMax)) return true;
    }
    return false;
  }

  /** Takes the next batch, from the lane whose first row waits longest. */
  take(limits: BatchLimits): Entry[] {
    let lane: Lane | undefined;
    for (const other of this.#lanes.values()) {
      const at = other.entries[other.head]?.addedMs ?? Infinity;
      if (at < (lane?.entries[lane.head]?.addedMs ?? Infinity)) lane = other;
    }
    const batch: Entry[] = [];
    if (lane === undefined) return batch;
    const rowsMax = Math.min(limits.rows, lane.form.rowsMax);
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
    if (lane.head === lane.entries.length) this.#lanes.delete(lane.form);
    else if (lane.head > TAKEN_MAX) {
      lane.entries.splice(0, lane.head);
      lane.head = 0;
    }
    return batch;
  }

  /** The entry is stored or refused: the next of its key may go. */
  settled(entry: Entry): void {
    entry.state = 'settled';
    const next = this.#behind.get(entry);
    this.#behind.delete(entry);
    if (next !== undefined) {
      next.state = 'waiting';
      this.#enter(next);
    } else if (entry.key !== undefined && this.#newest.get(entry.key) === entry) {
      this.#newest.delete(entry.key);
    }
  }

  #enter(entry: Entry): void {
    const lane = this.#lanes.get(entry.form);
    if (lane === undefined) {
      this.#lanes.set(entry.form, { form: entry.form, entries: [entry], head: 0 });
    } else lane.entries.push(entry);
    this.#ready += 1;
  }
}
