/** The names of TypeScript: of types, of properties, and of what the SDK reads from the server. */

import pg from 'pg';

/** How the SDK reads some types, as `parsers` of `connect` says. */
export interface ParserChoice {
  readonly int8?: 'bigint' | 'string' | 'number' | undefined;
  readonly numeric?: 'string' | 'number' | undefined;
  readonly date?: 'string' | 'Date' | undefined;
  readonly timestamp?: 'Date' | 'string' | undefined;
}

/** The types whose values do not arrive as text, by their numbers. */
const TYPES: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'Buffer',
  21: 'number',
  23: 'number',
  26: 'number',
  114: 'unknown',
  600: '{ x: number; y: number }',
  700: 'number',
  701: 'number',
  718: '{ x: number; y: number; radius: number }',
  1186: 'Interval',
  3802: 'unknown',
};

/** The shape of an INTERVAL, as `pg` reads it. */
export const INTERVAL = `/** An INTERVAL, as pg reads it; toPostgres() writes it. */
export interface Interval {
  years?: number;
  months?: number;
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
  toPostgres(): string;
}`;

/** The type of a value in JavaScript. */
export function valueType(
  typeId: number,
  choice: ParserChoice,
  enums: ReadonlyMap<number, string>,
): string {
  switch (typeId) {
    case 20:
      return choice.int8 ?? 'bigint';
    case 1700:
      return choice.numeric ?? 'string';
    case 1082:
      return choice.date ?? 'string';
    case 1114:
    case 1184:
      return choice.timestamp ?? 'Date';
    default:
      return enums.get(typeId) ?? TYPES[typeId] ?? 'string';
  }
}

/** True if the SDK makes an array of an array type: `pg` leaves those of enums as text. */
export function isRead(arrayTypeId: number): boolean {
  try {
    const getTypeParser = pg.types.getTypeParser as (typeId: number) => (text: string) => unknown;
    return Array.isArray(getTypeParser(arrayTypeId)('{}'));
  } catch {
    return false;
  }
}

/** Gives each name once: a second one of the same kind gets a number. */
export class TypeNames {
  readonly #taken = new Set<string>();

  constructor(reserved: readonly string[]) {
    for (const name of reserved) this.#taken.add(name);
  }

  /** A name in the style of `OrderItem`; other schemas than public stand in front. */
  pascal(schema: string, name: string, end = ''): string {
    const words = [...(schema === 'public' ? [] : [schema]), name].join('_');
    return this.#free(
      words
        .split(/[^\p{L}\p{N}]+/u)
        .map(capital)
        .join('') + end,
      'T',
    );
  }

  /** A name in the style of `orderItem`. */
  camel(schema: string, name: string): string {
    const words = [...(schema === 'public' ? [] : [schema]), name].join('_');
    const [first = '', ...rest] = words.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
    const lower = first.slice(0, 1).toLowerCase() + first.slice(1);
    return this.#free(lower + rest.map(capital).join(''), 't');
  }

  #free(name: string, front: string): string {
    const start = /^\p{L}/u.test(name) ? name : `${front}${name}`;
    let free = start;
    for (let number = 2; this.#taken.has(free); number++) free = `${start}${number}`;
    this.#taken.add(free);
    return free;
  }
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** A text in quotes. */
export function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** The name of a property, in quotes where it needs them. */
export function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
}
