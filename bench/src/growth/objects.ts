/** Work on the catalog: objects that come and go, and parts of one table. */

import type { Work } from './work.js';
import { each, inOneTransaction, inTransaction, numbers, statementsOf } from './work.js';

/** A kind of object: how one is made and dropped, by its number. */
interface ObjectKind {
  readonly plural: string;
  readonly create: (i: number) => string;
  readonly drop: (i: number) => string;
}

const KINDS: readonly ObjectKind[] = [
  {
    plural: 'functions',
    create: (i) => `CREATE FUNCTION f${i}() RETURNS INT LANGUAGE sql AS 'SELECT ${i}'`,
    drop: (i) => `DROP FUNCTION f${i}()`,
  },
  {
    plural: 'views',
    create: (i) => `CREATE VIEW v${i} AS SELECT ${i} AS n`,
    drop: (i) => `DROP VIEW v${i}`,
  },
  {
    plural: 'enums',
    create: (i) => `CREATE TYPE e${i} AS ENUM ('a', 'b')`,
    drop: (i) => `DROP TYPE e${i}`,
  },
  {
    plural: 'composite types',
    create: (i) => `CREATE TYPE c${i} AS (a INT, b INT)`,
    drop: (i) => `DROP TYPE c${i}`,
  },
  {
    plural: 'domains',
    create: (i) => `CREATE DOMAIN d${i} AS INT CHECK (value > 0)`,
    drop: (i) => `DROP DOMAIN d${i}`,
  },
  {
    plural: 'sequences',
    create: (i) => `CREATE SEQUENCE q${i}`,
    drop: (i) => `DROP SEQUENCE q${i}`,
  },
  {
    plural: 'schemas',
    create: (i) => `CREATE SCHEMA n${i}`,
    drop: (i) => `DROP SCHEMA n${i}`,
  },
  {
    plural: 'roles',
    create: (i) => `CREATE ROLE growth_role_${i}`,
    drop: (i) => `DROP ROLE growth_role_${i}`,
  },
];

const SIZE = 50;

/** Each kind one by one: made, and dropped; then all dropped in one transaction. */
const ofKinds = KINDS.flatMap(({ plural, create, drop }): Work[] => {
  const made = (size: number): string[] => numbers(size).map(create);
  const finish = (size: number): string[] => numbers(size).map(drop);
  const dropped = statementsOf(`DROP of ${plural}`, SIZE, drop, { prepare: made });
  return [
    statementsOf(`CREATE of ${plural}`, SIZE, create, { finish }),
    dropped,
    inOneTransaction(dropped),
  ];
});

const TABLE = 'CREATE TABLE item (id BIGINT)';
const ofItem = { prepare: () => [TABLE], finish: () => ['DROP TABLE item'] };

const roles = (size: number): string[] => numbers(size).map((i) => `CREATE ROLE growth_role_${i}`);
const dropRoles = (size: number): string[] =>
  numbers(size).map((i) => `DROP ROLE growth_role_${i}`);

/** What one table has many of. */
const partsOfATable: readonly Work[] = [
  statementsOf('GRANT to roles', SIZE, (i) => `GRANT SELECT ON item TO growth_role_${i}`, {
    prepare: (size) => [TABLE, ...roles(size)],
    finish: (size) => ['DROP TABLE item', ...dropRoles(size)],
  }),
  statementsOf('indexes of a table', 20, (i) => `CREATE INDEX x${i} ON item (id)`, ofItem),
  statementsOf(
    'policies of a table',
    SIZE,
    (i) => `CREATE POLICY p${i} ON item USING (id = ${i})`,
    ofItem,
  ),
  statementsOf(
    'CHECK constraints of a table',
    SIZE,
    (i) => `ALTER TABLE item ADD CONSTRAINT k${i} CHECK (id <> ${i})`,
    ofItem,
  ),
  statementsOf(
    'triggers of a table',
    SIZE,
    (i) => `CREATE TRIGGER g${i} BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION pass()`,
    {
      prepare: () => [
        TABLE,
        "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
      ],
      finish: () => ['DROP TABLE item', 'DROP FUNCTION pass()'],
    },
  ),
  statementsOf(
    'partitions of a table',
    SIZE,
    (i) => `CREATE TABLE part_${i} PARTITION OF item FOR VALUES IN (${i})`,
    {
      prepare: () => [`${TABLE} PARTITION BY LIST (id)`],
      finish: () => ['DROP TABLE item'],
    },
  ),
  statementsOf(
    'foreign keys to a table',
    SIZE,
    (i) => `CREATE TABLE child_${i} (item BIGINT REFERENCES item)`,
    {
      prepare: () => ['CREATE TABLE item (id BIGINT PRIMARY KEY)'],
      finish: (size) => [...numbers(size).map((i) => `DROP TABLE child_${i}`), 'DROP TABLE item'],
    },
  ),
  statementsOf('labels of an enum', SIZE, (i) => `ALTER TYPE mood ADD VALUE 'v${i}'`, {
    prepare: () => ["CREATE TYPE mood AS ENUM ('a')"],
    finish: () => ['DROP TYPE mood'],
  }),
  statementsOf('COMMENT ON TABLE', 200, (i) => `COMMENT ON TABLE item IS 'c${i}'`, ofItem),
];

/** The same statements beside more objects. */
const besideObjects: readonly Work[] = [
  {
    name: 'INSERT beside partitions',
    growth: 'constant',
    size: SIZE,
    prepare: (size) => [
      `${TABLE} PARTITION BY LIST (id)`,
      ...numbers(size).map((i) => `CREATE TABLE part_${i} PARTITION OF item FOR VALUES IN (${i})`),
    ],
    run: (client, size) => each(client, 100, (i) => `INSERT INTO item VALUES (${(i % size) + 1})`),
    finish: () => ['DROP TABLE item'],
  },
  {
    name: 'statements beside roles and schemas',
    growth: 'constant',
    size: SIZE,
    prepare: (size) => [...roles(size), ...numbers(size).map((i) => `CREATE SCHEMA n${i}`)],
    run: (client) => each(client, 100, (i) => `SELECT ${i}`),
    finish: (size) => [...dropRoles(size), ...numbers(size).map((i) => `DROP SCHEMA n${i}`)],
  },
  {
    name: 'DROP of a view beside views',
    growth: 'constant',
    size: SIZE,
    prepare: (size) => [
      TABLE,
      ...numbers(size + 20).map((i) => `CREATE VIEW v${i} AS SELECT id FROM item`),
    ],
    run: (client) => inTransaction(client, () => each(client, 20, (i) => `DROP VIEW v${i}`)),
    finish: () => ['DROP TABLE item CASCADE'],
  },
  statementsOf('nextval of sequences', SIZE, (i) => `SELECT nextval('q${i}')`, {
    prepare: (size) => numbers(size).map((i) => `CREATE SEQUENCE q${i}`),
    finish: (size) => numbers(size).map((i) => `DROP SEQUENCE q${i}`),
  }),
];

/** Work on the catalog. */
export const OBJECT_WORKS: readonly Work[] = [...ofKinds, ...partsOfATable, ...besideObjects];
