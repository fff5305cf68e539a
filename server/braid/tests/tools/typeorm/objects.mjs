// An entity on a view, ranges with an exclusion constraint, text search; and by a migration in SQL
// a domain, a trigger, a partitioned table and a policy.
import typeorm from 'typeorm';

import { fails, rows, say } from '../support.mjs';

const { Between, DataSource, EntitySchema, Raw } = typeorm;

const Room = new EntitySchema({
  name: 'Room',
  tableName: 'rooms',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    name: { type: 'text' },
    price: { type: 'numeric', precision: 10, scale: 2, default: 0 },
    words: {
      type: 'tsvector',
      select: false,
      asExpression: `to_tsvector('english', name)`,
      generatedType: 'STORED',
    },
    changed: { type: 'int', default: 0 },
  },
  checks: [{ name: 'rooms_named', expression: `name <> ''` }],
});
const Stay = new EntitySchema({
  name: 'Stay',
  tableName: 'stays',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    roomId: { type: 'int', name: 'room_id' },
    during: { type: 'daterange' },
  },
  exclusions: [
    {
      name: 'stays_once',
      expression: `USING gist (int4range(room_id, room_id, '[]') WITH &&, during WITH &&)`,
    },
  ],
});
const Busy = new EntitySchema({
  name: 'Busy',
  tableName: 'busy',
  type: 'view',
  expression: `
    SELECT r.id, r.name, count(s.id)::int AS stays
    FROM rooms r LEFT JOIN stays s ON s.room_id = r.id GROUP BY r.id, r.name`,
  columns: {
    id: { type: 'int', primary: true },
    name: { type: 'text' },
    stays: { type: 'int' },
  },
});
const Sale = new EntitySchema({
  name: 'Sale',
  tableName: 'sales',
  synchronize: false,
  columns: {
    day: { type: 'date', primary: true },
    number: { type: 'int', primary: true },
    amount: { type: 'int' },
  },
});

class Kinds1700000000003 {
  name = 'Kinds1700000000003';
  async up(runner) {
    await runner.query('CREATE DOMAIN amount AS int CHECK (VALUE > 0)');
    await runner.query(
      'CREATE TABLE sales (day date, number int, amount amount, PRIMARY KEY (day, number))' +
        ' PARTITION BY RANGE (day)',
    );
    await runner.query(
      `CREATE TABLE sales_2026 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')`,
    );
    await runner.query('CREATE TABLE sales_rest PARTITION OF sales DEFAULT');
    await runner.query(`
      CREATE FUNCTION rooms_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.changed := OLD.changed + 1;
        RETURN NEW;
      END
      $$`);
    await runner.query(
      'CREATE TRIGGER rooms_changed BEFORE UPDATE ON rooms FOR EACH ROW' +
        ' EXECUTE FUNCTION rooms_changed()',
    );
    await runner.query('ALTER TABLE stays ENABLE ROW LEVEL SECURITY');
    await runner.query('CREATE POLICY stays_first ON stays USING (room_id = 1)');
  }
  async down(runner) {
    await runner.query('DROP POLICY stays_first ON stays');
    await runner.query('DROP TRIGGER rooms_changed ON rooms');
    await runner.query('DROP FUNCTION rooms_changed');
    await runner.query('DROP TABLE sales');
    await runner.query('DROP DOMAIN amount');
  }
}

async function searchAndTrigger(manager) {
  await manager.save(Room, [{ name: 'two red chairs' }, { name: 'a blue room' }]);
  rows(
    await manager.find(Room, {
      where: {
        words: Raw((column) => `${column} @@ plainto_tsquery('english', :q)`, { q: 'chair' }),
      },
    }),
  );
  await manager.update(Room, { name: 'a blue room' }, { price: '2.5' });
  rows(
    await manager
      .createQueryBuilder(Room, 'r')
      .addSelect(`ts_rank(r.words, to_tsquery('english', 'blue | red')) > 0`, 'ranked')
      .orderBy('r.id')
      .getRawMany(),
  );
  await fails(() => manager.insert(Room, { name: '' }));
}

async function rangesAndView(manager) {
  await manager.insert(Stay, { roomId: 1, during: '[2026-01-01,2026-01-05)' });
  await manager.insert(Stay, { roomId: 2, during: '[2026-01-01,2026-01-05)' });
  await fails(() => manager.insert(Stay, { roomId: 1, during: '[2026-01-04,2026-01-08]' }));
  rows(await manager.find(Stay, { order: { id: 'ASC' } }));
  const contains = Raw((column) => `${column} @> :day::date`, { day: '2026-01-04' });
  say(await manager.countBy(Stay, { during: contains }));
  rows(await manager.find(Busy, { order: { id: 'ASC' } }));
}

async function partitions(manager) {
  await manager.insert(Sale, [
    { day: '2025-05-05', number: 1, amount: 10 },
    { day: '2026-05-05', number: 2, amount: 20 },
  ]);
  await manager.update(Sale, { number: 1 }, { day: '2026-06-06' });
  rows(await manager.findBy(Sale, { day: Between('2026-06-01', '2026-07-01') }));
  rows(
    await manager.query('SELECT tableoid::regclass::text AS part, number FROM sales ORDER BY 2'),
  );
  await fails(() => manager.insert(Sale, { day: '2026-01-01', number: 3, amount: 0 }));
}

async function policies(db) {
  await db.query('CREATE ROLE tools_reader');
  await db.query('GRANT SELECT, INSERT ON stays TO tools_reader');
  await db.query('GRANT USAGE ON SEQUENCE stays_id_seq TO tools_reader');
  await fails(() =>
    db.transaction(async (manager) => {
      await manager.query('SET LOCAL ROLE tools_reader');
      rows(await manager.find(Stay, { select: { roomId: true } }));
      await manager.insert(Stay, { roomId: 2, during: '[2027-01-01,2027-01-02)' });
    }),
  );
  await db.query('DROP OWNED BY tools_reader');
  await db.query('DROP ROLE tools_reader');
}

/** Runs the program on a data source of its own, and takes its objects away. */
export async function objectsOfOtherKinds(common) {
  const db = await new DataSource({
    ...common,
    entities: [Room, Stay, Busy, Sale],
    migrations: [Kinds1700000000003],
  }).initialize();
  try {
    await db.synchronize();
    const { upQueries } = await db.driver.createSchemaBuilder().log();
    for (const { query } of upQueries) say(query);
    say((await db.runMigrations()).map(({ name }) => name));
    await searchAndTrigger(db.manager);
    await rangesAndView(db.manager);
    await partitions(db.manager);
    await policies(db);
    await db.undoLastMigration();
    rows(await db.query(`SELECT typname FROM pg_type WHERE typname = 'amount'`));
  } finally {
    await db.destroy();
  }
}
