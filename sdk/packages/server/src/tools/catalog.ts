/** Reads the tables, views and enums of a database from its catalog. */

import type { Database } from '@braiddb/sdk';

/** A column of a table or view. */
export interface Column {
  readonly name: string;
  /** The number of its type; for a domain that of the type below. */
  readonly typeId: number;
  /** The number of the elements' type; 0 where it is no array. */
  readonly elementId: number;
  readonly isNullable: boolean;
  /** It has a default, or the server numbers it. */
  readonly hasDefault: boolean;
  /** The server sets it, always: nobody may insert it. */
  readonly isGenerated: boolean;
  readonly comment: string | null;
}

/** A table, view or materialized view. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly isTable: boolean;
  readonly comment: string | null;
  readonly columns: readonly Column[];
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
}

/** An enum type. */
export interface Enum {
  readonly typeId: number;
  readonly schema: string;
  readonly name: string;
  readonly values: readonly string[];
}

/** What types are made of. */
export interface Catalog {
  readonly relations: readonly Relation[];
  readonly enums: readonly Enum[];
}

type ColumnRow = Column & Omit<Relation, 'columns' | 'key'>;

/** Reads the catalog of some schemas; names in the order of their letters, columns in their own. */
export async function readCatalog(db: Database, schemas: readonly string[]): Promise<Catalog> {
  const names = [...schemas];
  const { rows } = await db.query<ColumnRow>`
    SELECT n.nspname AS schema, c.relname AS table_name, c.relkind IN ('r', 'p', 'f') AS "isTable",
      obj_description(c.oid, 'pg_class') AS table_comment, a.attname AS name,
      coalesce(nullif(t.typbasetype, 0), t.oid)::int8::float8 AS "typeId",
      coalesce(b.typelem, t.typelem)::int8::float8 AS "elementId",
      coalesce(b.typcategory, t.typcategory) = 'A' AS "isArray",
      NOT (a.attnotnull OR t.typnotnull) AS "isNullable",
      a.atthasdef OR a.attidentity <> '' AS "hasDefault",
      a.attgenerated <> '' OR a.attidentity = 'a' AS "isGenerated",
      col_description(c.oid, a.attnum) AS comment
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
    WHERE n.nspname = ANY(${names}) AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
      AND NOT c.relispartition
    ORDER BY n.nspname, c.relname, a.attnum`;
  return { relations: await group(db, names, rows), enums: await readEnums(db) };
}

async function group(
  db: Database,
  schemas: string[],
  rows: readonly ColumnRow[],
): Promise<Relation[]> {
  const keys = await readKeys(db, schemas);
  const relations = new Map<string, Relation & { columns: Column[] }>();
  for (const row of rows as readonly (ColumnRow & Raw)[]) {
    const { schema, table_name: name, isTable, table_comment: comment } = row;
    const id = JSON.stringify([schema, name]);
    const relation = relations.get(id) ?? {
      ...{ schema, name, isTable, comment, columns: [] },
      key: keys.get(id) ?? [],
    };
    relations.set(id, relation);
    relation.columns.push({ ...row, elementId: row.isArray ? row.elementId : 0 });
  }
  return [...relations.values()];
}

/** What a row has besides. */
interface Raw {
  readonly table_name: string;
  readonly table_comment: string | null;
  readonly isArray: boolean;
}

async function readKeys(db: Database, schemas: string[]): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ schema: string; name: string; column: string }>`
    SELECT n.nspname AS schema, c.relname AS name, a.attname AS column
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
      CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS u(attnum, place)
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.attnum
    WHERE k.contype = 'p' AND n.nspname = ANY(${schemas}) ORDER BY n.nspname, c.relname, u.place`;
  const keys = new Map<string, string[]>();
  for (const { schema, name, column } of rows) {
    const id = JSON.stringify([schema, name]);
    keys.set(id, [...(keys.get(id) ?? []), column]);
  }
  return keys;
}

async function readEnums(db: Database): Promise<Enum[]> {
  const { rows } = await db.query<Enum & { value: string }>`
    SELECT t.oid::int8::float8 AS "typeId", n.nspname AS schema, t.typname AS name,
      e.enumlabel AS value
    FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid JOIN pg_namespace n ON n.oid = t.typnamespace
    ORDER BY n.nspname, t.typname, e.enumsortorder`;
  const enums = new Map<number, Enum & { values: string[] }>();
  for (const { typeId, schema, name, value } of rows) {
    const one = enums.get(typeId) ?? { typeId, schema, name, values: [] };
    one.values.push(value);
    enums.set(typeId, one);
  }
  return [...enums.values()];
}
