/**
 * The transaction New-Order (section 2.4): a customer orders 5 to 15 items. One of 100 names an item
 * that does not exist, and is rolled back.
 */

import type { Random } from './random.js';
import type { Session } from './session.js';
import { statement } from './session.js';
import type { Size } from './tables.js';
import { DISTRICT_TEXTS, DISTRICTS } from './tables.js';

interface Line {
  readonly item: number;
  /** The warehouse that delivers it. */
  readonly supplier: number;
  readonly quantity: number;
}

/** What a customer orders. */
export interface NewOrder {
  readonly warehouse: number;
  readonly district: number;
  readonly customer: number;
  readonly lines: readonly Line[];
}

const WAREHOUSE = statement('new_warehouse', 'SELECT w_tax FROM warehouse WHERE w_id = $1');
const DISTRICT = statement(
  'new_district',
  `UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
   RETURNING d_next_o_id - 1 AS o_id, d_tax`,
);
const CUSTOMER = statement(
  'new_customer',
  `SELECT c_discount, c_last, c_credit FROM customer
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
const ORDER = statement(
  'new_orders',
  `INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
   VALUES ($1, $2, $3, $4, now(), $5, $6)`,
);
const NEW_ORDER = statement(
  'new_new_order',
  'INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)',
);
const ITEM = statement('new_item', 'SELECT i_price, i_name, i_data FROM item WHERE i_id = $1');
/** A statement for each district, whose text comes from a column of its own. */
const STOCK = DISTRICT_TEXTS.map((column) =>
  statement(
    `new_${column}`,
    `SELECT s_quantity, s_data, ${column} AS district_text FROM stock
     WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE`,
  ),
);
const TAKE = statement(
  'new_take',
  `UPDATE stock SET s_quantity = $3, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1,
     s_remote_cnt = s_remote_cnt + $5
   WHERE s_w_id = $1 AND s_i_id = $2`,
);
const ORDER_LINE = statement(
  'new_line',
  `INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
     ol_quantity, ol_amount, ol_dist_info)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/** Chooses what a customer orders. */
export function chooseNewOrder(random: Random, size: Size): NewOrder {
  const warehouse = random.whole(1, size.warehouses);
  const lines = Array.from({ length: random.whole(5, 15) }, (): Line => {
    const item = random.nonUniform(8191, 1, size.items);
    const isRemote = size.warehouses > 1 && random.percent(1);
    const supplier = isRemote ? otherThan(warehouse, random, size) : warehouse;
    return { item, supplier, quantity: random.whole(1, 10) };
  });
  if (random.percent(1)) {
    lines[lines.length - 1] = { item: size.items + 1, supplier: warehouse, quantity: 1 };
  }
  // Two orders that lock rows of `stock` in the same order cannot wait for each other.
  lines.sort((a, b) => a.item - b.item || a.supplier - b.supplier);
  return {
    warehouse,
    district: random.whole(1, DISTRICTS),
    customer: random.nonUniform(1023, 1, size.customers),
    lines,
  };
}

/** Another warehouse than this one. */
export function otherThan(warehouse: number, random: Random, size: Size): number {
  const other = random.whole(1, size.warehouses - 1);
  return other < warehouse ? other : other + 1;
}

/** Runs it; false if it was rolled back because an item does not exist. */
export async function newOrder(session: Session, order: NewOrder): Promise<boolean> {
  const { warehouse, district, customer, lines } = order;
  await session.begin();
  const { w_tax } = await session.one(WAREHOUSE, warehouse);
  const { o_id, d_tax } = await session.one(DISTRICT, warehouse, district);
  const { c_discount } = await session.one(CUSTOMER, warehouse, district, customer);
  const allLocal = lines.every(({ supplier }) => supplier === warehouse) ? 1 : 0;
  const key = [warehouse, district, o_id];
  await session.write(1, ORDER, ...key, customer, lines.length, allLocal);
  await session.write(1, NEW_ORDER, ...key);
  let total = 0;
  for (const [place, line] of lines.entries()) {
    const amount = await orderLine(session, key, line, place + 1);
    if (amount === undefined) {
      await session.rollback();
      return false;
    }
    total += amount;
  }
  total *= (1 - Number(c_discount)) * (1 + Number(w_tax) + Number(d_tax));
  if (!(total > 0)) throw new Error(`an order of ${lines.length} lines costs ${total}`);
  await session.commit();
  return true;
}

/** Takes an item from the stock; its price, or undefined if it does not exist. */
async function orderLine(
  session: Session,
  key: readonly unknown[],
  { item, supplier, quantity }: Line,
  number: number,
): Promise<number | undefined> {
  const [warehouse, district] = key;
  const [found] = await session.rows(ITEM, item);
  if (found === undefined) return undefined;
  const stock = await session.one(stockStatement(Number(district)), supplier, item);
  const left = Number(stock.s_quantity) - quantity;
  const filled = left < 10 ? left + 91 : left;
  const remote = supplier === warehouse ? 0 : 1;
  await session.write(1, TAKE, supplier, item, filled, quantity, remote);
  const amount = Math.round(Number(found.i_price) * 100) * quantity;
  const values = [number, item, supplier, quantity, (amount / 100).toFixed(2)];
  await session.write(1, ORDER_LINE, ...key, ...values, stock.district_text);
  return amount;
}

function stockStatement(district: number): (typeof STOCK)[number] {
  const found = STOCK[district - 1];
  if (found === undefined) throw new Error(`no district ${district}`);
  return found;
}
