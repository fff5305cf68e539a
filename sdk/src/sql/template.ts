/**
 * SQL text with parameters, built by a template tag.
 *
 * Text comes only from template literals in the source code; every `${value}` becomes a parameter
 * that travels apart from the text. So no string gets into a statement by accident: names are
 * quoted by `sql.identifier`, and pieces are joined as fragments. `sql.unsafe` is the exception.
 *
 * Does not send anything, and does not know SQL's grammar.
 */

import { UsageError, ValueError, withText } from '../errors.js';
import { checkNames } from '../options/checks.js';
import type { Parameter } from './parameters.js';
import { checkParameter, encodeJson } from './parameters.js';
import type { TypeParsers } from './parsers.js';

/** The row type of a statement that names none. */
export type AnyRow = Record<string, unknown>;

/** How the answer to a statement of `sql.unsafe` is read: for drivers of other libraries. */
export interface TextOptions {
  /** Each row is an array of values, in the order of the columns. Default: an object. */
  readonly rowMode?: 'array' | undefined;
  /** Parsers of the values, as `pg` takes them. Default: those of `connect`. */
  readonly types?: TypeParsers | undefined;
  /** Keep the statement prepared on the server. Default: as `connect` says. */
  readonly prepare?: boolean | undefined;
}

/** A statement ready to be sent: text with $1, $2, … and one value each. */
export interface Compiled extends TextOptions {
  readonly text: string;
  readonly values: readonly Parameter[];
}

type Chunk = { readonly text: string } | { readonly value: Parameter };

/** The protocol counts parameters in 16 bits. */
export const PARAMETERS_MAX = 65_535;

/**
 * A piece of SQL, made by {@link sql}. Immutable; may be used in any number of statements.
 * `Row` is the type of the rows that the statement returns.
 */
export class Sql<Row extends object = AnyRow> {
  /** Only a type: there is no value behind it. */
  declare readonly row?: Row;
  #chunks: readonly Chunk[] | undefined;
  #compiled: Compiled | undefined;
  /** The template, where it holds values only: then chunks are made when somebody needs them. */
  readonly #strings: TemplateStringsArray | undefined;

  private constructor(
    chunks: readonly Chunk[] | undefined,
    strings?: TemplateStringsArray,
    compiled?: Compiled,
  ) {
    this.#chunks = chunks;
    this.#strings = strings;
    this.#compiled = compiled;
    Object.freeze(this);
  }

  /** Builds a piece from a template literal. */
  static fromTemplate<Row extends object>(
    strings: TemplateStringsArray,
    values: readonly unknown[],
  ): Sql<Row> {
    const text = values.some((value) => Sql.isSql(value)) ? undefined : textOf(strings);
    return naming(strings, () => {
      if (text !== undefined && values.length === strings.length - 1) {
        const checked = checkAll(values);
        return new Sql(undefined, strings, Object.freeze({ text, values: Object.freeze(checked) }));
      }
      return new Sql(chunksOfTemplate(strings, values));
    });
  }

  /** Builds a piece from text and pieces that are known to be right. */
  static fromParts(parts: readonly (string | Sql)[]): Sql {
    const chunks: Chunk[] = [];
    for (const part of parts) {
      if (typeof part === 'string') chunks.push({ text: part });
      else for (const chunk of Sql.chunksOf(part)) chunks.push(chunk);
    }
    return new Sql(chunks);
  }

  /** Builds a piece from rows of values: `($1, $2), ($3, $4)`. */
  static fromRows(rows: readonly (readonly unknown[])[]): Sql {
    const isList: (list: unknown) => boolean = Array.isArray;
    const width = isList(rows) && isList(rows[0]) ? (rows[0]?.length ?? 0) : 0;
    if (width === 0) {
      throw new UsageError('sql.values takes an array of rows, at least one with one value');
    }
    const chunks: Chunk[] = [];
    for (const [number, row] of rows.entries()) {
      if (!isList(row)) throw new UsageError(`row ${number + 1} of sql.values must be an array`);
      if (row.length !== width) {
        throw new UsageError(`row ${number + 1} has ${row.length} values, the first has ${width}`);
      }
      chunks.push({ text: number === 0 ? '(' : ', (' });
      row.forEach((value, index) => {
        if (index > 0) chunks.push({ text: ', ' });
        append(chunks, value, number * width + index + 1);
      });
      chunks.push({ text: ')' });
    }
    return new Sql(chunks);
  }

  /** Builds a whole statement from a text that has its numbered parameters already. */
  static fromText<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: TextOptions,
  ): Sql<Row> {
    if (text.includes('\0')) throw new UsageError('the SQL text contains a NUL character');
    checkCount(values.length);
    const checked = naming([text], () => checkAll(values));
    const chunks = checked.length === 0 ? [{ text }] : undefined;
    const compiled = { ...options, text, values: Object.freeze(checked) };
    return new Sql(chunks, undefined, Object.freeze(compiled));
  }

  /** True for pieces made by this module; nothing that a client sends as JSON can be one. */
  static isSql(value: unknown): value is Sql {
    return typeof value === 'object' && value !== null && #chunks in value;
  }

  static chunksOf(piece: Sql<object>): readonly Chunk[] {
    if (piece.#chunks !== undefined) return piece.#chunks;
    if (piece.#strings === undefined) {
      throw new UsageError(
        'a statement with numbered parameters ($1, $2, …) cannot be part of another one',
      );
    }
    piece.#chunks = chunksOfTemplate(piece.#strings, piece.#compiled?.values ?? []);
    return piece.#chunks;
  }

  /**
   * The text with numbered parameters, and the values.
   *
   * @example
   * ```ts
   * import { sql } from '@braiddb/sdk';
   * const { text, values } = sql`SELECT ${1} + ${2}`.compile();
   * console.assert(text === 'SELECT $1 + $2' && values.length === 2);
   * ```
   */
  compile(): Compiled {
    this.#compiled ??= compile(Sql.chunksOf(this));
    return this.#compiled;
  }
}

/** The texts of templates in the source code, which are the same object at every call. */
const texts = new WeakMap<TemplateStringsArray, string>();

/** The text of a template of values; undefined if it needs a closer look. */
function textOf(strings: TemplateStringsArray): string | undefined {
  const known = texts.get(strings);
  if (known !== undefined) return known;
  const parts: readonly (string | undefined)[] = strings;
  const odd = parts.some((part) => part === undefined || part.includes('\0'));
  if (odd || strings.length > PARAMETERS_MAX || !Object.isFrozen(strings)) return undefined;
  const text = strings.reduce((all, part, index) => `${all}$${index}${part}`);
  texts.set(strings, text);
  return text;
}

function chunksOfTemplate(
  strings: readonly (string | undefined)[],
  values: readonly unknown[],
): Chunk[] {
  const chunks: Chunk[] = [];
  strings.forEach((text, index) => {
    if (text === undefined) throw new UsageError('the SQL text has an invalid escape sequence');
    chunks.push({ text });
    if (index < values.length) append(chunks, values[index], index + 1);
  });
  return chunks;
}

function checkAll(values: readonly unknown[]): Parameter[] {
  return values.map((value, index) => checkParameter(value, index + 1));
}

/** Makes a piece; an error about one of its values shows the text, as it stands in the source code. */
function naming<T>(strings: readonly string[], make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const Kind = error instanceof ValueError ? ValueError : UsageError;
    throw new Kind(withText(error.message, strings.join('${…}')));
  }
}

function append(chunks: Chunk[], value: unknown, place: number): void {
  // One by one: as arguments of a single call, many thousands would not fit the stack.
  if (Sql.isSql(value)) for (const chunk of Sql.chunksOf(value)) chunks.push(chunk);
  else chunks.push({ value: checkParameter(value, place) });
}

function compile(chunks: readonly Chunk[]): Compiled {
  let text = '';
  const values: Parameter[] = [];
  for (const chunk of chunks) {
    if ('text' in chunk) text += chunk.text;
    else text += `$${values.push(chunk.value)}`;
  }
  checkCount(values.length);
  if (text.includes('\0')) throw new UsageError('the SQL text contains a NUL character');
  return Object.freeze({ text, values: Object.freeze(values) });
}

function checkCount(count: number): void {
  if (count <= PARAMETERS_MAX) return;
  throw new UsageError(
    `the statement has ${count} parameters, the protocol allows ${PARAMETERS_MAX}; ` +
      'pass arrays and use unnest($1, $2), or send several statements',
  );
}

/**
 * A piece of SQL. Values become parameters, pieces are inserted, arrays are one parameter.
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * const recent = sql`taken_at > ${'2026-01-01'}`;
 * const query = sql<{ id: bigint }>`SELECT id FROM readings WHERE ${recent} AND id = ANY(${[1n, 2n]})`;
 * console.assert(query.compile().text === 'SELECT id FROM readings WHERE taken_at > $1 AND id = ANY($2)');
 * ```
 */
export function sql<Row extends object = AnyRow>(
  strings: TemplateStringsArray,
  ...values: (Parameter | Sql)[]
): Sql<Row> {
  if (!isTemplate(strings)) {
    throw new UsageError('sql is a template tag: write sql`SELECT …`, not sql("SELECT …")');
  }
  return Sql.fromTemplate<Row>(strings, values);
}

/** True for the first argument of a template tag. */
export function isTemplate(value: unknown): value is TemplateStringsArray {
  return Array.isArray(value) && Array.isArray((value as { raw?: unknown }).raw);
}

/**
 * A quoted name; several parts are joined by dots.
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * console.assert(sql.identifier('public', 'my "table"').compile().text === '"public"."my ""table"""');
 * ```
 */
sql.identifier = function identifier(...parts: readonly [string, ...string[]]): Sql {
  const quoted = parts.map((part: unknown) => {
    if (typeof part !== 'string' || part === '') {
      throw new UsageError('a name is a string that is not empty');
    }
    if (part.includes('\0')) throw new UsageError('a name cannot contain a NUL character');
    return `"${part.replaceAll('"', '""')}"`;
  });
  if (quoted.length === 0) throw new UsageError('sql.identifier needs at least one name');
  return Sql.fromParts([quoted.join('.')]);
};

/**
 * Pieces and values one after another, with a separator (a comma by default).
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * const both = sql.join([sql`a = ${1}`, sql`b = ${2}`], sql` AND `);
 * console.assert(both.compile().text === 'a = $1 AND b = $2');
 * console.assert(sql`IN (${sql.join([1, 2])})`.compile().text === 'IN ($1, $2)');
 * ```
 */
sql.join = function join(pieces: Iterable<Parameter | Sql>, separator: Sql = sql`, `): Sql {
  const isIterable = typeof (pieces as Partial<typeof pieces> | null)?.[Symbol.iterator];
  if (isIterable !== 'function' || typeof pieces === 'string' || !Sql.isSql(separator)) {
    throw new UsageError('sql.join takes an array of pieces and values, and a piece between them');
  }
  const parts: Sql[] = [];
  for (const piece of pieces) {
    if (parts.length > 0) parts.push(separator);
    parts.push(sql`${piece}`);
  }
  return Sql.fromParts(parts);
};

/**
 * Rows for VALUES: `($1, $2), ($3, $4)`.
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * const insert = sql`INSERT INTO t (a, b) VALUES ${sql.values([[1, 'x'], [2, 'y']])}`;
 * console.assert(insert.compile().text === 'INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)');
 * ```
 */
sql.values = function values(rows: readonly (readonly (Parameter | Sql)[])[]): Sql {
  return Sql.fromRows(rows);
};

/**
 * A value as JSON. Plain objects are sent as JSON anyway; arrays need this, since an array is
 * otherwise sent as a SQL array.
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * console.assert(sql`SELECT ${sql.json([1, 'a'])}::jsonb`.compile().values[0] === '[1,"a"]');
 * ```
 */
sql.json = function json(value: unknown): Sql {
  return sql`${encodeJson(value)}`;
};

/**
 * A statement from a text that a program has built, with its numbered parameters. The SDK cannot
 * check such a text: never build it from the input of a user. Without values it may be part of
 * another statement, which ignores its options.
 *
 * @example
 * ```ts
 * import { sql } from '@braiddb/sdk';
 * const { text, values } = sql.unsafe('SELECT $1::int4 + $1::int4 AS sum', [2]).compile();
 * console.assert(text === 'SELECT $1::int4 + $1::int4 AS sum' && values[0] === 2);
 * ```
 */
sql.unsafe = function unsafe<Row extends object = AnyRow>(
  text: string,
  values: readonly unknown[] = [],
  options: TextOptions = {},
): Sql<Row> {
  if (typeof (text as unknown) !== 'string')
    throw new UsageError('sql.unsafe takes a text and an array of values');
  if (!Array.isArray(values)) throw new UsageError('the values of sql.unsafe must be an array');
  checkNames('sql.unsafe', options, ['rowMode', 'types', 'prepare']);
  return Sql.fromText<Row>(text, values, options);
};

/** Nothing: for pieces that are left out. */
sql.empty = Sql.fromParts([]);
