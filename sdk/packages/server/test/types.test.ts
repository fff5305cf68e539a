/** Types that are written from a database, and checked by the compiler. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import type { TestDatabase } from '../src/index.js';
import { createDatabase, ServerOptionError } from '../src/index.js';
import { runTool } from '../src/tools/command.js';
import { generateTypes } from '../src/tools/index.js';

const top = fileURLToPath(new URL('../../../..', import.meta.url));

const SCHEMA = `
  CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
  CREATE TABLE city (id INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL,
    "Odd name" VARCHAR(5), founded DATE, area NUMERIC(9, 2), now_at TIMESTAMPTZ NOT NULL DEFAULT now());
  COMMENT ON TABLE city IS 'Where people live. */ evil()';
  COMMENT ON COLUMN city.area IS E'In square\\nkilometres.';
  CREATE TABLE "order-item" (city INT8 REFERENCES city, place INT2, state mood NOT NULL,
    moods mood[], tags TEXT[] NOT NULL, days DATE[], doc JSONB, raw BYTEA, took INTERVAL,
    price FLOAT8 NOT NULL, twice FLOAT8 GENERATED ALWAYS AS (price * 2) STORED,
    PRIMARY KEY (place, city));
  CREATE VIEW city_names AS SELECT id, name FROM city;
  CREATE SCHEMA other;
  CREATE TABLE other.city (id INT4)`;

onEachServer('types', ({ url }) => {
  let database: TestDatabase;
  let db: Database;
  let folder = '';
  beforeAll(async () => {
    database = await createDatabase(url, { prefix: 'types' });
    db = await connect(database.url);
    await db.script(SCHEMA);
    // Below the repository, so that the compiler finds the packages.
    folder = await mkdtemp(join(top, 'sdk/packages/server/test/.types-'));
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function compile(files: Readonly<Record<string, string>>): Promise<string> {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const config = {
      extends: join(top, 'tsconfig.base.json'),
      compilerOptions: { typeRoots: [join(top, 'node_modules/@types')] },
      files: Object.keys(files),
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(top, 'node_modules/typescript/bin/tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(
      (error: unknown) => error as { stdout: string },
    );
    return stdout;
  }

  it('are tables of the SDK', async () => {
    const text = await generateTypes(db, { schemas: ['public', 'other'] });
    expect(text).toContain(`/** Where people live. *\\/ evil() */
export interface CityRow {
  id: bigint;
  name: string;
  'Odd name': string | null;
  founded: string | null;
  /**
   * In square
   * kilometres.
   */
  area: string | null;
  now_at: Date;
}

export const city = table<CityRow>('city', { key: ['id'] });
export type NewCity = Omit<Insertable<typeof city, 'now_at'>, 'id'>;`);
    expect(text).toContain(`export interface OrderItemRow {
  city: bigint;
  place: number;
  state: Mood;
  moods: string | null;
  tags: (string | null)[];
  days: (string | null)[] | null;
  doc: unknown;
  raw: Buffer | null;
  took: Interval | null;
  price: number;
  twice: number | null;
}

export const orderItem = table<OrderItemRow>('order-item', { key: ['place', 'city'] });`);
    expect(text).toContain(`export type Mood = 'sad' | 'it\\'s ok';`);
    expect(text).toContain(`export interface CityNamesRow {\n  id: bigint | null;`);
    expect(text).toContain(`table<OtherCityRow>(['other', 'city'])`);
    const program = `
      import type { Database } from '@braiddb/sdk';
      import { city, orderItem } from './db.js';
      import type { NewCity, NewOrderItem } from './db.js';
      export async function add(db: Database): Promise<void> {
        const next: NewCity = { name: 'Bergen' };
        const item: NewOrderItem = { city: 1n, place: 2, state: 'sad', tags: [], price: 1 };
        await db.insert(city, next);
        await db.insert(orderItem, [item]);
        // @ts-expect-error The server numbers cities itself.
        const numbered: NewCity = { name: 'Bergen', id: 7n };
        // @ts-expect-error There is no such mood.
        const moody: NewOrderItem = { ...item, state: 'glad' };
        void [numbered, moody];
      }`;
    expect(await compile({ 'db.ts': text, 'program.ts': program })).toBe('');
  });

  it('read values as the SDK does', async () => {
    await db.script(`INSERT INTO city (name, founded, area) VALUES ('Bergen', '1070-01-01', 1.5);
      INSERT INTO "order-item" (city, place, state, moods, tags, days, doc, raw, price)
        VALUES (1, 2, 'sad', '{sad}', '{a,NULL}', '{2026-01-31}', '[1]', '\\x01', 1)`);
    const city = await db.one`SELECT * FROM city`;
    const kinds = [city.id, city.founded, city.area].map((value) => typeof value);
    expect(kinds).toEqual(['bigint', 'string', 'string']);
    expect(city.now_at).toBeInstanceOf(Date);
    const item = await db.one`SELECT * FROM "order-item"`;
    expect(item).toMatchObject({ moods: '{sad}', tags: ['a', null], days: ['2026-01-31'] });
    expect(item.raw).toBeInstanceOf(Buffer);
  });

  it('are an interface for Kysely', async () => {
    const parsers = { int8: 'number', numeric: 'number', timestamp: 'string' } as const;
    const text = await generateTypes(db, { kysely: true, schemas: ['public', 'other'], parsers });
    expect(text).toContain(`  id: GeneratedAlways<number>;`);
    expect(text).toContain(`  now_at: Generated<string>;`);
    expect(text).toContain(`  'other.city': OtherCityTable;\n  city: CityTable;`);
    const program = `
      import type { Kysely } from 'kysely';
      import type { DB } from './db.js';
      export async function read(db: Kysely<DB>): Promise<number | null> {
        await db.insertInto('city').values({ name: 'Bergen' }).execute();
        const row = await db.selectFrom('city').selectAll().executeTakeFirstOrThrow();
        return row.area;
      }`;
    expect(await compile({ 'db.ts': text, 'program.ts': program })).toBe('');
  });

  it('are a command', async () => {
    const out = join(folder, 'written.ts');
    const run = (...args: string[]): Promise<number> =>
      runTool('types', ['--url', database.url, ...args]);
    expect(await run('--out', out, '--int8', 'string')).toBe(0);
    expect(await readFile(out, 'utf8')).toContain('id: string;');
    expect(await run('--out', out, '--int8', 'string', '--check')).toBe(0);
    expect(await run('--out', out, '--check')).toBe(1);
    expect(await run('--int8', 'float')).toBe(1);
    expect(await run('--out', join(folder, 'no', 'where.ts'))).toBe(1);
    expect(await runTool('types', ['--help'])).toBe(0);
    const url = process.env.DATABASE_URL;
    delete process.env.DATABASE_URL;
    expect(await runTool('types', [])).toBe(1);
    if (url !== undefined) process.env.DATABASE_URL = url;
    expect(new ServerOptionError('url', 'is missing').message).toContain('url');
  });

  it('of an empty schema are an empty file', async () => {
    expect(await generateTypes(db, { schemas: ['nowhere'] })).toMatch(/^\/\/ Written/);
  });
});
