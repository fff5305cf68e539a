/**
 * The transactions Delivery (section 2.7), all ten districts at once, and Stock-Level (section 2.8).
 */

import type { Random } from './random.js';
import type { Session } from './session.js';
import { statement } from './session.js';
import type { Size } from './tables.js';
import { DISTRICTS } from './tables.js';

/** Orders to deliver. */
export interface Delivery {
  readonly warehouse: number;
  readonly carrier: number;
}

/** A question for the stock. */
export interface StockLevel {
  readonly warehouse: number;
  readonly district: number;
  readonly threshold: number;
}

const OLDEST = statement(
  'oldest',
  `SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2
   ORDER BY no_o_id LIMIT 1 FOR UPDATE`,
);
const REMOVE = statement(
  'remove',
  'DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3',
);
const CARRY = statement(
  'carry',
  `UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3
   RETURNING o_c_id, o_ol_cnt`,
);
const DATE_LINES = statement(
  'date_lines',
  `UPDATE order_line SET ol_delivery_d = now()
   WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3`,
);
const SUM_LINES = statement(
  'sum_lines',
  `SELECT sum(ol_amount) AS amount FROM order_line
   WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3`,
);
const CHARGE = statement(
  'charge',
  `UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
const NEXT = statement(
  'level_next',
  'SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2',
);
const LEVEL = statement(
  'level',
  `SELECT count(DISTINCT s_i_id) AS low FROM order_line
   JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
   WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5`,
);

/** Chooses a warehouse and a carrier. */
export function chooseDelivery(random: Random, { warehouses }: Size): Delivery {
  return { warehouse: random.whole(1, warehouses), carrier: random.whole(1, 10) };
}

/** Delivers the oldest order of each district that has one. */
export async function delivery(
  session: Session,
  { warehouse, carrier }: Delivery,
): Promise<boolean> {
  await session.begin();
  for (let district = 1; district <= DISTRICTS; district++) {
    const [oldest] = await session.rows(OLDEST, warehouse, district);
    if (oldest === undefined) continue;
    const key = [warehouse, district, oldest.no_o_id];
    await session.write(1, REMOVE, ...key);
    const { o_c_id, o_ol_cnt } = await session.one(CARRY, ...key, carrier);
    await session.write(Number(o_ol_cnt), DATE_LINES, ...key);
    const { amount } = await session.one(SUM_LINES, ...key);
    await session.write(1, CHARGE, warehouse, district, o_c_id, amount);
  }
  await session.commit();
  return true;
}

/** Chooses a district and a threshold. */
export function chooseStockLevel(random: Random, { warehouses }: Size): StockLevel {
  return {
    warehouse: random.whole(1, warehouses),
    district: random.whole(1, DISTRICTS),
    threshold: random.whole(10, 20),
  };
}

/** Counts the items of the last 20 orders of which few are left. */
export async function stockLevel(session: Session, input: StockLevel): Promise<boolean> {
  const { warehouse, district, threshold } = input;
  await session.begin();
  const next = Number((await session.one(NEXT, warehouse, district)).d_next_o_id);
  await session.one(LEVEL, warehouse, district, next - 20, next, threshold);
  await session.commit();
  return true;
}
