/**
 * The rows of one query, read in batches through a cursor.
 *
 * ```text
 *  first next() ─► BEGIN READ ONLY, DECLARE, FETCH ─► rows ─► FETCH ─► … ─► COMMIT, connection back
 *                                      │ break, error, abort, close
 *                                      └─► (cancel what is running) ─► ROLLBACK, connection back
 * ```
 *
 * A batch is asked for when the last one has been consumed, so a slow reader holds one batch only.
 * The rules that must always hold:
 * - The connection goes back exactly once, however the stream ends.
 * - An abort ends the stream also while nobody is reading it.
 */

import { ignore, onAbort } from '../abort.js';
import type { CallSite } from '../call-sites.js';
import { attachCallSite } from '../call-sites.js';
import type { DatabaseContext } from '../connection/context.js';
import { Connection } from '../connection/connection.js';
import { StatementRequest } from '../connection/request.js';
import { StatementQueue } from '../connection/statement-queue.js';
import { traceSetting } from '../connection/trace-context.js';
import type { QueryTrace } from '../diagnostics.js';
import { isTraced, queries, traceOf } from '../diagnostics.js';
import { settlesWithin } from '../scheduler.js';
import type { AnyRow, Sql } from '../sql/template.js';
import { sql } from '../sql/template.js';

/** Rows that arrive in batches: read with `for await`. */
export interface RowStream<Row extends object = AnyRow>
  extends AsyncIterableIterator<Row, undefined, undefined>, AsyncDisposable {
  /** The next row; reads a batch where none is left. */
  next(): Promise<IteratorResult<Row, undefined>>;
  /** Ends the stream and gives its connection back; a loop that is left calls this itself. */
  return(): Promise<IteratorResult<Row, undefined>>;
}

/** What a stream is made of. */
export interface StreamSource {
  readonly context: DatabaseContext;
  readonly statement: Sql;
  readonly batchRows: number;
  readonly callSite: CallSite;
  /** Aborts when the caller's signal does, or when the database handle is closed. */
  readonly signal: AbortSignal;
  /**
   * Called before the first row is read; throws if the database handle is closed. Returns what is
   * called once when the stream has given its connection back.
   */
  readonly onStart: () => () => void;
}

const CURSOR = 'braid_stream';
const DONE = Object.freeze({ done: true, value: undefined });

/** Makes a stream; nothing is sent before the first row is asked for. */
export function makeRowStream<Row extends object>(source: StreamSource): RowStream<Row> {
  const cursor = new Cursor(source);
  let turn: Promise<unknown> = Promise.resolve();
  // One after the other: callers may ask for several rows before the first has come.
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(ignore);
    return result;
  };
  const next = (): Promise<IteratorResult<Row, undefined>> =>
    inTurn(async () => {
      const value = await cursor.next();
      return value === undefined ? DONE : { done: false, value: value as Row };
    });
  const end = (): Promise<void> => inTurn(() => cursor.close());
  const stream: RowStream<Row> = {
    next,
    return: async () => {
      await end();
      return DONE;
    },
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: end,
  };
  return Object.freeze(stream);
}

class Cursor {
  readonly #source: StreamSource;
  #queue: StatementQueue | undefined;
  #rows: AnyRow[] = [];
  #place = 0;
  #isLast = false;
  #isReading = false;
  #isReleased = false;
  #ending: Promise<void> | undefined;
  #onEnd = ignore;
  #forget = ignore;
  /** What is published about the stream, where somebody listens. */
  #trace: QueryTrace | undefined;
  #endTrace: { resolve: () => void; reject: (error: unknown) => void } | undefined;
  /** Why the stream ended early. */
  #failure: { readonly error: unknown } | undefined;

  constructor(source: StreamSource) {
    this.#source = source;
  }

  /** The next row; undefined after the last. */
  async next(): Promise<AnyRow | undefined> {
    const { signal } = this.#source;
    if (signal.aborted) await this.close();
    signal.throwIfAborted();
    if (this.#ending !== undefined) return undefined;
    if (this.#place >= this.#rows.length && !this.#isLast) await this.#read();
    const row = this.#rows[this.#place++];
    if (row === undefined) await this.#end('COMMIT');
    return row;
  }

  close(): Promise<void> {
    return this.#end('ROLLBACK');
  }

  async #read(): Promise<void> {
    const { batchRows } = this.#source;
    this.#isReading = true;
    try {
      const statements: (Sql | string)[] = [`FETCH ${batchRows} FROM ${CURSOR}`];
      if (this.#queue === undefined) statements.unshift(await this.#open());
      const results = await this.#run(statements);
      this.#rows = results.at(-1)?.rows ?? [];
      this.#place = 0;
      this.#isLast = this.#rows.length < batchRows;
      if (this.#trace !== undefined) {
        this.#trace.rows = (this.#trace.rows ?? 0) + this.#rows.length;
      }
      // The connection is free for others while the last rows are being consumed.
      if (this.#isLast) await this.#release('COMMIT');
    } catch (error) {
      this.#failure ??= { error };
      await this.#end('ROLLBACK');
      const { text, values } = this.#source.statement.compile();
      const { callSite } = this.#source;
      throw attachCallSite(error, { text, parameters: values, callSite });
    } finally {
      this.#isReading = false;
    }
    if (this.#source.signal.aborted) await this.close();
    this.#source.signal.throwIfAborted();
  }

  /** Takes a connection; returns the statement that opens the cursor. */
  async #open(): Promise<Sql> {
    const { context, signal, statement } = this.#source;
    const { text, values } = statement.compile();
    this.#onEnd = this.#source.onStart();
    this.#forget = onAbort(signal, () => {
      // A read that is under way is cancelled by its own signal, and ends the stream itself.
      if (this.#isReading) return;
      this.#failure ??= { error: signal.reason };
      void this.#end('ROLLBACK');
    });
    this.#startTrace(text);
    const startMs = context.settings.scheduler.now();
    const connection = await Connection.acquire(context, signal);
    if (this.#trace !== undefined) {
      Object.assign(this.#trace, connection.place);
      this.#trace.waitMs = context.settings.scheduler.now() - startMs;
    }
    const queue = new StatementQueue(connection, context);
    this.#queue = queue;
    const begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY';
    const opening = [begin, ...traceSetting(context)];
    queue.submit(new StatementRequest(opening, { delivery: 'opening' }));
    return sql.unsafe(`DECLARE ${CURSOR} NO SCROLL CURSOR FOR ${text}`, values);
  }

  /** Publishes the stream as one statement, from its first row to its end. */
  #startTrace(text: string): void {
    this.#source.context.counts.statements += 1;
    if (!isTraced(queries)) return;
    const over = new Promise<void>((resolve, reject) => {
      this.#endTrace = { resolve, reject };
    });
    this.#trace = traceOf(text);
    queries.tracePromise(() => over, this.#trace).catch(ignore);
  }

  #run(statements: readonly (Sql | string)[]): StatementRequest['results'] {
    const { signal, callSite } = this.#source;
    const request = new StatementRequest(statements, { delivery: 'awaited', signal, callSite });
    this.#queue?.submit(request);
    return request.results;
  }

  #end(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const released = (): Promise<void> =>
      this.#release(how).catch((error: unknown) => {
        this.#failure ??= { error };
        throw error;
      });
    this.#ending ??= released().finally(() => {
      if (this.#failure === undefined) this.#endTrace?.resolve();
      else this.#endTrace?.reject(this.#failure.error);
      this.#rows = [];
      this.#forget();
      this.#onEnd();
    });
    return this.#ending;
  }

  /** Ends the transaction and gives the connection back; one that does not answer is cut. */
  async #release(how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const queue = this.#queue;
    if (queue === undefined || this.#isReleased) return;
    this.#isReleased = true;
    const { graceMs, scheduler } = this.#source.context.settings;
    const finished = (async () => {
      await queue.idle();
      if (!queue.connection.inTransaction) return;
      const request = new StatementRequest([how], { delivery: 'awaited' });
      request.hooks = { isRollback: true };
      queue.submit(request);
      await request.results;
    })();
    const isFree = await settlesWithin(scheduler, graceMs, finished);
    if (!isFree || queue.connection.inTransaction) queue.connection.cut();
    queue.release();
    await finished.catch((error: unknown) => {
      if (how === 'COMMIT') throw error;
    });
  }
}
