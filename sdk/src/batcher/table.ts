/**
 * What a batcher knows about its table. `describe-table.ts` finds it out.
 */

import { ValueError } from '../errors.js';
import type { Parameter } from '../sql/parameters.js';
import { encodeJson } from '../sql/parameters.js';
import type { Sql } from '../sql/template.js';

/** A column of the table. */
export interface Column {
  readonly name: string;
  /** The type as SQL spells it, without a length. */
  readonly type: string;
  readonly isArray: boolean;
  readonly isJson: boolean;
}

/** The table as the server describes it. */
export interface Table {
  readonly name: Sql;
  readonly columns: ReadonlyMap<string, Column>;
  /** The columns that identify a row; empty where the table has no primary key. */
  readonly key: readonly string[];
  /** The primary key's columns. */
  readonly primaryKey: readonly string[];
  /** Makes the statement of rows that set these columns; throws if the table does not have them. */
  readonly makeTemplate: (names: readonly string[]) => StatementTemplate;
}

/** The statement of rows that set the same columns; made for one description of the table. */
export interface StatementTemplate {
  readonly columns: readonly Column[];
  /** Places of the key's columns; undefined if the rows do not have them all. */
  readonly keyPlaces: readonly number[] | undefined;
  /** The most rows of one statement. */
  readonly rowsMax: number;
  /** True if a statement that may have taken effect can be sent again. */
  canRepeat(rows: readonly (readonly Parameter[])[]): boolean;
  /** The values of a row, checked, in the order of the columns. */
  values(row: Readonly<Record<string, unknown>>): Parameter[];
  /** The statement for some rows. */
  statement(rows: readonly (readonly Parameter[])[]): Sql;
}

/** True if a statement made for one of them fits the other. */
export function sameTable(one: Table, other: Table): boolean {
  const text = ({ columns, key, primaryKey }: Table): string =>
    JSON.stringify([[...columns.values()], key, primaryKey]);
  return text(one) === text(other);
}

/**
 * The columns that a row sets, in the order of the table, so that rows whose properties come in
 * another order share a statement; what the table does not have comes last.
 */
export function columnsOf(table: Table, names: readonly string[]): string[] {
  const left = new Set(names);
  const known = [...table.columns.keys()].filter((name) => left.delete(name));
  return [...known, ...left];
}

/** Roughly how many bytes a row takes on the wire; names the column whose value has no JSON form. */
export function rowBytes(columns: readonly Column[], values: readonly Parameter[]): number {
  let bytes = 16;
  for (const [at, value] of values.entries()) {
    try {
      bytes += sizeOf(value);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw new ValueError(`column "${columns[at]?.name ?? ''}": ${error.message}`, error.cause);
    }
  }
  return bytes;
}

/** Roughly how many bytes a value takes on the wire. */
function sizeOf(value: Parameter): number {
  if (value === null) return 4;
  if (typeof value === 'string') return value.length + 4;
  if (typeof value !== 'object') return 12;
  if (value instanceof Uint8Array) return value.byteLength * 2 + 8;
  if (value instanceof Date) return 28;
  if (Array.isArray(value)) {
    return value.reduce((sum: number, one) => sum + sizeOf(one as Parameter), 8);
  }
  return encodeJson(value).length + 4;
}
