import pg from 'pg';
import { describe, expect, it } from 'vitest';

import type { ConnectOptions } from '../../src/index.js';
import { connect, detectServer } from '../../src/index.js';
import type { HostEntry } from '../../src/options/connect.js';
import { readConnectOptions } from '../../src/options/connect.js';
import { readTransactionOptions } from '../../src/options/index.js';
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
    [{ hosts: [null] }, 'hosts'],
    [{ hosts: [{ port: 5432 }] }, 'hosts'],
    [{ hosts: [{ host: 'a', port: 0 }] }, 'hosts.port'],
    [{ hosts: [{ host: 'a', zone: '' }] }, 'zone'],
    [{ hosts: [{ host: 'a', zon: 'z' }] }, 'zon'],
    [{ hosts: ['a'], zone: 'z' }, 'zone'],
    [{ hosts: [{ host: 'a', zone: 'z' }], zone: 5 }, 'zone'],
    [{ loadBalance: 'best' }, 'loadBalance'],
    [{ password: 5 }, 'password'],
    [{ tls: 'yes' }, 'tls'],
    [{ tls: null }, 'tls'],
    [{ prepare: 1 }, 'prepare'],
    [{ traceparent: '00-1-2-01' }, 'traceparent'],
    [{ traceStatements: true }, 'traceStatements'],
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
  const entries = (hosts: ConnectOptions['hosts']): readonly HostEntry[] =>
    readConnectOptions({ hosts }, true).hosts;
  const of = (url: string, more?: string[]): string[] =>
    readHosts(url, entries(more)).map((h) => h.url);
  const ordered = { isRandom: false, zone: undefined };

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
    const list = new HostList([a, b], ordered, scheduler);
    expect(list.next()).toBe(a);
    list.note(a, false);
    expect(list.next()).toBe(b);
    nowMs = 1;
    list.note(b, false);
    expect(list.next()).toBe(a);
    nowMs = 6000;
    expect(list.next()).toBe(a);
    const random = new HostList([a, b], { isRandom: true, zone: undefined }, scheduler);
    expect(random.next()).toBe(b);
    random.note(b, false);
    expect(random.next()).toBe(a);
    random.note(b, true);
    expect(random.next()).toBe(b);
  });

  it('may have zones, also those of the URL', () => {
    const more = [{ host: 'b', port: 5432, zone: 'z1' }, { host: '::1', zone: 'z2' }, 'c:1'];
    const read = readHosts('postgresql://u@a:1,b/d', entries(more));
    expect(read.map(({ address, zone }) => [address, zone])).toEqual([
      ['a:1', undefined],
      ['b', 'z1'],
      ['[::1]', 'z2'],
      ['c:1', undefined],
    ]);
    expect(read[2]?.url).toBe('postgresql://u@[::1]/d');
  });

  it('of the own zone come first, and others while none of them is there', () => {
    let nowMs = 0;
    const chance = { value: 0 };
    const scheduler = { ...systemScheduler, now: () => nowMs, random: () => chance.value };
    const zones = ['far', 'near', 'near', 'far'];
    const hosts = zones.map((zone, at) => ({ host: `h${at}`, zone }));
    const read = readHosts('postgresql://u@/d', entries(hosts));
    const nextOf = (list: HostList): string => list.next().address;
    const first = new HostList(read, { isRandom: false, zone: 'near' }, scheduler);
    const any = new HostList(read, { isRandom: true, zone: 'near' }, scheduler);
    const [, one, two] = read;
    if (one === undefined || two === undefined) throw new Error('there are four');
    expect(nextOf(first)).toBe('h1');
    first.note(one, false);
    expect(nextOf(first)).toBe('h2');
    first.note(two, false);
    expect(nextOf(first)).toBe('h0');
    nowMs = 6000;
    expect(nextOf(first)).toBe('h1');
    expect(nextOf(any)).toBe('h1');
    chance.value = 0.99;
    expect(nextOf(any)).toBe('h2');
    any.note(one, false);
    any.note(two, false);
    expect(nextOf(any)).toBe('h3');
    const elsewhere = new HostList(read, { isRandom: false, zone: 'other' }, scheduler);
    expect(nextOf(elsewhere)).toBe('h0');
  });
});
