/**
 * The consistency conditions 1 to 4 of the specification (section 3.3.2), and whether the tables
 * hold exactly the orders and payments that the client has seen committed.
 */

import type pg from 'pg';

import type { Size } from './tables.js';
import { DISTRICTS } from './tables.js';
import type { Committed } from './tally.js';

/** A condition: its query gives a row for everything that breaks it. */
interface Condition {
  readonly name: string;
  readonly violations: string;
}

const CONDITIONS: readonly Condition[] = [
  {
    name: '1: w_ytd is the sum of d_ytd',
    violations: `SELECT w_id, w_ytd, sum(d_ytd) FROM warehouse JOIN district ON d_w_id = w_id
      GROUP BY w_id, w_ytd HAVING w_ytd <> sum(d_ytd)`,
  },
  {
    name: '2: d_next_o_id follows the last order, which is also the last of new_order',
    violations: `SELECT d_w_id, d_id, d_next_o_id, last_order, last_new FROM district
      LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders
        GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id
      LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new FROM new_order
        GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id
      WHERE last_order IS NULL OR d_next_o_id - 1 <> last_order
        OR last_new <> last_order`,
  },
  {
    name: '3: the orders in new_order follow one another',
    violations: `SELECT no_w_id, no_d_id, count(*), min(no_o_id), max(no_o_id) FROM new_order
      GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)`,
  },
  {
    name: '4: the lines of the orders are all in order_line',
    violations: `SELECT o_w_id, o_d_id, wanted, found FROM
      (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS wanted FROM orders GROUP BY o_w_id, o_d_id) AS o
      FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS found FROM order_line
        GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id
      WHERE wanted IS NULL OR found IS NULL OR wanted <> found`,
  },
];

/** What is wrong with the data; nothing if all is well. */
export async function faultsOf(
  client: pg.Client,
  size: Size,
  committed: Committed,
): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, violations } of CONDITIONS) {
    const { rows } = await client.query<Record<string, unknown>>(violations);
    const [first] = rows;
    if (first === undefined) continue;
    faults.push(`condition ${name}: ${rows.length} violations such as ${JSON.stringify(first)}`);
  }
  const loaded = size.warehouses * DISTRICTS * size.customers;
  for (const [table, added] of [
    ['orders', committed.newOrders],
    ['history', committed.payments],
  ] as const) {
    const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
    const found = Number(rows[0]?.n);
    if (found === loaded + added) continue;
    faults.push(`${table} has ${found} rows, not the ${loaded} loaded and ${added} committed ones`);
  }
  return faults;
}
