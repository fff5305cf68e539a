/**
 * Errors of the batcher.
 */

import { BraidError, DatabaseError } from '../errors.js';

/** One row was refused; the others of its batch were stored. `cause` is the server's error. */
export class BatchRowError<Row extends object = object> extends BraidError {
  /** The row as it was given to `add`. */
  readonly row: Row;
  /** The SQLSTATE, for example `23505`. */
  readonly code: string;

  constructor(row: Row, cause: DatabaseError) {
    super(cause.message, { cause });
    this.name = 'BatchRowError';
    this.row = row;
    this.code = cause.code;
  }
}

/** The table or a row does not fit: an unknown column, a missing key. Nothing was sent. */
export class BatchTableError extends BraidError {
  /** The table's name, quoted. */
  readonly table: string;

  constructor(table: string, message: string) {
    super(`table ${table} ${message}`);
    this.name = 'BatchTableError';
    this.table = table;
  }
}

/** Classes of SQLSTATEs that one row of a statement can cause, while the others are well. */
const ROW_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '44', '54', 'P0']);
/** Out of memory for the statement: a smaller one may fit. */
const TOO_LARGE = '53200';

/** True if a part of the batch may succeed where the whole has failed. */
export function isAboutRows(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError)) return false;
  return ROW_CLASSES.has(error.code.slice(0, 2)) || error.code === TOO_LARGE;
}
