/**
 * Seven reads of whole tables, indexes and joins, of the kinds that Dolt adds to sysbench's scripts.
 * Statements, tables and rows are our own. One connection asks; what counts is the mean latency.
 *
 * ```text
 *  wide    id (key), big (index), small, and 16 more columns      half of `big` and `small` are > 0
 *  narrow  id (key), wide_id, …                                   wide_id has no index
 *  types   as wide, with texts, bytes and JSON
 * ```
 */

import type pg from 'pg';

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';

/** A statement that is asked again and again. */
export interface Scan {
  readonly name: string;
  readonly statement: string;
  /** Whether LIMIT leaves it open which rows come: then only their number is compared. */
  readonly anyRows: boolean;
}

const scan = (name: string, statement: string): Scan => {
  return { name, statement, anyRows: statement.includes('LIMIT') };
};

/** All of them. */
export const SCANS: readonly Scan[] = [
  scan('covering index scan', 'SELECT count(id) FROM wide WHERE big > 0'),
  scan(
    'groupby scan',
    'SELECT year, count(*), max(big), avg(small) FROM wide WHERE big > 0 ' +
      'GROUP BY year, label ORDER BY year',
  ),
  scan(
    'index join',
    'SELECT wide.id, wide.small, narrow.id, narrow.whole FROM narrow ' +
      'JOIN wide ON wide.id = narrow.wide_id LIMIT 500',
  ),
  scan(
    'index join scan',
    'SELECT l.id, l.small FROM wide AS l JOIN wide AS r ON l.id = r.id LIMIT 500',
  ),
  scan('index scan', 'SELECT * FROM wide WHERE big > 0'),
  scan('table scan', 'SELECT * FROM wide WHERE small > 0'),
  scan('types table scan', 'SELECT * FROM types WHERE small > 0'),
];

const PRIME = 2_147_483_647;

/**
 * A whole number from 0, below a bound, that looks like chance: another one for each row and salt,
 * the same on both servers. No product reaches 2^63 with a million rows.
 */
const spread = (salt: number, below: number): string => {
  const mixed = `(i * (i + ${salt * 1_009}) % ${PRIME} * 48271 % ${PRIME})`;
  return `(${mixed} * ${below} / ${PRIME})`;
};

const word = (salt: number): string => `('word' || ${spread(salt, 14)})`;

/** The columns that `wide` and `types` share: name, type, value of row `i`. */
const COLUMNS: readonly (readonly [string, string, string])[] = [
  ['id', 'INT4 PRIMARY KEY', 'i'],
  ['tiny', 'INT2 NOT NULL', `${spread(1, 256)} - 128`],
  ['small', 'INT2 NOT NULL', `${spread(2, 65_536)} - 32768`],
  ['medium', 'INT4 NOT NULL', `${spread(3, 16_777_216)} - 8388608`],
  ['whole', 'INT4 NOT NULL', `${spread(4, 2_000_000_000)} - 1000000000`],
  ['big', 'INT8 NOT NULL', `(${spread(5, 2_000_000_000)} - 1000000000) * 4000000007`],
  ['price', 'NUMERIC(12,4) NOT NULL', `${spread(6, 1_000_000_000)} / 10000.0`],
  ['share', 'FLOAT4 NOT NULL', `${spread(7, 1_000_000)} / 1000000.0`],
  ['ratio', 'FLOAT8 NOT NULL', `${spread(8, 1_000_000_000)} / 1000000000.0`],
  ['flag', 'BOOL NOT NULL', `${spread(9, 2)} = 1`],
  ['letter', 'CHAR(1) NOT NULL', `chr((65 + ${spread(10, 26)})::INT4)`],
  ['name', 'VARCHAR(64) NOT NULL', word(11)],
  ['kind', 'VARCHAR(8) NOT NULL', word(12)],
  ['label', 'VARCHAR(8) NOT NULL', `('label' || ${spread(13, 3)})`],
  ['day', 'DATE NOT NULL', `DATE '2020-01-01' + (${spread(14, 366)})::INT4`],
  ['clock', 'TIME NOT NULL', `TIME '00:00' + ${spread(15, 86_400)} * INTERVAL '1 second'`],
  ['written', 'TIMESTAMP NOT NULL', `TIMESTAMP '2020-01-01' + ${spread(16, 1e7)} * INTERVAL '1 s'`],
  [
    ...(['seen', 'TIMESTAMPTZ NOT NULL'] as const),
    `TIMESTAMPTZ '2020-01-01 00:00Z' + ${spread(17, 1e7)} * INTERVAL '1 s'`,
  ],
  ['year', 'INT2 NOT NULL', `1901 + ${spread(18, 255)}`],
];

const MORE_TYPES: readonly (readonly [string, string, string])[] = [
  ...[20, 21, 22, 23].map((salt) => [`text_${salt}`, 'TEXT NOT NULL', word(salt)] as const),
  ...[24, 25, 26, 27].map((salt) => {
    return [`bytes_${salt}`, 'BYTEA NOT NULL', `${word(salt)}::BYTEA`] as const;
  }),
  [
    'document',
    'JSON NOT NULL',
    `('{"' || ${word(28)} || '": ' || ${spread(29, 100)} || '}')::JSON`,
  ],
];

function tableOf(
  name: string,
  rows: number,
  columns: readonly (readonly [string, string, string])[],
): string[] {
  const values = columns.map(([, type, value]) => {
    const [bare = type] = type.split(/ NOT NULL| PRIMARY KEY/);
    return `(${value})::${bare}`;
  });
  return [
    `DROP TABLE IF EXISTS ${name}`,
    `CREATE TABLE ${name} (${columns.map(([column, type]) => `${column} ${type}`).join(', ')})`,
    `INSERT INTO ${name} SELECT ${values.join(', ')} FROM generate_series(1::INT8, ${rows}) AS i`,
  ];
}

/** Creates and fills the tables. */
export async function prepareScans(side: Side, rows: number): Promise<void> {
  await onOne(side, async (client) => {
    const narrow = [
      COLUMNS[0] ?? [],
      ['wide_id', 'INT4 NOT NULL', `${spread(30, rows)} + 1`],
      ['whole', 'INT4 NOT NULL', `${spread(31, 2_000_000_000)} - 1000000000`],
      ['name', 'VARCHAR(64) NOT NULL', word(32)],
    ] as [string, string, string][];
    const statements = [
      ...tableOf('wide', rows, COLUMNS),
      'CREATE INDEX wide_big ON wide (big)',
      ...tableOf('narrow', rows, narrow),
      ...tableOf('types', rows, [...COLUMNS, ...MORE_TYPES]),
      'CREATE INDEX types_big ON types (big)',
    ];
    for (const statement of statements) await client.query(statement);
    for (const table of TABLES) {
      await client.query(`${side.name === 'PostgreSQL' ? 'VACUUM ' : ''}ANALYZE ${table}`);
    }
  });
}

const TABLES = ['wide', 'narrow', 'types'];

/** Drops the tables. */
export async function finishScans(client: pg.Client): Promise<void> {
  for (const table of TABLES) await client.query(`DROP TABLE ${table}`);
}

/** The rows of a scan in a form that can be compared between servers. */
export async function answerOf(client: pg.Client, { statement, anyRows }: Scan): Promise<string> {
  const { rows } = await client.query({ text: statement, rowMode: 'array' });
  // Rows that ORDER BY does not tell apart come in any order.
  return anyRows
    ? String(rows.length)
    : JSON.stringify(rows.map((row) => JSON.stringify(row)).sort());
}
