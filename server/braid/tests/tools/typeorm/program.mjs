// TypeORM: entities from EntitySchema, synchronize, relations, upsert, migrations, query runner.
import typeorm from 'typeorm';

import { fails, rows, say, sorted, step, url } from '../support.mjs';
import { objectsOfOtherKinds } from './objects.mjs';

const { DataSource, EntitySchema, In, IsNull, Like, MoreThan, Table, TableColumn, TableIndex } =
  typeorm;

const Author = new EntitySchema({
  name: 'Author',
  tableName: 'authors',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    uid: { type: 'uuid', generated: 'uuid' },
    email: { type: 'varchar', length: 100, unique: true },
    meta: { type: 'jsonb', default: {} },
    tags: { type: 'text', array: true, default: [] },
    created: { type: 'timestamptz', createDate: true },
    deleted: { type: 'timestamptz', deleteDate: true, nullable: true },
    version: { type: 'int', version: true },
  },
  relations: {
    books: { type: 'one-to-many', target: 'Book', inverseSide: 'author', cascade: true },
  },
});
const Book = new EntitySchema({
  name: 'Book',
  tableName: 'books',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'identity' },
    title: { type: 'varchar', length: 100, comment: 'as printed' },
    price: { type: 'numeric', precision: 10, scale: 2, nullable: true },
    seen: { type: 'timestamp', nullable: true },
  },
  relations: {
    author: {
      type: 'many-to-one',
      target: 'Author',
      inverseSide: 'books',
      onDelete: 'CASCADE',
      nullable: false,
      joinColumn: { name: 'author_id' },
    },
    shelves: {
      type: 'many-to-many',
      target: 'Shelf',
      joinTable: { name: 'places' },
      cascade: true,
    },
  },
  indices: [{ name: 'books_price', columns: ['price'], where: 'price > 10' }],
  uniques: [{ name: 'books_title', columns: ['author', 'title'] }],
  checks: [{ name: 'books_positive', expression: 'price >= 0' }],
});
const Shelf = new EntitySchema({
  name: 'Shelf',
  tableName: 'shelves',
  columns: { id: { type: 'uuid', primary: true, generated: 'uuid' }, name: { type: 'text' } },
});

class Notes1700000000001 {
  name = 'Notes1700000000001';
  async up(runner) {
    await runner.createTable(
      new Table({
        name: 'notes',
        columns: [
          { name: 'id', type: 'int', isPrimary: true, isGenerated: true },
          { name: 'book_id', type: 'bigint', isNullable: true },
        ],
        foreignKeys: [
          { columnNames: ['book_id'], referencedTableName: 'books', referencedColumnNames: ['id'] },
        ],
      }),
    );
    await runner.addColumn(
      'notes',
      new TableColumn({ name: 'body', type: 'text', default: `'none'` }),
    );
  }
  async down(runner) {
    await runner.dropTable('notes');
  }
}
class Changes1700000000002 {
  name = 'Changes1700000000002';
  async up(runner) {
    await runner.renameColumn('notes', 'body', 'words');
    const wider = new TableColumn({
      name: 'words',
      type: 'varchar',
      length: '50',
      isNullable: true,
    });
    await runner.changeColumn('notes', 'words', wider);
    await runner.createIndex(
      'notes',
      new TableIndex({ name: 'notes_words', columnNames: ['words'] }),
    );
  }
  async down(runner) {
    await runner.dropIndex('notes', 'notes_words');
    await runner.renameColumn('notes', 'words', 'body');
  }
}

const common = { type: 'postgres', url, poolSize: 3, uuidExtension: 'pgcrypto' };
const db = new DataSource({
  ...common,
  entities: [Author, Book, Shelf],
  migrations: [Notes1700000000001, Changes1700000000002],
});
await db.initialize();
const manager = db.manager;

await step('synchronize', async () => {
  await db.synchronize();
});

await step('synchronize again finds nothing to do', async () => {
  const { upQueries } = await db.driver.createSchemaBuilder().log();
  for (const { query } of upQueries) say(query);
});

await step('save with relations', async () => {
  const books = [
    { title: 'one', price: '1.5', seen: new Date(0), shelves: [{ name: 'left' }] },
    { title: 'two', price: '20' },
  ];
  const author = await manager.save(Author, {
    email: 'ann@example.org',
    meta: { a: [1] },
    tags: ['x'],
    books,
  });
  say(author.id, author.uid.length, author.version, author.created instanceof Date);
  say(author.books.map(({ id, title }) => [id, title]));
  const many = Array.from({ length: 10 }, (_, n) => ({ title: `t${n}`, price: `${n}`, author }));
  say((await manager.insert(Book, many)).identifiers);
  say((await manager.update(Book, { title: 't9' }, { price: '99' })).affected);
});

await step('find', async () => {
  rows(
    await manager.find(Author, {
      select: { id: true, email: true, books: { id: true, title: true } },
      relations: { books: true },
      where: { books: { price: MoreThan(7) } },
      order: { books: { id: 'ASC' } },
    }),
  );
  const [page, count] = await manager.findAndCount(Book, {
    select: { id: true, title: true },
    order: { id: 'DESC' },
    skip: 2,
    take: 3,
  });
  rows(page);
  say(count);
  rows(await manager.find(Book, { where: { title: In(['one', 't1']) }, order: { id: 'ASC' } }));
  rows(
    await manager.find(Book, {
      where: [{ title: Like('t_') }, { price: IsNull() }],
      take: 1,
      order: { id: 'ASC' },
    }),
  );
  const [book] = await manager.find(Book, {
    relations: { shelves: true, author: true },
    relationLoadStrategy: 'query',
    where: { title: 'one' },
  });
  say(
    book.seen,
    book.author.email,
    book.shelves.map(({ name }) => name),
  );
});

await step('query builder', async () => {
  rows(
    await manager
      .createQueryBuilder(Book, 'book')
      .innerJoin('book.author', 'author')
      .select('author.email', 'email')
      .addSelect('count(*)', 'n')
      .addSelect('sum(book.price)', 'sum')
      .where('book.price BETWEEN :low AND :high', { low: 1, high: 5 })
      .groupBy('author.email')
      .getRawMany(),
  );
  const changed = await manager
    .createQueryBuilder()
    .update(Book)
    .set({ price: () => 'price + 1' })
    .where('title = :title', { title: 'one' })
    .returning(['id', 'price'])
    .execute();
  rows(changed.raw);
  const stream = await manager
    .createQueryBuilder(Book, 'b')
    .select('b.id')
    .orderBy('b.id')
    .limit(3)
    .stream();
  for await (const row of stream) say(row);
  rows(
    await manager
      .createQueryBuilder(Author, 'a')
      .leftJoinAndSelect('a.books', 'b')
      .select(['a.id', 'b.id'])
      .orderBy('b.id')
      .take(1)
      .getMany(),
  );
});

await step('upsert', async () => {
  const row = { email: 'ann@example.org', meta: { b: 2 } };
  const done = await manager.upsert(Author, [row, { email: 'bob@example.org' }], ['email']);
  say(done.identifiers);
  rows(
    await manager.find(Author, {
      select: { id: true, meta: true, tags: true, version: true },
      order: { id: 'ASC' },
    }),
  );
});

await step('soft delete', async () => {
  await manager.softDelete(Author, { email: 'bob@example.org' });
  say(await manager.count(Author), await manager.count(Author, { withDeleted: true }));
  await manager.restore(Author, { email: 'bob@example.org' });
  say(await manager.count(Author));
});

await step('transactions and errors', async () => {
  await fails(() => manager.insert(Author, { email: 'ann@example.org' }));
  await fails(() => manager.insert(Book, { title: 'x', author: { id: 99 } }));
  await fails(() => manager.insert(Book, { title: 'x', price: '-1', author: { id: 1 } }));
  await fails(() => db.query('SELECT * FROM nowhere WHERE a = $1', [1]));
  await fails(() =>
    db.transaction('SERIALIZABLE', async (tx) => {
      await tx.deleteAll(Book);
      await tx.query('SELECT 1 / 0');
    }),
  );
  await db.transaction(async (tx) => {
    const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' };
    const book = await tx.findOne(Book, { where: { title: 'one' }, lock });
    await fails(() =>
      tx.transaction((inner) => inner.insert(Book, { title: 'x', author: { id: 99 } })),
    );
    await tx.save(Book, { ...book, title: 'locked' });
  });
  say(await manager.count(Book), await manager.existsBy(Book, { title: 'locked' }));
});

await step('query runner', async () => {
  const runner = db.createQueryRunner();
  const table = await runner.getTable('books');
  for (const column of table.columns) {
    const { name, type, isNullable, isPrimary, isGenerated, generationStrategy, length } = column;
    say(name, type, { isNullable, isPrimary, isGenerated, generationStrategy, length });
    say(column.default ?? 'no default', column.comment ?? 'no comment', [
      column.precision,
      column.scale,
    ]);
  }
  sorted(table.foreignKeys.map((key) => [key.columnNames, key.referencedTableName, key.onDelete]));
  sorted(table.uniques.map(({ name, columnNames }) => [name, columnNames]));
  sorted(table.indices.map(({ name, columnNames, where }) => [name, columnNames, where]));
  sorted(table.checks.map(({ name, expression }) => [name, expression]));
  say(
    await runner.hasTable('authors'),
    await runner.hasColumn('authors', 'none'),
    await runner.getSchemas().catch(() => 'no'),
  );
  await runner.release();
});

await step('migrations', async () => {
  say((await db.runMigrations({ transaction: 'each' })).map(({ name }) => name));
  say(await db.showMigrations());
  await db.undoLastMigration();
  await db.undoLastMigration();
  rows(await db.query('SELECT name FROM migrations'));
});

await step('an enum', async () => {
  const Mood = new EntitySchema({
    name: 'Mood',
    columns: {
      id: { type: 'int', primary: true, generated: true },
      mood: { type: 'enum', enum: ['happy', 'sad'], default: 'sad' },
    },
  });
  const other = await new DataSource({ ...common, entities: [Mood] }).initialize();
  try {
    await other.synchronize();
    await other.manager.insert(Mood, [{}, { mood: 'happy' }]);
    rows(await other.manager.find(Mood, { order: { mood: 'ASC' } }));
    await fails(() => other.manager.insert(Mood, { mood: 'odd' }));
  } finally {
    await other.destroy();
  }
});

await step('objects of the other kinds', () => objectsOfOtherKinds(common));

await step('drop', async () => {
  await db.dropDatabase();
  rows(await db.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`));
});

await db.destroy();
