/**
 * Types of columns in Prisma's words, and values of rows as Prisma reads them.
 *
 * Numbers beyond 2^53, decimals and moments travel as text, so that no digit is lost.
 */

import type { TypeParsers } from '@braiddb/sdk';
import type { ColumnType } from '@prisma/driver-adapter-utils';
import { ColumnTypeEnum as Type, DriverAdapterError } from '@prisma/driver-adapter-utils';
import pg from 'pg';

type Parser = (text: string) => unknown;

/** One type: Prisma's names for it and for its arrays, and how its text becomes a value. */
interface Kind {
  readonly scalar: ColumnType;
  readonly list: ColumnType;
  readonly parse: Parser;
}

const TEXT_ARRAY_OID = 1009;
const BYTEA_OID = 17;

/** Types of users, such as enums, have larger numbers; their values are text. */
const USER_TYPES_FROM = 16_384;

const driverParser = pg.types.getTypeParser as (oid: number, format: string) => Parser;
const parserOf = (oid: number): Parser => driverParser(oid, 'text');
const splitArray = parserOf(TEXT_ARRAY_OID);

/** A moment with `T` and an offset of hours and minutes; without an offset it is UTC. */
function moment(text: string): string {
  const [, stamp = text, sign = '+', hours = '00', minutes = '00'] =
    /^(.*?)(?:([+-])(\d{2})(?::(\d{2}))?)?$/.exec(text.replace(' ', 'T')) ?? [];
  return `${stamp}${sign}${hours}:${minutes}`;
}

const withoutOffset = (text: string): string => text.replace(/[+-][\d:]+$/, '');

const INT32: Kind = { scalar: Type.Int32, list: Type.Int32Array, parse: Number };
const INT64: Kind = { scalar: Type.Int64, list: Type.Int64Array, parse: String };
const FLOAT: Kind = { scalar: Type.Float, list: Type.FloatArray, parse: Number };
const DOUBLE: Kind = { scalar: Type.Double, list: Type.DoubleArray, parse: Number };
const NUMERIC: Kind = { scalar: Type.Numeric, list: Type.NumericArray, parse: String };
const BOOLEAN: Kind = {
  ...{ scalar: Type.Boolean, list: Type.BooleanArray },
  parse: (text) => text === 't',
};
const TEXT: Kind = { scalar: Type.Text, list: Type.TextArray, parse: String };
const DATE: Kind = { scalar: Type.Date, list: Type.DateArray, parse: String };
const TIME: Kind = { scalar: Type.Time, list: Type.TimeArray, parse: withoutOffset };
const MOMENT: Kind = { scalar: Type.DateTime, list: Type.DateTimeArray, parse: moment };
const JSON_TEXT: Kind = { scalar: Type.Json, list: Type.JsonArray, parse: String };
const UUID: Kind = { scalar: Type.Uuid, list: Type.UuidArray, parse: String };
const BYTES: Kind = { scalar: Type.Bytes, list: Type.BytesArray, parse: parserOf(BYTEA_OID) };

/** Each type: its kind, its number and that of its arrays. */
const TYPES: readonly (readonly [Kind, number, number])[] = [
  [INT32, 21, 1005], // int2
  [INT32, 23, 1007], // int4
  [INT64, 20, 1016], // int8
  [INT64, 26, 1028], // oid
  [FLOAT, 700, 1021], // float4
  [DOUBLE, 701, 1022], // float8
  [NUMERIC, 1700, 1231], // numeric
  [BOOLEAN, 16, 1000], // bool
  [TEXT, 25, TEXT_ARRAY_OID], // text
  [TEXT, 1043, 1015], // varchar
  [TEXT, 1042, 1014], // bpchar
  [TEXT, 18, 1002], // "char"
  [TEXT, 19, 1003], // name
  [TEXT, 1560, 1561], // bit
  [TEXT, 1562, 1563], // varbit
  [TEXT, 869, 1041], // inet
  [TEXT, 650, 651], // cidr
  [TEXT, 142, 143], // xml
  [DATE, 1082, 1182], // date
  [TIME, 1083, 1183], // time
  [TIME, 1266, 1270], // timetz
  [MOMENT, 1114, 1115], // timestamp
  [MOMENT, 1184, 1185], // timestamptz
  [JSON_TEXT, 114, 199], // json
  [JSON_TEXT, 3802, 3807], // jsonb
  [UUID, 2950, 2951], // uuid
  [BYTES, BYTEA_OID, 1001], // bytea
];

/** Prisma's name of a type, and its parser. */
interface Column {
  readonly type: ColumnType;
  readonly parse: Parser;
}

const COLUMNS: ReadonlyMap<number, Column> = new Map(
  TYPES.flatMap(([{ scalar, list, parse }, oid, arrayOid]): [number, Column][] => [
    [oid, { type: scalar, parse }],
    [arrayOid, { type: list, parse: arrayParser(parse) }],
  ]),
);

/** An array of any depth, its elements parsed by `parse`. NULL stays null. */
function arrayParser(parse: Parser): Parser {
  const each = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(each);
    return typeof value === 'string' ? parse(value) : value;
  };
  return (text) => each(splitArray(text));
}

/** The types of the columns of a result; throws what Prisma knows where it has no such type. */
export function columnTypes(fields: readonly { readonly dataTypeID: number }[]): ColumnType[] {
  return fields.map(({ dataTypeID }) => {
    const column = COLUMNS.get(dataTypeID);
    if (column !== undefined) return column.type;
    if (dataTypeID >= USER_TYPES_FROM) return Type.Text;
    const type = `the type with the number ${dataTypeID}`;
    throw new DriverAdapterError({ kind: 'UnsupportedNativeDataType', type });
  });
}

/** How the values of all queries are read. */
export const parsers: TypeParsers = {
  getTypeParser: (oid) => COLUMNS.get(oid)?.parse ?? String,
};
