// Drizzle: drizzle-kit generates and pushes the schema and reads it back; queries with relations.
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';

import { and, count, desc, eq, gt, inArray, relations, sql, sum } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import {
  bigint,
  check,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgEnum,
  pgSchema,
  pgTable,
  pgView,
  serial,
  text,
  timestamp,
  unique,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core';
import pg from 'pg';

import { fails, rows, say, sorted, step, url } from '../support.mjs';

const kit = createRequire(import.meta.url)('drizzle-kit/api');

const authors = pgTable('authors', {
  id: serial().primaryKey(),
  uid: uuid().notNull().defaultRandom(),
  email: text().notNull().unique(),
  meta: jsonb().notNull().default({}),
  tags: text().array().notNull().default([]),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});
const books = pgTable(
  'books',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    authorId: integer('author_id')
      .notNull()
      .references(() => authors.id, { onDelete: 'cascade' }),
    title: varchar({ length: 100 }).notNull(),
    price: numeric({ precision: 10, scale: 2 }),
    published: date().default('1970-01-01'),
    kind: text().default('paper'),
  },
  (table) => [
    unique('books_title').on(table.authorId, table.title),
    index('books_price')
      .on(table.price, table.id.desc().nullsFirst())
      .where(sql`price > 10`),
    check('books_positive', sql`price >= 0`),
  ],
);
const titles = pgView('titles').as((query) => query.select({ title: books.title }).from(books));
const other = pgSchema('other');
const notes = other.table('notes', { id: serial().primaryKey(), body: text().default('none') });
const authorRelations = relations(authors, ({ many }) => ({ books: many(books) }));
const bookRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.authorId], references: [authors.id] }),
}));
const tables = { authors, books, titles, other, notes };

const pool = new pg.Pool({ connectionString: url, max: 2 });
const db = drizzle(pool, { schema: { ...tables, authorRelations, bookRelations } });

/** Runs drizzle-kit, which prints its progress, with the output thrown away. */
async function quietly(run) {
  const write = process.stdout.write;
  const exit = process.exit;
  const log = console.log;
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stdout.write = sink.write.bind(sink);
  console.log = () => undefined;
  process.exit = () => {
    throw new Error('drizzle-kit wanted to end the process');
  };
  try {
    return await run();
  } finally {
    process.stdout.write = write;
    process.exit = exit;
    console.log = log;
  }
}

await step('schema from generated SQL', async () => {
  const empty = kit.generateDrizzleJson({});
  for (const statement of await kit.generateMigration(empty, kit.generateDrizzleJson(tables))) {
    await db.execute(sql.raw(statement));
  }
});

await step('insert and upsert', async () => {
  const [{ uid, createdAt, ...author }] = await db
    .insert(authors)
    .values({ email: 'ann@example.org', meta: { a: [1] }, tags: ['x', 'y "z"'] })
    .returning();
  say(uid.length, createdAt instanceof Date, author);
  const list = Array.from({ length: 12 }, (_, n) => ({
    authorId: 1,
    title: `t${n}`,
    price: `${n}`,
  }));
  rows((await db.insert(books).values(list).returning({ id: books.id })).slice(0, 2));
  rows(
    await db
      .insert(authors)
      .values({ email: 'ann@example.org', meta: { b: 2 } })
      .onConflictDoUpdate({ target: authors.email, set: { meta: sql`excluded.meta` } })
      .returning({ id: authors.id, meta: authors.meta }),
  );
  say((await db.insert(books).values(list[0]).onConflictDoNothing()).rowCount);
});

await step('relational queries', async () => {
  rows(
    await db.query.authors.findMany({
      columns: { id: true, email: true, tags: true },
      with: {
        books: {
          columns: { id: true, title: true, price: true, published: true },
          orderBy: books.id,
          limit: 2,
        },
      },
    }),
  );
  say(
    await db.query.books.findFirst({
      where: eq(books.title, 't3'),
      with: { author: { columns: { email: true, meta: true } } },
      extras: { shout: sql`upper(${books.title})`.as('shout') },
    }),
  );
});

await step('queries', async () => {
  const page = db.select({ id: books.id, title: books.title }).from(books).orderBy(desc(books.id));
  rows(await page.limit(3).offset(3));
  rows(
    await db
      .select({ email: authors.email, n: count(), sum: sum(books.price) })
      .from(books)
      .innerJoin(authors, eq(books.authorId, authors.id))
      .where(and(gt(books.price, '3'), inArray(books.title, ['t3', 't4', 't5'])))
      .groupBy(authors.email),
  );
  const cheap = db.$with('cheap').as(
    db
      .select()
      .from(books)
      .where(sql`${books.price} < 3`),
  );
  rows(await db.with(cheap).select({ id: cheap.id }).from(cheap).orderBy(cheap.id));
  const byId = db
    .select({ title: books.title })
    .from(books)
    .where(eq(books.id, sql.placeholder('id')))
    .prepare('by_id');
  rows(await byId.execute({ id: 1 }));
  rows(await byId.execute({ id: 2 }));
  rows(
    await db
      .update(books)
      .set({ price: sql`${books.price} + 1` })
      .where(eq(books.id, 1))
      .returning(),
  );
  rows(await db.delete(books).where(eq(books.title, 't11')).returning({ id: books.id }));
  rows(await db.select().from(titles).limit(0));
  say(await db.$count(books, gt(books.price, '5')));
  rows(await db.insert(notes).values({}).returning());
});

await step('transactions and errors', async () => {
  await fails(() => db.insert(authors).values({ email: 'ann@example.org' }));
  await fails(() => db.insert(books).values({ authorId: 99, title: 'x' }));
  await fails(() => db.insert(books).values({ authorId: 1, title: 'x', price: '-1' }));
  await fails(() => db.execute(sql`SELECT * FROM nowhere`));
  await fails(() =>
    db.transaction(async (tx) => {
      await tx.delete(books);
      await tx.execute(sql`SELECT 1 / 0`);
    }),
  );
  await db.transaction(
    async (tx) => {
      await fails(() =>
        tx.transaction((inner) => inner.insert(books).values({ authorId: 99, title: 'x' })),
      );
      await tx.select().from(books).where(eq(books.id, 1)).for('update', { skipLocked: true });
      await tx.update(authors).set({ tags: ['z'] });
    },
    { isolationLevel: 'repeatable read', accessMode: 'read write' },
  );
  rows(await db.select({ tags: authors.tags }).from(authors));
  say(await db.$count(books));
});

await step('push finds nothing to do', async () => {
  const pushed = await quietly(() => kit.pushSchema(tables, db, ['public', 'other']));
  sorted(pushed.statementsToExecute);
  say(pushed.hasDataLoss, pushed.warnings);
});

await step('push of a change', async () => {
  const changed = {
    ...tables,
    tags: pgTable('tags', { id: serial().primaryKey(), name: text().unique() }),
  };
  const pushed = await quietly(() => kit.pushSchema(changed, db, ['public', 'other']));
  sorted(pushed.statementsToExecute);
  await pushed.apply();
  sorted((await db.execute(sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).rows);
});

await step('an index in descending order', async () => {
  const columns = { id: serial().primaryKey(), price: integer() };
  const prices = pgTable('prices', columns, (table) => [index('down').on(table.price.desc())]);
  const all = kit.generateDrizzleJson({ prices });
  for (const statement of await kit.generateMigration(kit.generateDrizzleJson({}), all)) {
    await db.execute(sql.raw(statement));
  }
  await db.insert(prices).values([{ price: 1 }, { price: 2 }, { price: null }]);
  rows(
    await db
      .select()
      .from(prices)
      .orderBy(sql`price DESC NULLS LAST`),
  );
});

await step('migrate', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'drizzle-'));
  mkdirSync(join(dir, 'meta'));
  const entries = ['0000_first', '0001_second'].map((tag, idx) => ({
    idx,
    version: '7',
    when: idx + 1,
    tag,
    breakpoints: true,
  }));
  writeFileSync(
    join(dir, 'meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
  );
  writeFileSync(
    join(dir, '0000_first.sql'),
    'CREATE TABLE m (id int PRIMARY KEY);--> statement-breakpoint\nINSERT INTO m VALUES (1);',
  );
  writeFileSync(join(dir, '0001_second.sql'), 'ALTER TABLE m ADD COLUMN name text;');
  await migrate(db, { migrationsFolder: dir });
  await migrate(db, { migrationsFolder: dir });
  rows((await db.execute(sql`SELECT * FROM m`)).rows);
  rows(
    (await db.execute(sql`SELECT id, created_at FROM drizzle.__drizzle_migrations ORDER BY id`))
      .rows,
  );
  rmSync(dir, { recursive: true });
});

await step('an enum', async () => {
  const mood = pgEnum('mood', ['happy', 'sad']);
  const moods = pgTable('moods', { id: serial().primaryKey(), mood: mood() });
  const all = kit.generateDrizzleJson({ mood, moods });
  for (const statement of await kit.generateMigration(kit.generateDrizzleJson({}), all)) {
    await db.execute(sql.raw(statement));
  }
  await db.insert(moods).values([{ mood: 'sad' }, { mood: 'happy' }]);
  rows(await db.select().from(moods).orderBy(moods.mood));
  await fails(() => db.insert(moods).values({ mood: 'odd' }));
});

await pool.end();
