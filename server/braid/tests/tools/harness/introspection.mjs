// Queries of a graphical tool about a database with one object of every kind: each is a step.
import { readFileSync } from 'node:fs';

import pg from 'pg';

import { rows, step, url } from '../support.mjs';

const owners = /\b(root|postgres)\b/g;

/** The queries of a script by their names: a line `-- == name` begins one. */
function queriesOf(script) {
  const [, ...parts] = script.split(/^-- == /m);
  return parts.map((part) => {
    const end = part.indexOf('\n');
    return { name: part.slice(0, end), sql: part.slice(end) };
  });
}

/** Makes the objects, runs the queries of queries.sql in the working folder, drops the objects. */
export async function introspect() {
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  await step('objects', () => db.query(readFileSync('../psql/schema.sql', 'utf8')));
  for (const { name, sql } of queriesOf(readFileSync('queries.sql', 'utf8'))) {
    await step(name, async () => {
      const result = await db.query(sql);
      const last = Array.isArray(result) ? result.at(-1) : result;
      rows(last.rows.map((row) => JSON.parse(JSON.stringify(row).replaceAll(owners, 'owner'))));
    });
  }
  await step('drop', async () => {
    await db.query('DROP OWNED BY tools_reader, tools_writer; DROP SCHEMA shop CASCADE');
    await db.query('DROP ROLE tools_writer, tools_reader');
  });
  await db.end();
}
