/** The checks of what all functions about migrations and types take. */

import type { Database } from '@braiddb/sdk';

import { ServerOptionError } from '../errors.js';

/** Refuses what is no database of the SDK, and options that are no object. */
export function checkCall(db: Database, options: object): void {
  if (typeof (db as Partial<Database> | null)?.reserve !== 'function') {
    throw new ServerOptionError('db', 'must be a database of connect');
  }
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null) {
    throw new ServerOptionError('options', 'must be an object');
  }
}

/** Refuses an empty text, and what is no text. */
export function checkText(option: string, value: unknown): void {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return;
  throw new ServerOptionError(option, 'must be a text that is not empty');
}

/** Refuses what is neither a boolean nor undefined. */
export function checkBoolean(option: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new ServerOptionError(option, 'must be true or false');
}
