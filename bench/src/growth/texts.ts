/** Long statements, and statements that make long values. */

import type { Work } from './work.js';
import { joined, numbers, textOf } from './work.js';

const ITEM = 'CREATE TABLE item (id BIGINT PRIMARY KEY, n BIGINT)';
const ofItem = { prepare: () => [ITEM], finish: () => ['DROP TABLE item'] };

/** PostgreSQL allows 1,664 columns, and we 500 WITH queries: the large size stays below. */
const longStatements: readonly Work[] = [
  textOf(
    'AND of conditions',
    300,
    (size) => `SELECT count(*) FROM item WHERE ${joined(size, (i) => `n <> ${i}`, ' AND ')}`,
    ofItem,
  ),
  textOf(
    'OR of conditions',
    300,
    (size) => `SELECT count(*) FROM item WHERE ${joined(size, (i) => `n * n = ${i}`, ' OR ')}`,
    ofItem,
  ),
  textOf(
    'rows of VALUES',
    2_000,
    (size) => `SELECT count(*) FROM (VALUES ${joined(size, (i) => `(${i}, 'a')`)}) AS v`,
  ),
  textOf('columns of a query', 100, (size) => `SELECT ${joined(size, (i) => `${i} AS c${i}`)}`),
  textOf(
    'keys of ORDER BY',
    50,
    (size) => `SELECT n FROM item ORDER BY ${joined(size, (i) => `n + ${i}`)}`,
    ofItem,
  ),
  textOf('WITH queries', 40, (size) => {
    const queries = joined(size, (i) => `c${i} AS (SELECT ${i} AS x)`);
    return `WITH ${queries} SELECT * FROM c1`;
  }),
  textOf(
    'branches of CASE',
    200,
    (size) => `SELECT CASE 5 ${joined(size, (i) => `WHEN ${i} THEN ${i}`, ' ')} END`,
  ),
  textOf(
    'strings put together',
    100,
    (size) => `SELECT length(${joined(size, () => "'x'", ' || ')})`,
  ),
  textOf(
    'nested subqueries',
    10,
    (size) => `SELECT ${'(SELECT '.repeat(size)}1${')'.repeat(size)}`,
  ),
  textOf('statements of a message', 200, (size) => joined(size, (i) => `SELECT ${i}`, '; ')),
  textOf('long literal', 100_000, (size) => `SELECT length('${'x'.repeat(size)}')`),
  {
    name: 'parameters',
    growth: 'linear',
    size: 1_000,
    run: async (client, size) => {
      const text = `SELECT cardinality(ARRAY[${joined(size, (i) => `$${i}`)}]::INT[])`;
      await client.query({ text, values: numbers(size) });
    },
    finish: () => [],
  },
];

const series = (size: number): string => `generate_series(1, ${size}) AS g`;

const longValues: readonly Work[] = [
  textOf('jsonb_agg', 10_000, (size) => `SELECT length(jsonb_agg(g)::TEXT) FROM ${series(size)}`),
  textOf(
    'string_agg',
    10_000,
    (size) => `SELECT length(string_agg(g::TEXT, ',')) FROM ${series(size)}`,
  ),
  textOf(
    'jsonb_set in a long array',
    10_000,
    (size) =>
      `SELECT length(jsonb_set(('[' || repeat('1,', ${size}) || '1]')::JSONB, '{5}', '7')::TEXT)`,
  ),
  textOf('unnest', 10_000, (size) => `SELECT count(*) FROM unnest(array_fill(1, ARRAY[${size}]))`),
  textOf(
    'regexp_split_to_table',
    10_000,
    (size) => `SELECT count(*) FROM regexp_split_to_table(repeat('a,', ${size}), ',')`,
  ),
  textOf(
    'window of 100 rows',
    4_000,
    (size) =>
      'SELECT sum(x) FROM (SELECT sum(g) OVER (ORDER BY g ROWS BETWEEN 100 PRECEDING AND ' +
      `CURRENT ROW) AS x FROM ${series(size)}) AS s`,
  ),
  textOf(
    'IN of a subquery',
    4_000,
    (size) => `SELECT count(*) FROM item WHERE id IN (SELECT g * 2 FROM ${series(size)})`,
    {
      prepare: () => [ITEM, 'INSERT INTO item SELECT i, i FROM generate_series(1, 10000) AS i'],
      finish: () => ['DROP TABLE item'],
    },
  ),
  textOf(
    'MERGE of new rows',
    2_000,
    (size) =>
      `MERGE INTO item USING ${series(size)} ON item.id = g ` +
      'WHEN NOT MATCHED THEN INSERT VALUES (g, 1)',
    ofItem,
  ),
  textOf(
    'ON CONFLICT DO NOTHING',
    10_000,
    (size) => `INSERT INTO item SELECT g % 10, g FROM ${series(size)} ON CONFLICT DO NOTHING`,
    ofItem,
  ),
];

/** Long statements and long values. */
export const TEXT_WORKS: readonly Work[] = [...longStatements, ...longValues];
