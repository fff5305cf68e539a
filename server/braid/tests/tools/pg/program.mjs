// node-postgres with its cursor, its stream of rows, and COPY in both directions.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import Cursor from 'pg-cursor';
import QueryStream from 'pg-query-stream';

import { fails, rows, say, step, url } from '../support.mjs';

const client = new pg.Client({ connectionString: url });
await client.connect();

await step('schema', async () => {
  await client.query(`
    CREATE TABLE authors (
      id serial PRIMARY KEY,
      uid uuid NOT NULL DEFAULT gen_random_uuid(),
      email text NOT NULL UNIQUE,
      meta jsonb NOT NULL DEFAULT '{}',
      tags text[] NOT NULL DEFAULT '{}',
      born date,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE books (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
      title varchar(100) NOT NULL,
      price numeric(10, 2) CHECK (price >= 0),
      scores int[],
      UNIQUE (author_id, title)
    );
    CREATE INDEX books_price ON books (price DESC) WHERE price > 10;
  `);
});

await step('insert and types', async () => {
  const result = await client.query(
    `INSERT INTO authors (email, meta, tags, born, created_at) VALUES ($1, $2, $3, $4, $5)
     RETURNING *`,
    ['ann@example.org', { a: [1, null] }, ['x', 'y "z"'], '1970-01-02', new Date(0)],
  );
  say(result.command, result.rowCount);
  for (const field of result.fields) {
    say(field.name, [field.dataTypeID, field.dataTypeSize, field.dataTypeModifier, field.columnID]);
  }
  const [{ uid, born, ...author }] = result.rows;
  say(uid.length, born.getFullYear(), author);
  const many = await client.query(
    `INSERT INTO books (author_id, title, price, scores)
     SELECT 1, 'book ' || n, n * 1.5, ARRAY[n, n * 2] FROM generate_series(1, 25) AS n RETURNING id`,
  );
  say(many.command, many.rowCount, many.rows.at(-1));
});

await step('array of rows, several statements, named statement', async () => {
  const plain = await client.query({
    text: 'SELECT id, price, scores FROM books ORDER BY id LIMIT 2',
    rowMode: 'array',
  });
  rows(plain.rows);
  const several = await client.query(
    'SELECT 1 AS a; SELECT 2 AS b; UPDATE books SET price = price',
  );
  say(several.map(({ command, rowCount }) => [command, rowCount]));
  for (const n of [3, 4]) {
    const named = { name: 'by_id', text: 'SELECT title FROM books WHERE id = $1', values: [n] };
    rows((await client.query(named)).rows);
  }
});

await step('cursor', async () => {
  const cursor = client.query(new Cursor('SELECT id FROM books WHERE id > $1 ORDER BY id', [5]));
  for (const count of [3, 2]) say((await cursor.read(count)).map(({ id }) => id));
  await cursor.close();
  rows((await client.query('SELECT count(*) FROM books')).rows);
});

await step('stream', async () => {
  const stream = client.query(
    new QueryStream('SELECT id FROM books ORDER BY id', [], { batchSize: 4 }),
  );
  let sum = 0;
  for await (const row of stream) sum += Number(row.id);
  say(sum);
  const left = client.query(
    new QueryStream('SELECT id FROM books ORDER BY id', [], { batchSize: 4 }),
  );
  for await (const row of left) {
    if (row.id === '6') break;
  }
  rows((await client.query('SELECT max(id) FROM books')).rows);
});

await step('copy', async () => {
  const source = Readable.from(['2\ttab\\there\t9.99\t{1,2}\n', '2\tsecond\t\\N\t\\N\n']);
  await client.query(`INSERT INTO authors (email) VALUES ('bob@example.org')`);
  const target = client.query(copyFrom('COPY books (author_id, title, price, scores) FROM STDIN'));
  await pipeline(source, target);
  say(target.rowCount);
  const chunks = [];
  const sql =
    'COPY (SELECT title, price, scores FROM books WHERE author_id = 2 ORDER BY id) TO STDOUT';
  for await (const chunk of client.query(copyTo(`${sql} WITH (FORMAT csv, HEADER)`))) {
    chunks.push(chunk);
  }
  say(Buffer.concat(chunks).toString().trimEnd());
  const wrong = client.query(copyFrom('COPY books (author_id, title) FROM STDIN'));
  await fails(() => pipeline(Readable.from(['2\tsecond\n']), wrong));
  rows((await client.query('SELECT count(*)::int FROM books')).rows);
});

await step('errors', async () => {
  await fails(() => client.query('SELECT * FROM nowhere'));
  await fails(() => client.query('SELEC 1'));
  await fails(() => client.query('INSERT INTO books (author_id, title) VALUES (99, $1)', ['x']));
  await fails(() => client.query('INSERT INTO authors (email) VALUES ($1)', ['ann@example.org']));
  await fails(() => client.query('UPDATE books SET price = -1'));
  await fails(() => client.query('UPDATE authors SET email = NULL'));
  await fails(() => client.query('SELECT $1::int', ['x']));
  await fails(() => client.query('SELECT 1 / $1::int', [0]));
  await fails(() => client.query('SELECT $1', []));
  rows((await client.query('SELECT 1 AS ok')).rows);
});

await step('transaction', async () => {
  await client.query('BEGIN');
  await client.query(`UPDATE authors SET meta = meta || '{"b": 2}' WHERE id = 1`);
  await client.query('SAVEPOINT here');
  await fails(() => client.query('SELECT * FROM nowhere'));
  await fails(() => client.query('SELECT 1'));
  await client.query('ROLLBACK TO SAVEPOINT here');
  await client.query('COMMIT');
  await client.query('BEGIN');
  await client.query('DELETE FROM authors');
  await client.query('ROLLBACK');
  rows((await client.query('SELECT id, meta FROM authors ORDER BY id')).rows);
});

await step('upsert', async () => {
  const sql = `
    INSERT INTO authors (email, meta) VALUES ($1, $2)
    ON CONFLICT (email) DO UPDATE SET meta = authors.meta || excluded.meta, tags = '{new}'
    RETURNING email, meta, tags`;
  rows((await client.query(sql, ['bob@example.org', { n: 1 }])).rows);
  rows((await client.query(sql, ['bob@example.org', { m: [] }])).rows);
});

await step('a pool', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const list = await Promise.all(
    Array.from({ length: 20 }, (_, n) => pool.query('SELECT $1::int * 2 AS n', [n])),
  );
  say(list.map((result) => result.rows[0].n));
  await pool.end();
});

await step('listen and notify', async () => {
  const heard = new Promise((resolve) => client.once('notification', resolve));
  await client.query('LISTEN news');
  await client.query(`SELECT pg_notify('news', 'hello')`);
  const { channel, payload } = await heard;
  say(channel, payload);
});

await client.end();
