// A schema of a whole application: loaded by psql, dumped, and restored by psql and by pg_restore.
// The same queries answer the same before the dump and after each restore.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';

import { run } from '../harness/process.mjs';
import { rows, say, step, url } from '../support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'film-rental-'));
const file = (name) => join(folder, name);

/** The address of a database beside that of this run. */
function beside(suffix) {
  const address = new URL(url);
  address.pathname += suffix;
  return address.href;
}

/** Runs a program of PostgreSQL; prints its errors, and how it ended if that is not well. */
async function call(program, ...args) {
  const { code, output, errors } = await run(program, args);
  if (errors !== '') say(errors.trimEnd());
  if (code !== 0) say(`${program} ended with ${code}`);
  return output;
}

const load = (target, ...options) =>
  call('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', target, ...options);

/** What the queries answer, errors among the answers. */
async function answers(target) {
  const script = 'exec psql -X -A -d "$0" -f queries.sql 2>&1';
  const { output } = await run('sh', ['-c', script, target]);
  return output.replaceAll(/^psql:\S+ /gm, '');
}

/** A dump without the key of its own that newer versions write. */
const dump = async (target) =>
  (await call('pg_dump', '-d', target)).replaceAll(/^\\(un)?restrict \S+$/gm, '');

/** Restores into a new database, compares the answers and drops it. */
async function restored(suffix, restore) {
  const target = beside(suffix);
  const name = new URL(target).pathname.slice(1);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await restore(target);
  say((await dump(target)) === dumped ? 'the same dump' : 'another dump');
  const now = await answers(target);
  say(now === before ? 'the same answers' : now);
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
}

let before;
let dumped;

await step('load by psql', async () => {
  await load(url, '-f', 'schema.sql');
  await load(url, '-f', 'data.sql', '-o', file('ignored'));
});

await step('queries', async () => {
  before = await answers(url);
  say(before.trimEnd());
});

await step('objects', async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: found } = await client.query(`
    SELECT relkind AS kind, count(*) FROM pg_class WHERE relnamespace = 'rental'::regnamespace
    GROUP BY relkind ORDER BY relkind
  `);
  rows(found);
  await client.end();
});

await step('dump', async () => {
  dumped = await dump(url);
  say(dumped.length > 100_000);
  await call('pg_dump', '-Fp', '-f', file('plain.sql'), '-d', url);
  await call(
    'pg_dump',
    '-Fp',
    '--inserts',
    '--rows-per-insert=50',
    '-f',
    file('inserts.sql'),
    '-d',
    url,
  );
  await call('pg_dump', '-Fc', '-f', file('custom'), '-d', url);
  await call('pg_dump', '-Fd', '-j', '2', '-f', file('directory'), '-d', url);
  await call('pg_dump', '-Ft', '-f', file('tar'), '-d', url);
});

await step('restore by psql', () =>
  restored('_p', (target) => load(target, '-1', '-f', file('plain.sql'), '-o', file('ignored'))),
);

await step('restore of INSERT by psql', () =>
  restored('_i', (target) => load(target, '-f', file('inserts.sql'), '-o', file('ignored'))),
);

await step('restore by pg_restore, custom format', () =>
  restored('_c', (target) => call('pg_restore', '-1', '-d', target, file('custom'))),
);

await step('restore by pg_restore, directory', () =>
  restored('_d', (target) => call('pg_restore', '-d', target, file('directory'))),
);

await step('restore in sections, from tar', () =>
  restored('_t', async (target) => {
    for (const section of ['pre-data', 'data', 'post-data']) {
      await call('pg_restore', `--section=${section}`, '-d', target, file('tar'));
    }
  }),
);

rmSync(folder, { recursive: true });
