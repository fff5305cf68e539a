/** Payloads on their way into the database: JSON, and nothing that JSON would change silently. */

import { PayloadError } from './errors.js';

/**
 * The JSON text of a payload. Refuses what would not come back: undefined in an array, functions,
 * bigints, numbers that are not finite, half surrogate pairs and NUL characters. Properties that
 * are undefined are left out, and objects with `toJSON`, such as dates, are stored as its result.
 */
export function encodePayload(payload: unknown): string {
  const inside = new Set<object>();
  const text = JSON.stringify(checked(payload, 'payload', inside));
  return text;
}

function checked(value: unknown, path: string, inside: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
      return checkedText(value, path);
    case 'number':
      if (Number.isFinite(value)) return value;
      throw new PayloadError(path, `is ${value}, which is not a number of JSON`);
    case 'boolean':
      return value;
    case 'object':
      return value === null ? value : checkedObject(value, path, inside);
    case 'undefined':
      throw new PayloadError(path, 'is undefined; use null');
    case 'bigint':
    case 'function':
    case 'symbol':
      throw new PayloadError(path, `is a ${typeof value}, which JSON does not have`);
  }
}

function checkedText(value: string, path: string): string {
  if (!value.isWellFormed()) throw new PayloadError(path, 'has half a surrogate pair');
  if (value.includes('\0')) throw new PayloadError(path, 'has a NUL character');
  return value;
}

function checkedObject(value: object, path: string, inside: Set<object>): unknown {
  if (inside.has(value)) throw new PayloadError(path, 'contains itself');
  inside.add(value);
  try {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') {
      const json: unknown = toJSON.call(value, '');
      return checked(json, path, inside);
    }
    if (Array.isArray(value)) {
      // A loop by numbers also sees holes, which are undefined.
      return Array.from(value, (one, at) => checked(one, `${path}[${at}]`, inside));
    }
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    return Object.fromEntries(
      entries.map(([name, one]) => [
        checkedText(name, `a name in ${path}`),
        checked(one, `${path}.${name}`, inside),
      ]),
    );
  } finally {
    inside.delete(value);
  }
}
