/**
 * Every kind of work that a statement, a transaction, a session or the catalog can hold, with a
 * size.
 */

import { copyFrom } from './copy.js';
import { HELD_WORKS } from './held.js';
import { OBJECT_WORKS } from './objects.js';
import { ROUTINE_WORKS } from './routines.js';
import { TEXT_WORKS } from './texts.js';
import type { Work } from './work.js';
import { each, inTransaction, numbers } from './work.js';

const ITEM = 'CREATE TABLE item (id BIGINT PRIMARY KEY, line TEXT)';
const dropItem = (): string[] => ['DROP TABLE item'];
const filled = (size: number): string[] => [
  ITEM,
  `INSERT INTO item SELECT i, 'line ' || i FROM generate_series(1, ${size}) AS i`,
];

/** Rows that go into the table by one statement of the server's own. */
const insertSeries = (from: number, rows: number): string =>
  `INSERT INTO item SELECT i, 'line ' || i FROM generate_series(${from}, ${from + rows - 1}) AS i`;

const statements: readonly Work[] = [
  {
    name: 'INSERT … SELECT in a transaction',
    growth: 'linear',
    size: 20_000,
    prepare: () => [ITEM],
    run: (client, size) =>
      inTransaction(client, async () => {
        await client.query(insertSeries(1, size));
      }),
    finish: dropItem,
  },
  {
    name: 'INSERT of many VALUES',
    growth: 'linear',
    size: 2_000,
    prepare: () => [ITEM],
    run: async (client, size) => {
      const rows = numbers(size).map((i) => `(${i}, 'line')`);
      await client.query(`INSERT INTO item VALUES ${rows.join(', ')}`);
    },
    finish: dropItem,
  },
  {
    name: 'IN list',
    growth: 'linear',
    size: 1_000,
    prepare: filled,
    run: async (client, size) => {
      await client.query(`SELECT * FROM item WHERE id IN (${numbers(size).join(', ')})`);
    },
    finish: dropItem,
  },
  {
    name: 'DELETE of every row',
    growth: 'linear',
    size: 10_000,
    prepare: filled,
    run: async (client) => {
      await client.query('DELETE FROM item');
    },
    finish: dropItem,
  },
  {
    name: 'DELETE of every second row',
    growth: 'linear',
    size: 10_000,
    prepare: filled,
    run: async (client) => {
      await client.query('DELETE FROM item WHERE id % 2 = 0');
    },
    finish: dropItem,
  },
  {
    name: 'CREATE INDEX',
    growth: 'linear',
    size: 100_000,
    prepare: filled,
    run: async (client) => {
      await client.query('CREATE INDEX item_line ON item (line)');
    },
    finish: dropItem,
  },
  {
    name: 'UPDATE of every row',
    growth: 'linear',
    size: 10_000,
    prepare: filled,
    run: async (client) => {
      await client.query("UPDATE item SET line = line || '!'");
    },
    finish: dropItem,
  },
  {
    name: 'first row behind deleted ones',
    growth: 'constant',
    size: 10_000,
    prepare: (size) => [...filled(size + 10), `DELETE FROM item WHERE id <= ${size}`],
    run: (client) => each(client, 50, () => 'SELECT id FROM item ORDER BY id LIMIT 1'),
    finish: dropItem,
  },
  {
    name: 'UNION ALL branches',
    growth: 'linear',
    size: 20,
    run: async (client, size) => {
      await client.query(
        numbers(size)
          .map((i) => `SELECT ${i}`)
          .join(' UNION ALL '),
      );
    },
    finish: () => [],
  },
];

const transactions: readonly Work[] = [
  {
    name: 'COPY in a transaction',
    growth: 'linear',
    size: 40_000,
    prepare: () => [ITEM],
    run: (client, size) => {
      const data = numbers(size).map((i) => `${i}\tline ${i}\n`);
      return inTransaction(client, () => copyFrom(client, 'COPY item FROM STDIN', data.join('')));
    },
    finish: dropItem,
  },
  {
    name: 'batches of 1,000 rows in a transaction',
    growth: 'linear',
    size: 20,
    prepare: () => [ITEM],
    run: (client, size) =>
      inTransaction(client, () => each(client, size, (i) => insertSeries(i * 1_000, 1_000))),
    finish: dropItem,
  },
  {
    name: 'single INSERTs in a transaction',
    growth: 'linear',
    size: 500,
    prepare: () => [ITEM],
    run: (client, size) =>
      inTransaction(client, () =>
        each(client, size, (i) => `INSERT INTO item VALUES (${i}, 'line')`),
      ),
    finish: dropItem,
  },
  {
    name: 'savepoints with ROLLBACK TO',
    growth: 'linear',
    size: 200,
    prepare: () => [ITEM],
    run: (client, size) =>
      inTransaction(client, async () => {
        for (let i = 1; i <= size; i++) {
          await client.query(`INSERT INTO item VALUES (${i}, 'stays'); SAVEPOINT s`);
          await client.query(`INSERT INTO item VALUES (${-i}, 'goes'); ROLLBACK TO s`);
        }
      }),
    finish: dropItem,
  },
  {
    name: 'nested savepoints',
    growth: 'linear',
    size: 200,
    prepare: () => [ITEM],
    run: (client, size) =>
      inTransaction(client, () =>
        each(client, size, (i) => `SAVEPOINT s${i}; INSERT INTO item VALUES (${i}, 'line')`),
      ),
    finish: dropItem,
  },
  {
    name: 'deferred foreign keys',
    growth: 'linear',
    size: 2_000,
    prepare: () => [
      'CREATE TABLE parent (id BIGINT PRIMARY KEY)',
      'CREATE TABLE child (id BIGINT PRIMARY KEY, parent BIGINT ' +
        'REFERENCES parent DEFERRABLE INITIALLY DEFERRED)',
    ],
    run: (client, size) =>
      inTransaction(client, async () => {
        await client.query(`INSERT INTO child SELECT i, i FROM generate_series(1, ${size}) AS i`);
        await client.query(`INSERT INTO parent SELECT generate_series(1, ${size})`);
      }),
    finish: () => ['DROP TABLE child', 'DROP TABLE parent'],
  },
  {
    name: 'range deletes in a transaction',
    growth: 'linear',
    size: 100,
    prepare: (size) => [
      'CREATE TABLE parent (id BIGINT PRIMARY KEY)',
      'CREATE TABLE child (parent BIGINT REFERENCES parent ON DELETE CASCADE, place BIGINT, ' +
        'PRIMARY KEY (parent, place))',
      `INSERT INTO parent SELECT generate_series(1, ${size})`,
      `INSERT INTO child SELECT i, j FROM generate_series(1, ${size}) AS i, ` +
        'generate_series(1, 10) AS j',
    ],
    run: (client, size) =>
      inTransaction(client, () => each(client, size, (i) => `DELETE FROM parent WHERE id = ${i}`)),
    finish: () => ['DROP TABLE child', 'DROP TABLE parent'],
  },
  {
    name: 'row locks',
    growth: 'linear',
    size: 5_000,
    prepare: filled,
    run: (client) =>
      inTransaction(client, async () => {
        await client.query('SELECT count(*) FROM (SELECT id FROM item FOR UPDATE) AS locked');
      }),
    finish: dropItem,
  },
];

const sessions: readonly Work[] = [
  {
    name: 'prepared statements of a session',
    growth: 'linear',
    size: 200,
    prepare: () => [ITEM],
    run: (client, size) =>
      each(client, size, (i) => `PREPARE p${i} AS SELECT line FROM item WHERE id = ${i}`),
    finish: () => ['DEALLOCATE ALL', 'DROP TABLE item'],
  },
  {
    name: 'open cursors',
    growth: 'linear',
    size: 50,
    prepare: () => filled(1_000),
    run: (client, size) =>
      inTransaction(client, () =>
        each(
          client,
          size,
          (i) => `DECLARE c${i} CURSOR FOR SELECT * FROM item; FETCH 10 FROM c${i}`,
        ),
      ),
    finish: dropItem,
  },
  {
    name: 'FETCH by FETCH through a cursor',
    growth: 'linear',
    size: 5_000,
    prepare: filled,
    run: (client, size) =>
      inTransaction(client, async () => {
        await client.query('DECLARE c CURSOR FOR SELECT * FROM item');
        await each(client, size / 100, () => 'FETCH 100 FROM c');
      }),
    finish: dropItem,
  },
  {
    name: 'settings',
    growth: 'linear',
    size: 200,
    run: (client, size) => each(client, size, (i) => `SET application_name = 'name ${i}'`),
    finish: () => ['RESET application_name'],
  },
];

const dropTables = (size: number): string[] => numbers(size).map((i) => `DROP TABLE many_${i}`);

const catalogs: readonly Work[] = [
  {
    name: 'CREATE TABLE',
    growth: 'linear',
    size: 50,
    run: (client, size) =>
      each(client, size, (i) => `CREATE TABLE many_${i} (id BIGINT PRIMARY KEY, line TEXT)`),
    finish: dropTables,
  },
  {
    name: 'statements beside many tables',
    growth: 'constant',
    size: 50,
    prepare: (size) => [
      ...filled(10),
      ...numbers(size).map((i) => `CREATE TABLE many_${i} (id BIGINT PRIMARY KEY)`),
    ],
    run: (client) => each(client, 100, (i) => `UPDATE item SET line = 'x' WHERE id = ${i % 10}`),
    finish: (size) => ['DROP TABLE item', ...dropTables(size)],
  },
  {
    name: 'columns of a table',
    growth: 'linear',
    size: 30,
    prepare: () => ['CREATE TABLE wide (id BIGINT PRIMARY KEY)'],
    run: (client, size) => each(client, size, (i) => `ALTER TABLE wide ADD COLUMN c${i} BIGINT`),
    finish: () => ['DROP TABLE wide'],
  },
];

/** All of them. */
export const WORKS: readonly Work[] = [
  ...[...statements, ...TEXT_WORKS, ...ROUTINE_WORKS],
  ...[...transactions, ...sessions, ...HELD_WORKS],
  ...[...catalogs, ...OBJECT_WORKS],
];
