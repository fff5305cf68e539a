/** The dialect. */

import type { Database } from '@braiddb/sdk';
import { OptionError } from '@braiddb/sdk';
import type {
  DatabaseIntrospector,
  DatabaseMetadataOptions,
  Dialect,
  DialectAdapter,
  Driver,
  Kysely,
  QueryCompiler,
  SchemaMetadata,
  TableMetadata,
} from 'kysely';
import { PostgresIntrospector, PostgresQueryCompiler } from 'kysely';

import { BraidAdapter } from './adapter.js';
import { BraidDriver } from './driver.js';
import type { DatabaseGiven } from './source.js';
import { DatabaseSource } from './source.js';

/** The schema of BraidDB's own views, which every database has. */
const INTERNAL = 'braid_internal';

/** Tables and schemas as Kysely reads them, without those of the server. */
class BraidIntrospector extends PostgresIntrospector {
  override async getSchemas(): Promise<SchemaMetadata[]> {
    return (await super.getSchemas()).filter(({ name }) => name !== INTERNAL);
  }

  override async getTables(options?: DatabaseMetadataOptions): Promise<TableMetadata[]> {
    return (await super.getTables(options)).filter(({ schema }) => schema !== INTERNAL);
  }
}

/** Options of {@link BraidDialect}. */
export interface BraidDialectOptions {
  /**
   * A database of the SDK, which stays open when Kysely is destroyed; or a function that connects,
   * called at the first query. What that has opened, `kysely.destroy()` closes.
   */
  readonly db: DatabaseGiven;
  /**
   * Milliseconds that a Migrator waits for another one to finish. Default 3 600 000, an hour; 1 to
   * 86 400 000. The Migrator then fails with 55P03.
   */
  readonly migrationLockTimeoutMs?: number | undefined;
}

const LOCK_TIMEOUT_MS = { initial: 3_600_000, min: 1, max: 86_400_000 };

/**
 * A Kysely dialect over a database of the SDK: for BraidDB, PostgreSQL and CockroachDB. Queries,
 * introspection and the Migrator work as with Kysely's own dialect for PostgreSQL; errors are those
 * of the SDK. INT8 arrives as `bigint` and NUMERIC as `string`, unless `parsers` of `connect` says
 * otherwise.
 *
 * Fails with an {@link OptionError} if an option is of a wrong type or out of its range.
 *
 * @example
 * ```ts
 * import { BraidDialect } from '@braiddb/kysely';
 * import { connect } from '@braiddb/sdk';
 * import { Kysely, sql } from 'kysely';
 * const kysely = new Kysely<{ dialect_city: { id: number; name: string } }>({
 *   dialect: new BraidDialect({
 *     db: () => connect('postgresql://root@127.0.0.1:26257/defaultdb'),
 *   }),
 * });
 * await sql`CREATE TABLE IF NOT EXISTS dialect_city (id INT4, name TEXT)`.execute(kysely);
 * await kysely.deleteFrom('dialect_city').execute();
 * await kysely.insertInto('dialect_city').values({ id: 1, name: 'Bergen' }).execute();
 * const city = await kysely.selectFrom('dialect_city').selectAll().executeTakeFirstOrThrow();
 * console.assert(city.name === 'Bergen');
 * await kysely.destroy();
 * ```
 */
export class BraidDialect implements Dialect {
  readonly #source: DatabaseSource;
  readonly #lockTimeoutMs: number;

  constructor(options: BraidDialectOptions) {
    const { db, migrationLockTimeoutMs: given } = (options as BraidDialectOptions | null) ?? {};
    const isDatabase = typeof (db as Partial<Database> | null)?.transaction === 'function';
    if (!isDatabase && typeof db !== 'function') {
      throw new OptionError('db', 'must be a database of the SDK, or a function that connects');
    }
    const { initial, min, max } = LOCK_TIMEOUT_MS;
    const timeoutMs: unknown = given ?? initial;
    const isNumber = Number.isInteger(timeoutMs);
    if (!isNumber || (timeoutMs as number) < min || (timeoutMs as number) > max) {
      const wanted = `must be a whole number from ${min} to ${max}`;
      throw new OptionError('migrationLockTimeoutMs', wanted);
    }
    this.#source = new DatabaseSource(options.db);
    this.#lockTimeoutMs = timeoutMs as number;
  }

  createDriver(): Driver {
    return new BraidDriver(this.#source);
  }

  createQueryCompiler(): QueryCompiler {
    return new PostgresQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new BraidAdapter(this.#source, this.#lockTimeoutMs);
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new BraidIntrospector(db);
  }
}
