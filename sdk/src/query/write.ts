/**
 * Writes: what `run`, `insert`, `upsert`, `update` and `delete` return.
 *
 * A write is a view of a statement request, which is submitted at once. Until the request is sent,
 * which is later in the same turn of the event loop at the earliest, asking for its count or its rows
 * makes it an ordinary statement.
 */

import type { StatementRequest } from '../connection/request.js';
import { UsageError } from '../errors.js';
import type { Condition } from '../sql/builders.js';
import type { AnyRow } from '../sql/template.js';

/**
 * A write. Inside a transaction it is sent without waiting: `await` goes on as soon as the write
 * has been taken, or later if very many are unanswered. Its failure is reported by the next
 * statement that is awaited, or by COMMIT, with the error, stack and parameters of the write.
 * Outside a transaction `await` waits until it is done.
 */
export interface Write extends Promise<void> {
  /** Asks for the number of rows: an ordinary statement that is waited for. */
  count(): Promise<number>;
}

/** A write of a builder, which can also return rows. */
export interface RowWrite<Row extends object = AnyRow> extends Write {
  /** Asks for the rows it has written: all columns, or those named. */
  returning(): Promise<Row[]>;
  returning<Column extends keyof Row & string>(
    ...columns: readonly [Column, ...Column[]]
  ): Promise<Pick<Row, Column>[]>;
}

/** An update or a delete that has not been told its rows. */
export interface Scope<Row extends object> {
  /** The rows whose columns equal these values (null is IS NULL), or that fit a piece of SQL. */
  where(condition: Condition<Row>): RowWrite<Row>;
  /** Every row. */
  everywhere(): RowWrite<Row>;
}

/** The public view of a write request. */
export function makeWrite(request: StatementRequest): Write {
  return Object.freeze({
    // Awaited like a promise; does nothing more when nobody awaits it.
    then: (onDone, onFailed) => request.accepted().then(onDone, onFailed),
    catch: (onFailed) => request.accepted().catch(onFailed),
    finally: (onSettled) => request.accepted().finally(onSettled),
    [Symbol.toStringTag]: 'Write',
    count: async () => {
      const results = await request.requestResult();
      return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
    },
  } satisfies Write);
}

/** The public view of a write request that a builder has made. */
export function makeRowWrite<Row extends object>(request: StatementRequest): RowWrite<Row> {
  const write = makeWrite(request);
  const returning = async (...columns: string[]): Promise<Row[]> => {
    const results = await request.requestResult(columns);
    return results.flatMap(({ rows }) => rows as Row[]);
  };
  return Object.freeze(Object.assign({}, write, { returning })) as RowWrite<Row>;
}

/** An update or delete that waits for its condition. */
export function makeScope<Row extends object>(
  start: (condition: Condition<Row> | undefined) => RowWrite<Row>,
): Scope<Row> {
  return Object.freeze({
    where: (condition: Condition<Row>) => {
      if (typeof (condition as unknown) !== 'object' || (condition as unknown) === null) {
        throw new UsageError('where takes columns and their values, or a piece of SQL');
      }
      return start(condition);
    },
    everywhere: () => start(undefined),
  });
}
