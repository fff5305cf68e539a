/**
 * The nine tables of TPC-C, and the rows that they begin with (revision 5.11, sections 1.3 and
 * 4.3.3). The specification wants no foreign keys, and there are none.
 */

import type { Random } from './random.js';
import { lastName, NAMES } from './random.js';

/** How much data there is. */
export interface Size {
  readonly warehouses: number;
  readonly items: number;
  /** Customers of a district; it begins with as many orders. */
  readonly customers: number;
}

/** Districts of a warehouse. */
export const DISTRICTS = 10;

/** The size of the specification. */
export const FULL = { items: 100_000, customers: 3_000 };

/** Of a district's first orders this part is delivered; the others are in `new_order`. */
const DELIVERED = 0.7;

const FIRST_ORDERS_AT = '2026-01-01 00:00:00';
const ADDRESS = ['street_1 VARCHAR(20)', 'street_2 VARCHAR(20)', 'city VARCHAR(20)'];
const addressOf = (letter: string): string => {
  const columns = [...ADDRESS, 'state CHAR(2)', 'zip CHAR(9)'];
  return columns.map((column) => `${letter}_${column} NOT NULL`).join(', ');
};
const numbers = (...names: readonly string[]): string => {
  return names.map((name) => `${name} INT4 NOT NULL`).join(', ');
};

/** The texts of each district in a row of `stock`. */
export const DISTRICT_TEXTS = Array.from({ length: DISTRICTS }, (_, place) => {
  return `s_dist_${String(place + 1).padStart(2, '0')}`;
});

/** The statements that create the tables. */
export const TABLES: Readonly<Record<string, string>> = {
  warehouse: `w_id INT4 PRIMARY KEY, w_name VARCHAR(10) NOT NULL, ${addressOf('w')},
    w_tax NUMERIC(4,4) NOT NULL, w_ytd NUMERIC(12,2) NOT NULL`,
  district: `${numbers('d_w_id', 'd_id')}, d_name VARCHAR(10) NOT NULL, ${addressOf('d')},
    d_tax NUMERIC(4,4) NOT NULL, d_ytd NUMERIC(12,2) NOT NULL, d_next_o_id INT4 NOT NULL,
    PRIMARY KEY (d_w_id, d_id)`,
  customer: `${numbers('c_w_id', 'c_d_id', 'c_id')}, c_first VARCHAR(16) NOT NULL,
    c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, ${addressOf('c')},
    c_phone CHAR(16) NOT NULL, c_since TIMESTAMP NOT NULL, c_credit CHAR(2) NOT NULL,
    c_credit_lim NUMERIC(12,2) NOT NULL, c_discount NUMERIC(4,4) NOT NULL,
    c_balance NUMERIC(12,2) NOT NULL, c_ytd_payment NUMERIC(12,2) NOT NULL,
    ${numbers('c_payment_cnt', 'c_delivery_cnt')}, c_data VARCHAR(500) NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)`,
  history: `${numbers('h_c_id', 'h_c_d_id', 'h_c_w_id', 'h_d_id', 'h_w_id')},
    h_date TIMESTAMP NOT NULL, h_amount NUMERIC(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL`,
  orders: `${numbers('o_w_id', 'o_d_id', 'o_id', 'o_c_id')}, o_entry_d TIMESTAMP NOT NULL,
    o_carrier_id INT4, ${numbers('o_ol_cnt', 'o_all_local')}, PRIMARY KEY (o_w_id, o_d_id, o_id)`,
  new_order: `${numbers('no_w_id', 'no_d_id', 'no_o_id')}, PRIMARY KEY (no_w_id, no_d_id, no_o_id)`,
  order_line: `${numbers('ol_w_id', 'ol_d_id', 'ol_o_id', 'ol_number', 'ol_i_id')},
    ol_supply_w_id INT4 NOT NULL, ol_delivery_d TIMESTAMP, ol_quantity INT4 NOT NULL,
    ol_amount NUMERIC(6,2) NOT NULL, ol_dist_info CHAR(24) NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)`,
  item: `${numbers('i_id', 'i_im_id')}, i_name VARCHAR(24) NOT NULL,
    i_price NUMERIC(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL, PRIMARY KEY (i_id)`,
  stock: `${numbers('s_w_id', 's_i_id', 's_quantity')},
    ${DISTRICT_TEXTS.map((name) => `${name} CHAR(24) NOT NULL`).join(', ')},
    ${numbers('s_ytd', 's_order_cnt', 's_remote_cnt')}, s_data VARCHAR(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)`,
};

/** Customers are looked up by name too, and orders by customer. */
export const INDEXES: readonly string[] = [
  'CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)',
  'CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)',
];

/** A row of a table, as COPY reads it. */
type Row = readonly (string | number | null)[];

/** The rows of a table. */
export interface Part {
  readonly table: keyof typeof TABLES;
  readonly rows: Iterable<Row>;
}

/** All rows, a warehouse after the other. Each part is to be read to its end before the next. */
export function* partsOf(size: Size, random: Random): Generator<Part> {
  yield { table: 'item', rows: items(size, random) };
  for (let warehouse = 1; warehouse <= size.warehouses; warehouse++) {
    const money = [random.decimal(0, 2_000, 4), (DISTRICTS * 30_000).toFixed(2)];
    const row = [warehouse, random.text(6, 10), ...address(random), ...money];
    yield { table: 'warehouse', rows: [row] };
    yield { table: 'stock', rows: stocks(warehouse, size, random) };
    for (let district = 1; district <= DISTRICTS; district++) {
      yield* districtParts(warehouse, district, size, random);
    }
  }
}

function* districtParts(
  warehouse: number,
  district: number,
  size: Size,
  random: Random,
): Generator<Part> {
  const where = [warehouse, district];
  const { customers } = size;
  const money = [random.decimal(0, 2_000, 4), '30000.00', customers + 1];
  const row = [...where, random.text(6, 10), ...address(random), ...money];
  yield { table: 'district', rows: [row] };
  yield { table: 'customer', rows: customerRows(where, customers, random) };
  const history = Array.from({ length: customers }, (_, place) => {
    const of = [place + 1, district, warehouse, district, warehouse];
    return [...of, FIRST_ORDERS_AT, '10.00', random.text(12, 24)];
  });
  yield { table: 'history', rows: history };
  const lineCounts = Array.from({ length: customers }, () => random.whole(5, 15));
  yield { table: 'orders', rows: orderRows(where, lineCounts, random) };
  yield { table: 'order_line', rows: lineRows(where, lineCounts, size, random) };
  const first = firstNew(customers);
  const added = Array.from({ length: customers - first + 1 }, (_, place) => [
    ...where,
    first + place,
  ]);
  yield { table: 'new_order', rows: added };
}

/** The first order of a district that is not delivered yet. */
function firstNew(orders: number): number {
  return Math.floor(orders * DELIVERED) + 1;
}

function address(random: Random): Row {
  const streets = [random.text(10, 20), random.text(10, 20), random.text(10, 20)];
  const state = String.fromCharCode(random.whole(65, 90), random.whole(65, 90));
  return [...streets, state, `${random.digits(4)}11111`];
}

/** A tenth of the texts contains a word that prices depend on. */
function dataText(random: Random): string {
  const text = random.text(26, 50);
  if (!random.percent(10)) return text;
  const start = random.whole(0, text.length - 8);
  return `${text.slice(0, start)}ORIGINAL${text.slice(start + 8)}`;
}

function* items(size: Size, random: Random): Generator<Row> {
  for (let item = 1; item <= size.items; item++) {
    const [image, name] = [random.whole(1, 10_000), random.text(14, 24)];
    yield [item, image, name, random.decimal(100, 10_000, 2), dataText(random)];
  }
}

function* stocks(warehouse: number, size: Size, random: Random): Generator<Row> {
  for (let item = 1; item <= size.items; item++) {
    const texts = DISTRICT_TEXTS.map(() => random.text(24, 24));
    yield [warehouse, item, random.whole(10, 100), ...texts, 0, 0, 0, dataText(random)];
  }
}

function* customerRows(where: Row, customers: number, random: Random): Generator<Row> {
  for (let customer = 1; customer <= customers; customer++) {
    const last = customer <= NAMES ? lastName(customer - 1) : random.loadedName();
    const names = [random.text(8, 16), 'OE', last];
    const credit = random.percent(10) ? 'BC' : 'GC';
    const money = ['50000.00', random.decimal(0, 5_000, 4), '-10.00', '10.00', 1, 0];
    yield [
      ...[...where, customer, ...names, ...address(random), random.digits(16), FIRST_ORDERS_AT],
      ...[credit, ...money, random.text(300, 500)],
    ];
  }
}

function* orderRows(where: Row, lineCounts: readonly number[], random: Random): Generator<Row> {
  const customers = random.shuffled(lineCounts.length);
  for (const [place, lines] of lineCounts.entries()) {
    const order = place + 1;
    const carrier = order < firstNew(lineCounts.length) ? random.whole(1, 10) : null;
    yield [...where, order, customers[place] ?? 0, FIRST_ORDERS_AT, carrier, lines, 1];
  }
}

function* lineRows(
  where: Row,
  lineCounts: readonly number[],
  size: Size,
  random: Random,
): Generator<Row> {
  for (const [place, lines] of lineCounts.entries()) {
    const order = place + 1;
    const isDelivered = order < firstNew(lineCounts.length);
    for (let line = 1; line <= lines; line++) {
      const amount = isDelivered ? '0.00' : random.decimal(1, 999_999, 2);
      yield [
        ...[...where, order, line, random.whole(1, size.items), where[0] ?? 0],
        ...[isDelivered ? FIRST_ORDERS_AT : null, 5, amount, random.text(24, 24)],
      ];
    }
  }
}
