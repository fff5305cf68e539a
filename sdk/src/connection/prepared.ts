/**
 * Statements as they travel, and the names under which they are kept prepared.
 */

import { createHash } from 'node:crypto';

import { ValueError, withText } from '../errors.js';
import { encodeParameter } from '../sql/parameters.js';
import type { Compiled, TextOptions } from '../sql/template.js';

/** A statement as it travels. */
export interface WireStatement extends Omit<TextOptions, 'prepare'> {
  readonly text: string;
  readonly values: readonly (string | Buffer | null)[];
  /** The name under which it is kept prepared, if it is. */
  readonly name?: string | undefined;
  /** Drops the rows: the caller did not ask for them. */
  readonly discard?: boolean | undefined;
}

/** Texts prepared at most: programs that build SQL texts would fill the server's memory. */
const PREPARED_MAX = 500;

const preparedNames = new Map<string, string>();

/** Encodes a statement; throws if a parameter cannot be sent. */
export function encodeStatement(
  { text, values, rowMode, types, prepare: own }: Compiled,
  prepare: boolean,
  discard = false,
): WireStatement {
  const name = (own ?? prepare) ? preparedName(text) : undefined;
  return { text, values: encodeAll(text, values), name, discard, rowMode, types };
}

function encodeAll(text: string, values: Compiled['values']): (string | Buffer | null)[] {
  let place = 0;
  try {
    return values.map((value) => {
      place += 1;
      return encodeParameter(value);
    });
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new ValueError(withText(`parameter ${place}: ${error.message}`, text), error.cause);
  }
}

function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined) return known;
  if (preparedNames.size >= PREPARED_MAX) return undefined;
  const name = `braid_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  preparedNames.set(text, name);
  return name;
}
