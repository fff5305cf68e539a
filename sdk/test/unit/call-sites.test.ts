import { describe, expect, it } from 'vitest';

import { attachListedCallSites, captureCallSite } from '../../src/call-sites.js';
import type { SentStatement } from '../../src/call-sites.js';
import { DatabaseError } from '../../src/index.js';

function sentFrom(text: string, parameters: unknown[]): SentStatement {
  return { text, parameters, callSite: captureCallSite(sentFrom) };
}

const duplicate = 'duplicate key value violates unique constraint "t_pkey"';

function barrier(where: string, code = '23505', message = duplicate): DatabaseError {
  return new DatabaseError({ code, message, where, severity: 'ERROR' });
}

describe('the error of a barrier', () => {
  const savepoint: SentStatement = { text: 'SAVEPOINT x', parameters: [], callSite: undefined };

  it('gets stack and parameters of the call with that number', () => {
    const first = sentFrom('INSERT INTO t VALUES ($1) RETURNING NOTHING', [7]);
    const second = sentFrom('INSERT INTO t VALUES ($1) RETURNING NOTHING', [8]);
    const error = barrier(`statement 3: 23505 ${duplicate}: INSERT INTO t VALUES ($1) RETUR…`);
    expect(attachListedCallSites(error, [savepoint, first, second])).toBe(true);
    expect(error.parameters).toEqual([8]);
    expect(error.statements).toMatchObject([{ number: 3, code: '23505', parameters: [8] }]);
    expect(error.stack).toMatch(/^DatabaseError: duplicate key.*\n {4}at .*call-sites\.test\.ts/);
  });

  it('lists all that failed, the one that the error is about first', () => {
    const one = sentFrom('DELETE FROM t', []);
    const two = sentFrom('UPDATE t\n  SET a = $1', [1]);
    const where = [
      'statement 1: 23503 still referenced: DELETE FROM t',
      'statement 2: 40001 restart transaction: conflict: UPDATE t SET a = $1',
    ].join('\n');
    const error = barrier(where, '40001', 'restart transaction: conflict');
    expect(attachListedCallSites(error, [one, two])).toBe(true);
    expect(error.statements.map(({ number, code }) => [number, code])).toEqual([
      [2, '40001'],
      [1, '23503'],
    ]);
    expect(error.statements[1]?.message).toBe('still referenced');
    expect(Object.keys(error)).not.toContain('parameters');
  });

  it('finds the call by its text where the numbers do not fit', () => {
    const only = sentFrom('DELETE FROM t WHERE id = $1', [5]);
    const error = barrier(`statement 9: 23505 ${duplicate}: DELETE FROM t WHERE id = $1`);
    expect(attachListedCallSites(error, [savepoint, only])).toBe(true);
    expect(error.parameters).toEqual([5]);
  });

  it('is left alone without a list', () => {
    expect(attachListedCallSites(barrier('PL/pgSQL function f() line 3'), [savepoint])).toBe(false);
    expect(attachListedCallSites(new Error('mine'), [savepoint])).toBe(false);
  });
});
