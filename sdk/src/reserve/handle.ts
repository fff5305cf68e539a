/**
 * The handle of a reserved connection.
 */

import type { QueryOptions } from '../options/index.js';
import type { Queryable } from '../query/queryable.js';

/**
 * A connection for one user; made by `db.reserve`. Statements run in the order of their calls.
 * Nothing is run again. After a loss of the connection every call fails with a
 * {@link ConnectionError}: release it and reserve another one.
 */
export interface ReservedConnection extends Queryable, AsyncDisposable {
  /** The number of the session on the server, as `pg_backend_pid()` returns it. */
  readonly processId: number | undefined;

  /** The same connection with options for each statement; a new frozen handle. */
  with(options: QueryOptions): ReservedConnection;

  /**
   * Waits for running statements, puts the session back to its start and gives the connection back
   * to the pool. Later calls of its methods fail with a {@link UsageError}. Never rejects; may be
   * called more than once.
   *
   * SQL: `ROLLBACK` if a transaction is open, then `DISCARD ALL`.
   */
  release(): Promise<void>;
}
