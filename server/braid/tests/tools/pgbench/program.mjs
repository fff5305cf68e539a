// pgbench: its tables in each way, and its scripts by each protocol. Only counts are printed.
import pg from 'pg';

import { run } from '../harness/process.mjs';
import { rows, say, step, url } from '../support.mjs';

const TRANSACTIONS = 20;

const db = new pg.Client({ connectionString: url });
await db.connect();

const query = async (sql) => rows((await db.query(sql)).rows);

/** Runs pgbench; prints the errors, and the lines of its report that hold no times. */
async function pgbench(...options) {
  const { code, output, errors } = await run('pgbench', [...options, url]);
  if (code !== 0) say(`ended with ${code}`, errors);
  const counts = /^(transaction type|query mode|number of (clients|transactions|failed))/;
  for (const line of output.split('\n')) if (counts.test(line)) say(line);
}

/** Prints the tables, their keys and their numbers of rows. */
async function tables() {
  await query(`
    SELECT relname, relkind, relispartition FROM pg_class
    WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'p') ORDER BY relname
  `);
  await query(`
    SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS definition
    FROM pg_constraint
    WHERE conrelid::regclass::text LIKE 'pgbench%' AND conparentid = 0 ORDER BY 1, 2
  `);
  await query(`
    SELECT (SELECT count(*) FROM pgbench_accounts) AS accounts,
      (SELECT count(*) FROM pgbench_tellers) AS tellers,
      (SELECT count(*) FROM pgbench_branches) AS branches
  `);
}

/** Runs a script by one client, so that no transaction fails. */
const script = (name, ...options) =>
  pgbench('-n', '-c', '1', '-t', `${TRANSACTIONS}`, '-b', name, ...options);

const sums = () =>
  query(`
    SELECT (SELECT count(*) FROM pgbench_history) AS history,
      (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
        AS accounts_agree,
      (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)
        AS tellers_agree
  `);

await step('tables, filled by the client', async () => {
  await pgbench('-i', '-q');
  await tables();
});

await step('tpcb-like', async () => {
  await script('tpcb-like');
  await script('tpcb-like', '-M', 'extended');
  await script('tpcb-like', '-M', 'prepared');
  await sums();
});

await step('simple-update', async () => {
  await script('simple-update');
  await script('simple-update', '-M', 'extended');
  await script('simple-update', '-M', 'prepared');
  await sums();
});

await step('select-only', async () => {
  await script('select-only');
  await script('select-only', '-M', 'extended');
  await script('select-only', '-M', 'prepared', '-c', '4', '-j', '2');
});

await step('tables, filled by the server, with foreign keys', async () => {
  await pgbench('-i', '-q', '-I', 'dtGvpf');
  await tables();
  await script('tpcb-like');
  await sums();
});

await step('partitions by range', async () => {
  await pgbench('-i', '-q', '--partitions=3');
  await tables();
  await query(`
    SELECT tableoid::regclass::text AS part, count(*) FROM pgbench_accounts GROUP BY 1 ORDER BY 1
  `);
  await script('tpcb-like', '-M', 'prepared');
  await sums();
});

await step('partitions by hash, with foreign keys', async () => {
  await pgbench('-i', '-q', '--partitions=2', '--partition-method=hash', '--foreign-keys');
  await tables();
  await script('simple-update');
  await sums();
});

await step('a script of its own', async () => {
  await db.query('CREATE TABLE own (n int, other int)');
  await pgbench('-n', '-c', '2', '-t', '10', '-D', 'factor=3', '-f', 'own.sql');
  await query('SELECT count(*), min(n), max(n) FROM own');
});

await step('drop', async () => {
  await pgbench('-i', '-I', 'd');
  await query(`SELECT relname FROM pg_class WHERE relname LIKE 'pgbench%'`);
});

await db.end();
