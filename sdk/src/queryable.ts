/**
 * The query methods that `db` and `tx` share.
 */

import type { DriverResult } from './driver.js';
import { DatabaseError } from './errors.js';
import type { QueryOptions } from './options.js';
import { readQueryOptions } from './options.js';
import type { AnyRow, Parameter } from './sql.js';
import { isTemplate, Sql } from './sql.js';

/** What a statement returned. */
export interface QueryResult<Row extends object = AnyRow> {
  /** The rows, empty for statements that return none. */
  readonly rows: Row[];
  /** Rows returned, inserted, updated or deleted, as the server counts them. */
  readonly count: number;
  /** The command that ran, for example `SELECT`. */
  readonly command: string;
}

/** Something that statements can be sent through: a `db` or a `tx`. */
export interface Queryable {
  /**
   * Runs one statement: as a template tag, or with a piece made by {@link sql} and options.
   *
   * @example
   * ```ts
   * import { connect, sql } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const { rows } = await db.query<{ sum: number }>`SELECT ${1}::int4 + ${2}::int4 AS sum`;
   * await db.query(sql`SELECT 1`, { signal: AbortSignal.timeout(1000) });
   * console.assert(rows[0]?.sum === 3);
   * ```
   */
  query<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Promise<QueryResult<Row>>;
  query<Row extends object = AnyRow>(
    statement: Sql<Row>,
    options?: QueryOptions,
  ): Promise<QueryResult<Row>>;

  /** Runs a statement and returns its only row; fails with P0002 or P0003 if that is not so. */
  one<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Promise<Row>;
  one<Row extends object = AnyRow>(statement: Sql<Row>, options?: QueryOptions): Promise<Row>;

  /** Like `one`, but undefined where there is no row. */
  maybeOne<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Promise<Row | undefined>;
  maybeOne<Row extends object = AnyRow>(
    statement: Sql<Row>,
    options?: QueryOptions,
  ): Promise<Row | undefined>;

  /** Runs a fixed text that may hold several statements, without parameters: for schema files. */
  script(text: string, options?: QueryOptions): Promise<void>;
}

/** Sends a statement, or a script where it is a string. */
export type Execute = (statement: Sql | string, options: QueryOptions) => Promise<DriverResult>;

/** Builds the shared methods over a way to send statements. */
export function makeQueryable(execute: Execute, bound: QueryOptions): Queryable {
  const query = async (first: unknown, ...rest: unknown[]): Promise<QueryResult> => {
    const [statement, options] = readArguments(first, rest);
    const result = await execute(statement, joinOptions(bound, options));
    return { rows: result.rows, count: result.rowCount ?? 0, command: result.command };
  };
  const maybeOne = async (first: unknown, ...rest: unknown[]): Promise<AnyRow | undefined> => {
    const { rows } = await query(first, ...rest);
    if (rows.length > 1) throw rowCountError('P0003', `${rows.length} rows came, one was expected`);
    return rows[0];
  };
  const one = async (first: unknown, ...rest: unknown[]): Promise<AnyRow> => {
    const row = await maybeOne(first, ...rest);
    if (row === undefined) throw rowCountError('P0002', 'no row came, one was expected');
    return row;
  };
  const script = async (text: string, options: QueryOptions = {}): Promise<void> => {
    if (typeof (text as unknown) !== 'string') throw new TypeError('script takes a string');
    await execute(text, joinOptions(bound, readQueryOptions(options)));
  };
  return { query, one, maybeOne, script } as Queryable;
}

/** The options of a handle with those of a call laid over them; signals add up. */
export function joinOptions(bound: QueryOptions, options: QueryOptions): QueryOptions {
  const signals = [bound.signal, options.signal].filter((signal) => signal !== undefined);
  if (signals.length < 2) return { signal: signals[0] };
  return { signal: AbortSignal.any(signals) };
}

function readArguments(first: unknown, rest: unknown[]): [Sql, QueryOptions] {
  if (isTemplate(first)) return [Sql.fromTemplate(first, rest), {}];
  if (Sql.isSql(first)) return [first, readQueryOptions(rest[0] ?? {})];
  throw new TypeError(
    'a statement is a template: db.query`SELECT ${1}`, or db.query(sql`SELECT ${1}`)',
  );
}

function rowCountError(code: 'P0002' | 'P0003', message: string): DatabaseError {
  return new DatabaseError({ code, message, severity: 'ERROR' });
}
