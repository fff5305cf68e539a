/**
 * Parameters on their way to the server: JavaScript values as PostgreSQL's text format.
 *
 * The SDK does this itself instead of `pg`, for three reasons. A value that cannot be sent is
 * refused before anything is sent. No value changes silently (`undefined`, invalid dates, half a
 * surrogate pair). A Date does not depend on the time zone of the machine.
 */

import { ValueError } from '../errors.js';

/** What may stand in `${…}` as a value. Plain objects travel as JSON. */
export type Parameter = string | number | bigint | boolean | object | null;

/** Returns `value` if it can be sent, else throws and names its place. */
export function checkParameter(value: unknown, place: number): Parameter {
  try {
    check(value);
    return value as Parameter;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new ValueError(`parameter ${place}: ${error.message}`);
  }
}

function check(value: unknown): void {
  switch (typeof value) {
    case 'undefined':
      throw new ValueError('undefined is not a value; use null for NULL');
    case 'function':
    case 'symbol':
      throw new ValueError(`a ${typeof value} cannot be sent`);
    case 'string':
      if (!value.isWellFormed()) {
        throw new ValueError('the string has half a surrogate pair, which UTF-8 cannot express');
      }
      return;
    case 'object':
      if (value instanceof Date && Number.isNaN(value.getTime())) {
        throw new ValueError('the date is invalid');
      }
      if (Array.isArray(value)) for (const element of value) check(element);
      return;
    case 'bigint':
    case 'boolean':
    case 'number':
      return;
  }
}

/** The form in which `pg` gets a value: text, bytes (sent in binary) or null. */
export function encodeParameter(value: Parameter): string | Buffer | null {
  if (value === null) return null;
  if (typeof value !== 'object') return String(value);
  if (value instanceof Date) return encodeDate(value);
  if (value instanceof Uint8Array) return bytes(value);
  if (Array.isArray(value)) return encodeArray(value as readonly Parameter[]);
  return encodeJson(value);
}

/**
 * ISO 8601 in UTC. PostgreSQL reads years beyond 9999 without a plus sign and years before 1 with
 * BC at the end.
 */
function encodeDate(date: Date): string {
  const text = date.toISOString();
  if (text.startsWith('+')) return text.slice(1).replace(/^0+(?=\d{5})/, '');
  if (!text.startsWith('-') && !text.startsWith('0000')) return text;
  const year = String(1 - date.getUTCFullYear()).padStart(4, '0');
  return `${year}${text.slice(text.indexOf('-', 1))} BC`;
}

function encodeArray(values: readonly Parameter[]): string {
  return `{${values.map(encodeElement).join(',')}}`;
}

function encodeElement(value: Parameter): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return encodeArray(value as readonly Parameter[]);
  if (value instanceof Uint8Array) return `"\\\\x${bytes(value).toString('hex')}"`;
  const text = String(encodeParameter(value));
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** The JSON text of a value; refuses what has none. */
export function encodeJson(value: unknown): string {
  let text: unknown;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (typeof text === 'string') return text;
  const [reason = ''] = cause instanceof Error ? cause.message.split('\n') : [];
  throw new ValueError(
    `the value has no JSON form${reason && ` (${reason})`}; ` +
      'leave out what refers back to itself, and write bigints as strings',
    cause,
  );
}

function bytes(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
