/**
 * The transactions Payment (section 2.5) and Order-Status (section 2.6). Both look for a customer,
 * in 60 of 100 cases by the last name.
 */

import { otherThan } from './new-order.js';
import type { Random } from './random.js';
import type { Session } from './session.js';
import { statement } from './session.js';
import type { Size } from './tables.js';
import { DISTRICTS } from './tables.js';

/** A customer by number or by last name. */
interface Customer {
  readonly warehouse: number;
  readonly district: number;
  readonly wanted: number | string;
}

/** A payment. */
export interface Payment {
  readonly warehouse: number;
  readonly district: number;
  readonly customer: Customer;
  readonly amount: string;
}

const BY_NAME = statement(
  'customer_by_name',
  `SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first`,
);
const WAREHOUSE = statement(
  'pay_warehouse',
  `UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1
   RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip`,
);
const DISTRICT = statement(
  'pay_district',
  `UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2
   RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip`,
);
const CUSTOMER = statement(
  'pay_customer',
  `SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
     c_since, c_credit, c_credit_lim, c_discount, c_balance
   FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE`,
);
const PAY = statement(
  'pay',
  `UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4,
     c_payment_cnt = c_payment_cnt + 1
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
/** A customer with bad credit keeps a list of payments. */
const PAY_AND_NOTE = statement(
  'pay_and_note',
  `UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4,
     c_payment_cnt = c_payment_cnt + 1, c_data = left($5::TEXT || c_data, 500)
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
const HISTORY = statement(
  'pay_history',
  `INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)
   VALUES ($1, $2, $3, $4, $5, now(), $6, $7)`,
);
const STATUS_CUSTOMER = statement(
  'status_customer',
  `SELECT c_balance, c_first, c_middle, c_last FROM customer
   WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`,
);
const LAST_ORDER = statement(
  'status_order',
  `SELECT o_id, o_entry_d, o_carrier_id, o_ol_cnt FROM orders
   WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1`,
);
const LINES = statement(
  'status_lines',
  `SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
   WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3`,
);

/** Chooses a customer of a district. */
export function chooseCustomer(
  warehouse: number,
  district: number,
  random: Random,
  { customers }: Size,
): Customer {
  const byName = random.percent(60);
  const wanted = byName ? random.name(customers) : random.nonUniform(1023, 1, customers);
  return { warehouse, district, wanted };
}

/** Chooses a payment; in 15 of 100 cases the customer is one of another warehouse. */
export function choosePayment(random: Random, size: Size): Payment {
  const [warehouse, district] = [random.whole(1, size.warehouses), random.whole(1, DISTRICTS)];
  const isRemote = size.warehouses > 1 && random.percent(15);
  const customer = isRemote
    ? chooseCustomer(otherThan(warehouse, random, size), random.whole(1, DISTRICTS), random, size)
    : chooseCustomer(warehouse, district, random, size);
  return { warehouse, district, customer, amount: random.decimal(100, 500_000, 2) };
}

/** The number of a customer: with a name, the one in the middle by first names. */
async function numberOf(
  session: Session,
  { warehouse, district, wanted }: Customer,
): Promise<number> {
  if (typeof wanted === 'number') return wanted;
  const found = await session.rows(BY_NAME, warehouse, district, wanted);
  const middle = found[Math.ceil(found.length / 2) - 1];
  if (middle === undefined) throw new Error(`no customer ${wanted} in ${warehouse}, ${district}`);
  return Number(middle.c_id);
}

/** Runs a payment. */
export async function payment(session: Session, input: Payment): Promise<boolean> {
  const { warehouse, district, customer, amount } = input;
  await session.begin();
  const { w_name } = await session.one(WAREHOUSE, warehouse, amount);
  const { d_name } = await session.one(DISTRICT, warehouse, district, amount);
  const id = await numberOf(session, customer);
  const key = [customer.warehouse, customer.district, id];
  const { c_credit } = await session.one(CUSTOMER, ...key);
  if (c_credit === 'BC') {
    const note = [...key, district, warehouse, amount].join(' ');
    await session.write(1, PAY_AND_NOTE, ...key, amount, note);
  } else {
    await session.write(1, PAY, ...key, amount);
  }
  const data = `${String(w_name)}    ${String(d_name)}`;
  await session.write(1, HISTORY, ...key, warehouse, district, amount, data);
  await session.commit();
  return true;
}

/** Looks at the last order of a customer. */
export async function orderStatus(session: Session, customer: Customer): Promise<boolean> {
  const { warehouse, district } = customer;
  await session.begin();
  const id = await numberOf(session, customer);
  await session.one(STATUS_CUSTOMER, warehouse, district, id);
  const order = await session.one(LAST_ORDER, warehouse, district, id);
  const lines = await session.rows(LINES, warehouse, district, order.o_id);
  if (lines.length !== order.o_ol_cnt) {
    throw new Error(
      `order ${String(order.o_id)} has ${lines.length} lines, not ${String(order.o_ol_cnt)}`,
    );
  }
  await session.commit();
  return true;
}
