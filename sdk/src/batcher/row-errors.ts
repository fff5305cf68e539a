/**
 * Which errors of a statement are about some of its rows, and which about its table.
 */

import { BatchTableError, DatabaseError, ValueError } from '../errors.js';

/** Classes of SQLSTATEs that one row of a statement can cause, while the others are well. */
const ROW_CLASSES: ReadonlySet<string> = new Set(['21', '22', '23', '44', '54', 'P0']);
/** Out of memory for the statement: a smaller one may fit. */
const TOO_LARGE = '53200';

/** SQLSTATEs of a statement that does not fit the table, as it does after a migration. */
const SCHEMA_STATES: ReadonlySet<string> = new Set([
  ...['0A000', '3F000', '42601', '42703', '42804', '42809', '42846', '42883', '428C9'],
  ...['42P01', '42P10'],
]);

/** True if the table may have changed since it was described. */
export function isAboutSchema(error: unknown): boolean {
  if (error instanceof BatchTableError) return true;
  return error instanceof DatabaseError && SCHEMA_STATES.has(error.code);
}

/** True if one row was refused for the type of a column, which may be another one by now. */
export function isAboutTypes(error: unknown): boolean {
  if (error instanceof ValueError) return true;
  return error instanceof DatabaseError && error.code.startsWith('22');
}

/** True if a part of the batch may succeed where the whole has failed. */
export function isAboutRows(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError)) return false;
  return ROW_CLASSES.has(error.code.slice(0, 2)) || error.code === TOO_LARGE;
}
