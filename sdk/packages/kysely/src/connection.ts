/**
 * What Kysely takes for a connection: a way to run queries by the SDK, in a transaction or not.
 *
 * Without a transaction each query takes any connection of the SDK's pool.
 */

import type {
  Database,
  Queryable,
  ReservedConnection,
  Sql,
  Transaction,
  TransactionOptions,
} from '@braiddb/sdk';
import { sql, UsageError } from '@braiddb/sdk';
import { OpenTransaction } from '@braiddb/sdk/wrap';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';

import type { Bound } from './context.js';
import { currentContext, currentSignal } from './context.js';

/** Commands whose number of rows is that of changed ones. */
const WRITES = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
/** Rows that a stream reads at a time, where the caller does not say. */
const CHUNK_ROWS = 1000;

/** What Kysely 0.29 hands on with `execute({ signal })`. */
interface AbortOptions {
  readonly signal?: AbortSignal | undefined;
}

let cursors = 0;

/** One such connection. */
export class BraidConnection implements DatabaseConnection {
  readonly #db: Database;
  readonly #bound: Transaction | undefined;
  readonly #session: ReservedConnection | undefined;
  #open: OpenTransaction | undefined;

  constructor(db: Database, bound: Bound | undefined) {
    this.#db = db;
    if (bound !== undefined && 'tx' in bound) this.#bound = bound.tx;
    else this.#session = bound?.session;
  }

  /** Begins a transaction; one that the SDK runs already has begun. */
  begin(options: TransactionOptions): void {
    if (this.#bound !== undefined) return;
    if (this.#session !== undefined) {
      // The SDK would run it on another connection, which has other settings.
      throw new UsageError('in a session, begin a transaction by SQL: sql`BEGIN`.execute(db)');
    }
    const signal = currentSignal();
    this.#open = new OpenTransaction(this.#db, { ...options, signal });
  }

  /** Commits, unless the SDK does that when the function has returned. */
  async commit(): Promise<void> {
    const open = this.#open;
    await open?.commit();
    this.#open = undefined;
  }

  /** Rolls back what is open. */
  async rollback(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.rollback();
  }

  /** Runs a statement of the driver's own inside the transaction. */
  async control(statement: Sql): Promise<void> {
    await (await this.#queryable()).query(statement, { signal: currentSignal() });
  }

  async executeQuery<R>(
    { sql: text, parameters }: CompiledQuery,
    options: AbortOptions = {},
  ): Promise<QueryResult<R>> {
    const { unawaited } = currentContext();
    const signal = currentSignal(options.signal);
    const statement = sql.unsafe(text, parameters);
    const queryable = await this.#queryable();
    if (unawaited === true) {
      await queryable.run(statement, { signal });
      return { rows: [] };
    }
    const { rows, count, command } = await queryable.query(statement, { signal });
    const result = { rows: rows as R[] };
    return WRITES.has(command) ? { ...result, numAffectedRows: BigInt(count) } : result;
  }

  async *streamQuery<R>(
    query: CompiledQuery,
    chunkRows = CHUNK_ROWS,
    options: AbortOptions = {},
  ): AsyncIterableIterator<QueryResult<R>> {
    if (query.query.kind !== 'SelectQueryNode') {
      // A cursor reads SELECT only; a write has run as a whole before its first row comes.
      yield await this.executeQuery<R>(query, options);
      return;
    }
    const statement = sql.unsafe(query.sql, query.parameters);
    const tx = this.#bound ?? (await this.#open?.handle());
    const signal = currentSignal(options.signal);
    if (this.#session !== undefined) {
      const { rows } = await this.#session.query(statement, { signal });
      yield { rows: rows as R[] };
    } else if (tx === undefined) yield* this.#stream<R>(statement, chunkRows, signal);
    else yield* readCursor<R>(tx, statement, { chunkRows, signal });
  }

  /** Streams without a transaction of the caller's. */
  async *#stream<R>(
    statement: Sql,
    chunkRows: number,
    signal: AbortSignal | undefined,
  ): AsyncIterableIterator<QueryResult<R>> {
    let rows: R[] = [];
    for await (const row of this.#db.stream(statement, { batchRows: chunkRows, signal })) {
      rows.push(row as R);
      if (rows.length < chunkRows) continue;
      yield { rows };
      rows = [];
    }
    if (rows.length > 0) yield { rows };
  }

  async #queryable(): Promise<Queryable> {
    return this.#bound ?? this.#session ?? (await this.#open?.handle()) ?? this.#db;
  }
}

/** Reads a query by a cursor inside a transaction. */
async function* readCursor<R>(
  tx: Transaction,
  statement: Sql,
  { chunkRows, signal }: { chunkRows: number; signal: AbortSignal | undefined },
): AsyncIterableIterator<QueryResult<R>> {
  const cursor = `braid_kysely_${++cursors}`;
  const { text, values } = statement.compile();
  const declare = sql.unsafe(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${text}`, values);
  const fetch = sql.unsafe(`FETCH ${chunkRows} FROM ${cursor}`);
  await tx.query(declare, { signal });
  try {
    for (;;) {
      const { rows } = await tx.query(fetch, { signal });
      if (rows.length > 0) yield { rows: rows as R[] };
      if (rows.length < chunkRows) return;
    }
  } finally {
    // After an error the transaction takes no statement, and its end closes the cursor.
    await tx.query(sql.unsafe(`CLOSE ${cursor}`)).catch(() => undefined);
  }
}
