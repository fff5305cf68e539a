/**
 * Question: how many single rows a second can be inserted, each durable before it is acknowledged?
 */

import type { Question } from './sides.js';

/** Single-row inserts, one commit each. Both servers sync every commit. */
export function durableInsert(connections: number): Question {
  let next = 0;
  return {
    name: `durable insert, 1 row, ${connections} conn`,
    connections,
    async prepare(client, side) {
      await client.query('DROP TABLE IF EXISTS bench_insert');
      await client.query('CREATE TABLE bench_insert (id INT8 PRIMARY KEY, n INT4, filler TEXT)');
      if (side.name === 'PostgreSQL') await expectSync(client);
    },
    async operation(client) {
      const id = next++;
      const { rowCount } = await client.query({
        name: 'bench_insert',
        text: 'INSERT INTO bench_insert (id, n, filler) VALUES ($1, $2, $3)',
        values: [id, id % 1000, 'x'.repeat(80)],
      });
      if (rowCount !== 1) throw new Error(`${rowCount ?? 'no'} rows inserted`);
    },
    async check(client, operations) {
      const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM bench_insert');
      // Every round starts from an empty table, so the count is the number of acknowledgements.
      if (Number(rows[0]?.n) !== operations) {
        throw new Error(`${operations} inserts acknowledged, ${rows[0]?.n ?? '?'} rows found`);
      }
      await client.query('DELETE FROM bench_insert');
    },
    async finish(client) {
      await client.query('DROP TABLE IF EXISTS bench_insert');
    },
  };
}

/** Refuses a PostgreSQL that does not wait for the disk. BraidDB always waits. */
async function expectSync(client: {
  query(text: string): Promise<{ rows: Record<string, string>[] }>;
}): Promise<void> {
  const { rows: versions } = await client.query('SELECT version()');
  if (versions[0]?.version?.includes('BraidDB')) return;
  for (const setting of ['fsync', 'synchronous_commit']) {
    const { rows } = await client.query(`SHOW ${setting}`);
    if (rows[0]?.[setting] !== 'on') throw new Error(`PostgreSQL runs with ${setting} off`);
  }
}
