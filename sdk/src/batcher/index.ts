/**
 * `db.batcher`: the public face of the batcher, its stream forms, and how it uses a database.
 */

import { Writable } from 'node:stream';

import type { OnPlace } from '../diagnostics.js';
import type { QueryOptions } from '../options/index.js';
import type { Scheduler } from '../scheduler.js';
import { ignore } from '../abort.js';
import { sql } from '../sql/template.js';
import type { Sql } from '../sql/template.js';
import type { Queryable } from '../query/queryable.js';
import type { BatcherStats } from './batcher.js';
import { BatcherCore } from './batcher.js';
import { BatchRowError, UsageError } from '../errors.js';
import type { BatcherOptions, BatcherSettings } from '../options/batcher.js';
import { readBatcherOptions } from '../options/batcher.js';
import { checkNames, functionOption, nameOption } from '../options/checks.js';

export type { BatcherStats } from './batcher.js';
export type { AdaptEvent, BatcherOptions, BatchEvent, BatchMode } from '../options/batcher.js';

/** What became of the rows of `addAll`. */
export interface AddedRows<Row extends object> {
  readonly stored: number;
  /** The rows that were refused, with the reason. */
  readonly rejected: readonly BatchRowError<Row>[];
}

/** Joins rows into multi-row statements. Made by `db.batcher`. */
export interface Batcher<Row extends object> extends AsyncDisposable {
  /** Numbers about what it is doing. */
  readonly stats: BatcherStats;

  /**
   * Resolves when the row is durable; rejects with a {@link BatchRowError} if the server refuses it
   * (the rows beside it are stored all the same). Columns whose value is undefined take their
   * default. Waits for room when too many rows wait: await it, or {@link Batcher.ready}, before you
   * make more. A signal gives up only the wait for room; a row that was taken is stored.
   */
  add(row: Row, options?: QueryOptions): Promise<void>;

  /** Resolves when there is room: for producers that do not await each `add`. */
  ready(options?: QueryOptions): Promise<void>;

  /**
   * Adds every row that comes, as fast as there is room. Resolves when all are settled: refused
   * rows are in the result. Rejects with the first error that is not about a row.
   */
  addAll(rows: Iterable<Row> | AsyncIterable<Row>, options?: QueryOptions): Promise<AddedRows<Row>>;

  /**
   * A Node stream in object mode, for `pipeline`. It finishes when everything written is durable; a
   * refused row destroys it, unless `onRejected` takes it.
   */
  writable(options?: {
    readonly onRejected?: ((error: BatchRowError<Row>) => void) | undefined;
  }): Writable;

  /** Sends what waits without delay; resolves when every row added so far is settled. */
  flush(): Promise<void>;

  /** Takes no more rows; resolves when all are settled. */
  close(): Promise<void>;
}

/** How a batcher reaches its database. */
export interface BatcherHost {
  readonly db: Queryable;
  /** Runs one statement in a transaction whose outcome is always found out, if it can be. */
  readonly once: (statement: Sql, deadlineMs: number, onPlace?: OnPlace) => Promise<void>;
  /** Runs one statement by itself. */
  readonly alone: (statement: Sql, onPlace?: OnPlace) => Promise<void>;
  readonly scheduler: Scheduler;
  /** Called when the batcher was closed. */
  readonly onClosed: () => void;
}

/** Makes a batcher. */
export function makeBatcher<Row extends object>(
  host: BatcherHost,
  table: string | readonly [string, ...string[]],
  options: BatcherOptions,
): Batcher<Row> {
  const parts = nameOption('table', table);
  const name = sql.identifier(...parts).compile().text;
  const settings = readBatcherOptions(options);
  const core = new BatcherCore(
    {
      describe: async () => {
        const { describeTable } = await import('./describe-table.js');
        return describeTable(host.db, parts, settings);
      },
      // Another client may have deleted what an insert has stored: sent again, it would come back.
      send:
        settings.mode === 'insert'
          ? host.once
          : (statement, _deadlineMs, onPlace) => host.alone(statement, onPlace),
      scheduler: host.scheduler,
      name,
    },
    settings,
  );
  return Object.freeze(faceOf<Row>(core, settings, host.onClosed));
}

function faceOf<Row extends object>(
  core: BatcherCore,
  settings: BatcherSettings,
  onClosed: () => void,
): Batcher<Row> {
  const close = async (): Promise<void> => {
    await core.close();
    onClosed();
  };
  return {
    get stats() {
      return core.stats;
    },
    add: (row, options) => core.add(row, options),
    ready: (options) => core.ready(options),
    addAll: (rows, options) => addAll(core, rows, options),
    writable: (options = {}) => {
      checkNames('writable', options, ['onRejected']);
      return makeWritable(core, settings, functionOption('onRejected', options.onRejected));
    },
    flush: () => core.flush(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Counts adds that nobody awaits one by one. */
class Adds<Row extends object> {
  stored = 0;
  failure: { readonly error: unknown } | undefined;
  readonly #core: BatcherCore;
  readonly #onRejected: (error: BatchRowError<Row>) => void;
  #open = 0;
  #over: (() => void) | undefined;

  constructor(core: BatcherCore, onRejected: (error: BatchRowError<Row>) => void) {
    this.#core = core;
    this.#onRejected = onRejected;
  }

  add(row: Row, options?: QueryOptions): void {
    this.#open += 1;
    const settle = (error?: unknown): void => {
      if (error === undefined) this.stored += 1;
      else if (error instanceof BatchRowError) this.#onRejected(error as BatchRowError<Row>);
      else this.failure ??= { error };
      this.#open -= 1;
      if (this.#open === 0) this.#over?.();
    };
    this.#core.add(row, options).then(() => {
      settle();
    }, settle);
  }

  /** Resolves when all are settled; rejects with the first failure that is not about a row. */
  async settled(): Promise<void> {
    if (this.#open > 0) {
      const over = new Promise<void>((resolve) => (this.#over = resolve));
      await this.#core.flush();
      await over;
    }
    if (this.failure !== undefined) throw this.failure.error;
  }
}

async function addAll<Row extends object>(
  core: BatcherCore,
  rows: Iterable<Row> | AsyncIterable<Row>,
  options: QueryOptions | undefined,
): Promise<AddedRows<Row>> {
  const source = rows as Partial<Iterable<Row> & AsyncIterable<Row>> | string | null | undefined;
  const isText = typeof source === 'string';
  if (isText || (source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator]) === undefined) {
    throw new UsageError('addAll takes rows one after the other: an array, a generator, a stream');
  }
  const rejected: BatchRowError<Row>[] = [];
  const adds = new Adds<Row>(core, (error) => rejected.push(error));
  try {
    for await (const row of rows) {
      await core.ready(options);
      options?.signal?.throwIfAborted();
      if (adds.failure !== undefined) break;
      adds.add(row, options);
    }
  } catch (error) {
    // Rows that were taken are stored all the same; the first error is the one that is thrown.
    await adds.settled().catch(ignore);
    throw error;
  }
  await adds.settled();
  return { stored: adds.stored, rejected };
}

/** How many rows a stream holds before it asks its source to pause. */
const STREAM_ROWS = 1024;

function makeWritable<Row extends object>(
  core: BatcherCore,
  settings: BatcherSettings,
  onRejected: ((error: BatchRowError<Row>) => void) | undefined,
): Writable {
  const adds = new Adds<Row>(core, (error) => {
    if (onRejected === undefined) adds.failure ??= { error };
    else onRejected(error);
  });
  const done = (callback: (error?: Error | null) => void, work: Promise<void>): void => {
    work.then(
      () => {
        callback();
      },
      (error: unknown) => {
        callback(error instanceof Error ? error : new Error(String(error)));
      },
    );
  };
  return new Writable({
    objectMode: true,
    highWaterMark: Math.min(STREAM_ROWS, settings.waitingRowsMax),
    write(row: Row, _encoding, callback) {
      // The next row may come as soon as there is room; durability is waited for at the end.
      if (adds.failure === undefined) adds.add(row);
      done(callback, adds.failure === undefined ? core.ready() : adds.settled());
    },
    final(callback) {
      done(callback, adds.settled());
    },
  });
}
