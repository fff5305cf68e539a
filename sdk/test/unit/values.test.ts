import { describe, expect, it } from 'vitest';

import { UsageError } from '../../src/errors.js';
import { encodeParameter } from '../../src/sql/parameters.js';
import { makeParsers } from '../../src/sql/parsers.js';

describe('parameters', () => {
  it('encodes simple values as text', () => {
    expect([1.5, 2n ** 70n, true, 'x', null].map(encodeParameter)).toEqual([
      ...['1.5', '1180591620717411303424', 'true', 'x'],
      null,
    ]);
    expect([Number.NaN, -Infinity].map(encodeParameter)).toEqual(['NaN', '-Infinity']);
  });

  it('encodes dates in UTC, with years that PostgreSQL reads', () => {
    expect(encodeParameter(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
    expect(encodeParameter(new Date('+012345-01-02T00:00:00Z'))).toBe('12345-01-02T00:00:00.000Z');
    expect(encodeParameter(new Date('-000043-03-15T00:00:00Z'))).toBe(
      '0044-03-15T00:00:00.000Z BC',
    );
    expect(encodeParameter(new Date('0000-03-15T00:00:00Z'))).toBe('0001-03-15T00:00:00.000Z BC');
  });

  it('encodes bytes, JSON and arrays', () => {
    expect(encodeParameter(new Uint8Array([1, 255]))).toEqual(Buffer.from([1, 255]));
    expect(encodeParameter({ a: [1] })).toBe('{"a":[1]}');
    expect(encodeParameter(['a"b\\c', null, [], 1n])).toBe('{"a\\"b\\\\c",NULL,{},"1"}');
    expect(encodeParameter([new Uint8Array([1])])).toBe('{"\\\\x01"}');
    expect(() => encodeParameter({ toJSON: () => undefined })).toThrow(UsageError);
  });
});

describe('parsers', () => {
  const parse = (oid: number, text: string, options = {}): unknown =>
    makeParsers(options).getTypeParser(oid)(text);

  it('keeps every digit of INT8 and NUMERIC, in arrays too', () => {
    expect(parse(20, '9223372036854775807')).toBe(9223372036854775807n);
    expect(parse(1700, '0.10000000000000000000000001')).toBe('0.10000000000000000000000001');
    expect(parse(1016, '{1,NULL,{9223372036854775807}}')).toEqual([
      1n,
      null,
      [9223372036854775807n],
    ]);
    expect(parse(1231, '{1.50,NULL}')).toEqual(['1.50', null]);
  });

  it('reads them otherwise where asked to, but never rounds an INT8', () => {
    expect(parse(20, '7', { int8: 'number' })).toBe(7);
    expect(() => parse(20, '9007199254740993', { int8: 'number' })).toThrow(RangeError);
    expect(parse(1016, '{7}', { int8: 'string' })).toEqual(['7']);
    expect(parse(1700, '1.50', { numeric: 'number' })).toBe(1.5);
    expect(parse(23, '5', { custom: { 23: (text: string) => `<${text}>` } })).toBe('<5>');
  });

  it('reads days as strings, timestamps without zone as UTC', () => {
    expect(parse(1082, '2026-01-31')).toBe('2026-01-31');
    expect(parse(1082, '2026-01-31', { date: 'Date' })).toEqual(new Date('2026-01-31T00:00:00Z'));
    expect(parse(1114, '2026-01-31 12:00:00.5')).toEqual(new Date('2026-01-31T12:00:00.5Z'));
    expect(parse(1114, '0044-03-15 00:00:00 BC')).toEqual(new Date('-000043-03-15T00:00:00Z'));
    expect(parse(1114, 'infinity')).toBe(Infinity);
    expect(parse(1184, '2026-01-31 12:00:00.123456+00', { timestamp: 'string' })).toBe(
      '2026-01-31 12:00:00.123456+00',
    );
    expect(parse(1115, '{"2026-01-31 12:00:00"}')).toEqual([new Date('2026-01-31T12:00:00Z')]);
  });
});
