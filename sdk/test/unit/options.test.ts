import pg from 'pg';
import { describe, expect, it } from 'vitest';

import type { ConnectOptions } from '../../src/index.js';
import { connect, detectServer } from '../../src/index.js';
import { readConnectOptions, readTransactionOptions } from '../../src/options.js';

describe('options', () => {
  it('have the defaults that the documentation gives', () => {
    expect(readConnectOptions({}, true)).toMatchObject({
      connectionsMax: 10,
      connectTimeoutMs: 10_000,
      idleTimeoutMs: 30_000,
      graceMs: 5000,
      prepare: false,
      transaction: {
        isolation: 'serializable',
        readOnly: false,
        attemptsMax: 10,
        deadlineMs: 30_000,
        backoffBaseMs: 10,
        backoffMaxMs: 1000,
      },
    });
  });

  it.each([
    [{ connectionsMax: 0 }, 'connectionsMax'],
    [{ connectionsMax: Number.NaN }, 'connectionsMax'],
    [{ connectTimeoutMs: '1s' }, 'connectTimeoutMs'],
    [{ prepare: 1 }, 'prepare'],
    [{ conectionsMax: 5 }, 'conectionsMax'],
    [{ parsers: { int8: 'float' } }, 'parsers.int8'],
    [{ parsers: { custom: { int8: String } } }, 'parsers.custom'],
    [{ parsers: { custom: { 20: 'x' } } }, 'parsers.custom[20]'],
    [{ transaction: { attemptsMax: 0 } }, 'attemptsMax'],
    [{ transaction: { isolation: 'chaos' } }, 'isolation'],
    [{ transaction: { signal: {} } }, 'signal'],
    [{ scheduler: { now: 5 } }, 'scheduler.now'],
    [{ onConnectionLost: 'log' }, 'onConnectionLost'],
  ])('%j is refused', (options, option) => {
    const wrong = options as unknown as ConnectOptions;
    expect(() => readConnectOptions(wrong, true)).toThrow(
      expect.objectContaining({ name: 'OptionError', option }),
    );
  });

  it('of a call are laid over those of the database', () => {
    const defaults = readTransactionOptions({ attemptsMax: 3, readOnly: true });
    const settings = readTransactionOptions({ readOnly: false, deadlineMs: undefined }, defaults);
    expect(settings).toMatchObject({ attemptsMax: 3, readOnly: false, deadlineMs: 30_000 });
  });

  it('for the pool are refused where the pool is the caller’s', async () => {
    const pool = new pg.Pool();
    await expect(connect(pool, { connectionsMax: 5 })).rejects.toMatchObject({
      name: 'OptionError',
      option: 'connectionsMax',
    });
    await expect(connect('mysql://x')).rejects.toMatchObject({ option: 'url' });
  });
});

describe('the server', () => {
  it.each([
    [{ braid_version: '0.1.0', server_version: '15.0' }, 'braiddb', '0.1.0'],
    [{ crdb_version: 'CockroachDB v24', server_version: '13.0' }, 'cockroachdb', 'CockroachDB v24'],
    [{ server_version: '15.4' }, 'postgresql', '15.4'],
    [{}, 'postgresql', ''],
  ])('%j is told by its parameters', (parameters, kind, version) => {
    const known = new Map<string, string>(Object.entries(parameters));
    expect(detectServer(known)).toMatchObject({ kind, version });
  });
});
