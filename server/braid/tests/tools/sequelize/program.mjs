// Sequelize: sync, associations, upsert, queryInterface, and migrations with umzug.
import Sequelize from 'sequelize';
import { SequelizeStorage, Umzug } from 'umzug';

import { fails, rows, say, sorted, step, url } from '../support.mjs';

const { DataTypes, Op } = Sequelize;
const db = new Sequelize.Sequelize(url, { logging: false, pool: { max: 3 } });
const plain = (list) => list.map((row) => row.get({ plain: true }));

const Author = db.define(
  'Author',
  {
    uid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, allowNull: false },
    email: { type: DataTypes.STRING(100), unique: true, allowNull: false },
    meta: { type: DataTypes.JSONB, defaultValue: {} },
    tags: { type: DataTypes.ARRAY(DataTypes.TEXT), defaultValue: [] },
    born: DataTypes.DATEONLY,
  },
  { tableName: 'authors', underscored: true },
);
const Book = db.define(
  'Book',
  {
    id: {
      type: DataTypes.BIGINT,
      primaryKey: true,
      autoIncrement: true,
      autoIncrementIdentity: true,
    },
    title: { type: DataTypes.STRING, allowNull: false, comment: 'as printed' },
    price: DataTypes.DECIMAL(10, 2),
    seen: DataTypes.DATE,
  },
  {
    tableName: 'books',
    timestamps: false,
    underscored: true,
    indexes: [{ fields: ['price'], where: { price: { [Op.gt]: 10 } } }],
  },
);
const Shelf = db.define(
  'Shelf',
  { name: DataTypes.STRING },
  { tableName: 'shelves', paranoid: true },
);
Author.hasMany(Book, {
  as: 'books',
  foreignKey: { name: 'authorId', allowNull: false },
  onDelete: 'CASCADE',
});
Book.belongsTo(Author, { as: 'author', foreignKey: 'authorId' });
Book.belongsToMany(Shelf, { through: 'places', as: 'shelves', timestamps: false });
Shelf.belongsToMany(Book, { through: 'places', as: 'books', timestamps: false });

await step('sync', async () => {
  await db.authenticate();
  await db.sync();
  await db.sync();
  sorted(await db.getQueryInterface().showAllTables());
});

await step('sync with alter', async () => {
  Author.rawAttributes.nick = { type: DataTypes.STRING(20) };
  Author.refreshAttributes();
  await Author.sync({ alter: true });
});

await step('sync with force', async () => {
  await db.sync({ force: true });
});

await step('introspection', async () => {
  const query = db.getQueryInterface();
  sorted(Object.entries(await query.describeTable('authors')));
  sorted(Object.entries(await query.describeTable('books')));
});

await step('indexes', async () => {
  for (const index of await db.getQueryInterface().showIndex('books')) {
    const { name, primary, unique, fields, definition } = index;
    say(
      name,
      primary,
      unique,
      fields.map(({ attribute, order }) => [attribute, order]),
      definition,
    );
  }
});

await step('constraints', async () => {
  const query = db.getQueryInterface();
  sorted(
    (await query.showConstraint('books')).map(({ constraintName, constraintType }) => [
      // The names of these in information_schema are made of OIDs.
      constraintName.replace(/^\d+_\d+_/, ''),
      constraintType,
    ]),
  );
  const keys = await query.getForeignKeyReferencesForTable('books');
  for (const key of keys)
    say(key.constraintName, key.columnName, key.referencedTableName, key.referencedColumnName);
});

await step('version', async () => {
  say(typeof (await db.databaseVersion()));
});

await step('insert', async () => {
  const author = await Author.create(
    {
      email: 'ann@example.org',
      meta: { a: [1] },
      tags: ['x', 'y'],
      born: '1970-01-02',
      books: [{ title: 'one', price: '1.5', seen: new Date(0) }],
    },
    { include: 'books' },
  );
  await author.createBook({ title: 'two', price: '20' });
  const { uid, createdAt, updatedAt, ...values } = author.get({ plain: true });
  say(uid.length, createdAt instanceof Date, updatedAt instanceof Date, values);
  const many = Array.from({ length: 20 }, (_, n) => ({
    title: `t${n}`,
    price: n,
    authorId: author.id,
  }));
  say((await Book.bulkCreate(many)).length);
  const shelf = await Shelf.create({ name: 'left' });
  await shelf.setBooks([1, 2]);
});

await step('relations', async () => {
  rows(
    plain(
      await Author.findAll({
        attributes: ['id', 'email'],
        include: {
          model: Book,
          as: 'books',
          attributes: ['id', 'title'],
          where: { price: { [Op.lt]: 3 } },
        },
        order: [['books', 'id', 'ASC']],
      }),
    ),
  );
  rows(
    plain(
      await Author.findAll({
        attributes: ['id'],
        include: {
          model: Book,
          as: 'books',
          attributes: ['id'],
          separate: true,
          limit: 2,
          order: ['id'],
        },
      }),
    ),
  );
  rows(
    plain(
      await Book.findAll({
        attributes: ['id', 'seen'],
        include: [
          { model: Author, as: 'author', attributes: ['email', 'tags'] },
          {
            model: Shelf,
            as: 'shelves',
            attributes: ['name'],
            required: true,
            through: { attributes: [] },
          },
        ],
        order: ['id'],
        limit: 5,
      }),
    ),
  );
});

await step('queries', async () => {
  const { count, rows: page } = await Book.findAndCountAll({
    order: [['id', 'DESC']],
    limit: 2,
    offset: 2,
  });
  say(count, plain(page));
  rows(
    plain(
      await Book.findAll({
        attributes: [
          'authorId',
          [db.fn('count', db.col('id')), 'n'],
          [db.fn('sum', db.col('price')), 'sum'],
        ],
        group: 'authorId',
        having: db.where(db.fn('count', db.col('id')), Op.gt, 1),
      }),
    ),
  );
  rows(
    plain(
      await Author.findAll({
        attributes: ['id'],
        where: {
          [Op.or]: [{ meta: { a: { [Op.ne]: null } } }, { email: { [Op.iLike]: '%EXAMPLE%' } }],
          tags: { [Op.contains]: ['x'], [Op.overlap]: ['y', 'z'] },
        },
      }),
    ),
  );
  rows(plain(await Author.findAll({ attributes: ['id'], where: { 'meta.a[0]': 1 } })));
  say(
    await Book.update(
      { price: db.literal('price + 1') },
      { where: { id: { [Op.between]: [1, 3] } } },
    ),
  );
  const [, changed] = await Book.update({ price: 7 }, { where: { id: 4 }, returning: true });
  rows(plain(changed));
  say(await Book.increment('price', { by: 2, where: { id: 4 } }));
  say(await Book.destroy({ where: { title: 't19' } }));
  say(await Book.max('price'), await Book.count({ distinct: true, col: 'authorId' }));
  rows(await db.query('SELECT :n::int AS n', { replacements: { n: 3 }, type: 'SELECT' }));
  rows(await db.query('SELECT $n::int AS n', { bind: { n: 4 }, type: 'SELECT' }));
});

await step('upsert', async () => {
  const [author, created] = await Author.upsert({ email: 'ann@example.org', meta: { b: 2 } });
  say(author.id, created, author.meta);
  const list = [{ email: 'ann@example.org', tags: ['new'] }, { email: 'bob@example.org' }];
  const done = await Author.bulkCreate(list, { updateOnDuplicate: ['tags'] });
  say(done.map(({ email, tags }) => [email, tags]));
  const many = await Author.bulkCreate([{ email: 'bob@example.org' }], { ignoreDuplicates: true });
  say(many.length);
});

await step('find or create', async () => {
  const [found, made] = await Author.findOrCreate({ where: { email: 'ann@example.org' } });
  say(found.email, made);
  const [other, madeToo] = await Author.findOrCreate({ where: { email: 'eve@example.org' } });
  say(other.email, madeToo);
});

await step('transactions and errors', async () => {
  await fails(() => Author.create({ email: 'ann@example.org' }));
  await fails(() => Book.create({ title: 'x', authorId: 99 }));
  await fails(() => db.query('SELECT * FROM nowhere'));
  await fails(() =>
    db.transaction(async (transaction) => {
      await Book.destroy({ where: {}, transaction });
      await db.query('SELECT 1 / 0', { transaction });
    }),
  );
  await db.transaction({ isolationLevel: 'READ COMMITTED' }, async (transaction) => {
    const book = await Book.findByPk(1, { transaction, lock: true, skipLocked: true });
    await book.update({ title: 'locked' }, { transaction });
    await fails(() =>
      db.transaction({ transaction }, (inner) =>
        Book.create({ title: 'x', authorId: 99 }, { transaction: inner }),
      ),
    );
  });
  rows(plain(await Book.findAll({ where: { id: 1 } })));
  say(await Book.count());
});

await step('paranoid', async () => {
  await Shelf.destroy({ where: { name: 'left' } });
  say(await Shelf.count(), await Shelf.count({ paranoid: false }));
  await Shelf.restore();
  say(await Shelf.count());
});

await step('an enum', async () => {
  const Mood = db.define('Mood', { mood: DataTypes.ENUM('happy', 'sad') }, { timestamps: false });
  await Mood.sync();
  await Mood.bulkCreate([{ mood: 'sad' }, { mood: 'happy' }]);
  rows(plain(await Mood.findAll({ order: ['mood'] })));
  await fails(() => Mood.create({ mood: 'odd' }));
});

await step('migrations', async () => {
  const umzug = new Umzug({
    migrations: [
      {
        name: '01-notes',
        up: ({ context }) =>
          context.createTable('notes', {
            id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
            text: { type: DataTypes.TEXT, allowNull: false, defaultValue: 'none' },
          }),
        down: ({ context }) => context.dropTable('notes'),
      },
      {
        name: '02-changes',
        up: async ({ context }) => {
          await context.addColumn('notes', 'book_id', {
            type: DataTypes.BIGINT,
            references: { model: 'books', key: 'id' },
          });
          await context.renameColumn('notes', 'text', 'body');
          await context.addIndex('notes', ['body'], { name: 'notes_body' });
          await context.changeColumn('notes', 'body', {
            type: DataTypes.STRING(50),
            allowNull: true,
          });
          await context.addConstraint('notes', {
            type: 'unique',
            fields: ['book_id'],
            name: 'one_note',
          });
        },
        down: async ({ context }) => {
          await context.removeConstraint('notes', 'one_note');
          await context.removeIndex('notes', 'notes_body');
          await context.removeColumn('notes', 'book_id');
          await context.renameColumn('notes', 'body', 'text');
        },
      },
    ],
    context: db.getQueryInterface(),
    storage: new SequelizeStorage({ sequelize: db }),
    logger: undefined,
  });
  say((await umzug.up()).map(({ name }) => name));
  say((await umzug.executed()).map(({ name }) => name));
  sorted(Object.entries(await db.getQueryInterface().describeTable('notes')));
  say((await umzug.down()).map(({ name }) => name));
  say((await umzug.pending()).map(({ name }) => name));
  say((await umzug.down()).map(({ name }) => name));
});

await step('drop', async () => {
  await db.drop({});
  const tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`;
  sorted(await db.query(tables, { type: 'SELECT' }));
});

await db.close();
