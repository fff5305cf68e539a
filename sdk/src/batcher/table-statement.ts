/**
 * The statements that a batcher sends. Loaded with the first batcher.
 *
 * Rows travel as one array for each column: `unnest($1::int8[], $2::text[])`. The text is the same
 * for any number of rows, so the server plans it once. The limit of 65,535 parameters does not
 * matter. Tables with array columns need VALUES, because unnest would flatten them.
 *
 * The types in the casts have no length: casting to varchar(3) would cut values short, while the
 * assignment to the column refuses them.
 */

import { BatchTableError, ValueError } from '../errors.js';
import type { Parameter } from '../sql/parameters.js';
import { checkParameter, encodeJson } from '../sql/parameters.js';
import { Sql, sql } from '../sql/template.js';
import type { BatcherSettings } from '../options/batcher.js';
import type { Column, StatementTemplate, Table } from './table.js';

/** The protocol counts parameters in 16 bits. */
const PARAMETERS_MAX = 65_535;

/** The statement of rows that set the same columns; made for one description of the table. */
export class TableStatement implements StatementTemplate {
  readonly columns: readonly Column[];
  /** Places of the key's columns; undefined if the rows do not have them all. */
  readonly keyPlaces: readonly number[] | undefined;
  /** The most rows of one statement. */
  readonly rowsMax: number;
  readonly #table: Table;
  readonly #settings: BatcherSettings;
  readonly #byArrays: boolean;
  readonly #hasPrimaryKey: boolean;

  constructor(table: Table, names: readonly string[], settings: BatcherSettings) {
    this.#table = table;
    this.#settings = settings;
    this.#hasPrimaryKey =
      table.primaryKey.length > 0 && table.primaryKey.every((name) => names.includes(name));
    this.columns = names.map((name) => {
      const column = table.columns.get(name);
      if (column === undefined) {
        throw new BatchTableError(table.name.compile().text, `has no column "${name}"`);
      }
      return column;
    });
    const places = table.key.map((name) => names.indexOf(name));
    this.keyPlaces = places.length > 0 && places.every((at) => at >= 0) ? places : undefined;
    if (this.keyPlaces === undefined && settings.mode !== 'insert') {
      throw new BatchTableError(
        table.name.compile().text,
        `needs a value for each of ${table.key.map((one) => `"${one}"`).join(', ')}`,
      );
    }
    this.#byArrays = names.length > 0 && !this.columns.some((column) => column.isArray);
    this.rowsMax = this.#byArrays ? Number.MAX_SAFE_INTEGER : valuesRowsMax(names.length);
  }

  /**
   * True if a statement that may have taken effect can be sent again. The second one finds the
   * stored rows by their key. No search finds NULL in a key that is not the primary one.
   */
  canRepeat(rows: readonly (readonly Parameter[])[]): boolean {
    const { mode, onConflict } = this.#settings;
    if (mode === 'delete') return true;
    if (mode === 'insert') return onConflict === 'nothing' && this.#hasPrimaryKey;
    if (this.#hasPrimaryKey && this.#table.key === this.#table.primaryKey) return true;
    const places = this.keyPlaces ?? [];
    return rows.every((row) => places.every((at) => (row[at] ?? null) !== null));
  }

  /** The values of a row, checked, in the order of the columns. */
  values(row: Readonly<Record<string, unknown>>): Parameter[] {
    return this.columns.map((column) => {
      const value = row[column.name];
      try {
        return toParameter(column, value);
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        throw new ValueError(
          `column "${column.name}": ${error.message.replace(/^parameter 1: /, '')}`,
        );
      }
    });
  }

  /** The statement for some rows. */
  statement(rows: readonly (readonly Parameter[])[]): Sql {
    return this.#settings.mode === 'delete' ? this.#remove(rows) : this.#insert(rows);
  }

  #insert(rows: readonly (readonly Parameter[])[]): Sql {
    const { name } = this.#table;
    if (this.columns.length === 0) {
      // Each row takes all its defaults; there is no form for many of them.
      return sql`INSERT INTO ${name} DEFAULT VALUES${this.#conflict()}`;
    }
    const names = sql.join(this.columns.map((column) => sql.identifier(column.name)));
    const source = this.#byArrays
      ? sql`SELECT * FROM ${this.#unnest(rows)}`
      : sql`VALUES ${sql.values(rows)}`;
    return sql`INSERT INTO ${name} (${names}) ${source}${this.#conflict()}`;
  }

  #conflict(): Sql {
    const { mode, onConflict } = this.#settings;
    if (mode === 'insert') return onConflict === 'error' ? sql.empty : sql` ON CONFLICT DO NOTHING`;
    const { key } = this.#table;
    const target = sql.join(key.map((column) => sql.identifier(column)));
    const rest = this.columns.filter((column) => !key.includes(column.name));
    if (rest.length === 0) return sql` ON CONFLICT (${target}) DO NOTHING`;
    const sets = rest.map(({ name }) => {
      const column = sql.identifier(name);
      return sql`${column} = excluded.${column}`;
    });
    return sql` ON CONFLICT (${target}) DO UPDATE SET ${sql.join(sets)}`;
  }

  #remove(rows: readonly (readonly Parameter[])[]): Sql {
    const { name } = this.#table;
    const [only] = this.columns;
    if (this.columns.length === 1 && only !== undefined && this.#byArrays) {
      const values = rows.map(([value]) => value ?? null);
      const cast = Sql.fromParts([`::${only.type}[]`]);
      return sql`DELETE FROM ${name} WHERE ${sql.identifier(only.name)} = ANY(${values}${cast})`;
    }
    const names = this.columns.map((column) => sql.identifier(column.name));
    const source = this.#byArrays ? this.#unnest(rows) : sql`(VALUES ${sql.values(rows)})`;
    const same = names.map((column) => sql`t.${column} = gone.${column}`);
    return sql`DELETE FROM ${name} AS t USING ${source} AS gone (${sql.join(names)})
      WHERE ${sql.join(same, sql` AND `)}`;
  }

  #unnest(rows: readonly (readonly Parameter[])[]): Sql {
    const arrays = this.columns.map((column, place) => {
      const values = rows.map((row) => row[place] ?? null);
      return sql`${values}${Sql.fromParts([`::${column.type}[]`])}`;
    });
    return sql`unnest(${sql.join(arrays)})`;
  }
}

/** Rows of one VALUES list; rows that set no column go one by one. */
function valuesRowsMax(columns: number): number {
  return columns === 0 ? 1 : Math.max(1, Math.floor(PARAMETERS_MAX / columns));
}

/** A value as it is sent for this column. */
function toParameter(column: Column, value: unknown): Parameter {
  if (column.isJson && (Array.isArray(value) || typeof value === 'boolean')) {
    return encodeJson(value);
  }
  const checked = checkParameter(value, 1);
  // Inside an array parameter a nested array would become another dimension.
  if (Array.isArray(checked) && !column.isArray) {
    throw new ValueError(`parameter 1: an array cannot be stored as ${column.type}`);
  }
  return checked;
}
