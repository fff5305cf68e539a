/** The tests of the shop in jest: a server for the run, and a database for each test. */

import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { connect } from '@braiddb/sdk';
import { createDatabase } from '@braiddb/server';

import { createShop, order, piecesLeft, SoldOutError } from '../../dist/shop.js';

let database, db;
beforeEach(async () => {
  database = await createDatabase(process.env.SERVER_URL);
  db = await connect(database.url);
  await createShop(db);
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

test('an order takes pieces out of the stock', async () => {
  await order(db, 'lamp', 2);
  expect(await piecesLeft(db, 'lamp')).toBe(3);
});

test('two orders at once cannot have the same piece', async () => {
  const orders = await Promise.allSettled([order(db, 'lamp', 3), order(db, 'lamp', 3)]);
  expect(orders.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await piecesLeft(db, 'lamp')).toBe(2);
});

test('an order of too many pieces changes nothing', async () => {
  await expect(order(db, 'lamp', 6)).rejects.toThrow(SoldOutError);
  expect(await piecesLeft(db, 'lamp')).toBe(5);
});
