/**
 * Question: how fast is a full scan with count and sum over a million rows of 100 bytes?
 */

import type { Question, Side } from './sides.js';
import { residentKb } from './memory.js';

const CHUNK = 10_000;

/** Full scans; PostgreSQL in a single process, without parallel workers. */
export function fullScan(rowsTotal: number): Question {
  const expected = { n: rowsTotal, total: (rowsTotal * (rowsTotal + 1)) / 2 };
  const memory: number[] = [];
  let pid: number | undefined;
  return {
    name: `full scan, count + sum, ${rowsTotal} rows`,
    connections: 1,
    async prepare(client, side: Side) {
      if (side.name === 'BraidDB') pid = side.pid;
      await client.query('DROP TABLE IF EXISTS bench_scan');
      await client.query('CREATE TABLE bench_scan (id INT4 PRIMARY KEY, n INT4, filler TEXT)');
      for (let start = 1; start <= rowsTotal; start += CHUNK) {
        await client.query(
          `INSERT INTO bench_scan SELECT i, i, repeat('x', 88)
           FROM generate_series($1::int4, $2::int4) AS g (i)`,
          [start, Math.min(start + CHUNK - 1, rowsTotal)],
        );
      }
      if (side.name === 'PostgreSQL') {
        await client.query('ALTER ROLE CURRENT_USER SET max_parallel_workers_per_gather = 0');
        await client.query('VACUUM ANALYZE bench_scan');
      }
    },
    async operation(client) {
      const { rows } = await client.query<{ n: string; total: string }>({
        name: 'bench_scan',
        text: 'SELECT count(*) AS n, sum(n) AS total FROM bench_scan',
      });
      const row = rows[0];
      if (Number(row?.n) !== expected.n || Number(row?.total) !== expected.total) {
        throw new Error(`wrong result: ${JSON.stringify(row)}`);
      }
      if (pid !== undefined) memory.push(await residentKb(pid));
    },
    check() {
      // Flat: a scan reads 100 MB and must not keep them.
      const first = memory[0] ?? 0;
      const last = memory.at(-1) ?? 0;
      if (last - first > 100 * 1024) {
        return Promise.reject(new Error(`memory grew from ${first} to ${last} kB`));
      }
      return Promise.resolve();
    },
    async finish(client) {
      await client.query('DROP TABLE IF EXISTS bench_scan');
    },
  };
}
