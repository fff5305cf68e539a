/**
 * The query methods that `db` and `tx` share.
 */

import type { CallSite } from '../call-sites.js';
import { captureCallSite } from '../call-sites.js';
import type { DriverResult, Field } from '../connection/driver.js';
import { StatementRequest } from '../connection/request.js';
import type { Copyable } from '../copy/methods.js';
import { makeCopyMethods } from '../copy/methods.js';
import type { RunCopy } from '../copy/work.js';
import { DatabaseError, UsageError } from '../errors.js';
import { channelOption, stringOption } from '../options/checks.js';
import type { QueryOptions } from '../options/index.js';
import { joinOptions, readQueryOptions } from '../options/index.js';
import type { Features } from '../server.js';
import type { InsertOptions, RowValues, TableLike } from '../sql/builders.js';
import {
  deleteStatement,
  insertStatements,
  updateStatement,
  upsertStatements,
} from '../sql/builders.js';
import type { Statement, ToSqlQuery } from '../sql/foreign.js';
import { readStatement } from '../sql/foreign.js';
import type { Parameter } from '../sql/parameters.js';
import type { AnyRow, Sql } from '../sql/template.js';
import { sql } from '../sql/template.js';
import type { RowWrite, Scope, Write } from './write.js';
import { makeRowWrite, makeScope, makeWrite } from './write.js';

/** What a statement returned. */
export interface QueryResult<Row extends object = AnyRow> {
  /** The rows, empty for statements that return none. */
  readonly rows: Row[];
  /** Rows returned, inserted, updated or deleted, as the server counts them. */
  readonly count: number;
  /** The command that ran, for example `SELECT`. */
  readonly command: string;
  /** The columns of the rows, with the numbers of their types. */
  readonly fields: readonly Field[];
}

/** Something that statements can be sent through: a `db` or a `tx`. */
export interface Queryable extends Copyable {
  /**
   * Runs one statement: as a template tag, with a piece made by {@link sql} and options, or with a
   * query that Kysely or Drizzle has built.
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
    statement: Statement<Row>,
    options?: QueryOptions,
  ): Promise<QueryResult<Row>>;
  query<Row extends object = AnyRow>(
    query: ToSqlQuery,
    options?: QueryOptions,
  ): Promise<QueryResult<Row>>;

  /** Runs a statement and returns its only row; fails with P0002 or P0003 if that is not so. */
  one<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Promise<Row>;
  one<Row extends object = AnyRow>(statement: Statement<Row>, options?: QueryOptions): Promise<Row>;
  one<Row extends object = AnyRow>(query: ToSqlQuery, options?: QueryOptions): Promise<Row>;

  /** Like `one`, but undefined where there is no row. */
  maybeOne<Row extends object = AnyRow>(
    strings: TemplateStringsArray,
    ...values: (Parameter | Sql)[]
  ): Promise<Row | undefined>;
  maybeOne<Row extends object = AnyRow>(
    statement: Statement<Row>,
    options?: QueryOptions,
  ): Promise<Row | undefined>;
  maybeOne<Row extends object = AnyRow>(
    query: ToSqlQuery,
    options?: QueryOptions,
  ): Promise<Row | undefined>;

  /**
   * Runs a write without asking for its result. Inside a transaction it is sent without waiting
   * (see {@link Write}); outside, `await` waits until it is done. `.count()` asks for the number
   * of rows.
   *
   * SQL: the statement as it is; inside a transaction on BraidDB with ` RETURNING NOTHING` at
   * its end, if it is an INSERT, UPSERT, UPDATE or DELETE without a RETURNING clause of its own.
   *
   * @example
   * ```ts
   * import { connect } from '@braiddb/sdk';
   * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * await db.run`CREATE TABLE IF NOT EXISTS sdk_run_example (id INT4 PRIMARY KEY)`;
   * await db.transaction(async (tx) => {
   *   await tx.run`DELETE FROM sdk_run_example`; // these two are not waited for:
   *   await tx.run`INSERT INTO sdk_run_example VALUES (${1}), (${2})`; // they travel with COMMIT
   * });
   * console.assert((await db.run`DELETE FROM sdk_run_example`.count()) === 2);
   * ```
   */
  run(strings: TemplateStringsArray, ...values: (Parameter | Sql)[]): Write;
  run(statement: Statement<object> | ToSqlQuery, options?: QueryOptions): Write;

  /**
   * Inserts one row or many; columns that a row leaves out get their default. Rows with more
   * values than a statement can have (65,535) become several statements; outside a transaction
   * they then run in one of their own, so that all are inserted or none.
   *
   * SQL: `INSERT INTO "t" ("a", "b") VALUES ($1, $2), ($3, $4)`.
   */
  insert<Row extends object>(
    table: TableLike<Row>,
    rows: RowValues<Row> | readonly RowValues<Row>[],
    options?: InsertOptions,
  ): RowWrite<Row>;

  /**
   * Inserts rows, or overwrites those with the same primary key.
   *
   * SQL: `UPSERT INTO "t" ("id", "a") VALUES ($1, $2)`; on PostgreSQL `INSERT INTO "t" … ON
   * CONFLICT ("id") DO UPDATE SET "a" = excluded."a"`, for which the table needs its `key`.
   */
  upsert<Row extends object>(
    table: TableLike<Row>,
    rows: RowValues<Row> | readonly RowValues<Row>[],
  ): RowWrite<Row>;

  /**
   * Changes rows; say which with `where`, or `everywhere()`.
   *
   * SQL: `UPDATE "t" SET "a" = $1 WHERE "id" = $2`.
   */
  update<Row extends object>(table: TableLike<Row>, values: RowValues<Row>): Scope<Row>;

  /**
   * Deletes rows; say which with `where`, or `everywhere()`.
   *
   * SQL: `DELETE FROM "t" WHERE "id" = $1`.
   */
  delete<Row extends object>(table: TableLike<Row>): Scope<Row>;

  /**
   * Sends a notification to everyone who listens to the channel (see `db.listen`); inside a
   * transaction when that commits. The payload is a text below 8,000 bytes, empty by default.
   *
   * SQL: `SELECT pg_notify($1, $2)`.
   */
  notify(channel: string, payload?: string, options?: QueryOptions): Promise<void>;

  /** Runs a fixed text that may hold several statements, without parameters: for schema files. */
  script(text: string, options?: QueryOptions): Promise<void>;
}

/** The call of a method that waits for a statement. */
export interface AwaitedCall<T> {
  /** The method, above which the caller's stack begins. */
  readonly method: (...args: never[]) => unknown;
  /** Turns the answer into what the method returns. */
  readonly pick: (result: DriverResult) => T;
}

/** How statements are sent: by a `db` or a `tx`. */
export interface Executor {
  readonly features: Features;
  /** Runs a statement that is waited for. */
  run<T>(statement: Sql, options: QueryOptions, call: AwaitedCall<T>): Promise<T>;
  /** Runs a text of statements. */
  script(text: string, options: QueryOptions, callSite: CallSite): Promise<unknown>;
  /** Takes a write that nothing waits for yet. */
  submit(request: StatementRequest): void;
  /** Runs a COPY. */
  copy: RunCopy;
}

/** Builds the shared methods over a way to send statements. */
export function makeQueryable(executor: Executor, bound: QueryOptions): Queryable {
  const run = <T>(
    args: unknown[],
    method: (...args: unknown[]) => unknown,
    pick: (result: DriverResult) => T,
  ): Promise<T> => {
    // Not asynchronous: `executor.run` returns a promise with methods of its own.
    try {
      const [statement, options] = readArguments(args);
      return executor.run(statement, joinOptions(bound, options), { method, pick });
    } catch (error) {
      return Promise.reject(error);
    }
  };
  const query = (...args: unknown[]): Promise<QueryResult> => run(args, query, readResult);
  const maybeOne = (...args: unknown[]): Promise<AnyRow | undefined> =>
    run(args, maybeOne, atMostOne);
  const one = (...args: unknown[]): Promise<AnyRow> => run(args, one, exactlyOne);
  const script = async (text: string, options: QueryOptions = {}): Promise<void> => {
    if (typeof (text as unknown) !== 'string')
      throw new UsageError('script takes a text of statements');
    const callSite = captureCallSite(script);
    await executor.script(text, joinOptions(bound, readQueryOptions(options)), callSite);
  };
  const notify: Queryable['notify'] = async (channel, payload = '', options = {}) => {
    channelOption('channel', channel);
    stringOption('payload', payload);
    await query(sql`SELECT pg_notify(${channel}, ${payload})`, options);
  };
  const reads = { query, one, maybeOne, script, notify };
  const copies = makeCopyMethods(executor.copy, bound);
  return { ...reads, ...makeWrites(executor, bound), ...copies } as Queryable;
}

type Writes = Pick<Queryable, 'run' | 'insert' | 'upsert' | 'update' | 'delete'>;

function makeWrites(executor: Executor, bound: QueryOptions): Writes {
  const submit = (
    statements: readonly Sql[],
    { signal }: QueryOptions,
    callSite: CallSite,
  ): StatementRequest => {
    const request = new StatementRequest(statements, { delivery: 'unawaited', signal, callSite });
    executor.submit(request);
    return request;
  };
  const rowWrite = <Row extends object>(
    statements: readonly Sql[],
    callSite: CallSite,
  ): RowWrite<Row> => makeRowWrite(submit(statements, bound, callSite));
  const run = (...args: unknown[]): Write => {
    const callSite = captureCallSite(run);
    const [statement, options] = readArguments(args);
    return makeWrite(submit([statement], joinOptions(bound, options), callSite));
  };
  const insert: Queryable['insert'] = (table, rows, options) =>
    rowWrite(insertStatements(table, asArray(rows), options), captureCallSite(insert));
  const upsert: Queryable['upsert'] = (table, rows) =>
    rowWrite(upsertStatements(table, asArray(rows), executor.features), captureCallSite(upsert));
  const update: Queryable['update'] = (table, values) => {
    const callSite = captureCallSite(update);
    return makeScope((where) => rowWrite([updateStatement(table, values, where)], callSite));
  };
  const remove: Queryable['delete'] = (table) => {
    const callSite = captureCallSite(remove);
    return makeScope((where) => rowWrite([deleteStatement(table, where)], callSite));
  };
  return { run, insert, upsert, update, delete: remove };
}

function asArray<Row extends object>(
  rows: RowValues<Row> | readonly RowValues<Row>[],
): readonly RowValues<Row>[] {
  return Array.isArray(rows) ? (rows as readonly RowValues<Row>[]) : [rows as RowValues<Row>];
}

function readResult(result: DriverResult): QueryResult {
  const { rows, rowCount, command, fields = [] } = result;
  return { rows, count: rowCount ?? 0, command, fields };
}

function atMostOne({ rows }: DriverResult): AnyRow | undefined {
  if (rows.length > 1) throw rowCountError('P0003', `${rows.length} rows came, one was expected`);
  return rows[0];
}

function exactlyOne(result: DriverResult): AnyRow {
  const row = atMostOne(result);
  if (row === undefined) throw rowCountError('P0002', 'no row came, one was expected');
  return row;
}

function readArguments(args: readonly unknown[]): [Sql, QueryOptions] {
  const [statement, options] = readStatement(args);
  return [statement, readQueryOptions(options ?? {})];
}

function rowCountError(code: 'P0002' | 'P0003', message: string): DatabaseError {
  return new DatabaseError({ code, message, severity: 'ERROR' });
}
