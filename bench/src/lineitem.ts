/**
 * Question: how many rows of TPC-H's `lineitem` a second, by the number of rows of a statement and
 * the number of connections, for INSERT, upsert and DELETE?
 *
 * Each statement is a prepared multi-row one with a parameter a value and a commit of its own, the
 * same text on both servers. Only the time of these statements counts; filling the table for DELETE
 * and emptying it between the rounds does not. After each round the rows are counted.
 */

import type pg from 'pg';

import type { LineitemCell, Mode } from './pictures/results.js';
import { withClients } from './sides.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

/** The suite, with the generator's output. */
export interface LineitemPlan extends SuitePlan {
  readonly text: string;
}

const BATCH_ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const CONNECTIONS = [1, 2, 4];

const COLUMNS = [
  ...['l_orderkey INT8', 'l_partkey INT8', 'l_suppkey INT8', 'l_linenumber INT4'],
  ...['l_quantity NUMERIC(15,2)', 'l_extendedprice NUMERIC(15,2)', 'l_discount NUMERIC(15,2)'],
  ...['l_tax NUMERIC(15,2)', 'l_returnflag CHAR(1)', 'l_linestatus CHAR(1)', 'l_shipdate DATE'],
  ...['l_commitdate DATE', 'l_receiptdate DATE', 'l_shipinstruct CHAR(25)', 'l_shipmode CHAR(10)'],
  'l_comment VARCHAR(44)',
];
const NAMES = COLUMNS.map((column) => column.split(' ')[0] ?? '');
const KEY = ['l_orderkey', 'l_linenumber'];
/** The table's statement. */
export const TABLE = `CREATE TABLE lineitem (${COLUMNS.join(', ')}, PRIMARY KEY (${KEY.join(', ')}))`;

/** Runs the suite; returns the files written. */
export async function runLineitem(plan: LineitemPlan): Promise<string[]> {
  const rows = rowsOf(plan.text);
  const [braid, postgres] = plan.sides;
  if (braid === undefined || postgres === undefined) throw new Error('two sides are needed');
  const cells: LineitemCell[] = [];
  for (const mode of ['insert', 'upsert', 'delete'] as const) {
    for (const connections of CONNECTIONS) {
      for (const batchRows of BATCH_ROWS) {
        const name = `${mode} ${batchRows} rows, ${connections} conn`;
        if (plan.only !== undefined && !name.includes(plan.only)) continue;
        plan.print(name);
        const rounds = { braid: [] as number[], postgres: [] as number[] };
        for (let round = 0; round < plan.rounds; round++) {
          const one = { mode, connections, batchRows, rows, seconds: plan.seconds };
          rounds.braid.push(await measure(braid, one));
          rounds.postgres.push(await measure(postgres, one));
        }
        const medians = { braid: median(rounds.braid), postgres: median(rounds.postgres) };
        cells.push({ mode, connections, batchRows, ...medians, rounds });
      }
    }
  }
  showTable(plan, tableOf(cells));
  return saveResults(plan, 'lineitem', { cells });
}

/** The generator's output as rows. */
export function rowsOf(text: string): string[][] {
  const lines = text.trim().split('\n');
  return lines.map((line) => line.split('|').slice(0, NAMES.length));
}

interface Measurement {
  readonly mode: Mode;
  readonly connections: number;
  readonly batchRows: number;
  readonly rows: readonly string[][];
  readonly seconds: number;
}

/** Rows a second of all connections together, by the time that the statements took. */
async function measure(side: Side, one: Measurement): Promise<number> {
  return withClients(side.url, one.connections, async (clients) => {
    const [first] = clients;
    if (first === undefined) throw new Error('no client');
    await first.query('DROP TABLE IF EXISTS lineitem');
    await first.query(TABLE);
    const source = new Source(one.rows);
    const untilMs = performance.now() + one.seconds * 1000;
    const runs = await Promise.all(clients.map((client) => work(client, one, source, untilMs)));
    const changed = runs.reduce((sum, run) => sum + run.rows, 0);
    const { rows } = await first.query<{ n: string }>('SELECT count(*) AS n FROM lineitem');
    const wanted = one.mode === 'delete' ? 0 : changed;
    if (Number(rows[0]?.n) !== wanted) {
      throw new Error(`${wanted} rows expected after ${one.mode}, ${rows[0]?.n ?? 'none'} found`);
    }
    await first.query('DROP TABLE lineitem');
    return runs.reduce((sum, run) => sum + (run.rows * 1000) / run.busyMs, 0);
  });
}

/** Where rows to write come from. */
export interface RowSource {
  take(count: number): string[][];
}

/** Rows without end: the generator's, again with order keys of their own. */
class Source implements RowSource {
  readonly #rows: readonly string[][];
  #next = 0;

  constructor(rows: readonly string[][]) {
    this.#rows = rows;
  }

  take(count: number): string[][] {
    return Array.from({ length: count }, () => {
      const place = this.#next++;
      const row = this.#rows[place % this.#rows.length] ?? [];
      const cycle = Math.floor(place / this.#rows.length);
      return [String(Number(row[0]) + cycle * 10_000_000), ...row.slice(1)];
    });
  }
}

/** Writes on one connection until the time is over; the first statement counts as rows only. */
export async function work(
  client: pg.Client,
  { mode, batchRows }: Pick<Measurement, 'mode' | 'batchRows'>,
  source: RowSource,
  untilMs: number,
): Promise<{ rows: number; busyMs: number }> {
  const statement = statementOf(mode, batchRows);
  let rows = 0;
  let busyMs = 0;
  // The first statement prepares: it does not count.
  for (let warm = true; warm || performance.now() < untilMs; warm = false) {
    const batch = source.take(batchRows);
    if (mode === 'delete')
      await client.query({ ...statementOf('insert', batchRows), values: batch.flat() });
    const values = mode === 'delete' ? batch.flatMap((row) => [row[0], row[3]]) : batch.flat();
    const startMs = performance.now();
    const { rowCount } = await client.query({ ...statement, values });
    const tookMs = performance.now() - startMs;
    if (rowCount !== batchRows) throw new Error(`${rowCount ?? 'no'} rows changed`);
    rows += batchRows;
    if (!warm) busyMs += tookMs;
    else if (mode === 'delete') rows -= batchRows;
  }
  return { rows, busyMs };
}

const statements = new Map<string, { name: string; text: string }>();

/** A prepared statement for that number of rows. */
function statementOf(mode: Mode, rows: number): { name: string; text: string } {
  const name = `${mode}_${rows}`;
  let statement = statements.get(name);
  if (statement === undefined) {
    statement = { name, text: textOf(mode, rows) };
    statements.set(name, statement);
  }
  return statement;
}

function textOf(mode: Mode, rows: number): string {
  const width = mode === 'delete' ? KEY.length : NAMES.length;
  const tuples = Array.from({ length: rows }, (_, row) => {
    const numbers = Array.from({ length: width }, (__, column) => `$${row * width + column + 1}`);
    return `(${numbers.join(', ')})`;
  }).join(', ');
  if (mode === 'delete') return `DELETE FROM lineitem WHERE (${KEY.join(', ')}) IN (${tuples})`;
  const insert = `INSERT INTO lineitem (${NAMES.join(', ')}) VALUES ${tuples}`;
  if (mode === 'insert') return insert;
  const sets = NAMES.filter((name) => !KEY.includes(name)).map(
    (name) => `${name} = excluded.${name}`,
  );
  return `${insert} ON CONFLICT (${KEY.join(', ')}) DO UPDATE SET ${sets.join(', ')}`;
}

function tableOf(cells: readonly LineitemCell[]): string[][] {
  const head = [
    'statement',
    'conn',
    'rows',
    'BraidDB rows/s',
    'PostgreSQL rows/s',
    'ratio',
    'to 1 row',
  ];
  return [
    head,
    ...cells.map((cell) => {
      const { mode, connections, batchRows, braid, postgres } = cell;
      const single = cells.find(
        (other) =>
          other.mode === mode && other.connections === connections && other.batchRows === 1,
      );
      const gain = single === undefined ? '' : `${(braid / single.braid).toFixed(1)}×`;
      return [
        ...[mode, String(connections), String(batchRows), braid.toFixed(0), postgres.toFixed(0)],
        ...[`${(braid / postgres).toFixed(2)}${braid < postgres ? ' below 1' : ''}`, gain],
      ];
    }),
  ];
}
