/**
 * Which errors of a statement are about some of its rows.
 */

import { DatabaseError } from '../errors.js';

/** Classes of SQLSTATEs that one row of a statement can cause, while the others are well. */
const ROW_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '44', '54', 'P0']);
/** Out of memory for the statement: a smaller one may fit. */
const TOO_LARGE = '53200';

/** True if a part of the batch may succeed where the whole has failed. */
export function isAboutRows(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError)) return false;
  return ROW_CLASSES.has(error.code.slice(0, 2)) || error.code === TOO_LARGE;
}
