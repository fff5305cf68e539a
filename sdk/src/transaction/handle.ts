/**
 * The handle inside a transaction.
 */

import type { Lockable } from '../query/locking.js';
import type { QueryOptions } from '../options/index.js';
import type { Queryable, QueryResult } from '../query/queryable.js';
import type { Statement, ToSqlQuery } from '../sql/foreign.js';
import type { Parameter } from '../sql/parameters.js';
import type { AnyRow, Sql } from '../sql/template.js';

/** Marks the type of handles, so that the compiler can tell when one gets out. */
declare const ends: unique symbol;

/** The handle inside a transaction. Unusable after the function has ended. */
export interface Transaction extends Queryable {
  /** Only a type: a function that returns its `tx` does not compile. */
  readonly [ends]: true;

  /** Which run of the function this is, counted from 1. */
  readonly attempt: number;

  /**
   * Aborts when this attempt fails, whatever comes after it, and when the transaction is aborted
   * or its deadline passes: for work of the function outside the database, such as `fetch`.
   */
  readonly signal: AbortSignal;

  /** As on `db`; `.forUpdate()` and its sisters lock the rows that are read. */
  query<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Lockable<QueryResult<Row>>;
  query<Row extends object = AnyRow>(
    statement: Statement<Row>,
    options?: QueryOptions,
  ): Lockable<QueryResult<Row>>;
  query<Row extends object = AnyRow>(
    query: ToSqlQuery,
    options?: QueryOptions,
  ): Lockable<QueryResult<Row>>;

  /** As on `db`; `.forUpdate()` and its sisters lock the row that is read. */
  one<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Lockable<Row>;
  one<Row extends object = AnyRow>(
    statement: Statement<Row>,
    options?: QueryOptions,
  ): Lockable<Row>;
  one<Row extends object = AnyRow>(query: ToSqlQuery, options?: QueryOptions): Lockable<Row>;

  /** As on `db`; `.forUpdate()` and its sisters lock the row that is read. */
  maybeOne<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Lockable<Row | undefined>;
  maybeOne<Row extends object = AnyRow>(
    statement: Statement<Row>,
    options?: QueryOptions,
  ): Lockable<Row | undefined>;
  maybeOne<Row extends object = AnyRow>(
    query: ToSqlQuery,
    options?: QueryOptions,
  ): Lockable<Row | undefined>;

  /** The same transaction with options for each statement; a new frozen handle. */
  with(options: QueryOptions): Transaction;

  /**
   * A nested transaction: a savepoint. If the function throws, its statements are undone and the
   * outer transaction goes on; retry errors go through to the outermost one. While it runs, the
   * outer handle refuses statements: use the inner one.
   *
   * SQL: `SAVEPOINT braid_1`, then `RELEASE SAVEPOINT braid_1` or `ROLLBACK TO SAVEPOINT braid_1`.
   */
  transaction<T>(fn: TransactionFunction<T> & Stays<T>): Promise<T>;
}

/** What runs inside a transaction. It may be run several times: see `db.transaction`. */
export type TransactionFunction<T> = (tx: Transaction) => PromiseLike<T>;

/**
 * Refuses functions that return their handle, or something with it: it cannot be used after the end.
 * A helper that hands functions on takes `TransactionFunction<T> & Stays<T>`, as `db.transaction` does.
 */
export type Stays<T> = [T] extends [never]
  ? unknown
  : 0 extends 1 & T
    ? unknown
    : true extends Holds<T> | Holds<T[keyof T]>
      ? 'tx cannot be used after its end'
      : unknown;

/** Whether one of these types is that of a handle. */
type Holds<T> = 0 extends 1 & T ? false : T extends { readonly [ends]: true } ? true : false;
