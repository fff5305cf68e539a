/** The database that `drizzle` makes. */

import type { Database, Write } from '@braiddb/sdk';
import { OptionError } from '@braiddb/sdk';
import type {
  DrizzleConfig,
  ExtractTablesWithRelations,
  Logger,
  RelationalSchemaConfig,
} from 'drizzle-orm';
import {
  createTableRelationsHelpers,
  DefaultLogger,
  entityKind,
  extractTablesRelationalConfig,
} from 'drizzle-orm';
import { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';

import type { WriteQuery } from './client.js';
import type { DrizzleTransactionOptions } from './options.js';
import type { DrizzleTransactionFunction, SessionConfig, SessionSource } from './session.js';
import { BraidSession, runWrite } from './session.js';

/** The options of {@link drizzle}: Drizzle's own, and the database. */
export interface BraidDrizzleConfig<
  TSchema extends Record<string, unknown> = Record<string, never>,
> extends DrizzleConfig<TSchema> {
  /** A database of the SDK. It stays open until you close it. */
  readonly client: Database;
}

/** A Drizzle database over one of the SDK; made by {@link drizzle}. */
export class BraidDatabase<
  TFullSchema extends Record<string, unknown> = Record<string, never>,
> extends NodePgDatabase<TFullSchema> {
  static override readonly [entityKind]: string = 'BraidDatabase';
  /** The database of the SDK: for batchers, streams, COPY, `listen` and `close`. */
  readonly $client: Database;
  readonly #session: BraidSession<TFullSchema, ExtractTablesWithRelations<TFullSchema>>;
  readonly #logger: Logger | undefined;

  constructor(client: Database, config: SessionConfig<ExtractTablesWithRelations<TFullSchema>>) {
    const begin: SessionSource['begin'] = (options, fn) => client.transaction(options, fn);
    const source = { queryable: client, begin, nestedIndex: 0 };
    const session = new BraidSession<TFullSchema, ExtractTablesWithRelations<TFullSchema>>(
      source,
      config,
    );
    // Drizzle's types allow the base class only for schemas of tables, which it checks itself.
    super(config.dialect, session as never, config.schema);
    this.$client = client;
    this.#session = session;
    this.#logger = config.logger;
  }

  /**
   * Runs the whole function again whenever the transaction fails with a transient error and has had
   * no effect, as `db.transaction` of the SDK does. The function must therefore do nothing outside
   * the transaction that cannot be done twice. Isolation is SERIALIZABLE unless `isolationLevel`
   * says otherwise, and there are 10 attempts.
   *
   * @example
   * ```ts
   * import { drizzle } from '@braiddb/drizzle';
   * import { connect } from '@braiddb/sdk';
   * import { eq } from 'drizzle-orm';
   * import { integer, pgTable } from 'drizzle-orm/pg-core';
   * await using client = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
   * const counter = pgTable('drizzle_counter', {
   *   id: integer('id').primaryKey(),
   *   n: integer('n').notNull(),
   * });
   * await client.script(`DROP TABLE IF EXISTS drizzle_counter;
   *   CREATE TABLE drizzle_counter (id INT4 PRIMARY KEY, n INT4 NOT NULL)`);
   * const db = drizzle(client);
   * await db.insert(counter).values({ id: 1, n: 0 });
   * const increment = () =>
   *   db.transaction(async (tx) => {
   *     const [row] = await tx.select().from(counter).where(eq(counter.id, 1));
   *     if (row === undefined) throw new Error('no such counter');
   *     await tx.run(tx.update(counter).set({ n: row.n + 1 }).where(eq(counter.id, 1)));
   *   });
   * await Promise.all([increment(), increment(), increment()]); // conflicts run again
   * console.assert((await db.select().from(counter))[0]?.n === 3);
   * ```
   */
  override transaction<T>(
    fn: DrizzleTransactionFunction<TFullSchema, ExtractTablesWithRelations<TFullSchema>, T>,
    options?: DrizzleTransactionOptions,
  ): Promise<T> {
    return this.#session.transaction(fn, options);
  }

  /** Runs a write without asking for its result; `await` waits until it is done. */
  run(query: WriteQuery): Write {
    return runWrite(this.$client, query, this.#logger);
  }
}

/**
 * A Drizzle database over a database of the SDK: for BraidDB, PostgreSQL and CockroachDB. Queries and
 * rows are those of Drizzle's own driver for `pg`; the `cause` of its errors is an error of the SDK.
 * Fails with an {@link OptionError} if `client` is no database of the SDK.
 *
 * @example
 * ```ts
 * import { drizzle } from '@braiddb/drizzle';
 * import { connect } from '@braiddb/sdk';
 * import { integer, pgTable, text } from 'drizzle-orm/pg-core';
 * await using client = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * const city = pgTable('drizzle_city', { id: integer('id').primaryKey(), name: text('name') });
 * await client.script(`DROP TABLE IF EXISTS drizzle_city;
 *   CREATE TABLE drizzle_city (id INT4 PRIMARY KEY, name TEXT)`);
 * const db = drizzle(client, { schema: { city } });
 * await db.insert(city).values({ id: 1, name: 'Bergen' });
 * console.assert((await db.query.city.findFirst())?.name === 'Bergen');
 * ```
 */
export function drizzle<TSchema extends Record<string, unknown> = Record<string, never>>(
  ...args: [Database] | [Database, DrizzleConfig<TSchema>] | [BraidDrizzleConfig<TSchema>]
): BraidDatabase<TSchema> {
  const { client, ...config } = readArguments<TSchema>(args);
  const dialect = new PgDialect(config.casing === undefined ? {} : { casing: config.casing });
  const logger = readLogger(config.logger);
  const schema = readSchema(config.schema);
  const db = new BraidDatabase<TSchema>(client, { dialect, schema, logger, cache: config.cache });
  if (config.cache !== undefined) {
    const { cache } = config;
    db.$cache = Object.assign(cache, { invalidate: cache.onMutate.bind(cache) });
  }
  return db;
}

function readArguments<TSchema extends Record<string, unknown>>(
  args: [Database] | [Database, DrizzleConfig<TSchema>] | [BraidDrizzleConfig<TSchema>],
): BraidDrizzleConfig<TSchema> {
  const [first, config] = args;
  const isConfig = typeof (first as unknown) === 'object' && (first as unknown) !== null;
  const given = isConfig && 'client' in first ? first : { ...config, client: first as Database };
  const { transaction, server } = (given.client as Partial<Database> | null | undefined) ?? {};
  if (typeof transaction !== 'function' || typeof server !== 'object') {
    throw new OptionError('client', 'must be a database of the SDK');
  }
  return given;
}

function readLogger(logger: DrizzleConfig['logger']): Logger | undefined {
  if (typeof logger !== 'boolean') return logger;
  return logger ? new DefaultLogger() : undefined;
}

function readSchema<TSchema extends Record<string, unknown>>(
  fullSchema: TSchema | undefined,
): RelationalSchemaConfig<ExtractTablesWithRelations<TSchema>> | undefined {
  if (fullSchema === undefined) return undefined;
  const { tables, tableNamesMap } = extractTablesRelationalConfig<
    ExtractTablesWithRelations<TSchema>
  >(fullSchema, createTableRelationsHelpers);
  return { fullSchema, schema: tables, tableNamesMap };
}
