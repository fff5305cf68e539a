// pg-promise: values formatted by the client, tasks, nested transactions, batches, prepared statements.
import pgPromise from 'pg-promise';
import QueryStream from 'pg-query-stream';

import { fails, rows, say, step, url } from '../support.mjs';

const pgp = pgPromise({ noWarnings: true });
const db = pgp({ connectionString: url, max: 3 });
const { helpers, as } = pgp;

await step('schema', async () => {
  await db.none(`
    CREATE TABLE authors (
      id serial PRIMARY KEY,
      uid uuid NOT NULL DEFAULT gen_random_uuid(),
      email text NOT NULL UNIQUE,
      meta jsonb NOT NULL DEFAULT '{}',
      tags text[] NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now()
    )`);
  await db.multi(`
    CREATE TABLE books (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      author_id int NOT NULL REFERENCES authors,
      title varchar(100) NOT NULL,
      price numeric(10, 2),
      UNIQUE (author_id, title)
    );
    CREATE INDEX ON books (price)`);
});

await step('formatting', async () => {
  const values = {
    email: `o'neil\\@example.org`,
    meta: { a: `it's`, b: [1, null] },
    tags: ['x', `y "z" 'w'`],
    created_at: new Date(0),
  };
  const { uid, ...author } = await db.one(
    'INSERT INTO authors ($<this:name>) VALUES ($<this:list>) RETURNING *',
    values,
  );
  say(uid.length, author);
  rows(await db.any('SELECT $1:name FROM $2:alias WHERE $3:name = $4', ['id', 'authors', 'id', 1]));
  say(as.format('$1^ $2:csv $3:json $4:value', ['raw', [1, 'a'], { x: 1 }, 'open']));
  say(
    await db.one('SELECT $1 AS t, $2 AS n, $3 AS b, $4 AS d, $5 AS x', [
      'a',
      1.5,
      true,
      null,
      Buffer.from('hi'),
    ]),
  );
});

await step('helpers', async () => {
  const columns = new helpers.ColumnSet(
    ['author_id', 'title', { name: 'price', cast: 'numeric' }],
    { table: 'books' },
  );
  const list = Array.from({ length: 10 }, (_, n) => ({ author_id: 1, title: `t${n}`, price: n }));
  say((await db.result(helpers.insert(list, columns))).rowCount);
  const forUpdate = new helpers.ColumnSet(['?id', { name: 'price', cast: 'numeric' }], {
    table: 'books',
  });
  const changes = [
    { id: 1, price: 50 },
    { id: 2, price: 60 },
  ];
  const sql = `${helpers.update(changes, forUpdate)} WHERE v.id = t.id RETURNING t.id, t.price`;
  rows((await db.any(sql)).sort((a, b) => a.id - b.id));
  const upsert = `${helpers.insert(list.slice(0, 1), columns)} ON CONFLICT (author_id, title) DO UPDATE SET ${columns.assignColumns({ from: 'EXCLUDED', skip: ['author_id', 'title'] })}`;
  say((await db.result(upsert)).rowCount);
});

await step('results', async () => {
  say(await db.oneOrNone('SELECT id FROM authors WHERE id = 99'));
  await fails(() => db.one('SELECT id FROM authors WHERE id = 99'));
  await fails(() => db.none('SELECT 1'));
  say(await db.map('SELECT id FROM books ORDER BY id LIMIT 3', [], ({ id }) => id));
  say(await db.multi('SELECT 1 AS a; SELECT 2 AS b'));
  const prepared = new pgp.PreparedStatement({
    name: 'by-id',
    text: 'SELECT title FROM books WHERE id = $1',
  });
  for (const id of [1, 2]) say(await db.one(prepared, [id]));
  say(await db.one(new pgp.ParameterizedQuery({ text: 'SELECT $1::int + 1 AS n', values: [1] })));
  say(await db.func('generate_series', [1, 3]));
  let seen = 0;
  const done = await db.stream(new QueryStream('SELECT id FROM books'), (stream) =>
    stream.on('data', () => (seen += 1)),
  );
  say(done.processed, seen);
});

await step('a stored procedure', async () => {
  await db.none('CREATE PROCEDURE nothing() LANGUAGE sql AS $$ SELECT 1 $$');
  say(await db.proc('nothing'));
});

await step('tasks and transactions', async () => {
  const got = await db.task(async (task) => {
    const { id } = await task.one('SELECT min(id) AS id FROM books');
    return task.batch([task.one('SELECT $1 AS a', id), task.one('SELECT 2 AS b')]);
  });
  say(got);
  await db.tx(async (tx) => {
    await tx.none(`UPDATE authors SET tags = '{z}'`);
    await fails(() =>
      tx.tx((inner) => inner.none('INSERT INTO books (author_id, title) VALUES (99, $1)', 'x')),
    );
    say(await tx.one('SELECT tags FROM authors'));
  });
  const mode = new pgp.txMode.TransactionMode({
    tiLevel: pgp.txMode.isolationLevel.serializable,
    readOnly: true,
    deferrable: true,
  });
  await fails(() => db.tx({ mode }, (tx) => tx.none('DELETE FROM books')));
  await fails(() =>
    db.tx(async (tx) => {
      await tx.none('DELETE FROM books');
      await tx.any('SELECT 1 / 0');
    }),
  );
  say(await db.one('SELECT count(*) FROM books'));
  await db
    .taskIf((task) => task.any('SELECT * FROM nowhere'))
    .catch((error) => say(error.code, error.message));
  say(await db.one('SELECT 1 AS ok'));
});

await db.$pool.end();
