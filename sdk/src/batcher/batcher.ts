/**
 * The batcher: rows from any number of callers, joined into multi-row statements.
 *
 * ```text
 *   add ─► (room?) ─► Queue: lanes by columns, one row a key ─► sendBatch ─► each add settles
 *                        ▲                                        │
 *               BatchTuner: rows of a batch, statements in flight ◄┘ how fast it was
 * ```
 *
 * The rules that must always hold:
 * - Every `add` settles. Resolved means durable. Rejected means not stored by this `add`, or that
 *   the outcome is unknown; then the error says so: see `isAmbiguous`.
 * - A row is sent again only where it cannot be stored twice.
 * - Rows of one key take effect in the order of `add`.
 * - A statement leaves as soon as one may be in flight; rows wait only for that, or for `delayMs`.
 */

import { channel } from 'node:diagnostics_channel';

import { untilAborted, onAbort, ignore } from '../abort.js';
import type { BatchTrace, OnPlace, Place } from '../diagnostics.js';
import { batchTraces, NO_PLACE, traced } from '../diagnostics.js';
import { BatchTableError, UsageError } from '../errors.js';
import type { Scheduler } from '../scheduler.js';
import type { Parameter } from '../sql/parameters.js';
import type { Sql } from '../sql/template.js';
import { BatchTuner } from './tuner.js';
import { ColumnSet } from './column-set.js';
import type { BatcherSettings } from '../options/batcher.js';
import { checkRow } from '../options/checks.js';
import type { QueryOptions } from '../options/index.js';
import { readQueryOptions } from '../options/index.js';
import type { PendingRow, QueuedRow } from './queue.js';
import { Queue } from './queue.js';
import type * as Sending from './send.js';
import type { StatementTemplate, Table } from './table.js';
import { columnsOf, rowBytes, sameTable } from './table.js';

/** Numbers about a batcher, for progress lines and metrics. */
export interface BatcherStats {
  /** Rows that wait to be sent, those that `add` holds back included. */
  readonly waiting: number;
  /** Rows that were sent and not answered yet. */
  readonly sent: number;
  /** Rows stored since the start. */
  readonly stored: number;
  /** Rows refused since the start. */
  readonly rejected: number;
  /** Statements sent since the start. */
  readonly statements: number;
  /** Rows of a full batch at the moment. */
  readonly batchRows: number;
  /** Statements that may be in flight at the moment. */
  readonly inFlight: number;
}

/** What the batcher needs of a database. */
export interface BatchTarget {
  readonly describe: () => Promise<Table>;
  readonly send: (statement: Sql, deadlineMs: number, onPlace?: OnPlace) => Promise<void>;
  readonly scheduler: Scheduler;
  /** The table's name, for events. */
  readonly name: string;
}

/** The rows between two flushes: a flush waits for those before it only. */
class FlushEpoch {
  open = 0;
  #sealed = false;
  #resolve: () => void = ignore;
  readonly over = new Promise<void>((resolve) => (this.#resolve = resolve));

  seal(): void {
    this.#sealed = true;
    this.left();
  }

  left(): void {
    if (this.#sealed && this.open === 0) this.#resolve();
  }
}

/** Rows that wait for room, as multiples of `waitingRowsMax`: more of them would only fill the memory. */
const HELD_TIMES = 20;

/** Orders of properties that are remembered; a program may build rows in very many orders. */
const ORDERS_MAX = 10_000;

const batches = channel('braiddb:batch');
const adapts = channel('braiddb:adapt');

/** The implementation of `db.batcher`. */
export class BatcherCore {
  readonly #target: BatchTarget;
  readonly #settings: BatcherSettings;
  readonly #queue: Queue;
  readonly #tuner: BatchTuner;
  /** By the columns in the order of the table. */
  readonly #columnSets = new Map<string, ColumnSet>();
  /** By the properties in the order of a row. */
  readonly #orders = new Map<string, ColumnSet>();
  #table: Table | undefined;
  /** How batches are sent; loaded with the first description of the table. */
  #sending: typeof Sending | undefined;
  /** A row does not fit the table as it was described: rows wait until that has been done again. */
  #stale = false;
  #describing = false;
  /** Rows that wait for room, or for the table's description. */
  #held: PendingRow[] = [];
  #readers: (() => void)[] = [];
  #epoch = new FlushEpoch();
  readonly #sealed = new Set<FlushEpoch>();
  #inFlight = 0;
  #sent = 0;
  #stored = 0;
  #rejected = 0;
  #statements = 0;
  #flushing = 0;
  #pumping = false;
  #timer: AbortController | undefined;
  #closed = false;

  constructor(target: BatchTarget, settings: BatcherSettings) {
    this.#target = target;
    this.#settings = settings;
    this.#queue = new Queue(settings.mode !== 'insert');
    this.#tuner = new BatchTuner(settings);
  }

  get stats(): BatcherStats {
    const { rows, inFlight } = this.#setting();
    return {
      waiting: this.#queue.rows + this.#held.length,
      sent: this.#sent,
      stored: this.#stored,
      rejected: this.#rejected,
      statements: this.#statements,
      batchRows: rows,
      inFlight,
    };
  }

  /** Resolves when the row is durable. */
  add(row: object, options?: QueryOptions): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const signal = signalOf(options);
      if (this.#closed) throw new UsageError('the batcher is closed');
      checkRow(row);
      signal?.throwIfAborted();
      const pending = this.#pendingRow(row, resolve, reject);
      if (this.#table === undefined || this.#full()) this.#hold(pending, signal);
      else if (!this.#enqueue(this.#table, pending)) this.#askAgain(pending);
    });
  }

  /** Resolves when there is room for another row. */
  async ready(options?: QueryOptions): Promise<void> {
    const signal = signalOf(options);
    while (this.#full()) {
      await untilAborted(new Promise<void>((resolve) => this.#readers.push(resolve)), signal);
    }
  }

  /** Sends what waits without delay; resolves when every row added so far is settled. */
  async flush(): Promise<void> {
    const epoch = this.#epoch;
    this.#epoch = new FlushEpoch();
    this.#sealed.add(epoch);
    this.#flushing += 1;
    epoch.seal();
    this.#pump();
    await Promise.all([...this.#sealed].map(({ over }) => over));
    this.#sealed.delete(epoch);
    this.#flushing -= 1;
  }

  /** Takes no more rows; resolves when all are settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    this.#timer?.abort();
  }

  /** The row with a promise that counts for the flush after it. */
  #pendingRow(row: object, resolve: () => void, reject: (error: unknown) => void): PendingRow {
    const epoch = this.#epoch;
    epoch.open += 1;
    const left = (): void => {
      epoch.open -= 1;
      epoch.left();
    };
    return {
      row,
      values: [],
      template: undefined,
      stopListening: ignore,
      isSecondTry: false,
      resolve: () => {
        this.#stored += 1;
        resolve();
        left();
      },
      reject: (error) => {
        this.#rejected += 1;
        reject(error);
        left();
      },
    };
  }

  #hold(pending: PendingRow, signal: AbortSignal | undefined): void {
    if (this.#held.length >= HELD_TIMES * this.#settings.waitingRowsMax) {
      pending.reject(new UsageError('too many rows wait for room: await add() or ready()'));
      return;
    }
    pending.stopListening = onAbort(signal, () => {
      this.#held = this.#held.filter((other) => other !== pending);
      pending.reject(signal?.reason);
    });
    this.#held.push(pending);
    if (this.#table === undefined || this.#stale) void this.#describe();
  }

  /** Asks for the table's columns. If that fails, so do the rows that wait; the next asks again. */
  async #describe(): Promise<void> {
    if (this.#describing) return;
    this.#describing = true;
    try {
      const { scheduler, describe } = this.#target;
      const { attemptsMax, deadlineMs } = this.#settings;
      const patience = { canRepeat: true, scheduler, attemptsMax, deadlineMs };
      this.#sending ??= await import('./send.js');
      this.#adopt(await this.#sending.retryTransient(patience, scheduler.now(), describe));
    } catch (error) {
      for (const pending of this.#held.splice(0)) {
        pending.stopListening();
        pending.reject(error);
      }
    }
    this.#describing = false;
    this.#stale = false;
    this.#admit();
  }

  /** Takes over a description; true if it differs from the one before. */
  #adopt(table: Table): boolean {
    if (this.#table !== undefined && sameTable(this.#table, table)) return false;
    this.#table = table;
    this.#orders.clear();
    for (const columnSet of this.#columnSets.values()) columnSet.adopt(table);
    return true;
  }

  /** Lets a row that does not fit the table wait, in front of all others, for a new description. */
  #askAgain(pending: PendingRow): void {
    pending.isSecondTry = true;
    this.#held.unshift(pending);
    this.#stale = true;
    void this.#describe();
  }

  #full(): boolean {
    return this.#stale || this.#held.length > 0 || !this.#hasRoom();
  }

  #hasRoom(): boolean {
    const { waitingRowsMax, waitingBytesMax } = this.#settings;
    return this.#queue.rows < waitingRowsMax && this.#queue.bytes < waitingBytesMax;
  }

  /** Lets in as many rows as there is room for, in their order. */
  #admit(): void {
    if (this.#stale) return;
    const table = this.#table;
    let count = 0;
    let misfit: PendingRow | undefined;
    while (table !== undefined && misfit === undefined && this.#hasRoom()) {
      const pending = this.#held[count];
      if (pending === undefined) break;
      count += 1;
      pending.stopListening();
      if (!this.#enqueue(table, pending)) misfit = pending;
    }
    this.#held.splice(0, count);
    if (misfit !== undefined) this.#askAgain(misfit);
    if (!this.#full()) for (const wake of this.#readers.splice(0)) wake();
  }

  /** Puts a row into the queue; false if it may fit the table as it is now. */
  #enqueue(table: Table, pending: PendingRow): boolean {
    const { row, isSecondTry } = pending;
    try {
      const columnSet = this.#columnSetOf(table, row);
      const { template } = columnSet;
      const values = template.values(row as Record<string, unknown>);
      const bytes = rowBytes(template.columns, values);
      const key = template.keyPlaces?.map((at) => keyText(values[at])).join('\u0000');
      const size = { bytes, nowMs: this.#target.scheduler.now() };
      pending.values = values;
      pending.template = template;
      this.#queue.add(columnSet, key, pending, size);
      this.#pumpSoon();
    } catch (error) {
      if (error instanceof BatchTableError && !isSecondTry) return false;
      pending.reject(error);
    }
    return true;
  }

  #columnSetOf(table: Table, row: object): ColumnSet {
    let names = Object.entries(row).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    if (this.#settings.mode === 'delete') names = names.filter((name) => table.key.includes(name));
    const order = names.join('\u0000');
    const known = this.#orders.get(order);
    if (known !== undefined) return known;
    const columns = columnsOf(table, names);
    const id = columns.join('\u0000');
    const columnSet = this.#columnSets.get(id) ?? new ColumnSet(table, columns);
    this.#columnSets.set(id, columnSet);
    if (this.#orders.size >= ORDERS_MAX) this.#orders.clear();
    this.#orders.set(order, columnSet);
    return columnSet;
  }

  /** Describes the table again after a statement has failed; true if the column set has changed since. */
  async #describeAgain(columnSet: ColumnSet, failed: StatementTemplate): Promise<boolean> {
    if (columnSet.template === failed) this.#adopt(await this.#target.describe());
    return columnSet.template !== failed;
  }

  /** At the end of this turn of the event loop, so that rows of one turn go together. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #setting(): { rows: number; inFlight: number } {
    const { adaptive, rowsMax, inFlightMax } = this.#settings;
    return adaptive ? this.#tuner.setting : { rows: rowsMax, inFlight: inFlightMax };
  }

  #pump(): void {
    for (;;) {
      const { rows, inFlight } = this.#setting();
      if (this.#queue.ready === 0 || this.#inFlight >= inFlight) return;
      const limits = { rows, bytes: this.#settings.bytesMax };
      if (!this.#due(limits)) return;
      const batch = this.#queue.take(limits);
      void this.#dispatch(batch, batch.length >= rows);
      this.#admit();
    }
  }

  /** True if a batch should leave now; else a timer is set. */
  #due(limits: { rows: number; bytes: number }): boolean {
    const { delayMs } = this.#settings;
    if (delayMs === 0 || this.#flushing > 0 || this.#queue.fillsBatch(limits)) return true;
    const { scheduler } = this.#target;
    const leftMs = (this.#queue.oldestMs() ?? 0) + delayMs - scheduler.now();
    if (leftMs <= 0) return true;
    if (this.#timer === undefined) {
      const timer = new AbortController();
      this.#timer = timer;
      scheduler.sleep(leftMs, timer.signal).then(() => {
        this.#timer = undefined;
        this.#pump();
      }, ignore);
    }
    return false;
  }

  async #dispatch(batch: readonly QueuedRow[], full: boolean): Promise<void> {
    const { scheduler, send, name } = this.#target;
    const { attemptsMax, deadlineMs, mode, onBatch } = this.#settings;
    const rows = batch.reduce((sum, entry) => sum + entry.versions.length, 0);
    const startMs = scheduler.now();
    this.#inFlight += 1;
    this.#sent += rows;
    const describeAgain = (columnSet: ColumnSet, failed: StatementTemplate): Promise<boolean> =>
      this.#describeAgain(columnSet, failed);
    const makeTrace = (): BatchTrace => ({
      ...{ table: name, mode, rows, ...NO_PLACE },
      ...{ statements: undefined, rejected: undefined },
    });
    const sending = this.#sending;
    if (sending === undefined) throw new Error('a batch of a table that is not known');
    const { statements, rejected } = await traced(batchTraces, makeTrace, async (trace) => {
      const onPlace = trace && ((place: Place): void => void Object.assign(trace, place));
      const sender: Sending.Sender = {
        ...{ describeAgain, scheduler, attemptsMax, deadlineMs },
        send: (statement, ms) => send(statement, ms, onPlace),
      };
      const outcome = await sending.sendBatch(sender, batch, (entry) => {
        this.#queue.settled(entry);
      });
      const { statements, rejected } = outcome;
      if (trace !== undefined) Object.assign(trace, { statements, rejected });
      return outcome;
    });
    this.#inFlight -= 1;
    this.#sent -= rows;
    this.#statements += statements;
    const nowMs = scheduler.now();
    this.#learn(rows, full && statements === 1, nowMs);
    this.#pump();
    if (onBatch === undefined && !batches.hasSubscribers) return;
    const bytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
    const durationMs = nowMs - startMs;
    const event = { table: name, mode, rows, bytes, durationMs, statements, rejected };
    batches.publish(event);
    callBack(onBatch, event);
  }

  #learn(rows: number, full: boolean, nowMs: number): void {
    if (!this.#settings.adaptive) return;
    if (!full && this.#queue.ready === 0) {
      this.#tuner.idle();
      return;
    }
    const change = this.#tuner.record(rows, nowMs);
    if (change === undefined) return;
    const event = { table: this.#target.name, ...change };
    adapts.publish(event);
    callBack(this.#settings.onAdapt, event);
  }
}

function signalOf(options: QueryOptions | undefined): AbortSignal | undefined {
  return options === undefined ? undefined : readQueryOptions(options).signal;
}

/** What a callback throws is an uncaught exception: it must not end the batcher's own work. */
function callBack<Event>(callback: ((event: Event) => void) | undefined, event: Event): void {
  try {
    callback?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** The same text for the same key. Types are those of one column, so the text is enough. */
function keyText(value: Parameter | undefined): string {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
