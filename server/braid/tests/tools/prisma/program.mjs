// Prisma: a generated client over its driver adapter: relations, upsert, filters, groups, transactions.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';

import { run } from '../harness/process.mjs';
import { rows, say, step, url } from '../support.mjs';

// A folder of this run, because the program may run on two servers at once.
const folder = mkdtempSync('client-');
copyFileSync('schema.prisma', join(folder, 'schema.prisma'));
// `generate` only looks whether there is an engine: any program will do.
const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
const generated = await run(
  process.execPath,
  ['../node_modules/prisma/build/index.js', 'generate', '--schema', join(folder, 'schema.prisma')],
  { env },
);
if (generated.code !== 0) throw new Error(generated.errors);
const { default: prismaClient } = await import(`./${folder}/client/index.js`);
const { Prisma, PrismaClient } = prismaClient;

const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });

/** Expects an error of Prisma; prints its code and what the adapter reports of it. */
async function fails(work) {
  try {
    await work();
    say('no error, although one was expected');
  } catch (error) {
    const { driverAdapterError, ...meta } = error.meta ?? {};
    const cause = driverAdapterError?.cause ?? {};
    say(error.name, error.code ?? 'no code', meta, cause.kind ?? 'no kind');
    say(
      cause.originalCode ?? 'no state',
      cause.originalMessage ?? error.message.split('\n').at(-1),
    );
  }
}

await step('migration', async () => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(readFileSync('migration.sql', 'utf8'));
  await client.end();
});

await step('create', async () => {
  const author = await db.author.create({
    data: {
      email: 'ann@example.org',
      mood: 'very_happy',
      meta: { langs: ['en', 'de'], age: 40 },
      tags: ['x', 'y "z"'],
      scores: [1, -2],
      born: new Date('1970-01-02'),
      profile: { create: { text: 'writes', photo: Buffer.from([0, 255]) } },
      books: {
        create: [
          { title: 'Rivers and seas', price: '1.50', shelves: { create: { name: 'left' } } },
          { title: 'The sea', price: 20, weight: 0.25, during: undefined },
        ],
      },
    },
    include: { books: { orderBy: { id: 'asc' } }, profile: true },
  });
  const { uid, created, changed, ...rest } = author;
  say(uid.length, created instanceof Date, changed instanceof Date, rest);
  await db.author.create({ data: { email: 'bob@example.org', meta: Prisma.JsonNull } });
  say(
    await db.author.createMany({
      data: [1, 2, 3].map((n) => ({ email: `${n}@x.org`, tags: ['n'] })),
    }),
  );
  const found = await db.author.createMany({ data: [{ email: '1@x.org' }], skipDuplicates: true });
  say(found);
  rows(
    await db.book.createManyAndReturn({
      data: Array.from({ length: 8 }, (_, n) => ({ title: `book ${n}`, price: n, authorId: 2 })),
      select: { id: true, title: true, price: true, author: { select: { email: true } } },
    }),
  );
});

await step('find with relations', async () => {
  for (const relationLoadStrategy of ['join', 'query']) {
    rows(
      await db.author.findMany({
        relationLoadStrategy,
        where: { books: { some: { price: { gte: 5 } } } },
        select: {
          email: true,
          mood: true,
          profile: { select: { text: true, photo: true } },
          books: {
            where: { title: { not: 'The sea' } },
            orderBy: [{ price: 'desc' }],
            take: 2,
            select: { title: true, shelves: { select: { name: true } } },
          },
          _count: { select: { books: true } },
        },
        orderBy: { id: 'asc' },
      }),
    );
  }
  say(await db.author.findUnique({ where: { email: 'nobody' } }));
  await fails(() => db.author.findUniqueOrThrow({ where: { email: 'nobody' } }));
});

await step('filters', async () => {
  const emails = async (where) =>
    say((await db.author.findMany({ where, orderBy: { id: 'asc' } })).map(({ email }) => email));
  await emails({ email: { contains: 'EXAMPLE', mode: 'insensitive' } });
  await emails({ email: { startsWith: '1@' }, OR: [{ mood: 'ok' }, { mood: 'sad' }] });
  await emails({ tags: { has: 'x' } });
  await emails({ tags: { hasSome: ['n', 'x'] }, NOT: { scores: { isEmpty: false } } });
  await emails({ scores: { equals: [1, -2] } });
  await emails({ meta: { path: ['age'], gt: 30 } });
  await emails({ meta: { path: ['langs'], array_contains: ['de'] } });
  await emails({ meta: { path: ['langs', '0'], string_starts_with: 'e' } });
  await emails({ meta: { equals: Prisma.AnyNull } });
  await emails({ born: { lt: new Date('1980-01-01') }, profile: { is: { text: 'writes' } } });
  await emails({ books: { none: {} }, created: { lte: new Date('2100-01-01') } });
  await emails({ id: { in: [1, 2, 99] }, mood: { notIn: ['sad'] } });
});

await step('pages', async () => {
  const select = { id: true, title: true };
  const orderBy = [{ price: 'desc' }, { id: 'asc' }];
  rows(await db.book.findMany({ select, orderBy, skip: 2, take: 3 }));
  rows(await db.book.findMany({ select, orderBy, cursor: { id: 5n }, take: 2 }));
  rows(await db.book.findMany({ select, orderBy, cursor: { id: 5n }, skip: 1, take: -2 }));
  rows(
    await db.book.findMany({
      distinct: ['authorId'],
      select: { authorId: true },
      orderBy: { authorId: 'asc' },
    }),
  );
  rows(
    await db.book.findMany({
      select,
      orderBy: [{ weight: { sort: 'asc', nulls: 'first' } }, { id: 'asc' }],
      take: 1,
    }),
  );
  say(await db.book.count({ where: { author: { email: { endsWith: '.org' } } } }));
});

await step('groups', async () => {
  rows(
    await db.book.groupBy({
      by: ['authorId'],
      _count: true,
      _sum: { price: true },
      _max: { title: true },
      having: { price: { _avg: { gt: 1 } } },
      orderBy: { authorId: 'asc' },
    }),
  );
  say(
    await db.book.aggregate({
      _avg: { price: true },
      _min: { id: true },
      _count: { weight: true },
    }),
  );
});

await step('update and delete', async () => {
  say(
    await db.book.updateMany({ where: { price: { lt: 3 } }, data: { price: { increment: 10 } } }),
  );
  const author = await db.author.update({
    where: { email: 'ann@example.org' },
    data: {
      tags: { push: 'new' },
      meta: { age: 41 },
      profile: { update: { text: 'reads' } },
      books: {
        updateMany: { where: { price: { gt: 15 } }, data: { sold: true } },
        upsert: {
          where: { authorId_title: { authorId: 1, title: 'Third' } },
          create: { title: 'Third' },
          update: { title: 'Fourth' },
        },
      },
    },
    select: {
      tags: true,
      meta: true,
      profile: { select: { text: true } },
      books: { orderBy: { id: 'asc' } },
    },
  });
  say(author);
  await db.book.update({
    where: { id: 1n },
    data: {
      shelves: {
        connectOrCreate: {
          where: { name: 'right' },
          create: { name: 'right', above: { connect: { name: 'left' } } },
        },
      },
    },
  });
  rows(
    await db.shelf.findMany({
      select: { name: true, above: { select: { name: true } }, books: { select: { id: true } } },
      orderBy: { name: 'asc' },
    }),
  );
  await db.book.update({ where: { id: 1n }, data: { shelves: { disconnect: { name: 'left' } } } });
  rows(
    await db.book.updateManyAndReturn({
      where: { title: 'Third' },
      data: { weight: { set: 3 } },
      select: { title: true, weight: true },
    }),
  );
  say(
    await db.book.delete({
      where: { authorId_title: { authorId: 1, title: 'Third' } },
      select: { title: true },
    }),
  );
  say(await db.author.deleteMany({ where: { email: { in: ['2@x.org', '3@x.org'] } } }));
});

await step('upsert', async () => {
  const select = { id: true, email: true, tags: true };
  for (const tags of [['first'], ['second']]) {
    const where = { email: 'cid@example.org' };
    say(await db.author.upsert({ where, create: { ...where, tags }, update: { tags }, select }));
  }
});

await step('errors', async () => {
  await fails(() => db.author.create({ data: { email: 'ann@example.org' } }));
  await fails(() => db.book.create({ data: { title: 'x', authorId: 99 } }));
  await fails(() => db.author.delete({ where: { id: 1 } }));
  await fails(() => db.author.update({ where: { id: 99 }, data: { mood: 'sad' } }));
  await fails(() => db.author.create({ data: { email: 'x'.repeat(101) } }));
  await fails(() => db.book.create({ data: { title: 'x', price: -1, authorId: 1 } }));
  await fails(() => db.book.create({ data: { title: '', authorId: 1 } }));
  await fails(() => db.$queryRaw`SELECT * FROM nowhere WHERE a = ${1}`);
  say(await db.author.count());
});

await step('transactions', async () => {
  say(
    await db.$transaction([
      db.author.update({ where: { id: 1 }, data: { mood: 'sad' }, select: { mood: true } }),
      db.book.count({ where: { sold: true } }),
    ]),
  );
  await fails(() =>
    db.$transaction([
      db.book.deleteMany(),
      db.author.create({ data: { email: 'ann@example.org' } }),
    ]),
  );
  await db.$transaction(
    async (tx) => {
      await tx.author.update({ where: { id: 1 }, data: { mood: 'ok' } });
      say(await tx.$queryRaw`SHOW transaction_isolation`);
    },
    { isolationLevel: 'Serializable' },
  );
  await fails(() =>
    db.$transaction(async (tx) => {
      await tx.book.deleteMany();
      throw new Error('undone');
    }),
  );
  say(await db.book.count());
});

await step('raw queries', async () => {
  rows(
    await db.$queryRaw`
    SELECT id, title, price, weight, sold FROM books WHERE title LIKE ${'%sea%'} ORDER BY id`,
  );
  rows(
    await db.$queryRaw`
    SELECT ${new Date(0)}::timestamptz AS at, ${[1, 2]}::int[] AS ids, ${Prisma.sql`1 + 1`} AS two,
      ${{ a: 1 }}::jsonb AS doc, 12::bigint AS big, 'x'::bytea AS bytes, 'ok'::mood AS mood,
      NULL AS nothing, interval '1 day'::text AS day`,
  );
  rows(
    await db.$queryRawUnsafe('SELECT email FROM authors WHERE id = ANY ($1) ORDER BY id', [1, 2]),
  );
  const ids = Prisma.join([1, 2]);
  say(await db.$executeRaw`UPDATE books SET weight = 1 WHERE author_id IN (${ids})`);
});

await step('a view', async () => {
  rows(await db.authorTotal.findMany({ orderBy: { authorId: 'asc' } }));
  say(await db.authorTotal.findUnique({ where: { authorId: 1 }, select: { total: true } }));
});

await step('a trigger and text search', async () => {
  rows(
    await db.$queryRaw`
    SELECT title, words::text AS words, ts_rank(words, q) > 0 AS ranked
    FROM books, plainto_tsquery('english', ${'seas'}) AS q WHERE words @@ q ORDER BY id`,
  );
});

await step('ranges', async () => {
  await db.$executeRaw`UPDATE books SET during = daterange('2026-01-01', '2026-02-01') WHERE id = 1`;
  await fails(
    () => db.$executeRaw`UPDATE books SET during = daterange('2026-01-31', NULL) WHERE id = 2`,
  );
  rows(
    await db.$queryRaw`
    SELECT id, during::text AS during, upper(during) AS upper FROM books
    WHERE during @> ${'2026-01-15'}::date`,
  );
});

await step('partitions', async () => {
  const sale = (id, day) => ({ id, day: new Date(day), amount: id * 10 });
  await db.sale.createMany({
    data: [sale(1, '2025-05-05'), sale(2, '2026-05-05'), sale(3, '2026-06-06')],
  });
  rows(
    await db.$queryRaw`SELECT tableoid::regclass::text AS part, count(*) FROM sales GROUP BY 1 ORDER BY 1`,
  );
  const where = { day_id: { day: new Date('2025-05-05'), id: 1 } };
  say(await db.sale.update({ where, data: { day: new Date('2026-07-07') } }));
  rows(
    await db.sale.findMany({
      where: { day: { gte: new Date('2026-06-01') } },
      orderBy: { id: 'asc' },
    }),
  );
});

await step('row-level security', async () => {
  await db.$executeRaw`CREATE ROLE tools_prisma`;
  await db.$executeRaw`GRANT SELECT, UPDATE ON profiles TO tools_prisma`;
  await db.profile.create({ data: { authorId: 2, text: 'hidden' } });
  await db
    .$transaction(async (tx) => {
      await tx.$executeRaw`SET LOCAL ROLE tools_prisma`;
      rows(await tx.profile.findMany({ select: { authorId: true, text: true } }));
      await fails(() => tx.profile.update({ where: { authorId: 1 }, data: { text: 'hidden' } }));
    })
    .catch(() => say('undone'));
  say(await db.profile.count());
  await db.$executeRaw`DROP OWNED BY tools_prisma`;
  await db.$executeRaw`DROP ROLE tools_prisma`;
});

await db.$disconnect();
rmSync(folder, { recursive: true });
