/** The session that Drizzle calls, and the handle inside a transaction. */

import type { Queryable, Transaction, TransactionOptions, Write } from '@braiddb/sdk';
import { UsageError } from '@braiddb/sdk';
import type { Cache } from 'drizzle-orm/cache/core';
import type { Logger, RelationalSchemaConfig, TablesRelationalConfig } from 'drizzle-orm';
import { entityKind } from 'drizzle-orm';
import { NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import type { PgDialect } from 'drizzle-orm/pg-core';

import type { WriteQuery } from './client.js';
import { clientOf } from './client.js';
import type { DrizzleTransactionOptions } from './options.js';
import { readOptions } from './options.js';

/** What every session of one Drizzle database has in common. */
export interface SessionConfig<TSchema extends TablesRelationalConfig> {
  readonly dialect: PgDialect;
  readonly schema: RelationalSchemaConfig<TSchema> | undefined;
  readonly logger: Logger | undefined;
  readonly cache: Cache | undefined;
}

/** What runs inside a transaction. It may be run several times: see `db.transaction`. */
export type DrizzleTransactionFunction<
  TFullSchema extends Record<string, unknown>,
  TSchema extends TablesRelationalConfig,
  T,
> = (tx: BraidTransaction<TFullSchema, TSchema>) => Promise<T>;

/** What a session sends its queries through: a database, or a transaction. */
export interface SessionSource {
  readonly queryable: Queryable;
  /** Runs a function in a transaction, or in a nested one. */
  readonly begin: (
    options: TransactionOptions,
    fn: (tx: Transaction) => Promise<void>,
  ) => Promise<void>;
  /** How deep its transactions are nested. */
  readonly nestedIndex: number;
}

/** Runs the queries of a Drizzle database, or of one of its transactions. */
export class BraidSession<
  TFullSchema extends Record<string, unknown>,
  TSchema extends TablesRelationalConfig,
> extends NodePgSession<TFullSchema, TSchema> {
  static override readonly [entityKind]: string = 'BraidSession';
  readonly #source: SessionSource;
  readonly #config: SessionConfig<TSchema>;

  constructor(source: SessionSource, config: SessionConfig<TSchema>) {
    const { dialect, schema, logger, cache } = config;
    const options = { ...(logger && { logger }), ...(cache && { cache }) };
    super(clientOf(source.queryable), dialect, schema, options);
    this.#source = source;
    this.#config = config;
  }

  /** Runs a function in a transaction of the SDK, and again after a retry error. */
  override async transaction<T>(
    fn: DrizzleTransactionFunction<TFullSchema, TSchema, T>,
    options: DrizzleTransactionOptions = {},
  ): Promise<T> {
    const { begin, nestedIndex } = this.#source;
    if (typeof (fn as unknown) !== 'function') {
      throw new UsageError('transaction takes a function: db.transaction(async (tx) => …)');
    }
    let value: T | undefined;
    await begin(readOptions(options), async (tx) => {
      value = await fn(new BraidTransaction(tx, this.#config, nestedIndex));
    });
    return value as T;
  }
}

/**
 * The handle inside a transaction: Drizzle's, and {@link BraidTransaction.run} for writes that are
 * not waited for. Unusable after the function has ended.
 */
export class BraidTransaction<
  TFullSchema extends Record<string, unknown>,
  TSchema extends TablesRelationalConfig,
> extends NodePgTransaction<TFullSchema, TSchema> {
  static override readonly [entityKind]: string = 'BraidTransaction';
  /** The transaction of the SDK: for `query`, `copyFrom`, `notify` and what else it has. */
  readonly $client: Transaction;
  readonly #config: SessionConfig<TSchema>;

  readonly #session: BraidSession<TFullSchema, TSchema>;

  constructor(tx: Transaction, config: SessionConfig<TSchema>, nestedIndex: number) {
    const begin: SessionSource['begin'] = (_options, fn) => tx.transaction(fn);
    const source = { queryable: tx, begin, nestedIndex: nestedIndex + 1 };
    const session = new BraidSession<TFullSchema, TSchema>(source, config);
    super(config.dialect, session, config.schema, nestedIndex);
    this.$client = tx;
    this.#session = session;
    this.#config = config;
  }

  /** Which run of the function this is, counted from 1. */
  get attempt(): number {
    return this.$client.attempt;
  }

  /** Aborts when this run fails, and when the transaction is aborted: for work such as `fetch`. */
  get signal(): AbortSignal {
    return this.$client.signal;
  }

  /**
   * Sends a write without waiting for it: the next query that is awaited, or COMMIT, reports its
   * failure. On BraidDB independent ones run side by side. `.count()` waits for the number of rows.
   *
   * SQL: the statement, with ` RETURNING NOTHING` at its end on BraidDB.
   */
  run(query: WriteQuery): Write {
    return runWrite(this.$client, query, this.#config.logger);
  }

  /**
   * A nested transaction: a savepoint. If the function throws, its statements are undone and the
   * outer transaction goes on; retry errors go through to the outermost one. While it runs, the
   * outer handle refuses statements: use the inner one.
   */
  override transaction<T>(fn: DrizzleTransactionFunction<TFullSchema, TSchema, T>): Promise<T> {
    return this.#session.transaction(fn);
  }
}

/** Sends a write whose result nobody asks for. */
export function runWrite(
  queryable: Queryable,
  query: WriteQuery,
  logger: Logger | undefined,
): Write {
  if (typeof (query as Partial<WriteQuery> | null)?.toSQL !== 'function') {
    throw new UsageError('run takes a write of Drizzle: run(tx.insert(…).values(…))');
  }
  if (logger !== undefined) {
    const { sql, params } = query.toSQL();
    logger.logQuery(sql, [...params]);
  }
  return queryable.run(query);
}
