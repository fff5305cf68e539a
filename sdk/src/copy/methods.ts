/**
 * `copyFrom` and `copyTo`, on `db`, in transactions and on reserved connections. What runs them is
 * loaded when it is used first.
 */

import { ignore } from '../abort.js';
import { captureCallSite } from '../call-sites.js';
import type { QueryOptions } from '../options/index.js';
import { joinOptions, readQueryOptions } from '../options/index.js';
import { Sql } from '../sql/template.js';
import type { LazyIterator } from './lazy-iterator.js';
import { lazyIterator } from './lazy-iterator.js';
import type { CopySource, CopyTable, RunCopy } from './work.js';
import { copyText, LEFT } from './work.js';

/** The bytes that COPY sends, in chunks of about 64 KiB; rows may go from one chunk to the next. */
export interface CopyStream extends LazyIterator<Buffer> {
  /** The number of rows; undefined until the last chunk has been read. */
  readonly count: number | undefined;
}

/** Something that COPY can be sent through. */
export interface Copyable {
  /**
   * Sends rows to a table with COPY, the fastest way in. Resolves to the number of rows. `source`
   * gives bytes or strings in the format of the COPY: a Node stream, anything that can be iterated,
   * or one string. The SDK reads it as fast as the server takes it.
   *
   * All rows are stored or none. It is never sent again: a source can be read once. In a
   * transaction make the source inside the function, which may run again.
   *
   * SQL: `COPY "t" ("a", "b") FROM STDIN WITH (FORMAT csv)`, or the statement that you give.
   *
   * Fails with a {@link CopySourceError} if the source throws, with the signal's reason if that
   * aborts, with a {@link DatabaseError} if the server refuses a row, and with a
   * {@link ConnectionError} if the connection is lost; then `ambiguous` is true only if all rows
   * had been sent.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await db.script('DROP TABLE IF EXISTS sdk_copy_in; CREATE TABLE sdk_copy_in (id INT4, name TEXT)');
   * const rows = ['1,one\n', '2,"two, or so"\n'];
   * const target = { table: 'sdk_copy_in', columns: ['id', 'name'], format: 'csv' } as const;
   * console.assert((await db.copyFrom(target, rows)) === 2);
   * ```
   */
  copyFrom(
    target: Sql<object> | CopyTable,
    source: CopySource,
    options?: QueryOptions,
  ): Promise<number>;

  /**
   * Reads rows with COPY, as bytes. The statement is sent when the first chunk is asked for. A slow
   * reader makes the server wait. Leaving the loop cancels the COPY on the server; a transaction
   * goes on after that.
   *
   * SQL: `COPY "t" TO STDOUT WITH (FORMAT text)`, or the statement that you give; in a transaction
   * `SAVEPOINT braid_1` before it.
   *
   * Fails as `query` does. Outside a transaction it holds a connection until it ends.
   *
   * @example
   * ```ts
   * import { connect, sql } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * let text = '';
   * const rows = db.copyTo(sql`COPY (SELECT n, n * n FROM generate_series(1, 3) AS g(n)) TO STDOUT`);
   * for await (const chunk of rows) text += chunk.toString();
   * console.assert(text === '1\t1\n2\t4\n3\t9\n' && rows.count === 3);
   * ```
   */
  copyTo(target: Sql<object> | CopyTable, options?: QueryOptions): CopyStream;
}

/** Builds the methods over a way to run a COPY. */
export function makeCopyMethods(run: RunCopy, bound: QueryOptions): Copyable {
  const signalOf = (options: QueryOptions = {}): AbortSignal | undefined =>
    joinOptions(bound, readQueryOptions(options)).signal;
  const copyFrom: Copyable['copyFrom'] = async (target, source, options) => {
    const callSite = captureCallSite(copyFrom);
    const text = copyText(target as Sql | CopyTable, 'FROM STDIN');
    const signal = signalOf(options);
    // A file that does not exist may fail while the module is loaded; its reader finds the error.
    const stream = source as { on?: (event: string, listener: () => void) => void } | null;
    if (typeof stream?.on === 'function') stream.on('error', ignore);
    const loaded = await import('./copy-in.js');
    return loaded.copyFrom({ run, text, signal, callSite }, source);
  };
  const copyTo: Copyable['copyTo'] = (target, options) => {
    const callSite = captureCallSite(copyTo);
    const text = copyText(target as Sql | CopyTable, 'TO STDOUT');
    const signal = signalOf(options);
    const stop = new AbortController();
    let count: number | undefined;
    const onCount = (rows: number): void => void (count = rows);
    const onlyReads = !Sql.isSql(target);
    const call = { run, text, signal, callSite, stop, onlyReads, onCount };
    const chunks = lazyIterator(
      async () => (await import('./copy-out.js')).copyTo(call),
      () => {
        stop.abort(LEFT);
      },
    );
    return Object.freeze(
      Object.defineProperty(chunks, 'count', { get: () => count }),
    ) as CopyStream;
  };
  return { copyFrom, copyTo };
}
