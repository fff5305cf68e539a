// Knex: schema builder, migrations with their lock table, queries, batches, transactions.
import knex from 'knex';

import { fails, rows, say, sorted, step, url } from '../support.mjs';

const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } });

const list = [
  {
    name: '01_authors',
    up: (k) =>
      k.schema.createTable('authors', (table) => {
        table.increments('id');
        table.uuid('uid').notNullable().defaultTo(k.fn.uuid());
        table.string('email', 100).notNullable().unique();
        table.jsonb('meta').notNullable().defaultTo('{}');
        table.specificType('tags', 'text[]');
        table.timestamps(true, true);
        table.comment('people who write');
      }),
    down: (k) => k.schema.dropTable('authors'),
  },
  {
    name: '02_books',
    up: async (k) => {
      await k.schema.createTable('books', (table) => {
        table.bigIncrements('id');
        table.integer('author_id').notNullable().references('authors.id').onDelete('CASCADE');
        table.string('title').notNullable().comment('as printed');
        table.decimal('price', 10, 2).checkPositive();
        table.unique(['author_id', 'title'], { indexName: 'books_title' });
        table.index(['price'], 'books_price');
      });
      await k.schema.alterTable('books', (table) => {
        table.date('published');
        table.string('title', 200).alter();
        table.renameColumn('price', 'cost');
      });
    },
    down: (k) => k.schema.dropTable('books'),
  },
];
const migrationSource = {
  getMigrations: async () => list,
  getMigrationName: ({ name }) => name,
  getMigration: async (migration) => migration,
};

await step('migrations', async () => {
  const config = { migrationSource };
  say(await db.migrate.up(config));
  say(await db.migrate.latest(config));
  say(await db.migrate.rollback(config));
  say(await db.migrate.currentVersion(config));
  say(await db.migrate.latest(config));
  const [done, open] = await db.migrate.list(config);
  say(
    done.map(({ name }) => name),
    open,
  );
  rows(await db('knex_migrations').select('id', 'name', 'batch').orderBy('id'));
  rows(await db('knex_migrations_lock').select());
});

await step('introspection', async () => {
  say(await db.schema.hasTable('books'), await db.schema.hasTable('none'));
  say(await db.schema.hasColumn('books', 'cost'), await db.schema.hasColumn('books', 'price'));
  sorted(Object.entries(await db('books').columnInfo()));
});

await step('insert and upsert', async () => {
  const [{ uid, created_at: created, updated_at: updated, ...author }] = await db('authors')
    .insert({ email: 'ann@example.org', meta: { a: [1] }, tags: ['x', 'y'] })
    .returning('*');
  say(uid.length, created instanceof Date, updated instanceof Date, author);
  const books = Array.from({ length: 30 }, (_, n) => ({
    author_id: 1,
    title: `t${n}`,
    cost: n + 1,
  }));
  say((await db.batchInsert('books', books, 7).returning('id')).length);
  rows(
    await db('authors')
      .insert({ email: 'ann@example.org', meta: { b: 2 } })
      .onConflict('email')
      .merge(['meta'])
      .returning(['id', 'meta']),
  );
  rows(
    await db('books').insert(books[0]).onConflict(['author_id', 'title']).ignore().returning('id'),
  );
});

await step('queries', async () => {
  rows(
    await db('books')
      .join('authors', 'authors.id', 'books.author_id')
      .select('books.id', 'email')
      .where('cost', '>', 3)
      .whereIn('title', ['t3', 't4', 't5'])
      .orderBy('books.id', 'desc')
      .limit(2)
      .offset(1),
  );
  rows(
    await db('books')
      .select(db.raw('cost > ? AS dear', [10]))
      .count('* as n')
      .sum('cost as sum')
      .groupByRaw('1')
      .havingRaw('count(*) > ?', [5])
      .orderBy('dear'),
  );
  rows(await db('authors').whereJsonSupersetOf('meta', { b: 2 }).select('id'));
  rows(await db('books').whereILike('title', 'T2%').pluck('title'));
  rows(await db.with('x', db('books').max('id as m')).select('m').from('x'));
  rows(await db('books').select('id').rank('r', 'cost').orderBy('id').limit(2));
  rows(
    await db('books')
      .where({ id: 1 })
      .update({ cost: db.raw('cost * 2') }, ['id', 'cost']),
  );
  say(await db('books').where('id', '>', 28).del());
  say(await db('books').where({ id: 2 }).increment('cost', 5));
  say(await db('books').first('id', 'cost').where({ id: 2 }));
  say((await db.raw('SELECT ?::int + ?::int AS sum', [1, 2])).rows);
});

await step('paths in json', async () => {
  rows(await db('authors').jsonExtract('meta', '$.b', 'b'));
  rows(await db('authors').whereJsonPath('meta', '$.b', '=', 2).select('id'));
});

await step('locks and transactions', async () => {
  await db.transaction(async (tx) => {
    rows(await tx('books').where({ id: 3 }).forUpdate().skipLocked().select('id'));
    await fails(() =>
      tx.transaction((inner) => inner('books').insert({ author_id: 99, title: 'x' })),
    );
    await tx('authors').update({ tags: ['z'] });
  });
  await fails(() =>
    db.transaction(async (tx) => {
      await tx('books').del();
      await tx('nowhere').select();
    }),
  );
  const tx = await db.transaction({ isolationLevel: 'repeatable read', readOnly: true });
  await fails(() => tx('books').del());
  await tx.rollback();
  rows(await db('authors').select('id', 'tags'));
  rows(await db('books').count());
});

await step('errors', async () => {
  await fails(() => db('authors').insert({ email: 'ann@example.org' }));
  await fails(() => db('books').insert({ author_id: 1, title: 'none', cost: 0 }));
  await fails(() => db('books').insert({ author_id: 1 }));
  await fails(() => db('nowhere').select());
  rows(await db.select(db.raw('1 AS ok')));
});

await step('an enum column and other changes of a table', async () => {
  await db.schema.createTable('shelves', (table) => {
    table.uuid('id').primary().defaultTo(db.raw('gen_random_uuid()'));
    table.enu('kind', ['wood', 'steel']).notNullable().defaultTo('wood');
    table.float('width');
    table.boolean('full').defaultTo(false);
    table.time('opens');
    table.binary('picture');
  });
  await fails(() => db('shelves').insert({ kind: 'glass' }));
  await db.schema.alterTable('shelves', (table) => {
    table.setNullable('kind');
    table.dropColumn('width');
    table.index('full', 'shelves_full', { predicate: db.whereNotNull('full') });
    table.integer('book').references('id').inTable('books').deferrable('deferred');
  });
  await db.schema.renameTable('shelves', 'racks');
  sorted(Object.entries(await db('racks').columnInfo()));
  await db.schema.dropTableIfExists('racks');
});

await step('a native enum column', async () => {
  await db.schema.createTable('moods', (table) => {
    table.increments();
    table.enu('mood', ['happy', 'sad'], { useNative: true, enumName: 'mood' });
  });
  await db('moods').insert([{ mood: 'sad' }, { mood: 'happy' }]);
  rows(await db('moods').orderBy('mood'));
  await fails(() => db('moods').insert({ mood: 'odd' }));
});

await step('a view', async () => {
  await db.schema.createView('cheap', (view) => {
    view.columns(['id', 'title']);
    view.as(db('books').select('id', 'title').where('cost', '<', 5));
  });
  rows(await db('cheap').orderBy('id'));
  await db.schema.createViewOrReplace('cheap', (view) =>
    view.as(db('books').select('id', 'title')),
  );
  await db.schema.dropView('cheap');
});

await step('truncate and migrations down', async () => {
  await db('books').truncate();
  say(await db.migrate.rollback({ migrationSource }, true));
});

await db.destroy();
