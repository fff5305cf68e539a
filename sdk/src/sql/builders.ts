/**
 * Typed statements: insert, upsert, update and delete as SQL pieces.
 *
 * Builds SQL and sends nothing. Names are quoted, values are parameters, and a statement never has
 * more parameters than the protocol can count: an insert of many rows becomes several statements.
 */

import { UsageError, ValueError } from '../errors.js';
import {
  checkNames,
  checkRow,
  choiceOption,
  nameOption,
  stringsOption,
} from '../options/checks.js';
import type { Features } from '../server.js';
import type { Parameter } from './parameters.js';
import type { AnyRow } from './template.js';
import { PARAMETERS_MAX, sql, Sql } from './template.js';

/** A table and the type of its rows; made by {@link table}. */
export interface Table<Row extends object = AnyRow> {
  /** The name, or schema and name. */
  readonly name: readonly [string, ...string[]];
  /** The columns of the primary key; empty where they were not told. */
  readonly key: readonly string[];
  /** Only a type: there is no value behind it. */
  readonly row?: Row;
}

/** A table as the builders take it: described, or just its name. */
export type TableLike<Row extends object> = Table<Row> | string;

/** Values for the columns of a row; columns left out get their default. */
export type RowValues<Row extends object> = {
  readonly [Column in keyof Row]?: Row[Column] | Sql;
};

/** The row of a table as a query returns it: `Selectable<typeof reading>`. */
export type Selectable<Of extends Table<object>> =
  Of extends Table<infer Row extends object> ? Row : never;

/**
 * A new row of a table. Columns that may be null can be left out, and so can those named in
 * `Defaulted`: the columns that the server fills in.
 */
export type Insertable<
  Of extends Table<object>,
  Defaulted extends keyof Selectable<Of> = never,
> = Flat<
  Partial<Pick<Selectable<Of>, Defaulted | NullableColumns<Selectable<Of>>>> &
    Omit<Selectable<Of>, Defaulted | NullableColumns<Selectable<Of>>>
>;

/** A change of a row of a table: any of its columns. */
export type Updateable<Of extends Table<object>> = Partial<Selectable<Of>>;

type NullableColumns<Row extends object> = {
  [Column in keyof Row]-?: null extends Row[Column] ? Column : never;
}[keyof Row];

type Flat<Row> = { [Column in keyof Row]: Row[Column] };

/** A condition: columns that equal values (null is IS NULL), or a piece of SQL. */
export type Condition<Row extends object> = RowValues<Row> | Sql;

/** What an insert does with rows that are there already. */
export interface InsertOptions {
  /** `'nothing'` leaves the row that is there. Default: the insert fails with 23505. */
  readonly onConflict?: 'nothing' | undefined;
}

/**
 * Describes a table for the builders: its name, the type of its rows and its primary key (needed
 * for `upsert` on PostgreSQL, which has no UPSERT).
 *
 * @example
 * ```ts
 * import { connect, table } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * const reading = table<{ id: number; celsius: number }>('sdk_table_example', { key: ['id'] });
 * await db.script(`DROP TABLE IF EXISTS sdk_table_example;
 *   CREATE TABLE sdk_table_example (id INT4 PRIMARY KEY, celsius FLOAT8)`);
 * await db.insert(reading, [{ id: 1, celsius: 20.5 }, { id: 2, celsius: 19 }]);
 * const changed = await db.update(reading, { celsius: 21 }).where({ id: 1 }).returning('celsius');
 * console.assert(changed[0]?.celsius === 21);
 * console.assert((await db.delete(reading).everywhere().count()) === 2);
 * ```
 */
export function table<Row extends object = AnyRow>(
  name: string | readonly [string, ...string[]],
  options: { readonly key?: readonly (keyof Row & string)[] } = {},
): Table<Row> {
  const parts = nameOption('name', name);
  checkNames('table', options, ['key']);
  const key = (stringsOption('key', options.key) ?? []) as readonly (keyof Row & string)[];
  return Object.freeze({ name: parts, key: Object.freeze([...key]) });
}

/** The INSERT statements for rows: more than one if their values are too many for one. */
export function insertStatements<Row extends object>(
  target: TableLike<Row>,
  rows: readonly RowValues<Row>[],
  options: InsertOptions = {},
): Sql[] {
  checkNames('insert', options, ['onConflict']);
  const onConflict = choiceOption('onConflict', options.onConflict, ['nothing']);
  const tail = onConflict === 'nothing' ? sql` ON CONFLICT DO NOTHING` : sql.empty;
  return rowStatements('INSERT', target, rows, () => tail);
}

/** The UPSERT statements for rows, or what comes closest on a server without UPSERT. */
export function upsertStatements<Row extends object>(
  target: TableLike<Row>,
  rows: readonly RowValues<Row>[],
  features: Features,
): Sql[] {
  if (features.upsert) return rowStatements('UPSERT', target, rows, () => sql.empty);
  const key = stringsOption('key', (target as Partial<Table> | null)?.key) ?? [];
  if (key.length === 0) {
    throw new UsageError('this server has no UPSERT: describe the table with its key');
  }
  return rowStatements('INSERT', target, rows, (columns) => {
    const rest = columns.filter((column) => !key.includes(column));
    const conflict = sql` ON CONFLICT (${names(key)})`;
    if (rest.length === 0) return sql`${conflict} DO NOTHING`;
    const set = rest.map((column) => {
      const name = sql.identifier(column);
      return sql`${name} = excluded.${name}`;
    });
    return sql`${conflict} DO UPDATE SET ${sql.join(set)}`;
  });
}

/** The UPDATE statement; `condition` undefined changes every row. */
export function updateStatement<Row extends object>(
  target: TableLike<Row>,
  values: RowValues<Row>,
  condition: Condition<Row> | undefined,
): Sql {
  const set = entriesOf(values, 'update').map(
    ([column, value]) => sql`${sql.identifier(column)} = ${value}`,
  );
  if (set.length === 0) throw new UsageError('an update sets at least one column');
  return sql`UPDATE ${nameOf(target)} SET ${sql.join(set)}${whereClause(condition)}`;
}

/** The DELETE statement; `condition` undefined deletes every row. */
export function deleteStatement<Row extends object>(
  target: TableLike<Row>,
  condition: Condition<Row> | undefined,
): Sql {
  return sql`DELETE FROM ${nameOf(target)}${whereClause(condition)}`;
}

/** The statement with a RETURNING clause: the columns named, or all. */
export function withReturning(statement: Sql, columns: readonly string[]): Sql {
  return sql`${statement} RETURNING ${columns.length === 0 ? sql`*` : names(columns)}`;
}

function rowStatements<Row extends object>(
  verb: 'INSERT' | 'UPSERT',
  target: TableLike<Row>,
  rows: readonly RowValues<Row>[],
  tail: (columns: readonly string[]) => Sql,
): Sql[] {
  const columns = columnsOf(rows);
  const head = verb === 'INSERT' ? sql`INSERT INTO` : sql`UPSERT INTO`;
  if (columns.length === 0) {
    return rows.map(() => sql`${head} ${nameOf(target)} DEFAULT VALUES${tail(columns)}`);
  }
  const perStatement = Math.floor(PARAMETERS_MAX / columns.length);
  const statements: Sql[] = [];
  for (let start = 0; start < rows.length; start += perStatement) {
    const lists = rows.slice(start, start + perStatement).map((row, index) => {
      const values = new Map(entriesOf(row, `row ${start + index + 1}`));
      return columns.map((column) => values.get(column) ?? (values.has(column) ? null : DEFAULT));
    });
    const into = sql`${head} ${nameOf(target)} (${names(columns)})`;
    statements.push(sql`${into} VALUES ${sql.values(lists)}${tail(columns)}`);
  }
  return statements;
}

const DEFAULT = sql`DEFAULT`;

function columnsOf(rows: readonly object[]): string[] {
  const columns = new Set<string>();
  for (const [index, row] of rows.entries()) {
    checkRow(row, `row ${index + 1}`);
    for (const column of Object.keys(row)) columns.add(column);
  }
  return [...columns];
}

function entriesOf(values: object, place: string): [string, Parameter | Sql][] {
  checkRow(values, place);
  return Object.entries(values).map(([column, value]: [string, unknown]) => {
    if (value === undefined) {
      throw new ValueError(
        `${place}: column "${column}" is undefined; leave it out, or use null for NULL`,
      );
    }
    return [column, value];
  });
}

function whereClause(condition: object | undefined): Sql {
  if (condition === undefined) return sql.empty;
  if (Sql.isSql(condition)) return sql` WHERE ${condition}`;
  const tests = entriesOf(condition, 'where').map(([column, value]) => {
    const name = sql.identifier(column);
    return value === null ? sql`${name} IS NULL` : sql`${name} = ${value}`;
  });
  // An empty object comes from a mistake, and would mean every row.
  if (tests.length === 0) throw new UsageError('where needs a column; for every row: everywhere()');
  return sql` WHERE ${sql.join(tests, sql` AND `)}`;
}

function nameOf(target: string | { readonly name: readonly [string, ...string[]] }): Sql {
  const described = target as Partial<Table> | null | undefined;
  return sql.identifier(...nameOption('table', described?.name ?? target));
}

function names(columns: readonly string[]): Sql {
  return sql.join(columns.map((column) => sql.identifier(column)));
}
