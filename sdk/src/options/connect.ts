/**
 * Options of `connect`: type, unit, default and limits. Their checks are loaded with the first call of
 * `connect`.
 */

import { isIPv6 } from 'node:net';
import type { ConnectionOptions as TlsOptions } from 'node:tls';

import { OptionError } from '../errors.js';
import type { Scheduler } from '../scheduler.js';
import { systemScheduler } from '../scheduler.js';
import type { NumberRange } from './checks.js';
import {
  booleanOption,
  checkNames,
  choiceOption,
  functionOption,
  numberOption,
  stringOption,
} from './checks.js';
import type { TransactionOptions, TransactionSettings } from './index.js';
import { readTransactionOptions } from './index.js';

/** How values of some types reach JavaScript. */
export interface ParserOptions {
  /** INT8. Default `'bigint'`. `'number'` refuses values beyond 2^53 instead of rounding them. */
  readonly int8?: 'bigint' | 'string' | 'number' | undefined;
  /** NUMERIC. Default `'string'`. `'number'` takes the nearest double: digits may be lost. */
  readonly numeric?: 'string' | 'number' | undefined;
  /** DATE. Default `'string'` (`2026-01-31`). `'Date'` is midnight UTC. */
  readonly date?: 'string' | 'Date' | undefined;
  /** TIMESTAMP and TIMESTAMPTZ. Default `'Date'` (milliseconds). `'string'` keeps microseconds. */
  readonly timestamp?: 'Date' | 'string' | undefined;
  /** A parser of your own for a type number: text in, value out. Wins over the others. */
  readonly custom?: Readonly<Record<number, (text: string) => unknown>> | undefined;
}

/** A host of a database, and the zone that it is in. */
export interface HostAddress {
  /** A name or an IP address, without a port. */
  readonly host: string;
  /** Default: that of `pg`, 5432; 1 to 65 535. */
  readonly port?: number | undefined;
  /** The name of its zone, as {@link ConnectOptions.zone} gives it. Default: of no zone. */
  readonly zone?: string | undefined;
}

/** Options of {@link connect}. The first group is for pools that the SDK makes. */
export interface ConnectOptions {
  /** Connections at most. Default 10; 1 to 10 000. */
  readonly connectionsMax?: number | undefined;
  /** Milliseconds to open one connection to one host. Default 10 000; 1 to 600 000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Milliseconds that a call waits for a connection of the pool, all hosts together; then it fails
   * with a {@link ConnectionError}. Transactions try again until their own deadline. Default 30 000;
   * 1 to 600 000.
   */
  readonly acquireTimeoutMs?: number | undefined;
  /**
   * Milliseconds after which a connection is replaced, so that connections spread over new servers;
   * one in use is replaced when it is given back. Each lives up to a tenth shorter, by chance.
   * Default 1 800 000, half an hour; 0 is never; up to 86 400 000.
   */
  readonly lifetimeMs?: number | undefined;
  /**
   * More hosts of the same database, each `host`, `host:port` or a {@link HostAddress}, after those
   * of the URL. A URL may name several as well: `postgresql://user@a:26257,b:26257/db`; an address
   * that names one of them again gives it its zone. A host that cannot be reached is avoided for
   * five seconds. Default: none.
   */
  readonly hosts?: readonly (string | HostAddress)[] | undefined;
  /**
   * The zone that this program runs in, for example `eu-1a`. Connections go to hosts of the same
   * zone; to others only while none of them can be reached. They come back as they are replaced:
   * see `lifetimeMs`. Needs a zone in `hosts`. Default: all hosts are alike.
   */
  readonly zone?: string | undefined;
  /**
   * Which host a connection goes to: the first that is there, or any; among those of the `zone`
   * where one of them is there. Default `'ordered'`.
   */
  readonly loadBalance?: 'ordered' | 'random' | undefined;
  /**
   * The password, or a function that is called for each new connection: for passwords that expire.
   * Wins over that of the URL. Default: that of the URL.
   */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  /**
   * Options of `tls.connect` of Node, such as `ca`, `cert`, `key`; `true` for its defaults, which
   * check the certificate; `false` for no TLS. Not together with `sslmode` in the URL. Default: as
   * the URL says.
   */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Milliseconds after which an unused connection is closed. Default 30 000; 0 is never. */
  readonly idleTimeoutMs?: number | undefined;
  /** The name that the server's lists show. Default `'braiddb-sdk'`. */
  readonly applicationName?: string | undefined;
  /** Called when a connection that nobody was using is lost. Default: nothing happens. */
  readonly onConnectionLost?: ((error: Error) => void) | undefined;

  /** Keep statements prepared on the server, by their text. Default `false`. */
  readonly prepare?: boolean | undefined;
  /** How values reach JavaScript. */
  readonly parsers?: ParserOptions | undefined;
  /**
   * Defaults of every transaction. `attemptsMax`, `deadlineMs`, the pauses and `onRetry` also hold
   * for a single statement outside of one; it runs again only if it has had no effect.
   */
  readonly transaction?: Omit<TransactionOptions, 'signal'> | undefined;
  /**
   * Give each transaction that may write a commit token, so that the outcome of a COMMIT whose
   * connection was lost can be asked for. Default `true` on servers that know them (BraidDB).
   */
  readonly commitTokens?: boolean | undefined;
  /**
   * The trace that is going on, as W3C's `traceparent`: `00-<trace>-<span>-<flags>`. It is called
   * for each attempt of a transaction and each stream, and sent to a BraidDB server that has the
   * setting, in the same flight as BEGIN: `SET LOCAL traceparent = '…'`. The server's logs and
   * timelines then name it. Other servers get nothing. Undefined, and what has another form, is not
   * sent; what it throws fails the call. `traceparent` of `@braiddb/opentelemetry` is such a
   * function. Default: nothing is sent.
   */
  readonly traceparent?: (() => string | undefined) | undefined;
  /**
   * Send `traceparent` also in front of single statements, in the same flight. It costs the server
   * another statement each time. Only for statements that are a transaction of their own, such as
   * SELECT and INSERT. Default `false`.
   */
  readonly traceStatements?: boolean | undefined;
  /** Milliseconds to wait for an answer to COMMIT, ROLLBACK or a cancelled statement after an
   * abort, before the connection is thrown away. Default 5 000; 1 to 600 000. */
  readonly graceMs?: number | undefined;
  /** Clock, random numbers and pauses: for tests with a time of their own. */
  readonly scheduler?: Partial<Scheduler> | undefined;
}

/** The defaults and limits of all numbers, in one table. */
const NUMBERS = {
  acquireTimeoutMs: { initial: 30_000, min: 1, max: 600_000 },
  connectionsMax: { initial: 10, min: 1, max: 10_000 },
  connectTimeoutMs: { initial: 10_000, min: 1, max: 600_000 },
  graceMs: { initial: 5000, min: 1, max: 600_000 },
  idleTimeoutMs: { initial: 30_000, min: 0, max: 86_400_000 },
  lifetimeMs: { initial: 1_800_000, min: 0, max: 86_400_000 },
} as const satisfies Record<string, NumberRange>;

const PORT = { initial: 5432, min: 1, max: 65_535, isWhole: true };

const POOL_OPTIONS = [
  'connectionsMax',
  'connectTimeoutMs',
  'acquireTimeoutMs',
  'lifetimeMs',
  'hosts',
  'zone',
  'loadBalance',
  'password',
  'tls',
  'idleTimeoutMs',
  'applicationName',
  'onConnectionLost',
] as const;

/** A host as the options give it. */
export interface HostEntry {
  /** `host` or `host:port`. */
  readonly address: string;
  readonly zone: string | undefined;
}

/** Connect options with every default filled in. */
export interface Settings {
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  readonly acquireTimeoutMs: number;
  readonly lifetimeMs: number;
  readonly hosts: readonly HostEntry[];
  readonly zone: string | undefined;
  readonly loadBalance: 'ordered' | 'random';
  /** A function, so that no log of the settings shows a password. */
  readonly password: (() => string | Promise<string>) | undefined;
  readonly tls: boolean | TlsOptions | undefined;
  readonly idleTimeoutMs: number;
  readonly applicationName: string;
  readonly onConnectionLost: ((error: Error) => void) | undefined;
  readonly prepare: boolean;
  readonly parsers: ParserOptions;
  readonly transaction: TransactionSettings;
  readonly commitTokens: boolean;
  readonly traceparent: (() => string | undefined) | undefined;
  readonly traceStatements: boolean;
  readonly graceMs: number;
  readonly scheduler: Scheduler;
}

/** Checks connect options and fills in the defaults. */
export function readConnectOptions(options: ConnectOptions, ownPool: boolean): Settings {
  checkNames('options', options, [
    ...POOL_OPTIONS,
    ...['prepare', 'parsers', 'transaction', 'commitTokens', 'graceMs', 'scheduler'],
    ...['traceparent', 'traceStatements'],
  ]);
  if (!ownPool) {
    const useless = POOL_OPTIONS.find((name) => options[name] !== undefined);
    if (useless !== undefined) throw new OptionError(useless, 'set this on your own pool instead');
  }
  return {
    connectionsMax: number(options, 'connectionsMax'),
    connectTimeoutMs: number(options, 'connectTimeoutMs'),
    acquireTimeoutMs: number(options, 'acquireTimeoutMs'),
    lifetimeMs: number(options, 'lifetimeMs'),
    ...readHostOptions(options),
    loadBalance:
      choiceOption('loadBalance', options.loadBalance, ['ordered', 'random']) ?? 'ordered',
    password: readPassword(options.password),
    tls: readTls(options.tls),
    idleTimeoutMs: number(options, 'idleTimeoutMs'),
    applicationName: stringOption('applicationName', options.applicationName) ?? 'braiddb-sdk',
    onConnectionLost: functionOption('onConnectionLost', options.onConnectionLost),
    prepare: booleanOption('prepare', options.prepare) ?? false,
    parsers: readParserOptions(options.parsers ?? {}),
    transaction: readTransactionOptions(options.transaction ?? {}),
    commitTokens: booleanOption('commitTokens', options.commitTokens) ?? true,
    ...readTracing(options),
    graceMs: number(options, 'graceMs'),
    scheduler: readScheduler(options.scheduler ?? {}),
  };
}

function readTracing(options: ConnectOptions): Pick<Settings, 'traceparent' | 'traceStatements'> {
  const traceparent = functionOption('traceparent', options.traceparent);
  const traceStatements = booleanOption('traceStatements', options.traceStatements) ?? false;
  if (traceStatements && traceparent === undefined) {
    throw new OptionError('traceStatements', 'needs traceparent');
  }
  return { traceparent, traceStatements };
}

function readHostOptions({ hosts = [], zone }: ConnectOptions): Pick<Settings, 'hosts' | 'zone'> {
  if (!Array.isArray(hosts)) {
    throw new OptionError('hosts', 'must be an array of host:port, or of { host, port, zone }');
  }
  const read = hosts.map(readHost);
  zoneOption(zone);
  if (zone !== undefined && read.every((host) => host.zone === undefined)) {
    throw new OptionError('zone', 'needs hosts with zones: hosts: [{ host, port, zone }]');
  }
  return { hosts: read, zone };
}

function readHost(given: string | HostAddress): HostEntry {
  if (typeof given === 'string') return { address: given, zone: undefined };
  checkNames('hosts', given, ['host', 'port', 'zone']);
  const { host, port, zone } = given;
  zoneOption(zone);
  if (typeof (host as unknown) !== 'string') {
    throw new OptionError('hosts', 'each is host:port, or { host, port, zone }');
  }
  // The colons of an IPv6 address would be taken for that of a port.
  const name = isIPv6(host) ? `[${host}]` : host;
  const own = port === undefined ? '' : `:${numberOption('hosts.port', port, PORT)}`;
  return { address: `${name}${own}`, zone };
}

function zoneOption(zone: unknown): void {
  if (stringOption('zone', zone) === '') throw new OptionError('zone', 'must be a name');
}

function readParserOptions(options: ParserOptions): ParserOptions {
  checkNames('parsers', options, ['int8', 'numeric', 'date', 'timestamp', 'custom']);
  choiceOption('parsers.int8', options.int8, ['bigint', 'string', 'number']);
  choiceOption('parsers.numeric', options.numeric, ['string', 'number']);
  choiceOption('parsers.date', options.date, ['string', 'Date']);
  choiceOption('parsers.timestamp', options.timestamp, ['Date', 'string']);
  for (const [oid, parse] of Object.entries(options.custom ?? {})) {
    if (!/^\d+$/.test(oid)) {
      throw new OptionError('parsers.custom', `"${oid}" is not the number of a type`);
    }
    functionOption(`parsers.custom[${oid}]`, parse);
  }
  return options;
}

function readPassword(password: ConnectOptions['password']): Settings['password'] {
  if (typeof password === 'string') return () => password;
  if (password === undefined || typeof password === 'function') return password;
  throw new OptionError('password', 'must be a string, or a function that returns one');
}

function readTls(tls: ConnectOptions['tls']): ConnectOptions['tls'] {
  const isObject = typeof tls === 'object' && (tls as unknown) !== null;
  return isObject ? tls : booleanOption('tls', tls);
}

function readScheduler(options: Partial<Scheduler>): Scheduler {
  checkNames('scheduler', options, ['now', 'random', 'sleep']);
  for (const [name, value] of Object.entries(options)) functionOption(`scheduler.${name}`, value);
  return { ...systemScheduler, ...options };
}

function number<Name extends keyof typeof NUMBERS>(
  options: Readonly<Partial<Record<Name, number | undefined>>>,
  name: Name,
  initial?: number,
): number {
  return numberOption(name, options[name], NUMBERS[name], initial);
}
