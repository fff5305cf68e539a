/**
 * Options of `connect`, transactions, statements, streams and `close`: type, unit, default and limits.
 *
 * A wrong option is an {@link OptionError} at once, not a surprise later. Unknown names are refused
 * too: a misspelt option is worse than none.
 */

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
  signalOption,
  stringOption,
  stringsOption,
} from './checks.js';

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

/** How far a transaction is kept apart from others. `'server'` leaves it to the server. */
export type Isolation = 'serializable' | 'repeatable read' | 'read committed' | 'server';

/** What `onRetry` is told. */
export interface RetryEvent {
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  /** Milliseconds since the first attempt began. */
  readonly elapsedMs: number;
  /** Why it failed. */
  readonly error: unknown;
  /**
   * How the next attempt begins: from the restart savepoint, with the locks of this one (BraidDB,
   * CockroachDB), or from BEGIN.
   */
  readonly from: 'savepoint' | 'begin';
}

/** Options of `db.transaction`. */
export interface TransactionOptions {
  /** Default `'serializable'`, on every server. */
  readonly isolation?: Isolation | undefined;
  /** Default `false`. Read-only transactions are told so to the server. */
  readonly readOnly?: boolean | undefined;
  /**
   * How often the function is run at most. Default 10; 1 to 1000; 1 means no retry. Where no
   * connection can be made the function is not run: only the deadline ends that.
   */
  readonly attemptsMax?: number | undefined;
  /**
   * Milliseconds for all attempts and pauses together; 1 to 86 400 000. Default: the first attempt
   * takes as long as it takes, and 30 000 ms after its start nothing is run again.
   */
  readonly deadlineMs?: number | undefined;
  /** Upper bound of the first pause in milliseconds; doubled each time. Default 10; 0 to 60 000.
   * Where the next attempt keeps its locks (see {@link RetryEvent.from}) the first three have none. */
  readonly backoffBaseMs?: number | undefined;
  /** No pause is longer, in milliseconds. Default 1 000; 0 to 600 000. */
  readonly backoffMaxMs?: number | undefined;
  /** Called before each pause. If it throws, the transaction fails with what it threw. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
  /** Cancels the running statement and ends the transaction; COMMIT itself is not cancelled. */
  readonly signal?: AbortSignal | undefined;
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
   * More hosts of the same database, each `host` or `host:port`, after those of the URL. A URL may
   * name several as well: `postgresql://user@a:26257,b:26257/db`. A host that cannot be reached is
   * avoided for five seconds. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Which host a connection goes to: the first that is there, or any. Default `'ordered'`. */
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
  /** Milliseconds to wait for an answer to COMMIT, ROLLBACK or a cancelled statement after an
   * abort, before the connection is thrown away. Default 5 000; 1 to 600 000. */
  readonly graceMs?: number | undefined;
  /** Clock, random numbers and pauses: for tests with a time of their own. */
  readonly scheduler?: Partial<Scheduler> | undefined;
}

/** Options of one statement, or of a handle made by `with`. */
export interface QueryOptions {
  /** Cancels the statement on the server; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `db.close`. */
export interface CloseOptions {
  /**
   * Milliseconds to wait for what is running. Then connections are cut, and what is left fails with
   * a {@link ClosedError}. Default: as long as it takes; 0 to 86 400 000.
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of `db.stream`. */
export interface StreamOptions extends QueryOptions {
  /** Rows of one batch: the most that are held here at once. Default 1 000; 1 to 100 000. */
  readonly batchRows?: number | undefined;
}

/** The defaults and limits of all numbers, in one table. */
const NUMBERS = {
  attemptsMax: { initial: 10, min: 1, max: 1000 },
  batchRows: { initial: 1000, min: 1, max: 100_000, isWhole: true },
  acquireTimeoutMs: { initial: 30_000, min: 1, max: 600_000 },
  backoffBaseMs: { initial: 10, min: 0, max: 60_000 },
  backoffMaxMs: { initial: 1000, min: 0, max: 600_000 },
  connectionsMax: { initial: 10, min: 1, max: 10_000 },
  connectTimeoutMs: { initial: 10_000, min: 1, max: 600_000 },
  deadlineMs: { initial: 30_000, min: 1, max: 86_400_000 },
  graceMs: { initial: 5000, min: 1, max: 600_000 },
  idleTimeoutMs: { initial: 30_000, min: 0, max: 86_400_000 },
  lifetimeMs: { initial: 1_800_000, min: 0, max: 86_400_000 },
  timeoutMs: { initial: 86_400_000, min: 0, max: 86_400_000 },
} as const satisfies Record<string, NumberRange>;

const POOL_OPTIONS = [
  'connectionsMax',
  'connectTimeoutMs',
  'acquireTimeoutMs',
  'lifetimeMs',
  'hosts',
  'loadBalance',
  'password',
  'tls',
  'idleTimeoutMs',
  'applicationName',
  'onConnectionLost',
] as const;

/** Transaction options with every default filled in. */
export interface TransactionSettings {
  readonly isolation: Isolation;
  readonly readOnly: boolean;
  readonly attemptsMax: number;
  readonly deadlineMs: number;
  /** The deadline was asked for, so that it ends the first attempt as well. */
  readonly deadlineGiven: boolean;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  readonly onRetry: ((event: RetryEvent) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Connect options with every default filled in. */
export interface Settings {
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  readonly acquireTimeoutMs: number;
  readonly lifetimeMs: number;
  readonly hosts: readonly string[] | undefined;
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
  readonly graceMs: number;
  readonly scheduler: Scheduler;
}

/** Checks connect options and fills in the defaults. */
export function readConnectOptions(options: ConnectOptions, ownPool: boolean): Settings {
  checkNames('options', options, [
    ...POOL_OPTIONS,
    ...['prepare', 'parsers', 'transaction', 'commitTokens', 'graceMs', 'scheduler'],
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
    hosts: stringsOption('hosts', options.hosts),
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
    graceMs: number(options, 'graceMs'),
    scheduler: readScheduler(options.scheduler ?? {}),
  };
}

/** Checks transaction options and fills in the defaults. */
export function readTransactionOptions(
  options: TransactionOptions,
  defaults?: TransactionSettings,
): TransactionSettings {
  checkNames('transaction', options, [
    ...['isolation', 'readOnly', 'attemptsMax', 'deadlineMs', 'backoffBaseMs', 'backoffMaxMs'],
    ...['onRetry', 'signal'],
  ]);
  const isolations = ['serializable', 'repeatable read', 'read committed', 'server'] as const;
  return {
    isolation:
      choiceOption('isolation', options.isolation, isolations) ??
      defaults?.isolation ??
      'serializable',
    readOnly: booleanOption('readOnly', options.readOnly) ?? defaults?.readOnly ?? false,
    attemptsMax: number(options, 'attemptsMax', defaults?.attemptsMax),
    deadlineMs: number(options, 'deadlineMs', defaults?.deadlineMs),
    deadlineGiven: options.deadlineMs !== undefined || defaults?.deadlineGiven === true,
    backoffBaseMs: number(options, 'backoffBaseMs', defaults?.backoffBaseMs),
    backoffMaxMs: number(options, 'backoffMaxMs', defaults?.backoffMaxMs),
    onRetry: functionOption('onRetry', options.onRetry) ?? defaults?.onRetry,
    signal: signalOption(options.signal) ?? defaults?.signal,
  };
}

/** Checks the options of a statement. */
export function readQueryOptions(options: QueryOptions): QueryOptions {
  checkNames('query', options, ['signal']);
  return Object.freeze({ signal: signalOption(options.signal) });
}

/** The options of a handle with those of a call laid over them; signals add up. */
export function joinOptions(bound: QueryOptions, options: QueryOptions): QueryOptions {
  if (options.signal === undefined) return bound;
  const signals = [bound.signal, options.signal].filter((signal) => signal !== undefined);
  if (signals.length < 2) return { signal: signals[0] };
  return { signal: AbortSignal.any(signals) };
}

/** Checks the options of a stream; `batchRows` gets its default. */
export function readStreamOptions(
  options: StreamOptions,
): QueryOptions & { readonly batchRows: number } {
  checkNames('stream', options, ['signal', 'batchRows']);
  const batchRows = number(options, 'batchRows');
  return Object.freeze({ signal: signalOption(options.signal), batchRows });
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

/** Checks the options of `close`: milliseconds, undefined for as long as it takes. */
export function readCloseOptions(options: CloseOptions): number | undefined {
  checkNames('close', options, ['timeoutMs']);
  return options.timeoutMs === undefined ? undefined : number(options, 'timeoutMs');
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
