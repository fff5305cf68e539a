import { describe, expect, it } from 'vitest';

import { withClause, withReturningNothing } from '../../src/sql/clauses.js';

const added = (text: string): string => withReturningNothing(text);

describe('RETURNING NOTHING', () => {
  it.each([
    ['INSERT INTO t VALUES (1)', 'INSERT INTO t VALUES (1) RETURNING NOTHING'],
    ['update t set a = 1', 'update t set a = 1 RETURNING NOTHING'],
    ['UPSERT INTO t VALUES (1) ; ; ', 'UPSERT INTO t VALUES (1) RETURNING NOTHING'],
    ['DELETE FROM t -- all of it', 'DELETE FROM t RETURNING NOTHING'],
    ['DELETE FROM t; -- gone /* all', 'DELETE FROM t RETURNING NOTHING'],
    ['/* a /* b */ c */ DELETE FROM t', '/* a /* b */ c */ DELETE FROM t RETURNING NOTHING'],
    [`DELETE FROM t WHERE a = ';--'`, `DELETE FROM t WHERE a = ';--' RETURNING NOTHING`],
    [`DELETE FROM t WHERE a = E'\\';--'`, `DELETE FROM t WHERE a = E'\\';--' RETURNING NOTHING`],
    ['DELETE FROM t WHERE a = $$;--$$', 'DELETE FROM t WHERE a = $$;--$$ RETURNING NOTHING'],
    ['DELETE FROM t WHERE a = $x$;$$$x$', 'DELETE FROM t WHERE a = $x$;$$$x$ RETURNING NOTHING'],
    [
      'DELETE FROM t WHERE a = $1 AND b=$2',
      'DELETE FROM t WHERE a = $1 AND b=$2 RETURNING NOTHING',
    ],
    ['DELETE FROM "returning"', 'DELETE FROM "returning" RETURNING NOTHING'],
    [`INSERT INTO t VALUES ('returning')`, `INSERT INTO t VALUES ('returning') RETURNING NOTHING`],
    ['INSERT INTO t SELECT 1/* x */', 'INSERT INTO t SELECT 1 RETURNING NOTHING'],
    ['DELETE FROM t WHERE "a;b" = 1;', 'DELETE FROM t WHERE "a;b" = 1 RETURNING NOTHING'],
    // Every character beyond ASCII belongs to a name or a tag.
    ['DELETE FROM t WHERE a = $😀$$;$😀$', 'DELETE FROM t WHERE a = $😀$$;$😀$ RETURNING NOTHING'],
    [`DELETE FROM 😀E'\\'`, `DELETE FROM 😀E'\\' RETURNING NOTHING`],
    ['DELETE FROM t\u00a0', 'DELETE FROM t\u00a0 RETURNING NOTHING'],
    [';;DELETE FROM t;', ';;DELETE FROM t RETURNING NOTHING'],
    ['DELETE FROM t\v -- x', 'DELETE FROM t\v RETURNING NOTHING'],
    ['DELETE FROM t WHERE t.returning', 'DELETE FROM t WHERE t.returning RETURNING NOTHING'],
    [
      'INSERT INTO t SELECT 1 AS returning',
      'INSERT INTO t SELECT 1 AS returning RETURNING NOTHING',
    ],
  ])('goes behind %s', (text, expected) => {
    expect(added(text)).toBe(expected);
    // Remembered, and the same.
    expect(added(text)).toBe(expected);
  });

  it.each([
    'DELETE FROM t RETURNING id',
    'DELETE FROM t RETURNING NOTHING',
    'insert into t values (1) returning *;',
    'DELETE FROM t /* x */ RETURNING /* y */ "nothing" -- z',
    'DELETE FROM t; DELETE FROM u',
    'DELETE FROM t;\v',
    'DELETE FROM t WHERE a = $1RETURNING a',
    'ınsert into t values (1)',
    'UPſERT INTO t VALUES (1)',
    'WITH d AS (DELETE FROM t RETURNING id) SELECT * FROM d',
    'WITH d AS (SELECT 1) DELETE FROM t',
    'SELECT 1',
    'CREATE TABLE t (a INT4)',
    `DELETE FROM t WHERE a = 'no end`,
    'DELETE FROM t /* no end',
    'DELETE FROM t WHERE a = $$no end',
    'DELETE FROM t WHERE (a = 1',
    '',
    '-- nothing',
  ])('leaves alone: %s', (text) => {
    expect(added(text)).toBe(text);
  });

  it('does not keep every text for ever', () => {
    for (let n = 0; n < 3000; n++) expect(added(`DELETE FROM t${n}`)).toContain('NOTHING');
  });
});

describe('a locking clause', () => {
  it('goes before semicolons and comments', () => {
    expect(withClause('SELECT 1 FROM t; -- x', 'FOR UPDATE')).toBe('SELECT 1 FROM t FOR UPDATE');
  });
  it('fits one statement only', () => {
    expect(() => withClause('SELECT 1; SELECT 2', 'FOR UPDATE')).toThrow('single statement');
    expect(() => withClause('-- x', 'FOR UPDATE')).toThrow('single statement');
  });
});
