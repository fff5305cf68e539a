/**
 * Statements that read or write very many rows. What is timed is `run` alone.
 */

import type pg from 'pg';

import { copyFrom } from '../growth/copy.js';

/** One kind of work. */
export interface BulkWork {
  readonly name: string;
  /** How many rows it is about, by the suite's number of rows. */
  readonly rows: (rows: number) => number;
  /** Statements before the time is taken. */
  readonly prepare: (rows: number) => readonly string[];
  /** Returns a number that has to be the same on both servers: rows written, or a count. */
  readonly run: (client: pg.Client, rows: number) => Promise<number>;
  /** Statements afterwards. */
  readonly finish: readonly string[];
}

const COLUMNS = '(id BIGINT PRIMARY KEY, grp INT, val INT, line TEXT)';
/** A value for each row that looks like chance and comes once. */
const SCATTERED = '((i * 7919) % 1000003)::INT';
const FILL =
  `SELECT i, (i % 1000)::INT, ${SCATTERED}, 'line number ' || i ` +
  'FROM generate_series(1::BIGINT, ';

const filled = (rows: number): string[] => [
  `CREATE TABLE item ${COLUMNS}`,
  `INSERT INTO item ${FILL}${rows}) AS i`,
];
const family = (rows: number, action: string): string[] => [
  'CREATE TABLE parent (id BIGINT PRIMARY KEY)',
  `INSERT INTO parent SELECT generate_series(1, ${rows / 10})`,
  `CREATE TABLE child (id BIGINT PRIMARY KEY, parent BIGINT REFERENCES parent ${action})`,
  `INSERT INTO child SELECT i, (i % ${rows / 10}) + 1 FROM generate_series(1, ${rows}) AS i`,
  'CREATE INDEX ON child (parent)',
];

const DROP_ITEM = ['DROP TABLE item'];
const DROP_COPY = ['DROP TABLE copy', 'DROP TABLE item'];
const DROP_FAMILY = ['DROP TABLE child', 'DROP TABLE parent'];

const same = (rows: number): number => rows;
const million = (rows: number): number => rows * 5;

/** A statement, and how many rows it has written. */
const written =
  (text: string) =>
  async (client: pg.Client): Promise<number> =>
    (await client.query(text)).rowCount ?? 0;

/** A query that gives one number. */
const counted =
  (text: (rows: number) => string) =>
  async (client: pg.Client, rows: number): Promise<number> => {
    const result = await client.query<{ count: string }>(text(rows));
    return Number(result.rows[0]?.count);
  };

const changes: readonly BulkWork[] = [
  {
    name: 'DELETE by a filter',
    rows: same,
    prepare: (rows) => filled(rows * 2),
    run: written('DELETE FROM item WHERE val % 2 = 0'),
    finish: DROP_ITEM,
  },
  {
    name: 'DELETE by a filter, with an index',
    rows: same,
    prepare: (rows) => [...filled(rows * 2), 'CREATE INDEX ON item (val)'],
    run: written('DELETE FROM item WHERE val % 2 = 0'),
    finish: DROP_ITEM,
  },
  {
    name: 'UPDATE',
    rows: same,
    prepare: filled,
    run: written("UPDATE item SET line = line || '!'"),
    finish: DROP_ITEM,
  },
  {
    name: 'UPDATE of an indexed column',
    rows: same,
    prepare: (rows) => [...filled(rows), 'CREATE INDEX ON item (val)'],
    run: written('UPDATE item SET val = val + 1'),
    finish: DROP_ITEM,
  },
  {
    name: 'UPDATE of a unique column',
    rows: same,
    prepare: (rows) => [...filled(rows), 'CREATE UNIQUE INDEX ON item (line)'],
    run: written("UPDATE item SET line = line || '!'"),
    finish: DROP_ITEM,
  },
  {
    name: 'UPDATE of a column beside an index',
    rows: same,
    prepare: (rows) => [...filled(rows), 'CREATE INDEX ON item (val)'],
    run: written('UPDATE item SET grp = grp + 1'),
    finish: DROP_ITEM,
  },
  {
    name: 'ON DELETE CASCADE',
    rows: same,
    prepare: (rows) => family(rows, 'ON DELETE CASCADE'),
    run: written('DELETE FROM parent'),
    finish: DROP_FAMILY,
  },
  {
    name: 'ON DELETE SET NULL',
    rows: same,
    prepare: (rows) => family(rows, 'ON DELETE SET NULL'),
    run: written('DELETE FROM parent'),
    finish: DROP_FAMILY,
  },
  {
    name: 'ON CONFLICT DO UPDATE',
    rows: same,
    prepare: filled,
    run: written('INSERT INTO item SELECT * FROM item ON CONFLICT (id) DO UPDATE SET val = 0'),
    finish: DROP_ITEM,
  },
];

const inserts: readonly BulkWork[] = [
  {
    name: 'INSERT … SELECT',
    rows: million,
    prepare: (rows) => [...filled(rows), `CREATE TABLE copy ${COLUMNS}`],
    run: written('INSERT INTO copy SELECT * FROM item'),
    finish: DROP_COPY,
  },
  {
    name: 'INSERT … SELECT with two indexes',
    rows: same,
    prepare: (rows) => [
      ...filled(rows),
      `CREATE TABLE copy ${COLUMNS}`,
      'CREATE INDEX ON copy (val)',
      'CREATE UNIQUE INDEX ON copy (line)',
    ],
    run: written('INSERT INTO copy SELECT * FROM item'),
    finish: DROP_COPY,
  },
  {
    name: 'INSERT … SELECT with a foreign key',
    rows: same,
    prepare: (rows) => [
      ...filled(rows),
      'CREATE TABLE copy (id BIGINT PRIMARY KEY REFERENCES item, grp INT)',
    ],
    run: written('INSERT INTO copy SELECT id, grp FROM item'),
    finish: DROP_COPY,
  },
  {
    name: 'COPY',
    rows: million,
    prepare: () => [`CREATE TABLE item ${COLUMNS}`],
    run: async (client, rows) => {
      const line = (i: number): string => `${i}\t${i % 1000}\t${i % 7919}\tline number ${i}\n`;
      const data = Array.from({ length: rows }, (_, i) => line(i + 1)).join('');
      await copyFrom(client, 'COPY item FROM STDIN', data);
      return rows;
    },
    finish: DROP_ITEM,
  },
];

const others: readonly BulkWork[] = [
  {
    name: 'CREATE INDEX',
    rows: million,
    prepare: filled,
    run: written('CREATE INDEX ON item (val)'),
    finish: DROP_ITEM,
  },
  {
    name: 'ADD PRIMARY KEY',
    rows: same,
    prepare: (rows) => [
      'CREATE TABLE item (id BIGINT NOT NULL, grp INT, val INT, line TEXT)',
      ...filled(rows).slice(1),
    ],
    run: written('ALTER TABLE item ADD PRIMARY KEY (id)'),
    finish: DROP_ITEM,
  },
  {
    name: '2,000 equalities joined by OR',
    rows: same,
    prepare: filled,
    run: counted(() => {
      const equalities = Array.from({ length: 2_000 }, (_, i) => `val = ${i * 37}`);
      return `SELECT count(*) FROM item WHERE ${equalities.join(' OR ')}`;
    }),
    finish: DROP_ITEM,
  },
  {
    name: 'DISTINCT',
    rows: same,
    prepare: filled,
    run: counted(() => 'SELECT count(*) FROM (SELECT DISTINCT grp, val FROM item) AS d'),
    finish: DROP_ITEM,
  },
  {
    name: 'recursive query',
    rows: same,
    prepare: () => [],
    run: counted(
      (rows) =>
        `WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${rows}) ` +
        'SELECT count(*) FROM r',
    ),
    finish: [],
  },
];

/** All of them. */
export const WORKS: readonly BulkWork[] = [...changes, ...inserts, ...others];
