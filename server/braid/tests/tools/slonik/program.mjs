// Slonik: queries of one row kind, nested transactions, unnest of lists, cursors, streams.
import { createPool, sql } from 'slonik';

import { fails, rows, say, step, url } from '../support.mjs';

const pool = await createPool(url, {
  maximumPoolSize: 2,
  queryRetryLimit: 0,
  transactionRetryLimit: 0,
});
const { unsafe, fragment } = sql;

await step('schema', async () => {
  await pool.query(unsafe`
    CREATE TABLE authors (
      id serial PRIMARY KEY,
      uid uuid NOT NULL DEFAULT gen_random_uuid(),
      email text NOT NULL UNIQUE,
      meta jsonb NOT NULL DEFAULT '{}',
      tags text[] NOT NULL DEFAULT '{}',
      born date,
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
  await pool.query(unsafe`
    CREATE TABLE books (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
      title varchar(100) NOT NULL,
      price numeric(10, 2) CHECK (price >= 0),
      UNIQUE (author_id, title)
    )`);
});

await step('insert', async () => {
  const { uid, ...author } = await pool.one(unsafe`
    INSERT INTO authors (email, meta, tags, born, created_at) VALUES (
      ${'ann@example.org'}, ${sql.jsonb({ a: [1] })}, ${sql.array(['x', 'y'], 'text')},
      ${sql.date(new Date(0))}, ${sql.timestamp(new Date(0))}
    ) RETURNING *`);
  say(uid.length, author);
  const list = Array.from({ length: 10 }, (_, n) => [1, `t${n}`, n]);
  const done = await pool.query(unsafe`
    INSERT INTO books (author_id, title, price)
    SELECT * FROM ${sql.unnest(list, ['int4', 'text', 'numeric'])} RETURNING id`);
  say(
    done.command,
    done.rowCount,
    done.fields.map(({ name, dataTypeId }) => [name, dataTypeId]),
  );
});

await step('queries', async () => {
  rows(await pool.any(unsafe`SELECT * FROM books WHERE id < 3 ORDER BY id`));
  say(await pool.oneFirst(unsafe`SELECT count(*) FROM books`));
  say(await pool.manyFirst(unsafe`SELECT title FROM books ORDER BY id LIMIT 3`));
  say(
    await pool.maybeOne(unsafe`SELECT 1 FROM books WHERE id = 99`),
    await pool.exists(unsafe`SELECT FROM books`),
  );
  const names = sql.join(
    [sql.identifier(['books', 'id']), sql.identifier(['title'])],
    fragment`, `,
  );
  const where = sql.join([fragment`price > ${5}`, fragment`title <> ${'t9'}`], fragment` AND `);
  rows(await pool.any(unsafe`SELECT ${names} FROM books WHERE ${where} ORDER BY id`));
  rows(
    await pool.any(
      unsafe`SELECT id FROM books WHERE id = ANY(${sql.array([1, 4], 'int8')}) ORDER BY id`,
    ),
  );
  say(await pool.oneFirst(unsafe`SELECT ${sql.binary(Buffer.from('hi'))} AS b`));
  const numbers = [];
  await pool.stream(unsafe`SELECT id FROM books ORDER BY id`, (stream) => {
    stream.on('data', ({ data }) => numbers.push(data.id));
  });
  say(numbers);
});

await step('interval', async () => {
  say(
    await pool.oneFirst(
      unsafe`SELECT ${sql.interval({ days: 1, hours: 2 })} + ${sql.timestamp(new Date(0))} AS t`,
    ),
  );
});

await step('upsert', async () => {
  rows(
    await pool.any(unsafe`
    INSERT INTO authors (email, meta) VALUES (${'ann@example.org'}, ${sql.jsonb({ b: 2 })})
    ON CONFLICT (email) DO UPDATE SET meta = authors.meta || EXCLUDED.meta RETURNING id, meta`),
  );
});

await step('transactions and errors', async () => {
  await fails(() => pool.query(unsafe`INSERT INTO authors (email) VALUES ('ann@example.org')`));
  await fails(() => pool.query(unsafe`INSERT INTO books (author_id, title) VALUES (99, 'x')`));
  await fails(() => pool.query(unsafe`UPDATE books SET price = -1`));
  await fails(() => pool.query(unsafe`UPDATE authors SET email = NULL`));
  await fails(() => pool.query(unsafe`SELECT * FROM nowhere`));
  await fails(() => pool.one(unsafe`SELECT 1 FROM books WHERE id = 99`));
  await fails(() =>
    pool.transaction(async (tx) => {
      await tx.query(unsafe`DELETE FROM books`);
      await tx.query(unsafe`SELECT 1 / 0`);
    }),
  );
  await pool.connect(async (connection) => {
    await connection.transaction(async (tx) => {
      await tx.query(unsafe`UPDATE authors SET tags = '{z}'`);
      await fails(() => tx.transaction((inner) => inner.query(unsafe`SELECT * FROM nowhere`)));
      say(await tx.oneFirst(unsafe`SELECT tags FROM authors`));
    });
  });
  say(await pool.oneFirst(unsafe`SELECT count(*) FROM books`));
});

await pool.end();
