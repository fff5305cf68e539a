/** The tests of the shop in node:test: a server for each file, and a database for each test. */

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';

import { connect } from '@braiddb/sdk';
import { createDatabase, startServer } from '@braiddb/server';

import { createShop, order, piecesLeft, SoldOutError } from '../../dist/shop.js';

let server, database, db;
before(async () => {
  server = await startServer();
});
after(() => server.close());
beforeEach(async () => {
  database = await createDatabase(server);
  db = await connect(database.url);
  await createShop(db);
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

test('an order takes pieces out of the stock', async () => {
  await order(db, 'lamp', 2);
  assert.equal(await piecesLeft(db, 'lamp'), 3);
});

test('two orders at once cannot have the same piece', async () => {
  const orders = await Promise.allSettled([order(db, 'lamp', 3), order(db, 'lamp', 3)]);
  assert.deepEqual(orders.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  assert.equal(await piecesLeft(db, 'lamp'), 2);
});

test('an order of too many pieces changes nothing', async () => {
  await assert.rejects(order(db, 'lamp', 6), SoldOutError);
  assert.equal(await piecesLeft(db, 'lamp'), 5);
});
