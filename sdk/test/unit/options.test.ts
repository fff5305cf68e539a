import pg from 'pg';
import { describe, expect, it } from 'vitest';

import type { ConnectOptions } from '../../src/index.js';
import { connect, detectServer } from '../../src/index.js';
import { readConnectOptions, readTransactionOptions } from '../../src/options/index.js';
import { HostList, readHosts } from '../../src/pool/hosts.js';
import { systemScheduler } from '../../src/scheduler.js';

describe('options', () => {
  it('have the defaults that the documentation gives', () => {
    expect(readConnectOptions({}, true)).toMatchObject({
      connectionsMax: 10,
      connectTimeoutMs: 10_000,
      acquireTimeoutMs: 30_000,
      idleTimeoutMs: 30_000,
      lifetimeMs: 1_800_000,
      loadBalance: 'ordered',
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
    [{ acquireTimeoutMs: 0 }, 'acquireTimeoutMs'],
    [{ lifetimeMs: -1 }, 'lifetimeMs'],
    [{ hosts: 'a,b' }, 'hosts'],
    [{ hosts: [1] }, 'hosts'],
    [{ loadBalance: 'best' }, 'loadBalance'],
    [{ password: 5 }, 'password'],
    [{ tls: 'yes' }, 'tls'],
    [{ tls: null }, 'tls'],
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

describe('hosts', () => {
  const of = (url: string, more?: string[]): string[] => readHosts(url, more).map((h) => h.url);

  it('are read from the URL and the option, each with its own URL', () => {
    expect(of('postgres://u:p@a:1,b/d?x=1', ['[::1]:3'])).toEqual([
      'postgres://u:p@a:1/d?x=1',
      'postgres://u:p@b/d?x=1',
      'postgres://u:p@[::1]:3/d?x=1',
    ]);
    expect(of('postgresql://%2Ftmp%2Fsocket/d')).toEqual(['postgresql://%2Ftmp%2Fsocket/d']);
    expect(of('postgresql://u@/d', ['a'])).toEqual(['postgresql://u@a/d']);
    expect(of('postgresql://u:p%40q@a,b')).toHaveLength(2);
    for (const wrong of ['a b', 'a/b', 'a:1:2', 'x@a', '', 'a,b']) {
      expect(() => of('postgresql://u@a', [wrong])).toThrow(
        expect.objectContaining({ name: 'OptionError', option: 'hosts' }),
      );
    }
    expect(() => of('postgresql://a,,b/d')).toThrow('is not a host');
  });

  it('are avoided for a while after a failure', () => {
    let nowMs = 0;
    const scheduler = { ...systemScheduler, now: () => nowMs, random: () => 0.99 };
    const [a, b] = readHosts('postgresql://a,b/d');
    if (a === undefined || b === undefined) throw new Error('there are two');
    const ordered = new HostList([a, b], false, scheduler);
    expect(ordered.next()).toBe(a);
    ordered.note(a, false);
    expect(ordered.next()).toBe(b);
    nowMs = 1;
    ordered.note(b, false);
    expect(ordered.next()).toBe(a);
    nowMs = 6000;
    expect(ordered.next()).toBe(a);
    const random = new HostList([a, b], true, scheduler);
    expect(random.next()).toBe(b);
    random.note(b, false);
    expect(random.next()).toBe(a);
    random.note(b, true);
    expect(random.next()).toBe(b);
  });
});
