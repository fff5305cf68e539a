/** Summaries of statements. */

import { expect, it } from 'vitest';

import { summarize } from '../src/index.js';

it.each([
  ['SELECT 1', 'SELECT'],
  ['select * from orders o join "Items" i on o.id = i.id', 'SELECT orders "Items"'],
  ['SELECT (SELECT max(id) FROM inner_t) FROM outer_t', 'SELECT SELECT inner_t outer_t'],
  ['INSERT INTO s.orders (a) SELECT a FROM old', 'INSERT s.orders SELECT old'],
  ['INSERT INTO t VALUES ($1) ON CONFLICT (id) DO UPDATE SET a = 1', 'INSERT t'],
  ['UPDATE ONLY t SET a = $1 WHERE b IS DISTINCT FROM c', 'UPDATE t'],
  ['DELETE FROM t WHERE id = $1', 'DELETE t'],
  ['WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone', 'DELETE t SELECT gone'],
  ['SELECT * FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED', 'SELECT t'],
  ['SELECT extract(epoch FROM at) FROM t', 'SELECT t'],
  ['SELECT * FROM generate_series(1, 2)', 'SELECT generate_series'],
  ['CREATE TABLE IF NOT EXISTS t (id INT4 REFERENCES u ON DELETE CASCADE)', 'CREATE t'],
  ['TRUNCATE TABLE t', 'TRUNCATE t'],
  ['COPY t FROM STDIN', 'COPY'],
  ['/* who */ -- what\nSELECT 1 -- UPDATE t', 'SELECT'],
  ["SELECT ' FROM t' || $$ FROM u $$ || $a$ FROM $$ v $a$", 'SELECT'],
  ['(SELECT a FROM t) UNION SELECT a FROM u', 'SELECT t SELECT u'],
  ['', ''],
  ['  \n ', ''],
])('%s', (text, summary) => {
  expect(summarize(text).summary).toBe(summary);
});

it('takes literals out of the text, and leaves names and parameters', () => {
  const text = `SELECT a1, 'it''s', E'\\'x', 1.5e3, $1, "it's", U&'x', $q$secret$q$ FROM t2 -- secret
    WHERE a = .5 AND b = '`;
  expect(summarize(text).text.replaceAll(/\s+/g, ' ')).toBe(
    `SELECT a1, ?, ?, ?, $1, "it's", ?, ? FROM t2 WHERE a = ? AND b = ?`,
  );
  for (const open of ["'secret", '$$secret', '/* secret', "E'secret\\'"]) {
    expect(summarize(`SELECT 1, ${open}`).text).not.toContain('secret');
  }
});

it('is bounded, and quick for long and odd texts', () => {
  const startMs = performance.now();
  for (const piece of ['/*', '$a$ ', "'", '"', '(', 'a.', '$$', "E'\\"]) {
    const { summary, text } = summarize(`SELECT ${piece.repeat(100_000)}`);
    expect(summary.length).toBeLessThanOrEqual(255);
    expect(text.length).toBeLessThanOrEqual(10_000);
  }
  const many = Array.from({ length: 500 }, (_, i) => `JOIN table_${i} USING (id)`).join(' ');
  expect(summarize(`SELECT * FROM t ${many}`).summary.length).toBeLessThanOrEqual(255);
  expect(performance.now() - startMs).toBeLessThan(2000);
});
