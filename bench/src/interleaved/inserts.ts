/**
 * Question: what does a foreign key to few parents cost a bulk insert of children?
 *
 * One INSERT of all rows into a new, empty table in each round; the rows are counted.
 */

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median } from '../suite.js';

const PARENTS = 10;

/** Rows a second with the key and without. */
export interface InsertCell {
  readonly side: Side['name'];
  readonly rows: number;
  readonly withKeyMs: number;
  readonly withoutMs: number;
  readonly roundsMs: { readonly withKey: readonly number[]; readonly without: readonly number[] };
}

/** Measures both servers. */
export async function measureInserts(plan: SuitePlan, rows: number): Promise<InsertCell[]> {
  const cells: InsertCell[] = [];
  for (const side of plan.sides) {
    const roundsMs = { withKey: [] as number[], without: [] as number[] };
    // The first of all finds no memory that was used before; it would be one of the two.
    await measure(side, rows, false);
    for (let round = 0; round < plan.rounds; round++) {
      plan.print(`insert: ${side.name}, round ${round + 1}`);
      roundsMs.withKey.push(await measure(side, rows, true));
      roundsMs.without.push(await measure(side, rows, false));
    }
    const medians = {
      withKeyMs: median(roundsMs.withKey),
      withoutMs: median(roundsMs.without),
    };
    cells.push({ side: side.name, rows, ...medians, roundsMs });
  }
  return cells;
}

async function measure(side: Side, rows: number, withKey: boolean): Promise<number> {
  return onOne(side, async (client) => {
    await client.query('DROP TABLE IF EXISTS few, parent CASCADE');
    await client.query('CREATE TABLE parent (a INT4 PRIMARY KEY)');
    await client.query(`INSERT INTO parent SELECT generate_series(0, ${PARENTS - 1})`);
    const reference = withKey ? ' REFERENCES parent' : '';
    await client.query(
      `CREATE TABLE few (id INT4 PRIMARY KEY, a INT4 NOT NULL${reference}, filler TEXT)`,
    );
    const startMs = performance.now();
    await client.query(
      `INSERT INTO few SELECT i, i % ${PARENTS}, repeat('x', 40)
       FROM generate_series(1, ${rows}) AS g (i)`,
    );
    const tookMs = performance.now() - startMs;
    const { rows: counted } = await client.query<{ n: string }>('SELECT count(*) AS n FROM few');
    if (Number(counted[0]?.n) !== rows)
      throw new Error(`${counted[0]?.n ?? 'no'} rows, not ${rows}`);
    await client.query('DROP TABLE few, parent');
    return tookMs;
  });
}

/** A line for each server. */
export function insertTable(cells: readonly InsertCell[]): string[][] {
  return [
    ['insert of children of 10 parents', 'rows', 'foreign key, ms', 'none, ms', 'ratio'],
    ...cells.map(({ side, rows, withKeyMs, withoutMs }) => [
      ...[side, String(rows), withKeyMs.toFixed(1), withoutMs.toFixed(1)],
      `${(withKeyMs / withoutMs).toFixed(2)}×`,
    ]),
  ];
}
