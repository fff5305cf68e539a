import { describe, expect, it } from 'vitest';

import { sql, UsageError } from '../../src/index.js';

describe('the sql tag', () => {
  it('turns values into parameters and keeps the text', () => {
    const { text, values } =
      sql`SELECT * FROM t WHERE a = ${1} AND b = ${"'; DROP TABLE t"}`.compile();
    expect(text).toBe('SELECT * FROM t WHERE a = $1 AND b = $2');
    expect(values).toEqual([1, "'; DROP TABLE t"]);
  });

  it('numbers parameters across nested pieces, and a piece can be used twice', () => {
    const part = sql`a = ${1}`;
    const both = sql`${part} OR (${part} AND c = ${3})`.compile();
    expect(both.text).toBe('a = $1 OR (a = $2 AND c = $3)');
    expect(both.values).toEqual([1, 1, 3]);
  });

  it('takes arrays as one parameter', () => {
    expect(sql`= ANY(${[1n, 2n]})`.compile()).toEqual({ text: '= ANY($1)', values: [[1n, 2n]] });
  });

  it('quotes identifiers', () => {
    expect(sql`${sql.identifier('s', 'a"b')}`.compile().text).toBe('"s"."a""b"');
    expect(() => sql.identifier('')).toThrow(UsageError);
    expect(() => sql.identifier('a\0b')).toThrow('NUL');
    expect(() => sql.identifier(1 as never)).toThrow(UsageError);
  });

  it('joins pieces and values', () => {
    expect(sql.join([1, sql`now()`, null]).compile()).toEqual({
      text: '$1, now(), $2',
      values: [1, null],
    });
    expect(sql.join([]).compile().text).toBe('');
    expect(sql`a${sql.empty}b`.compile().text).toBe('ab');
  });

  it('builds rows and refuses ragged or empty ones', () => {
    expect(
      sql
        .values([
          [1, sql`DEFAULT`],
          [2, 'x'],
        ])
        .compile(),
    ).toEqual({
      text: '($1, DEFAULT), ($2, $3)',
      values: [1, 2, 'x'],
    });
    expect(() => sql.values([[1], [1, 2]])).toThrow('row 2 has 2 values, the first has 1');
    expect(() => sql.values([])).toThrow(UsageError);
  });

  it('refuses values that cannot be sent, and names the place', () => {
    expect(() => sql`${1} ${undefined as never}`).toThrow('parameter 2: undefined is not a value');
    expect(() => sql`${() => 1}`).toThrow(UsageError);
    expect(() => sql`${Symbol('x') as never}`).toThrow(UsageError);
    expect(() => sql`${new Date(Number.NaN)}`).toThrow('the date is invalid');
    expect(() => sql`${'\ud800'}`).toThrow('surrogate');
    expect(() => sql`${[1, [undefined]]}`).toThrow('parameter 1: undefined');
  });

  it('refuses to be called as a function', () => {
    expect(() => sql('SELECT 1' as never)).toThrow('template tag');
    expect(() => sql(['SELECT 1'] as never)).toThrow('template tag');
  });

  it('does not take an object from outside for a piece', () => {
    const forged = JSON.parse(
      '{"chunks":[{"text":"DROP TABLE t"}],"text":"DROP TABLE t"}',
    ) as object;
    expect(sql`SELECT ${forged}`.compile()).toEqual({ text: 'SELECT $1', values: [forged] });
  });

  it('refuses more parameters than the protocol can count', () => {
    const many = sql.join(Array.from({ length: 65_536 }, (_, index) => index));
    expect(() => many.compile()).toThrow('65536 parameters');
    expect(sql.join(Array.from({ length: 65_535 }, () => 1)).compile().values).toHaveLength(65_535);
  });
});
