/**
 * What `db.stats()` counts.
 */

/** Numbers about a database handle, since it was made; for metrics. */
export interface DatabaseStats {
  /** The pool. Connections of `listen` are apart from it. */
  readonly connections: {
    /** Open or being opened. */
    readonly total: number;
    /** Open and not in use. */
    readonly idle: number;
    /** Calls that wait for one. */
    readonly waiting: number;
    /** The most that may be open: `connectionsMax`. */
    readonly max: number;
    /** Held by `db.reserve()`. */
    readonly reserved: number;
  };
  /** Calls outside transactions, each COPY and stream among them. */
  readonly statements: number;
  /** Calls of `db.transaction` that have ended, however they ended. */
  readonly transactions: number;
  /** Attempts of transactions after the first. */
  readonly retries: number;
  /** COMMITs whose answer was lost, however they were resolved. */
  readonly commitsLost: number;
  /** Batchers, those that were closed among them. */
  readonly batches: {
    /** Rows stored. */
    readonly rows: number;
    /** Rows refused. */
    readonly rejected: number;
    /** Statements sent. */
    readonly statements: number;
    /** Rows that wait now. */
    readonly waiting: number;
  };
}

/** The numbers that one database handle keeps. */
export class Counts {
  waiting = 0;
  statements = 0;
  transactions = 0;
  retries = 0;
  commitsLost = 0;
  /** Of batchers that were closed. */
  readonly batches = { rows: 0, rejected: 0, statements: 0 };
}
