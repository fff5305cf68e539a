import { describe, expect, it } from 'vitest';

import { chooseKind, KINDS, SHARES } from '../src/tpcc/mix.js';
import { chooseNewOrder } from '../src/tpcc/new-order.js';
import { choosePayment } from '../src/tpcc/payment.js';
import { lastName, Random } from '../src/tpcc/random.js';
import { partsOf, TABLES } from '../src/tpcc/tables.js';
import { retryCode, Tally } from '../src/tpcc/tally.js';

const SIZE = { warehouses: 3, items: 50, customers: 30 };

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

describe('random values', () => {
  it('are the same from the same seed', () => {
    const [one, other] = [new Random(7), new Random(7)];
    expect(times(5, () => one.text(3, 9))).toEqual(times(5, () => other.text(3, 9)));
  });

  it('stay in their range, both ends included', () => {
    const random = new Random(1);
    const whole = new Set(times(200, () => random.whole(3, 6)));
    expect([...whole].sort()).toEqual([3, 4, 5, 6]);
    for (const number of times(1000, () => random.nonUniform(1023, 1, 300))) {
      expect(number).toBeGreaterThanOrEqual(1);
      expect(number).toBeLessThanOrEqual(300);
    }
    expect(random.shuffled(50).sort((a, b) => a - b)).toEqual(
      times(50, () => 0).map((_, i) => i + 1),
    );
  });

  it('are last names of three syllables', () => {
    expect(lastName(371)).toBe('PRICALLYOUGHT');
    expect(lastName(0)).toBe('BARBARBAR');
    expect(lastName(999)).toBe('EINGEINGEING');
  });
});

describe('the rows at the beginning', () => {
  const rows: Record<string, (readonly (string | number | null)[])[]> = {};
  for (const part of partsOf(SIZE, new Random(1))) (rows[part.table] ??= []).push(...part.rows);

  it('are as many as the size says', () => {
    const counts = Object.fromEntries(
      Object.entries(rows).map(([name, all]) => [name, all.length]),
    );
    const lines = rows.orders?.reduce((sum, row) => sum + Number(row[6]), 0);
    expect(counts).toEqual({
      ...{ item: 50, warehouse: 3, stock: 150, district: 30, customer: 900, history: 900 },
      ...{ orders: 900, order_line: lines, new_order: 270 },
    });
  });

  it('have a value for each column', () => {
    for (const [table, columns] of Object.entries(TABLES)) {
      const names = columns
        .replace(/PRIMARY KEY \([^)]*\)/, '')
        .replaceAll(/\(\d+,\d+\)/g, '')
        .split(',')
        .filter((text) => text.trim() !== '');
      expect(rows[table]?.[0]?.length, table).toBe(names.length);
    }
  });

  it('give each order of a district to another customer', () => {
    const first = rows.orders?.filter(([warehouse, district]) => warehouse === 1 && district === 1);
    expect(new Set(first?.map((row) => row[3])).size).toBe(30);
  });
});

describe('a transaction', () => {
  it('is chosen by its share', () => {
    const random = new Random(1);
    const kinds = times(20_000, () => chooseKind(random));
    for (const kind of KINDS) {
      const share = (kinds.filter((one) => one === kind).length * 100) / kinds.length;
      expect(Math.abs(share - SHARES[kind])).toBeLessThan(1.5);
    }
  });

  it('New-Order locks its items in one order, and the missing item comes last', () => {
    const random = new Random(1);
    const orders = times(2_000, () => chooseNewOrder(random, SIZE));
    for (const { lines } of orders) {
      expect(lines.length).toBeGreaterThanOrEqual(5);
      expect(lines.length).toBeLessThanOrEqual(15);
      const items = lines.map(({ item }) => item);
      expect(items).toEqual([...items].sort((a, b) => a - b));
    }
    const missing = orders.filter(({ lines }) => lines.at(-1)?.item === SIZE.items + 1);
    expect(missing.length).toBeGreaterThan(5);
    expect(missing.length).toBeLessThan(45);
    const suppliers = orders.flatMap(({ warehouse, lines }) =>
      lines.map(({ supplier }) => supplier === warehouse),
    );
    const remote = suppliers.filter((isLocal) => !isLocal).length / suppliers.length;
    expect(remote).toBeGreaterThan(0.005);
    expect(remote).toBeLessThan(0.015);
  });

  it('has no remote part with one warehouse', () => {
    const random = new Random(1);
    const payments = times(500, () => choosePayment(random, { ...SIZE, warehouses: 1 }));
    expect(payments.every(({ customer }) => customer.warehouse === 1)).toBe(true);
  });

  it('runs again after two errors only', () => {
    expect(retryCode(Object.assign(new Error('x'), { code: '40001' }))).toBe('40001');
    expect(retryCode(Object.assign(new Error('x'), { code: '40P01' }))).toBe('40P01');
    expect(retryCode(Object.assign(new Error('x'), { code: '23505' }))).toBeUndefined();
    expect(retryCode(new Error('x'))).toBeUndefined();
  });
});

describe('a tally', () => {
  it('measures after the warm-up, and counts everything that is committed', () => {
    const committed = { newOrders: 0, payments: 0 };
    const warming = new Tally(performance.now() + 1e6, performance.now() + 2e6, committed);
    warming.ended('new order', true, 1);
    expect(warming.result(0).newOrdersPerMinute).toBe(0);
    const nowMs = performance.now();
    const tally = new Tally(nowMs - 1, nowMs + 59_999, committed);
    tally.retried('payment', '40001');
    tally.ended('payment', true, 4);
    tally.ended('new order', true, 2);
    tally.ended('new order', false, 2);
    const { newOrdersPerMinute, rolledBack, kinds } = tally.result(0.5);
    expect({ newOrdersPerMinute, rolledBack }).toEqual({ newOrdersPerMinute: 1, rolledBack: 1 });
    expect(kinds.payment).toEqual({
      ...{ count: 1, p50Ms: 4, p99Ms: 4 },
      retries: { '40001': 1, '40P01': 0 },
    });
    expect(committed).toEqual({ newOrders: 2, payments: 1 });
  });
});
