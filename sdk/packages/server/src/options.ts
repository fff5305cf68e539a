/** The options of `startServer`: types, units, defaults, limits, and the checks at run time. */

import { resolve } from 'node:path';

import { findBinary } from './binary.js';
import { ServerOptionError } from './errors.js';

/** Options of {@link startServer}. */
export interface ServerOptions {
  /**
   * The data folder; it is made if it does not exist, and stays. Default: a new temporary folder,
   * which `close` removes.
   */
  readonly data?: string | undefined;
  /** The port for SQL on 127.0.0.1, 0 to 65 535. Default 0: a free one. */
  readonly port?: number | undefined;
  /** The port for `/health` and `/metrics` on 127.0.0.1, 0 to 65 535. Default 0: a free one. */
  readonly httpPort?: number | undefined;
  /** Further arguments of `braid start`, for example `['--cache-mib', '64']`. Default: none. */
  readonly args?: readonly string[] | undefined;
  /**
   * Environment variables of the server. Default: those of this process without `BRAID_…`, so that
   * settings of another server do not get into this one.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The server binary. Default: the result of {@link findBinary}. */
  readonly binary?: string | undefined;
  /** Milliseconds until the server must be ready. Default 30 000; 1 to 600 000. */
  readonly startTimeoutMs?: number | undefined;
  /**
   * Milliseconds that `close` waits for running statements, before it kills the server. Default
   * 15 000; 1 to 600 000.
   */
  readonly stopTimeoutMs?: number | undefined;
  /** Called with each line that the server logs. Default: the last 50 lines are kept for errors. */
  readonly onLog?: ((line: string) => void) | undefined;
  /** Ends a start that is under way; `startServer` rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Options with every default filled in. */
export interface ServerSettings {
  readonly binary: string;
  /** Undefined for a temporary folder. */
  readonly data: string | undefined;
  readonly port: number;
  readonly httpPort: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly startTimeoutMs: number;
  readonly stopTimeoutMs: number;
  readonly onLog: ((line: string) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The defaults and limits of all numbers, in one table. */
const NUMBERS = {
  port: { initial: 0, min: 0, max: 65_535 },
  httpPort: { initial: 0, min: 0, max: 65_535 },
  startTimeoutMs: { initial: 30_000, min: 1, max: 600_000 },
  stopTimeoutMs: { initial: 15_000, min: 1, max: 600_000 },
} as const;

/** What an option is checked for. */
type Check = (value: unknown) => boolean;

const isText: Check = (value) => isSendable(value) && value !== '';
/** A process takes no argument with a NUL character. */
const isSendable: Check = (value) => typeof value === 'string' && !value.includes('\0');
const CHECKS: Readonly<Record<string, readonly [Check, string]>> = {
  data: [isText, 'must be a path'],
  binary: [isText, 'must be a path'],
  args: [
    (value) => Array.isArray(value) && value.every(isSendable),
    'must be an array of strings without NUL characters',
  ],
  env: [(value) => typeof value === 'object' && value !== null, 'must be an object'],
  onLog: [(value) => typeof value === 'function', 'must be a function'],
  signal: [(value) => value instanceof AbortSignal, 'must be an AbortSignal'],
};

/** Checks the options and fills in the defaults. */
export function readServerOptions(options: ServerOptions): ServerSettings {
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null) {
    throw new ServerOptionError('options', 'must be an object');
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (Object.hasOwn(NUMBERS, name)) continue;
    const [check, message] = CHECKS[name] ?? [() => false, 'is not known'];
    if (!check(value)) throw new ServerOptionError(name, message);
  }
  const { data, args = [], onLog, signal } = options;
  return {
    binary: options.binary ?? findBinary(),
    data: data === undefined ? undefined : resolve(data),
    port: number(options, 'port'),
    httpPort: number(options, 'httpPort'),
    args: [...args],
    env: options.env ?? ownEnvironment(),
    startTimeoutMs: number(options, 'startTimeoutMs'),
    stopTimeoutMs: number(options, 'stopTimeoutMs'),
    ...{ onLog, signal },
  };
}

function number(options: ServerOptions, name: keyof typeof NUMBERS): number {
  const { initial, min, max } = NUMBERS[name];
  const value: unknown = options[name] ?? initial;
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    throw new ServerOptionError(name, `must be a whole number from ${min} to ${max}`);
  }
  return value as number;
}

function ownEnvironment(): Record<string, string | undefined> {
  const names = Object.keys(process.env).filter((name) => !name.startsWith('BRAID_'));
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
