/**
 * Queries that other libraries have built: text and values in, a piece of SQL out.
 *
 * The types describe the shape of such a query, so the SDK depends on none of these libraries.
 * Only an object with a method counts as a query, so nothing that a client sends as JSON is one.
 */

import { UsageError } from '../errors.js';
import { isTemplate, Sql, sql } from './template.js';
import type { AnyRow } from './template.js';

/** A query that compiles itself, as those of Kysely do. `Row` is the type of its rows. */
export interface CompilableQuery<Row extends object = AnyRow> {
  /** The text with $1, $2, … and the values. */
  compile(): { readonly sql: string; readonly parameters: readonly unknown[] };
  /** Only for its type, from which `Row` is inferred: the SDK does not call it. */
  execute(): Promise<Row[]>;
}

/**
 * A query with a `toSQL` method, as those of Drizzle have. Its rows have the names of the columns
 * in the database, so their type is given at the call.
 */
export interface ToSqlQuery {
  /** The text with $1, $2, … and the values. */
  toSQL(): { readonly sql: string; readonly params: readonly unknown[] };
}

/** A statement of the SDK, or one of a library whose rows have a known type. */
export type Statement<Row extends object = AnyRow> = Sql<Row> | CompilableQuery<Row>;

/** The statement among the arguments of a query method, and the arguments after it. */
export function readStatement([first, ...rest]: readonly unknown[]): [Sql, unknown] {
  if (isTemplate(first)) return [Sql.fromTemplate(first, rest), undefined];
  if (Sql.isSql(first)) return [first, rest[0]];
  const query = fromLibrary(first);
  if (query !== undefined) return [query, rest[0]];
  throw new UsageError(
    'a statement is a template: db.query`SELECT ${1}`, or db.query(sql`SELECT ${1}`), ' +
      'or a query with a method compile() or toSQL()',
  );
}

function fromLibrary(query: unknown): Sql | undefined {
  if (typeof query !== 'object' || query === null) return undefined;
  const { compile, toSQL } = query as Record<string, unknown>;
  if (typeof compile === 'function') {
    const compiled: unknown = compile.call(query);
    return fromText('compile', compiled, field(compiled, 'parameters'));
  }
  if (typeof toSQL === 'function') {
    const compiled: unknown = toSQL.call(query);
    return fromText('toSQL', compiled, field(compiled, 'params'));
  }
  return undefined;
}

function fromText(method: string, compiled: unknown, values: unknown): Sql {
  const text = field(compiled, 'sql');
  if (typeof text !== 'string' || !Array.isArray(values)) {
    const wanted = method === 'compile' ? '{ sql, parameters }' : '{ sql, params }';
    throw new UsageError(`${method}() of the query did not return ${wanted}`);
  }
  const place = values.findIndex((value) => typeof field(value, 'getSQL') === 'function');
  if (place >= 0) {
    throw new UsageError(`parameter ${place + 1} is a placeholder; give it a value; text: ${text}`);
  }
  return sql.unsafe(text, values);
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
