// Objection over Knex: it reads the columns of each table first; graphs are upserted in one call.
import knex from 'knex';
import objection from 'objection';

import { fails, rows, say, step, url } from '../support.mjs';

const { Model, raw, ref, transaction, UniqueViolationError } = objection;
const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } });
Model.knex(db);

class Author extends Model {
  static tableName = 'authors';
  static jsonAttributes = ['meta'];
  static relationMappings = () => ({
    books: {
      relation: Model.HasManyRelation,
      modelClass: Book,
      join: { from: 'authors.id', to: 'books.author_id' },
    },
  });
}
class Book extends Model {
  static tableName = 'books';
  static relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    shelves: {
      relation: Model.ManyToManyRelation,
      modelClass: Shelf,
      join: {
        from: 'books.id',
        through: { from: 'places.book_id', to: 'places.shelf_id', extra: ['position'] },
        to: 'shelves.id',
      },
    },
  });
}
class Shelf extends Model {
  static tableName = 'shelves';
}

await step('schema', async () => {
  await db.schema
    .createTable('authors', (table) => {
      table.increments();
      table.text('email').notNullable().unique();
      table.jsonb('meta').defaultTo('{}');
      table.specificType('tags', 'text[]');
    })
    .createTable('books', (table) => {
      table.increments();
      table.integer('author_id').references('authors.id').onDelete('CASCADE').index();
      table.string('title').notNullable();
      table.decimal('price');
    })
    .createTable('shelves', (table) => {
      table.increments();
      table.text('name').unique();
    })
    .createTable('places', (table) => {
      table.integer('book_id').references('books.id').onDelete('CASCADE');
      table.integer('shelf_id').references('shelves.id').onDelete('CASCADE');
      table.integer('position');
      table.primary(['book_id', 'shelf_id']);
    });
});

await step('insert a graph', async () => {
  const graph = await Author.query().insertGraph({
    email: 'ann@example.org',
    meta: { a: [1] },
    tags: ['x'],
    books: [
      { title: 'one', price: 1, shelves: [{ name: 'left', position: 1 }] },
      { title: 'two', price: 2 },
    ],
  });
  say(graph);
});

await step('relations', async () => {
  rows(
    await Author.query()
      .withGraphFetched('books(cheap).shelves')
      .modifiers({ cheap: (query) => query.where('price', '<', 5).orderBy('id') }),
  );
  rows(
    await Author.query()
      .withGraphJoined('books.[shelves, author]')
      .orderBy(['authors.id', 'books.id']),
  );
  const author = await Author.query().findOne({ email: 'ann@example.org' });
  rows(
    await author
      .$relatedQuery('books')
      .patch({ price: raw('price * 2') })
      .returning('*'),
  );
});

await step('upsert a graph', async () => {
  const before = await Author.query().findById(1).withGraphFetched('books');
  await Author.query().upsertGraph({
    id: 1,
    meta: { b: 2 },
    books: [
      { id: before.books[0].id, title: 'changed' },
      { title: 'new', price: 9 },
    ],
  });
  rows(
    await Author.query()
      .withGraphFetched('books(inOrder)')
      .modifiers({ inOrder: (q) => q.orderBy('id') }),
  );
});

await step('upsert', async () => {
  rows(
    await Author.query()
      .insert([{ email: 'ann@example.org' }, { email: 'bob@example.org' }])
      .onConflict('email')
      .merge()
      .returning(['id', 'email']),
  );
});

await step('pages and json', async () => {
  say(await Book.query().orderBy('id').page(1, 1));
  rows(await Author.query().where(ref('meta:b').castInt(), 2).select('id'));
  rows(
    await Author.query().select('id', Author.relatedQuery('books').count().as('n')).orderBy('id'),
  );
  rows(
    await Author.query()
      .whereExists(Author.relatedQuery('books').where('price', '>', 5))
      .select('id'),
  );
  say(
    await Author.query()
      .patchAndFetchById(1, { 'meta:c.d': 'x' })
      .catch((error) => error.message),
  );
});

await step('transactions and errors', async () => {
  await fails(() => Author.query().insert({ email: 'ann@example.org' }));
  say(
    await Author.query()
      .insert({ email: 'ann@example.org' })
      .catch((e) => e instanceof UniqueViolationError),
  );
  await fails(() => Book.query().insert({ author_id: 99, title: 'x' }));
  await fails(() => Book.query().where('nothing', 1));
  await fails(() =>
    transaction(Book, async (Bound) => {
      await Bound.query().delete();
      await Bound.query().insert({ title: null });
    }),
  );
  await Author.transaction(async (tx) => {
    const author = await Author.query(tx).findById(1).forUpdate();
    await author.$query(tx).patch({ tags: ['z'] });
  });
  rows(await Author.query().orderBy('id'));
  say(await Book.query().resultSize(), await Book.query().deleteById(3));
});

await db.destroy();
