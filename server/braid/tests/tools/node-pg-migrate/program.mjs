// node-pg-migrate: it takes an advisory lock, keeps a table of what has run, goes up and down.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { runner } from 'node-pg-migrate';
import pg from 'pg';

import { fails, rows, say, step, url } from '../support.mjs';

const dir = mkdtempSync(join(tmpdir(), 'migrations-'));
const file = (name, text) => writeFileSync(join(dir, name), text);
file(
  '1_authors.mjs',
  `
  export const up = (pgm) => {
    pgm.createTable('authors', {
      id: 'id',
      uid: { type: 'uuid', notNull: true, default: pgm.func('gen_random_uuid()') },
      email: { type: 'text', notNull: true, unique: true },
      meta: { type: 'jsonb', notNull: true, default: '{}' },
      tags: { type: 'text[]' },
      created_at: { type: 'timestamptz', notNull: true, default: pgm.func('current_timestamp') },
    }, { comment: 'people who write' });
  };
`,
);
file(
  '2_books.mjs',
  `
  export const up = (pgm) => {
    pgm.createTable('books', {
      id: { type: 'bigint', primaryKey: true, sequenceGenerated: { precedence: 'ALWAYS' } },
      author_id: { type: 'integer', notNull: true, references: 'authors', onDelete: 'CASCADE' },
      title: { type: 'varchar(100)', notNull: true, comment: 'as printed' },
      price: { type: 'numeric(10,2)', check: 'price >= 0' },
    });
    pgm.addConstraint('books', 'books_title', { unique: ['author_id', 'title'] });
    pgm.createIndex('books', ['price', { name: 'id', sort: 'DESC' }], { where: 'price > 10', name: 'books_price' });
    pgm.createView('titles', {}, 'SELECT title FROM books');
  };
`,
);
file(
  '3_changes.mjs',
  `
  export const up = (pgm) => {
    pgm.addColumns('books', { published: 'date', pages: { type: 'int', default: 1 } });
    pgm.renameColumn('books', 'price', 'cost');
    pgm.alterColumn('books', 'pages', { type: 'bigint', notNull: true, default: 2 });
    pgm.createSchema('other', { ifNotExists: true });
    pgm.createSequence('numbers', { start: 5, increment: 2 });
    pgm.sql("INSERT INTO authors (email) VALUES ('ann@example.org')");
  };
  export const down = (pgm) => {
    pgm.dropSequence('numbers');
    pgm.dropSchema('other');
    pgm.renameColumn('books', 'cost', 'price');
    pgm.dropColumns('books', ['published', 'pages']);
    pgm.sql('DELETE FROM authors');
  };
`,
);
file(
  '4_wrong.mjs',
  `
  export const up = (pgm) => {
    pgm.createTable('half', { id: 'id' });
    pgm.sql('SELECT * FROM nowhere');
  };
`,
);

const options = {
  databaseUrl: url,
  dir,
  migrationsTable: 'pgmigrations',
  log: () => undefined,
  logger: Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((name) => [name, () => undefined]),
  ),
};
const names = (list) => list.map(({ name }) => name);
const client = new pg.Client({ connectionString: url });
await client.connect();
const migrated = async () =>
  rows((await client.query('SELECT name FROM pgmigrations ORDER BY id')).rows);

for (const noLock of [false, true]) {
  await step(`migrations up and down ${noLock ? 'without' : 'with'} the lock`, async () => {
    say(names(await runner({ ...options, noLock, direction: 'up', count: 3 })));
    await migrated();
    rows((await client.query('SELECT id, email, meta FROM authors')).rows);
    say(names(await runner({ ...options, noLock, direction: 'down', count: 2 })));
    await migrated();
    say(names(await runner({ ...options, noLock, direction: 'up', count: 2 })));
    await fails(() => runner({ ...options, noLock, direction: 'up' }));
    await migrated();
    rows(
      (await client.query(`SELECT to_regclass('half') AS half, to_regclass('books') AS books`))
        .rows,
    );
    say(names(await runner({ ...options, noLock, direction: 'down', count: 3 })));
    await migrated();
  });
}

await step('a native enum', async () => {
  rmSync(join(dir, '4_wrong.mjs'));
  file(
    '5_enum.mjs',
    `
    export const up = (pgm) => {
      pgm.createType('mood', ['happy', 'sad']);
      pgm.createTable('moods', { id: 'id', mood: { type: 'mood' } });
    };
  `,
  );
  say(names(await runner({ ...options, noLock: true, direction: 'up' })));
});

await client.end();
rmSync(dir, { recursive: true });
