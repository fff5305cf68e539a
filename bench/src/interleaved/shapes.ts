/**
 * The hierarchies of the suite: how their tables are made, filled and counted, interleaved or not.
 */

import type pg from 'pg';

/** The place of a table: below its parent with ON DELETE, below it by place alone, or by itself. */
export type Placement = 'interleaved' | 'placed' | 'ordinary';

/** A table; `t0` is the parent of all. */
export interface Table {
  readonly name: string;
  readonly parent: string | undefined;
  /** Key columns, those of the parent first. */
  readonly key: readonly string[];
  /** Rows below each row of the parent. */
  readonly fan: number;
}

/** A hierarchy, from the top. */
export interface Shape {
  readonly name: string;
  readonly tables: readonly Table[];
}

/** The rows of an INSERT that fills a table. */
const CHUNK = 20_000;

/** The three shapes that were published, by children (or grandchildren) of each parent. */
export function shapes(children: number): Shape[] {
  const top: Table = { name: 't0', parent: undefined, key: ['a'], fan: 1 };
  const child = (name: string, fan: number): Table => ({
    name,
    parent: 't0',
    key: ['a', 'b'],
    fan,
  });
  const perChild = Math.min(children, 10);
  const half = Math.ceil(children / 2);
  const below: Table = { name: 't2', parent: 't1', key: ['a', 'b', 'c'], fan: perChild };
  return [
    { name: 'child', tables: [top, child('t1', children)] },
    { name: 'siblings', tables: [top, child('t1', half), child('t2', half)] },
    { name: 'child and grandchild', tables: [top, child('t1', children / perChild), below] },
  ];
}

/** How many rows a table has for that number of parents. */
export function rowsOf(shape: Shape, table: Table, parents: number): number {
  const parent = shape.tables.find((other) => other.name === table.parent);
  return parent === undefined ? parents : rowsOf(shape, parent, parents) * table.fan;
}

/** Drops what is there, creates the tables and fills them; every table is counted. */
export async function fill(
  client: pg.Client,
  shape: Shape,
  placement: Placement,
  parents: number,
): Promise<void> {
  await drop(client);
  for (const table of shape.tables) await client.query(textOf(table, placement));
  for (const table of shape.tables) {
    const step = Math.max(1, Math.floor((CHUNK * parents) / rowsOf(shape, table, parents)));
    for (let from = 1; from <= parents; from += step) {
      const to = Math.min(parents, from + step - 1);
      await client.query(filling(shape, table), [from, to]);
    }
  }
  await counted(client, shape, () => parents);
}

/** Counts every table; throws if one has not the rows of that number of parents. */
export async function counted(
  client: pg.Client,
  shape: Shape,
  parents: (table: Table) => number,
): Promise<void> {
  for (const table of shape.tables) {
    const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${table.name}`);
    const wanted = rowsOf(shape, table, parents(table));
    if (Number(rows[0]?.n) !== wanted) {
      throw new Error(`${table.name} has ${rows[0]?.n ?? 'no'} rows, not ${wanted}`);
    }
  }
}

/** Drops the tables of every shape. */
export async function drop(client: pg.Client): Promise<void> {
  for (const name of ['t3', 't2', 't1', 't0']) {
    await client.query(`DROP TABLE IF EXISTS ${name} CASCADE`);
  }
}

function textOf({ name, parent, key }: Table, placement: Placement): string {
  const columns = key.map((column) => `${column} INT4`).join(', ');
  const above = key.slice(0, -1).join(', ');
  const action = placement === 'interleaved' ? ' ON DELETE CASCADE' : '';
  const [reference, interleave] =
    parent === undefined
      ? ['', '']
      : placement === 'ordinary'
        ? [`, FOREIGN KEY (${above}) REFERENCES ${parent} ON DELETE CASCADE`, '']
        : ['', ` INTERLEAVE IN PARENT ${parent} (${above})${action}`];
  const primary = `PRIMARY KEY (${key.join(', ')})`;
  return `CREATE TABLE ${name} (${columns}, n INT4, filler TEXT, ${primary}${reference})${interleave}`;
}

/** Rows of 50 bytes, `n` counts up below each parent. */
function filling(shape: Shape, table: Table): string {
  const own = table.key.at(-1) ?? '';
  if (table.parent === undefined) {
    return `INSERT INTO ${table.name} SELECT i, i, repeat('x', 40)
            FROM generate_series($1::int4, $2::int4) AS g (i)`;
  }
  const parent = shape.tables.find((other) => other.name === table.parent);
  const columns = (parent?.key ?? []).map((column) => `p.${column}`).join(', ');
  return `INSERT INTO ${table.name} SELECT ${columns}, ${own}, ${own}, repeat('x', 40)
          FROM ${table.parent} AS p, generate_series(1, ${table.fan}) AS g (${own})
          WHERE p.a BETWEEN $1::int4 AND $2::int4`;
}
