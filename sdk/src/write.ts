/**
 * Writes whose result nobody has asked for yet.
 *
 * A write is handed over when it is made. Until it is sent, which is later in the same turn of the
 * event loop at the earliest, asking for its count or its rows makes it an ordinary statement.
 */

import { UsageError } from './errors.js';
import type { AnyRow, Sql } from './sql.js';
import type { Condition } from './tables.js';
import { withReturning } from './tables.js';

/**
 * A write. Inside a transaction it is sent without waiting: `await` goes on as soon as it has been
 * taken (later only if very many are unanswered), whether it succeeds turns out at the next
 * statement that is read from or at COMMIT, and that one fails with this one's error, stack and
 * parameters. Outside a transaction `await` waits until it is done.
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

/** Statements that have been handed over. */
export interface PendingWrite {
  /** Resolves when they have been taken, or are done: what `await` waits for. */
  accepted(): Promise<void>;
  /**
   * Makes them ordinary statements, changed by `change`, and resolves to what they answered.
   * Throws a {@link UsageError} if they have been sent.
   */
  ordinary(change: (statement: Sql) => Sql): Promise<readonly WriteResult[]>;
}

/** What a write answered. */
export interface WriteResult {
  readonly rowCount: number | null;
  readonly rows: readonly object[];
}

/** The public face of a write. */
export function makeWrite(pending: PendingWrite): Write {
  return Object.freeze({
    // Awaited like a promise; does nothing more when nobody does.
    then: (onDone, onFailed) => pending.accepted().then(onDone, onFailed),
    catch: (onFailed) => pending.accepted().catch(onFailed),
    finally: (onSettled) => pending.accepted().finally(onSettled),
    [Symbol.toStringTag]: 'Write',
    count: async () => {
      const results = await pending.ordinary((statement) => statement);
      return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
    },
  } satisfies Write);
}

/** The public face of a builder's write. */
export function makeRowWrite<Row extends object>(pending: PendingWrite): RowWrite<Row> {
  const write = makeWrite(pending);
  const returning = async (...columns: string[]): Promise<Row[]> => {
    const results = await pending.ordinary((statement) => withReturning(statement, columns));
    return results.flatMap(({ rows }) => rows as readonly Row[]);
  };
  return Object.freeze(Object.assign({}, write, { returning })) as RowWrite<Row>;
}

/** The public face of an update or delete without its rows. */
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
