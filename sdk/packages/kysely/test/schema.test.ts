/** Migrations and introspection. */

import type { Database } from '@braiddb/sdk';
import { connect, sql as sdkSql } from '@braiddb/sdk';
import type { Migration, MigrationResultSet } from 'kysely';
import { Kysely, Migrator, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { freshName, onEachServer } from '../../../test/targets.js';
import { BraidDialect } from '../src/index.js';

/** The error of a migrator, which returns some and throws others. */
async function outcome(work: Promise<MigrationResultSet>): Promise<unknown> {
  const { error } = await work.catch((thrown: unknown) => ({ error: thrown }));
  return error;
}

onEachServer('schemas', ({ url }) => {
  let db: Database;
  let kysely: Kysely<Record<string, { id: number }>>;
  let schema = '';
  beforeEach(async () => {
    schema = freshName('migrated');
    db = await connect(url, { connectionsMax: 6 });
    kysely = new Kysely({ dialect: new BraidDialect({ db, migrationLockTimeoutMs: 20_000 }) });
    await kysely.schema.createSchema(schema).execute();
  });
  afterEach(async () => {
    await kysely.schema.dropSchema(schema).cascade().execute();
    await db.close();
  });

  /** A migrator of its own, as another process has one. */
  function migrator(migrations: Record<string, Migration>, disableTransactions = false): Migrator {
    return new Migrator({
      db: new Kysely({ dialect: new BraidDialect({ db }) }),
      provider: { getMigrations: () => Promise.resolve(migrations) },
      ...{ migrationTableSchema: schema, disableTransactions },
    });
  }

  const names = ({ results = [], error }: MigrationResultSet): string[] => {
    expect(error).toBeUndefined();
    return results.map(({ migrationName, direction, status }) => {
      return `${direction} ${migrationName} ${status}`;
    });
  };

  const first: Migration = {
    up: async (trx: Kysely<unknown>) => {
      await trx.schema
        .withSchema(schema)
        .createTable('city')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .execute();
    },
    down: async (trx: Kysely<unknown>) => {
      await trx.schema.withSchema(schema).dropTable('city').execute();
    },
  };
  const second: Migration = {
    up: async (trx: Kysely<unknown>) => {
      const city = sql.table(`${schema}.city`);
      await sql`ALTER TABLE ${city} ADD COLUMN people BIGINT`.execute(trx);
      await sql`INSERT INTO ${city} VALUES (1, 'Bergen', 291940)`.execute(trx);
    },
  };

  it.each([false, true])('migrate up and down (without transactions: %s)', async (without) => {
    const both = migrator({ a: first, b: second }, without);
    expect(names(await both.migrateToLatest())).toEqual(['Up a Success', 'Up b Success']);
    expect(names(await both.migrateToLatest())).toEqual([]);
    const city = kysely.withSchema(schema).selectFrom('city');
    expect(await city.selectAll().execute()).toEqual([{ id: 1, name: 'Bergen', people: 291940n }]);
    const down = migrator({ a: first, b: { ...second, down: () => Promise.resolve() } }, without);
    expect(names(await down.migrateDown())).toEqual(['Down b Success']);
    expect(names(await down.migrateDown())).toEqual(['Down a Success']);
  });

  it('migrate once where several migrators start together', async () => {
    // More of them than the pool has connections: one needs a connection beside that of its lock.
    const starts = Array.from({ length: 25 }, () =>
      migrator({ a: first, b: second }).migrateToLatest(),
    );
    const done = (await Promise.all(starts)).map(names);
    expect(done.filter(({ length }) => length > 0)).toEqual([['Up a Success', 'Up b Success']]);
  });

  it('roll a failed migration back, and free the lock', async () => {
    const broken: Migration = {
      up: async (trx: Kysely<unknown>) => {
        await first.up(trx);
        await sql`SELECT nonsense`.execute(trx);
      },
    };
    const { error, results } = await migrator({ a: broken }).migrateToLatest();
    expect(error).toMatchObject({ code: '42703' });
    expect(results).toEqual([{ direction: 'Up', migrationName: 'a', status: 'Error' }]);
    expect(names(await migrator({ a: first }).migrateToLatest())).toEqual(['Up a Success']);
  });

  it('wait for the lock as long as the option says', async () => {
    expect(names(await migrator({ a: first }).migrateToLatest())).toEqual(['Up a Success']);
    const hasty = new Kysely<object>({
      dialect: new BraidDialect({ db, migrationLockTimeoutMs: 100 }),
    });
    const waiting = new Migrator({
      db: hasty,
      provider: { getMigrations: () => Promise.resolve({ a: first, b: second }) },
      migrationTableSchema: schema,
    });
    await db.transaction(async (tx) => {
      const table = sdkSql.identifier(schema, 'kysely_migration_lock');
      await tx.query`SELECT id FROM ${table} FOR UPDATE`;
      expect(await outcome(waiting.migrateToLatest())).toMatchObject({ code: '55P03' });
    });
    expect(names(await waiting.migrateToLatest())).toEqual(['Up b Success']);
  });

  it('are described to Kysely', async () => {
    expect(names(await migrator({ a: first, b: second }).migrateToLatest())).toHaveLength(2);
    const tables = await kysely.introspection.getTables();
    expect(tables.some((table) => table.schema === 'braid_internal')).toBe(false);
    const city = tables.find((table) => table.schema === schema && table.name === 'city');
    expect(city?.isView).toBe(false);
    const columns = city?.columns.map(({ name, dataType, isNullable }) => {
      return [name, dataType, isNullable];
    });
    expect(columns).toEqual([
      ['id', 'int4', false],
      ['name', 'text', false],
      ['people', 'int8', true],
    ]);
    const schemas = await kysely.introspection.getSchemas();
    expect(schemas.some(({ name }) => name === schema)).toBe(true);
  });
});

describe('a migrator without a server', () => {
  it('fails with the error of the connection', async () => {
    const url = 'postgresql://root@127.0.0.1:1/defaultdb';
    const kysely = new Kysely<object>({ dialect: new BraidDialect({ db: () => connect(url) }) });
    const provider = { getMigrations: () => Promise.resolve({}) };
    const work = new Migrator({ db: kysely, provider }).migrateToLatest();
    expect(await outcome(work)).toMatchObject({ errno: 'ECONNREFUSED' });
  });
});
