/**
 * Question: how many rows a second can be read by primary key, with a prepared statement?
 */

import type pg from 'pg';

import type { Question } from './sides.js';

const ROWS = 100_000;
const CHUNK = 10_000;

/** Point selects on a table of 100,000 rows, or of another number. */
export function pointSelect(connections: number, tableRows = ROWS): Question {
  let next = 0;
  let wrong = 0;
  return {
    name: `point select, prepared, ${connections} conn`,
    connections,
    prepare: (client) => prepare(client, tableRows),
    async operation(client) {
      // A stride that meets every row before it meets one twice.
      const id = ((next++ * 7919) % tableRows) + 1;
      const { rows } = await client.query<{ n: number }>({
        name: 'bench_point',
        text: 'SELECT n, filler FROM bench_point WHERE id = $1',
        values: [id],
      });
      if (rows.length !== 1 || rows[0]?.n !== id * 2) wrong++;
    },
    check() {
      return wrong === 0 ? Promise.resolve() : Promise.reject(new Error(`${wrong} wrong rows`));
    },
    async finish(client) {
      await client.query('DROP TABLE IF EXISTS bench_point');
    },
  };
}

async function prepare(client: pg.Client, tableRows: number): Promise<void> {
  await client.query('DROP TABLE IF EXISTS bench_point');
  await client.query('CREATE TABLE bench_point (id INT4 PRIMARY KEY, n INT4, filler TEXT)');
  for (let start = 1; start <= tableRows; start += CHUNK) {
    await client.query(
      `INSERT INTO bench_point SELECT i, i * 2, repeat('x', 84)
       FROM generate_series($1::int4, $2::int4) AS g (i)`,
      [start, Math.min(tableRows, start + CHUNK - 1)],
    );
  }
  await client.query('ANALYZE bench_point').catch(ignore);
}

/** Not every server has statistics to collect by command. */
function ignore(): void {
  // Nothing to do.
}
