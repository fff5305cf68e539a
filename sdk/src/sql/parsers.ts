/**
 * Values on their way from the server: PostgreSQL's text format as JavaScript values.
 *
 * The rule: no digit is lost unless an option asks for it. So INT8 is a bigint and NUMERIC a string,
 * in arrays too (`pg` alone makes floating-point numbers of NUMERIC[]). DATE is a string, because a
 * day is not a moment; TIMESTAMP without time zone is read as UTC, as it is written.
 * Everything else is parsed as `pg` parses it.
 */

import pg from 'pg';

import type { ParserOptions } from '../options/connect.js';

/** The types that a parser can be chosen for by name, and their numbers in the protocol. */
const OIDS = { int8: 20, date: 1082, timestamp: 1114, timestamptz: 1184, numeric: 1700 } as const;
const ARRAY_OIDS = {
  int8: 1016,
  date: 1182,
  timestamp: 1115,
  timestamptz: 1185,
  numeric: 1231,
} as const;

const TEXT_ARRAY_OID = 1009;

type Parser = (text: string) => unknown;

const driverParser = pg.types.getTypeParser as (oid: number, format: string) => Parser;

/** What `pg` wants as the `types` of a query. */
export interface TypeParsers {
  getTypeParser(oid: number, format?: 'text' | 'binary'): Parser;
}

/** Makes the parsers for a set of options. */
export function makeParsers(options: ParserOptions): TypeParsers {
  const chosen = new Map<number, Parser>();
  const add = (name: keyof typeof OIDS, parse: Parser): void => {
    chosen.set(OIDS[name], parse);
    chosen.set(ARRAY_OIDS[name], arrayParser(parse));
  };
  add('int8', INT8[options.int8 ?? 'bigint']);
  add('numeric', NUMERIC[options.numeric ?? 'string']);
  add('date', (options.date ?? 'string') === 'string' ? String : parseDay);
  const asText = options.timestamp === 'string';
  add('timestamp', asText ? String : parseTimestamp);
  add('timestamptz', asText ? String : builtIn(OIDS.timestamptz));
  for (const [oid, parse] of Object.entries(options.custom ?? {})) chosen.set(Number(oid), parse);
  return {
    getTypeParser(oid, format = 'text') {
      const parse = format === 'text' ? chosen.get(oid) : undefined;
      return parse ?? driverParser(oid, format);
    },
  };
}

const INT8: Readonly<Record<'bigint' | 'string' | 'number', Parser>> = {
  bigint: BigInt,
  string: String,
  number: safeNumber,
};

const NUMERIC: Readonly<Record<'string' | 'number', Parser>> = {
  string: String,
  number: Number,
};

/** An INT8 as a number; refused where a number cannot hold it exactly. */
function safeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw new RangeError(`int8 value ${text} does not fit a number; read it as bigint`);
  }
  return value;
}

function builtIn(oid: number): Parser {
  return driverParser(oid, 'text');
}

const parseMoment = builtIn(OIDS.timestamptz);

/** A TIMESTAMP without time zone, taken as UTC. */
function parseTimestamp(text: string): unknown {
  return parseMoment(text.includes('infinity') ? text : text.replace(/( BC)?$/, '+00$1'));
}

/** A DATE as midnight UTC. */
function parseDay(text: string): unknown {
  return parseMoment(text.includes('infinity') ? text : text.replace(/( BC)?$/, ' 00:00:00+00$1'));
}

/** An array of any depth, its elements parsed by `parse`. NULL stays null. */
function arrayParser(parse: Parser): Parser {
  const split = builtIn(TEXT_ARRAY_OID);
  const each = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(each);
    return typeof value === 'string' ? parse(value) : value;
  };
  return (text) => each(split(text));
}
