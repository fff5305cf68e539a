/**
 * Every option: its type, unit, default and limits, and the checks at run time. A wrong option is
 * an `OptionError` of the SDK.
 */

import type { Isolation } from '@braiddb/sdk';
import { OptionError } from '@braiddb/sdk';

/** Settings of one queue: all programs that use it should give the same ones. */
export interface QueueSettings {
  /** How often a job is tried before it goes to the dead letters. Default 10; 1 to 10 000. */
  readonly maxAttempts?: number | undefined;
  /** The first pause after a failure in milliseconds; doubled each time. Default 1 000; 0 to a day. */
  readonly backoffBaseMs?: number | undefined;
  /** No pause is longer, in milliseconds. Default 3 600 000, an hour; 0 to 30 days. */
  readonly backoffMaxMs?: number | undefined;
  /**
   * Jobs of one `concurrencyKey` that run at the same time at most, all workers together. Default:
   * jobs of this queue have no such key; 1 to 10 000.
   */
  readonly perKeyMax?: number | undefined;
  /**
   * Milliseconds for which finished jobs stay in the history. Default 604 800 000, a week; 0 keeps
   * no history; up to ten years.
   */
  readonly keepMs?: number | undefined;
  /**
   * Milliseconds from its enqueue for which the `key` of a finished job still refuses a second one.
   * Default 604 800 000, a week; 1 000 to ten years.
   */
  readonly keepKeysMs?: number | undefined;
}

/** Options of `openQueue`. */
export interface QueueOptions<Payloads extends object> {
  /** The queues, by name, with their settings. */
  readonly queues: { readonly [Name in keyof Payloads]: QueueSettings };
  /** The schema of the tables. Default `'braid_queue'`. */
  readonly schema?: string | undefined;
  /**
   * Milliseconds between two looks into a queue that nobody has announced jobs of. Default 1 000;
   * 10 to 3 600 000.
   */
  readonly pollMs?: number | undefined;
  /** Whether new jobs are announced and listened for by NOTIFY and LISTEN. Default `true`. */
  readonly listen?: boolean | undefined;
  /** Milliseconds between two rounds of upkeep, such as retention. Default 60 000; 100 to a day. */
  readonly upkeepMs?: number | undefined;
  /** Called with each error that a worker survives. Default: only the channels report them. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** The time in milliseconds since 1970 that cron goes by: for tests. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Options of one job. */
export interface EnqueueOptions {
  /** A second job of the same key is not enqueued: its id is that of the first. */
  readonly key?: string | undefined;
  /** Of the jobs with the same key, at most `perKeyMax` run at the same time. */
  readonly concurrencyKey?: string | undefined;
  /** Smaller numbers come first. Default 0; -1 000 000 to 1 000 000. */
  readonly priority?: number | undefined;
  /** When it may run at the earliest. Default: at once. */
  readonly runAt?: Date | undefined;
  /** The same as milliseconds from now, by the clock of the server; 0 to ten years. */
  readonly delayMs?: number | undefined;
  /** Default: that of the queue. */
  readonly maxAttempts?: number | undefined;
}

/** Options of `work`, and of its sisters. */
export interface WorkOptions {
  /** Handlers that run at the same time in this worker. Default 4; 1 to 1 000. */
  readonly concurrency?: number | undefined;
  /**
   * Milliseconds after which a job comes back whose worker is not heard of any more. Default 30 000;
   * 100 to 86 400 000.
   */
  readonly leaseMs?: number | undefined;
  /** Milliseconds that a handler may take. Default 900 000, a quarter of an hour; 1 to 7 days. */
  readonly timeoutMs?: number | undefined;
  /** The isolation of the handler's transaction. Default: that of `connect`. */
  readonly isolation?: Isolation | undefined;
}

/** Options of `workBatch`. */
export interface BatchWorkOptions extends WorkOptions {
  /** Jobs of one call at most. Default 100; 1 to 10 000. */
  readonly batchMax?: number | undefined;
}

/** Options of `cron`. */
export interface CronOptions {
  /** The time zone of the pattern, for example `Europe/Vienna`. Default `UTC`. */
  readonly timeZone?: string | undefined;
  /** After a time without programs: one job for all missed times, or none. Default `'once'`. */
  readonly missed?: 'once' | 'skip' | undefined;
  readonly priority?: number | undefined;
  readonly concurrencyKey?: string | undefined;
  readonly maxAttempts?: number | undefined;
}

/** Options of `close`. */
export interface CloseQueueOptions {
  /**
   * Milliseconds to wait for running handlers. Then their signals abort, and their jobs go back to
   * the queue. Default: as long as they take; 0 to 86 400 000.
   */
  readonly timeoutMs?: number | undefined;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const TEN_YEARS_MS = 3_653 * DAY_MS;

interface Range {
  readonly initial: number;
  readonly min: number;
  readonly max: number;
}

/** The defaults and limits of all numbers, in one table. */
const NUMBERS = {
  maxAttempts: { initial: 10, min: 1, max: 10_000 },
  backoffBaseMs: { initial: 1_000, min: 0, max: DAY_MS },
  backoffMaxMs: { initial: 3_600_000, min: 0, max: 30 * DAY_MS },
  perKeyMax: { initial: 1, min: 1, max: 10_000 },
  keepMs: { initial: WEEK_MS, min: 0, max: TEN_YEARS_MS },
  keepKeysMs: { initial: WEEK_MS, min: 1_000, max: TEN_YEARS_MS },
  pollMs: { initial: 1_000, min: 10, max: 3_600_000 },
  upkeepMs: { initial: 60_000, min: 100, max: DAY_MS },
  priority: { initial: 0, min: -1_000_000, max: 1_000_000 },
  delayMs: { initial: 0, min: 0, max: TEN_YEARS_MS },
  concurrency: { initial: 4, min: 1, max: 1_000 },
  leaseMs: { initial: 30_000, min: 100, max: DAY_MS },
  timeoutMs: { initial: 900_000, min: 1, max: 7 * DAY_MS },
  batchMax: { initial: 100, min: 1, max: 10_000 },
  limit: { initial: 100, min: 1, max: 1_000_000 },
} as const satisfies Record<string, Range>;

const ISOLATIONS = ['serializable', 'repeatable read', 'read committed', 'server'];

/** Characters of names and keys at most: all of them are part of an index. */
const NAME_MAX = 500;

/** The settings of a queue with every default filled in. */
export type Settings = {
  readonly [Name in keyof Required<QueueSettings>]: Name extends 'perKeyMax'
    ? number | undefined
    : number;
};

/** Checks the settings of a queue. */
export function readSettings(name: string, given: QueueSettings): Settings {
  checkText('queues', name);
  checkNames(given, [
    ...['maxAttempts', 'backoffBaseMs', 'backoffMaxMs', 'perKeyMax', 'keepMs', 'keepKeysMs'],
  ]);
  return {
    maxAttempts: number(given, 'maxAttempts'),
    backoffBaseMs: number(given, 'backoffBaseMs'),
    backoffMaxMs: number(given, 'backoffMaxMs'),
    perKeyMax: given.perKeyMax === undefined ? undefined : number(given, 'perKeyMax'),
    keepMs: number(given, 'keepMs'),
    keepKeysMs: number(given, 'keepKeysMs'),
  };
}

/** The options of `openQueue` with every default filled in. */
export interface OpenSettings {
  readonly queues: ReadonlyMap<string, Settings>;
  readonly schema: string;
  readonly pollMs: number;
  readonly upkeepMs: number;
  readonly listen: boolean;
  readonly onError: ((error: unknown) => void) | undefined;
  readonly now: () => number;
}

/** Checks the options of `openQueue`. */
export function readQueueOptions(options: QueueOptions<object>): OpenSettings {
  checkNames(options, ['queues', 'schema', 'pollMs', 'upkeepMs', 'listen', 'onError', 'now']);
  const { queues, schema = 'braid_queue', listen = true, onError, now = Date.now } = options;
  const isObject = typeof (queues as unknown) === 'object' && (queues as unknown) !== null;
  if (!isObject || Object.keys(queues).length === 0) {
    throw new OptionError('queues', 'must be an object with at least one queue');
  }
  const entries = Object.entries(queues) as [string, QueueSettings][];
  const read = entries.map(([name, one]): [string, Settings] => [name, readSettings(name, one)]);
  checkText('schema', schema);
  if (Buffer.byteLength(schema) > 60) throw new OptionError('schema', 'has at most 60 bytes');
  if (typeof (listen as unknown) !== 'boolean') {
    throw new OptionError('listen', 'must be true or false');
  }
  checkFunction('onError', onError);
  checkFunction('now', now);
  const times = { pollMs: number(options, 'pollMs'), upkeepMs: number(options, 'upkeepMs') };
  return { queues: new Map(read), schema, ...times, listen, onError, now };
}

/** The options of a job with every default filled in. */
export interface JobSettings {
  readonly key: string | null;
  readonly concurrencyKey: string | null;
  readonly priority: number;
  readonly runAt: Date | null;
  readonly delayMs: number;
  readonly maxAttempts: number;
}

/** Checks the options of a job; further names in `known` are of the caller. */
export function readEnqueueOptions(
  options: EnqueueOptions,
  settings: Settings,
  known: readonly string[] = [],
): JobSettings {
  const own = ['key', 'concurrencyKey', 'priority', 'runAt', 'delayMs', 'maxAttempts'];
  checkNames(options, [...own, ...known]);
  const { key, concurrencyKey, runAt } = options;
  if (key !== undefined) checkText('key', key);
  if (concurrencyKey !== undefined) {
    checkText('concurrencyKey', concurrencyKey);
    if (settings.perKeyMax === undefined) {
      throw new OptionError('concurrencyKey', 'needs perKeyMax in the settings of the queue');
    }
  }
  if (runAt !== undefined) {
    if (!((runAt as unknown) instanceof Date) || Number.isNaN(runAt.getTime())) {
      throw new OptionError('runAt', 'must be a valid Date');
    }
    if (options.delayMs !== undefined) {
      throw new OptionError('delayMs', 'cannot be given beside runAt');
    }
  }
  return {
    key: key ?? null,
    concurrencyKey: concurrencyKey ?? null,
    priority: number(options, 'priority', 0, true),
    runAt: runAt ?? null,
    delayMs: number(options, 'delayMs'),
    maxAttempts: number(options, 'maxAttempts', settings.maxAttempts, true),
  };
}

/** The options of a worker with every default filled in. */
export interface WorkSettings {
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly timeoutMs: number;
  readonly batchMax: number;
  readonly isolation: Isolation | undefined;
}

/** Checks the options of a worker. */
export function readWorkOptions(options: BatchWorkOptions, isBatch: boolean): WorkSettings {
  const batch = isBatch ? ['batchMax'] : [];
  checkNames(options, ['concurrency', 'leaseMs', 'timeoutMs', 'isolation', ...batch]);
  const { isolation } = options;
  if (isolation !== undefined && !ISOLATIONS.includes(isolation)) {
    throw new OptionError('isolation', `must be one of ${ISOLATIONS.join(', ')}`);
  }
  return {
    concurrency: number(options, 'concurrency', undefined, true),
    leaseMs: number(options, 'leaseMs'),
    timeoutMs: number(options, 'timeoutMs'),
    batchMax: isBatch ? number(options, 'batchMax', undefined, true) : 1,
    isolation,
  };
}

/** Checks the options of `close`; undefined for as long as it takes. */
export function readCloseOptions(options: CloseQueueOptions): number | undefined {
  checkNames(options, ['timeoutMs']);
  const { timeoutMs } = options;
  return timeoutMs === undefined || timeoutMs === 0 ? timeoutMs : number(options, 'timeoutMs');
}

/** Checks a number of rows. */
export function readLimit(limit: number | undefined, initial?: number): number {
  return number({ limit }, 'limit', initial, true);
}

/** Refuses names and keys that are empty, too long, or no text of UTF-8. */
export function checkText(option: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '' || value.length > NAME_MAX) {
    throw new OptionError(option, `must be a text of 1 to ${NAME_MAX} characters`);
  }
  if (!value.isWellFormed() || value.includes('\0')) {
    throw new OptionError(option, 'has a NUL character or half a surrogate pair');
  }
}

/** Refuses options that are not known. */
export function checkNames(options: object, known: readonly string[]): void {
  if (typeof (options as unknown) !== 'object' || (options as unknown) === null) {
    throw new OptionError('options', 'must be an object');
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new OptionError(unknown, `is not known; known are ${known.join(', ')}`);
  }
}

/** Refuses what is not a function. */
export function checkFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') {
    throw new OptionError(option, 'must be a function');
  }
}

function number<Name extends keyof typeof NUMBERS>(
  options: Readonly<Partial<Record<Name, number | undefined>>>,
  name: Name,
  initial?: number,
  isWhole = false,
): number {
  const range: Range = NUMBERS[name];
  const value: unknown = options[name] ?? initial ?? range.initial;
  const isRight = isWhole ? Number.isSafeInteger(value) : typeof value === 'number';
  const given = value as number;
  if (!isRight || !(given >= range.min && given <= range.max)) {
    const what = isWhole ? 'a whole number' : 'a number';
    throw new OptionError(name, `must be ${what} from ${range.min} to ${range.max}`);
  }
  return given;
}
