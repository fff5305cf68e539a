/**
 * The checks of all options, of the SDK and of the packages above it: wrong type, out of range, unknown
 * name. Each fails with an {@link OptionError} that names the option.
 */

import { OptionError, UsageError, ValueError } from '../errors.js';

/** Limits of a number, and its default. */
export interface NumberRange {
  readonly initial: number;
  readonly min: number;
  readonly max: number;
  /** Fractions are refused. */
  readonly isWhole?: boolean | undefined;
}

/** Refuses what is no object, and names that are not known: a misspelt option is worse than none. */
export function checkNames(where: string, options: object, known: readonly string[]): void {
  if (!isObject(options)) throw new OptionError(where, 'must be an object');
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new OptionError(name, `is not known; known are ${known.join(', ')}`);
    }
  }
}

/** A number within its range, or its default; `initial` wins over that of the range. */
export function numberOption(
  name: string,
  value: unknown,
  range: NumberRange,
  initial?: number,
): number {
  const { min, max, isWhole = false } = range;
  const given = value ?? initial ?? range.initial;
  const isRight = isWhole ? Number.isSafeInteger(given) : typeof given === 'number';
  if (isRight && (given as number) >= min && (given as number) <= max) return given as number;
  throw new OptionError(name, `must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`);
}

/** Refuses what is neither of a type nor undefined. */
function typed<Value>(name: string, value: Value, type: string, what: string): Value {
  if (value === undefined || typeof value === type) return value;
  throw new OptionError(name, `must be ${what}`);
}

/** Refuses what is neither a boolean nor undefined. */
export function booleanOption(name: string, value: unknown): boolean | undefined {
  return typed(name, value as boolean, 'boolean', 'true or false');
}

/** Refuses what is neither a string nor undefined. */
export function stringOption(name: string, value: unknown): string | undefined {
  return typed(name, value as string, 'string', 'a string');
}

/** Refuses what is neither an array of strings nor undefined. */
export function stringsOption(name: string, value: unknown): readonly string[] | undefined {
  if (value === undefined || isStrings(value)) return value;
  throw new OptionError(name, 'must be an array of strings');
}

/** Refuses what is neither a function nor undefined. */
export function functionOption<Callback>(name: string, value: Callback): Callback {
  return typed(name, value, 'function', 'a function');
}

/** Refuses what is neither an AbortSignal nor undefined. */
export function signalOption(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new OptionError('signal', 'must be an AbortSignal');
}

/** Refuses what is neither one of the known texts nor undefined. */
export function choiceOption<Value extends string>(
  name: string,
  value: unknown,
  known: readonly Value[],
): Value | undefined {
  if (value === undefined) return undefined;
  const found = known.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new OptionError(name, `must be one of ${known.map((one) => `"${one}"`).join(', ')}`);
}

/** One name or more: schema and table, or several channels. */
export function nameOption(option: string, value: unknown): readonly [string, ...string[]] {
  const parts = typeof value === 'string' ? [value] : value;
  if (isStrings(parts) && parts.length > 0 && !parts.includes('')) {
    return parts as readonly [string, ...string[]];
  }
  throw new OptionError(option, 'must be a name, or an array of names');
}

/** Bytes of a name at most: servers cut a longer one, or refuse it. */
const NAME_BYTES_MAX = 63;

/** One channel or more; a name that no server can have is refused, and not listened to in vain. */
export function channelOption(option: string, value: unknown): readonly [string, ...string[]] {
  const names = nameOption(option, value);
  for (const name of names) {
    const bytes = Buffer.byteLength(name);
    if (bytes <= NAME_BYTES_MAX) continue;
    const shown = `"${name.slice(0, NAME_BYTES_MAX)}…" has ${bytes} bytes`;
    throw new OptionError(option, `${shown}; the name of a channel has at most ${NAME_BYTES_MAX}`);
  }
  return names;
}

/** Refuses what lacks a method; the message says what the caller takes. */
export function checkMethod(value: unknown, method: string, message: string): void {
  const found = (value as Readonly<Record<string, unknown>> | null | undefined)?.[method];
  if (typeof found !== 'function') throw new UsageError(message);
}

/** Refuses a row that has no columns: null, a text, an array. */
export function checkRow(row: unknown, place = 'a row'): asserts row is object {
  if (isObject(row)) return;
  throw new ValueError(`${place} must be an object of columns and values`);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
