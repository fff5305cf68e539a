// MikroORM: schema generator, unit of work, relations, upsert, migrations, schema read back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EntitySchema, LockMode, raw } from '@mikro-orm/core';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';

import { fails, rows, say, step, url } from '../support.mjs';

const Author = new EntitySchema({
  name: 'Author',
  tableName: 'authors',
  properties: {
    id: { type: 'int', primary: true },
    uid: { type: 'uuid', defaultRaw: 'gen_random_uuid()' },
    email: { type: 'string', unique: true },
    meta: { type: 'json', columnType: 'jsonb', default: '{}' },
    tags: { type: 'string[]', columnType: 'text[]', nullable: true },
    created: { type: 'Date', columnType: 'timestamptz', defaultRaw: 'now()' },
    books: { kind: '1:m', entity: () => 'Book', mappedBy: 'author' },
  },
});
const Book = new EntitySchema({
  name: 'Book',
  tableName: 'books',
  properties: {
    id: { type: 'bigint', primary: true },
    title: { type: 'string', length: 100, comment: 'as printed' },
    price: { type: 'decimal', precision: 10, scale: 2, nullable: true },
    version: { type: 'int', version: true },
    author: { kind: 'm:1', entity: () => 'Author', deleteRule: 'cascade' },
    shelves: { kind: 'm:n', entity: () => 'Shelf', pivotTable: 'places' },
  },
  uniques: [{ name: 'books_title', properties: ['author', 'title'] }],
  indexes: [{ name: 'books_price', properties: ['price'] }],
  checks: [{ name: 'books_positive', expression: 'price >= 0' }],
});
const Shelf = new EntitySchema({
  name: 'Shelf',
  tableName: 'shelves',
  properties: {
    id: { type: 'uuid', primary: true, defaultRaw: 'gen_random_uuid()' },
    name: { type: 'text' },
  },
});
class Notes extends Migration {
  up() {
    this.addSql('CREATE TABLE notes (id serial PRIMARY KEY)');
    this.addSql('ALTER TABLE notes ADD COLUMN body text');
  }
  down() {
    this.addSql('DROP TABLE notes');
  }
}

const dir = mkdtempSync(join(tmpdir(), 'mikro-'));
const common = { clientUrl: url, dbName: new URL(url).pathname.slice(1), logger: () => undefined };
const orm = await MikroORM.init({
  ...common,
  entities: [Author, Book, Shelf],
  extensions: [Migrator],
  discovery: { warnWhenNoEntities: false },
  migrations: { migrationsList: [{ name: 'Notes', class: Notes }], snapshot: false, path: dir },
});

await step('schema', async () => {
  await orm.schema.createSchema();
});

await step('schema again finds nothing to do', async () => {
  say(await orm.schema.getUpdateSchemaSQL());
});

await step('unit of work', async () => {
  const em = orm.em.fork();
  const author = em.create('Author', { email: 'ann@example.org', meta: { a: [1] }, tags: ['x'] });
  const shelf = em.create('Shelf', { name: 'left' });
  for (let n = 0; n < 8; n += 1) {
    em.create('Book', { title: `t${n}`, price: `${n}`, author, shelves: n < 2 ? [shelf] : [] });
  }
  await em.flush();
  say(
    author.id,
    author.uid.length,
    author.created instanceof Date,
    author.books.map(({ id }) => id),
  );
  author.tags = ['x', 'y'];
  author.books[1].price = '50';
  author.books[2].price = '60';
  em.remove(author.books[3]);
  await em.flush();
  rows(await em.getConnection().execute('SELECT id, price, version FROM books ORDER BY id'));
});

await step('relations', async () => {
  for (const strategy of ['joined', 'select-in']) {
    const found = await orm.em.fork().find(
      'Author',
      { books: { price: { $gt: 4 } } },
      {
        populate: ['books.shelves'],
        strategy,
        fields: ['email', 'books.title', 'books.shelves.name'],
        orderBy: { books: { id: 'asc' } },
      },
    );
    for (const author of found)
      say(
        author.email,
        author.books.map(({ title }) => title),
      );
  }
  const books = await orm.em
    .fork()
    .find('Book', { shelves: { name: 'left' } }, { populate: ['author'], orderBy: { id: 1 } });
  say(books.map(({ title, author }) => [title, author.email]));
});

await step('queries', async () => {
  const em = orm.em.fork();
  const [page, total] = await em.findAndCount(
    'Book',
    {},
    { limit: 2, offset: 1, orderBy: { id: 'desc' } },
  );
  say(
    page.map(({ id }) => id),
    total,
  );
  rows(
    await em
      .createQueryBuilder('Book', 'b')
      .select(['a.email', raw('count(*) as n'), raw('sum(b.price) as sum')])
      .leftJoin('b.author', 'a')
      .groupBy('a.email')
      .execute(),
  );
  say(await em.nativeUpdate('Book', { title: 't0' }, { price: raw('price + 1') }));
  say(await em.nativeDelete('Book', { title: { $like: 't7%' } }));
  say(await em.count('Author', { meta: { a: { $ne: null } }, tags: { $contains: ['y'] } }));
});

await step('upsert', async () => {
  const em = orm.em.fork();
  const author = await em.upsert('Author', { email: 'ann@example.org', meta: { b: 2 } });
  say(author.id, author.meta);
  const list = [
    { email: 'ann@example.org', meta: {} },
    { email: 'bob@example.org', meta: { n: 1 } },
  ];
  say((await em.upsertMany('Author', list)).map(({ id, email, meta }) => [id, email, meta]));
});

await step('transactions and errors', async () => {
  const em = orm.em.fork();
  await fails(() => em.fork().insert('Author', { email: 'ann@example.org' }));
  await fails(() => em.fork().insert('Book', { title: 'x', author: 99, version: 1 }));
  await fails(() => em.fork().execute('SELECT * FROM nowhere'));
  await fails(() =>
    em.transactional(async (tx) => {
      await tx.nativeDelete('Book', {});
      await tx.execute('SELECT 1 / 0');
    }),
  );
  await em.fork().transactional(async (tx) => {
    const book = await tx.findOneOrFail(
      'Book',
      { title: 't1' },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    await fails(() =>
      tx.transactional((inner) => inner.insert('Book', { title: 'x', author: 99, version: 1 })),
    );
    book.title = 'locked';
  });
  const stale = em.fork();
  const book = await stale.findOneOrFail('Book', { title: 'locked' });
  await em.fork().execute('UPDATE books SET version = 9 WHERE id = ?', [book.id]);
  book.title = 'too late';
  await fails(() => stale.flush());
  say(await em.fork().count('Book'));
});

await step('migrations', async () => {
  say((await orm.migrator.up()).map(({ name }) => name));
  say((await orm.migrator.getExecutedMigrations()).map(({ name }) => name));
  say((await orm.migrator.down()).map(({ name }) => name));
  say((await orm.migrator.getPendingMigrations()).map(({ name }) => name));
});

await step('an enum', async () => {
  const Mood = new EntitySchema({
    name: 'Mood',
    tableName: 'moods',
    properties: {
      id: { type: 'int', primary: true },
      mood: { enum: true, items: ['happy', 'sad'], nativeEnumName: 'mood' },
    },
  });
  const other = await MikroORM.init({ ...common, entities: [Mood] });
  try {
    await other.schema.createSchema();
    await other.em.fork().insertMany('Mood', [{ mood: 'sad' }, { mood: 'happy' }]);
    rows(await other.em.fork().execute('SELECT * FROM moods ORDER BY mood'));
    await other.schema.dropSchema();
  } finally {
    await other.close();
  }
});

await step('drop', async () => {
  await orm.schema.dropSchema();
  rows(
    await orm.em
      .fork()
      .execute(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`),
  );
});

await orm.close();
rmSync(dir, { recursive: true });
