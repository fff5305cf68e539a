/**
 * Asks the server for a batcher's table. Loaded with the first batcher.
 */

import { BatchTableError } from '../errors.js';
import type { Queryable } from '../query/queryable.js';
import { sql } from '../sql/template.js';
import type { BatcherSettings } from '../options/batcher.js';
import type { Column, Table } from './table.js';
import { TableStatement } from './table-statement.js';

interface ColumnRow {
  name: string;
  number: number;
  type: string;
  category: string;
}

/** Asks the server for columns and primary key. */
export async function describeTable(
  db: Queryable,
  parts: readonly [string, ...string[]],
  settings: BatcherSettings,
): Promise<Table> {
  const name = sql.identifier(...parts);
  const quoted = name.compile().text;
  const { rows } = await db.query<ColumnRow>`
    SELECT a.attname::text AS name, a.attnum::int4 AS number,
      format_type(a.atttypid, -1) AS type, t.typcategory::text AS category
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = ${quoted}::regclass AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum`;
  const primary = await db.maybeOne<{ numbers: string }>`
    SELECT i.indkey::text AS numbers FROM pg_catalog.pg_index i
    WHERE i.indrelid = ${quoted}::regclass AND i.indisprimary`;
  const columns = new Map(rows.map((row) => [row.name, describeColumn(row)]));
  const numbers = (primary?.numbers.match(/\d+/g) ?? []).map(Number);
  const primaryKey = numbers.flatMap((number) => {
    const column = rows.find((row) => row.number === number);
    return column === undefined ? [] : [column.name];
  });
  for (const column of settings.key ?? []) {
    if (!columns.has(column)) throw new BatchTableError(quoted, `has no column "${column}"`);
  }
  const key = settings.key ?? primaryKey;
  if (key.length === 0 && settings.mode !== 'insert') {
    throw new BatchTableError(quoted, `has no primary key; mode "${settings.mode}" needs "key"`);
  }
  const table: Table = {
    ...{ name, columns, key, primaryKey },
    makeTemplate: (names) => new TableStatement(table, names, settings),
  };
  return table;
}

function describeColumn({ name, type, category }: ColumnRow): Column {
  const isJson = type === 'json' || type === 'jsonb';
  return { name, type, isArray: category === 'A', isJson };
}
