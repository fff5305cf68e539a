import { describe, expect, it } from 'vitest';

import * as errors from '../../src/errors.js';

const { fromConnect, fromDriver, isAmbiguous, isRetryable, isTransient } = errors;

function server(code: string, more: object = {}): Error {
  return Object.assign(new Error('said the server'), { code, severity: 'ERROR', ...more });
}

describe('errors of the driver', () => {
  it.each([
    ['40001', 'SerializationError'],
    ['40P01', 'DeadlockError'],
    ['23505', 'ConstraintError'],
    ['42601', 'DatabaseError'],
    ['57P01', 'ConnectionError'],
    ['08006', 'ConnectionError'],
    ['40003', 'CommitUnknownError'],
    ['08007', 'CommitUnknownError'],
  ])('SQLSTATE %s becomes a %s', (code, name) => {
    expect(fromDriver(server(code))).toMatchObject({ name, message: 'said the server' });
  });

  it('keeps the fields of the server', () => {
    const fields = {
      detail: 'd',
      hint: 'h',
      constraint: 'c',
      position: '7',
      table: 't',
      where: 'w',
    };
    expect(fromDriver(server('23503', fields), { statement: 'SELECT 1' })).toMatchObject({
      ...fields,
      position: 7,
      kind: 'foreign key',
      statement: 'SELECT 1',
    });
  });

  it('does not take EPIPE for a SQLSTATE', () => {
    const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    expect(fromDriver(error, { ambiguous: true })).toMatchObject({
      name: 'ConnectionError',
      errno: 'EPIPE',
      sqlstate: undefined,
      ambiguous: true,
    });
  });

  it('passes on what neither server nor connection caused', () => {
    const own = new RangeError('from a parser');
    expect(fromDriver(own)).toBe(own);
  });

  it('reports which of several addresses refused', () => {
    const one = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' });
    expect(fromConnect(new AggregateError([one]))).toMatchObject({
      message: one.message,
      errno: 'ECONNREFUSED',
    });
  });
});

describe('what to do about an error', () => {
  it('retries retry errors, wrapped ones too, and nothing else', () => {
    const retry = fromDriver(server('40001'));
    expect(isRetryable(retry)).toBe(true);
    expect(isRetryable(new Error('wrapped', { cause: retry }))).toBe(true);
    expect(isRetryable(fromDriver(server('23505')))).toBe(false);
    const info = { attempts: 1, elapsedMs: 1, limit: 'attempts', last: retry } as const;
    expect(isRetryable(new errors.RetriesExhaustedError(info))).toBe(false);
    expect(isRetryable(new errors.CommitUnknownError('?', retry))).toBe(false);
    expect(isRetryable('40001')).toBe(false);
  });

  it.each(['40001', '40P01', '53300', '57P01', '57P03', '58000', '72000', '08006'])(
    'takes %s for transient, wrapped and given up on as well',
    (code) => {
      const error = fromDriver(server(code));
      expect(isTransient(error)).toBe(true);
      expect(isTransient(new Error('wrapped', { cause: error }))).toBe(true);
      expect(errors.runsAgain(error)).toBe(true);
      const info = { attempts: 1, elapsedMs: 1, limit: 'attempts', last: error } as const;
      expect(isTransient(new errors.RetriesExhaustedError(info))).toBe(true);
      expect(errors.runsAgain(new errors.RetriesExhaustedError(info))).toBe(false);
    },
  );

  it.each(['23505', '40003', '08007', '08P01', '42P01', '53100', '57014', '58030'])(
    'does not take %s for transient',
    (code) => {
      expect(isTransient(fromDriver(server(code)))).toBe(false);
    },
  );

  it('takes a lost connection for transient unless something may have taken effect', () => {
    const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    expect(isTransient(fromDriver(lost, { lost }))).toBe(true);
    expect(isTransient(fromDriver(lost, { lost, ambiguous: true }))).toBe(false);
    expect(isTransient(errors.lostConnection(new Error('terminated')))).toBe(true);
    const untrusted = Object.assign(new Error('self-signed'), {
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect(isTransient(fromConnect(untrusted))).toBe(false);
    expect(isTransient(new errors.CommitUnknownError('?', lost))).toBe(false);
    expect(
      isTransient(new errors.CommitAbortedError('no', new errors.CommitUnknownError('?'))),
    ).toBe(true);
  });

  it('keeps the SQLSTATE with which the server ended the connection', () => {
    const ended = server('57P01');
    expect(errors.lostConnection(ended)).toMatchObject({ sqlstate: '57P01', ambiguous: false });
    const next = fromDriver(new Error('not queryable'), { lost: ended, ambiguous: true });
    expect(next).toMatchObject({ sqlstate: '57P01', ambiguous: true });
  });

  it('knows what is ambiguous', () => {
    expect(isAmbiguous(new errors.CommitUnknownError('?'))).toBe(true);
    expect(isAmbiguous(new errors.ConnectionError('lost', { ambiguous: true }))).toBe(true);
    expect(isAmbiguous(new errors.ConnectionError('lost'))).toBe(false);
    expect(isAmbiguous(fromDriver(server('40001')))).toBe(false);
  });

  it('survives a loop of causes', () => {
    const loop = new Error('a');
    loop.cause = loop;
    expect(isRetryable(loop)).toBe(false);
  });

  it('attaches a failed rollback where it can', () => {
    const first = new Error('first');
    errors.attachRollbackError(first, 'second');
    expect(first).toMatchObject({ message: 'first', rollbackError: 'second' });
    errors.attachRollbackError(Object.freeze(new Error('frozen')), 'second');
    errors.attachRollbackError('not an error', 'second');
  });
});
