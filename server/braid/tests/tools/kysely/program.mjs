// Kysely: schema builder, Migrator, introspection, typed queries that become one statement each.
import { CamelCasePlugin, Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import { jsonArrayFrom, jsonObjectFrom } from 'kysely/helpers/postgres';
import pg from 'pg';
import Cursor from 'pg-cursor';

import { fails, rows, say, sorted, step, url } from '../support.mjs';

const pool = new pg.Pool({ connectionString: url, max: 2 });
const db = new Kysely({ dialect: new PostgresDialect({ pool, cursor: Cursor }) });

const migrations = {
  '2026_01_authors': {
    up: (schema) =>
      schema.schema
        .createTable('authors')
        .addColumn('id', 'serial', (column) => column.primaryKey())
        .addColumn('uid', 'uuid', (column) => column.notNull().defaultTo(sql`gen_random_uuid()`))
        .addColumn('email', 'text', (column) => column.notNull().unique())
        .addColumn('meta', 'jsonb', (column) => column.notNull().defaultTo('{}'))
        .addColumn('tags', sql`text[]`, (column) => column.notNull().defaultTo('{}'))
        .addColumn('created_at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
        .execute(),
    down: (schema) => schema.schema.dropTable('authors').execute(),
  },
  '2026_02_books': {
    up: async (schema) => {
      await schema.schema
        .createTable('books')
        .addColumn('id', 'bigint', (column) => column.primaryKey().generatedAlwaysAsIdentity())
        .addColumn('author_id', 'integer', (column) =>
          column.notNull().references('authors.id').onDelete('cascade'),
        )
        .addColumn('title', 'varchar(100)', (column) => column.notNull())
        .addColumn('price', 'numeric(10, 2)', (column) => column.check(sql`price >= 0`))
        .addUniqueConstraint('books_title', ['author_id', 'title'])
        .execute();
      await schema.schema.createIndex('books_price').on('books').column('price desc').execute();
    },
    down: (schema) => schema.schema.dropTable('books').execute(),
  },
  '2026_03_rename': {
    up: (schema) => schema.schema.alterTable('books').renameColumn('price', 'cost').execute(),
    down: (schema) => schema.schema.alterTable('books').renameColumn('cost', 'price').execute(),
  },
};
const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });

function report({ error, results }) {
  for (const { migrationName, direction, status } of results ?? []) {
    say(migrationName, direction, status);
  }
  if (error) throw error;
}

await step('schema', async () => {
  for (const { up } of Object.values(migrations)) await up(db);
  await migrations['2026_03_rename'].down(db);
  await db.schema.createView('titles').as(db.selectFrom('books').select('title')).execute();
});

await step('insert and upsert', async () => {
  const { uid, ...author } = await db
    .insertInto('authors')
    .values({
      email: 'ann@example.org',
      meta: { a: [1] },
      tags: ['x', 'y'],
      created_at: new Date(0),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  say(uid.length, author);
  const books = Array.from({ length: 12 }, (_, n) => ({ author_id: 1, title: `t${n}`, price: n }));
  const done = await db.insertInto('books').values(books).executeTakeFirst();
  say(done);
  const again = db
    .insertInto('authors')
    .values({ email: 'ann@example.org', meta: { b: 2 } })
    .onConflict((conflict) =>
      conflict.column('email').doUpdateSet((eb) => ({
        meta: sql`authors.meta || ${eb.ref('excluded.meta')}`,
      })),
    );
  rows(await again.returning(['id', 'meta']).execute());
  say(
    await db
      .insertInto('books')
      .values(books[0])
      .onConflict((conflict) => conflict.constraint('books_title').doNothing())
      .executeTakeFirst(),
  );
});

await step('relations as json', async () => {
  rows(
    await db
      .selectFrom('authors')
      .select((eb) => [
        'authors.id',
        jsonArrayFrom(
          eb
            .selectFrom('books')
            .select(['books.id', 'books.title', 'books.price'])
            .whereRef('books.author_id', '=', 'authors.id')
            .orderBy('books.id')
            .limit(3),
        ).as('books'),
      ])
      .execute(),
  );
  rows(
    await db
      .selectFrom('books')
      .select((eb) => [
        'title',
        jsonObjectFrom(
          eb.selectFrom('authors').select('email').whereRef('authors.id', '=', 'books.author_id'),
        ).as('author'),
      ])
      .orderBy('id')
      .limit(1)
      .execute(),
  );
});

await step('queries', async () => {
  const page = db.selectFrom('books').select(['id', 'title']).orderBy('id', 'desc');
  rows(await page.limit(3).offset(3).execute());
  rows(
    await db
      .with('cheap', (query) => query.selectFrom('books').selectAll().where('price', '<', '5'))
      .selectFrom('cheap')
      .leftJoin('authors', 'authors.id', 'cheap.author_id')
      .select((eb) => [
        'authors.email',
        eb.fn.countAll().as('count'),
        eb.fn.sum('cheap.price').as('sum'),
        eb.fn.agg('array_agg', ['cheap.title']).orderBy('cheap.title').as('titles'),
      ])
      .groupBy('authors.email')
      .having((eb) => eb.fn.countAll(), '>', 1)
      .execute(),
  );
  rows(
    await db
      .selectFrom('books')
      .select((eb) => [
        'id',
        eb.case().when('price', '>', '5').then('dear').else('cheap').end().as('kind'),
        eb.fn
          .agg('row_number')
          .over((over) => over.orderBy('price', 'desc'))
          .as('rank'),
      ])
      .distinctOn('author_id')
      .orderBy('author_id')
      .orderBy('id')
      .execute(),
  );
  rows(
    await db
      .selectFrom('authors')
      .select((eb) => eb.ref('meta', '->>').key('a').as('a'))
      .execute(),
  );
  rows(
    await db
      .updateTable('books')
      .from('authors')
      .set((eb) => ({ price: eb('price', '+', '1') }))
      .whereRef('authors.id', '=', 'books.author_id')
      .where('books.title', '=', 't1')
      .returning(['books.title', 'books.price'])
      .execute(),
  );
  say(
    await db
      .deleteFrom('books')
      .using('authors')
      .where('books.title', '=', 't2')
      .executeTakeFirst(),
  );
});

await step('stream', async () => {
  for await (const row of db.selectFrom('books').select('id').orderBy('id').limit(5).stream(2)) {
    say(row);
  }
});

await step('transactions and errors', async () => {
  await fails(() =>
    db.transaction().execute(async (tx) => {
      await tx.deleteFrom('books').execute();
      await tx.insertInto('authors').values({ email: 'ann@example.org' }).execute();
    }),
  );
  const tx = await db.startTransaction().setIsolationLevel('serializable').execute();
  const save = await tx.savepoint('here').execute();
  await fails(() => save.insertInto('books').values({ author_id: 99, title: 'x' }).execute());
  await save.rollbackToSavepoint('here').execute();
  await tx
    .updateTable('authors')
    .set({ tags: ['z'] })
    .execute();
  await tx.commit().execute();
  rows(await db.selectFrom('authors').select(['id', 'tags']).execute());
  rows(
    await db
      .selectFrom('books')
      .select((eb) => eb.fn.countAll().as('count'))
      .execute(),
  );
});

await step('a schema of its own', async () => {
  await db.schema.createSchema('other').ifNotExists().execute();
  const other = db.withSchema('other').withPlugin(new CamelCasePlugin());
  await other.schema
    .createTable('someThings')
    .addColumn('thingId', 'integer', (column) => column.primaryKey())
    .addColumn('thingName', 'text')
    .execute();
  await other.insertInto('someThings').values({ thingId: 1, thingName: 'one' }).execute();
  rows(await other.selectFrom('someThings').selectAll().execute());
});

await step('dropping', async () => {
  await db.schema.dropView('titles').execute();
  await migrations['2026_02_books'].down(db);
  await migrations['2026_01_authors'].down(db);
});

await step('migrations', async () => {
  report(await migrator.migrateToLatest());
  report(await migrator.migrateDown());
  for (const { name, executedAt } of await migrator.getMigrations()) say(name, Boolean(executedAt));
  report(await migrator.migrateToLatest());
  report(await migrator.migrateTo('2026_02_books'));
});

await step('introspection', async () => {
  const schemas = await db.introspection.getSchemas();
  sorted(schemas.map(({ name }) => name).filter((name) => !/^(pg_|braid_)/.test(name)));
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  for (const { name, schema, isView, columns } of tables) {
    if (schema === 'braid_internal') continue;
    say(schema, name, isView);
    rows(columns);
  }
});

await step('migrations down', async () => {
  report(await migrator.migrateDown());
  report(await migrator.migrateDown());
});

await step('migrations in a schema of their own', async () => {
  const notes = {
    up: (schema) => schema.schema.createTable('other.notes').addColumn('id', 'serial').execute(),
    down: (schema) => schema.schema.dropTable('other.notes').execute(),
  };
  const inOther = new Migrator({
    db,
    provider: { getMigrations: async () => ({ notes }) },
    migrationTableSchema: 'meta',
  });
  report(await inOther.migrateToLatest());
  report(await inOther.migrateDown());
});

await db.destroy();
