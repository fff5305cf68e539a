/**
 * The options of a batcher: type, unit, default and limits of each.
 */

import { OptionError } from '../errors.js';
import {
  booleanOption,
  checkNames,
  choiceOption,
  functionOption,
  numberOption,
  stringsOption,
} from './checks.js';

/** What a batcher does with its rows. */
export type BatchMode = 'insert' | 'upsert' | 'delete';

/** A batch that was answered: what `onBatch` and the channel `braiddb:batch` are told. */
export interface BatchEvent {
  readonly table: string;
  readonly mode: BatchMode;
  /** Rows in the batch. */
  readonly rows: number;
  /** Their size on the wire in bytes, roughly. */
  readonly bytes: number;
  /** Milliseconds from sending to the answer, retries and halving included. */
  readonly durationMs: number;
  /** Statements that it took: more than 1 after retries or where bad rows were looked for. */
  readonly statements: number;
  /** Rows that were refused. */
  readonly rejected: number;
}

/** The batcher has chosen another setting: `onAdapt` and the channel `braiddb:adapt`. */
export interface AdaptEvent {
  readonly table: string;
  /** Rows of a full batch from now on. */
  readonly rows: number;
  /** Statements in flight from now on. */
  readonly inFlight: number;
  /** Rows a second measured with the setting before. */
  readonly rowsPerSecond: number;
  /** `trial`: to see whether it is better. `keep`: it was. `back`: it was not. */
  readonly reason: 'trial' | 'keep' | 'back';
}

/** Options of `db.batcher`. */
export interface BatcherOptions {
  /** Default `'insert'`. */
  readonly mode?: BatchMode | undefined;
  /** Insert only. `'error'` (default) refuses a row whose key exists, `'nothing'` drops it. */
  readonly onConflict?: 'error' | 'nothing' | undefined;
  /** The columns that identify a row. Default: the table's primary key. */
  readonly key?: readonly string[] | undefined;
  /** Rows of one statement at most. Default 4 096; 1 to 100 000. */
  readonly rowsMax?: number | undefined;
  /** Bytes of one statement at most, roughly; a larger row goes alone. Default 1 MiB; 1 KiB to 64 MiB. */
  readonly bytesMax?: number | undefined;
  /**
   * Milliseconds that a row waits for company although a statement could be sent. Default 0: rows
   * of one turn of the event loop, and those that come while statements are in flight, go
   * together. 0 to 60 000.
   */
  readonly delayMs?: number | undefined;
  /** Statements in flight at most; each takes a connection. Default 4; 1 to 64. */
  readonly inFlightMax?: number | undefined;
  /**
   * Look for the batch size and the number of statements in flight with the best throughput, up to
   * `rowsMax` and `inFlightMax`. Default `true`; `false` uses the two as they are.
   */
  readonly adaptive?: boolean | undefined;
  /**
   * Rows that may wait before `add` does. An `add` that is not awaited fails when twenty times as
   * many wait. Default 50 000; 1 to 10 000 000.
   */
  readonly waitingRowsMax?: number | undefined;
  /** Bytes that may wait before `add` does. Default 64 MiB; 1 KiB to 4 GiB. */
  readonly waitingBytesMax?: number | undefined;
  /** How often a batch is sent at most: again after retry errors, or after a lost connection when
   * it is known that nothing was stored. Default 20; 1 to 1000. */
  readonly attemptsMax?: number | undefined;
  /** Milliseconds for all attempts of a batch. Default 30 000; 1 to 86 400 000. */
  readonly deadlineMs?: number | undefined;
  /** Called after each batch. */
  readonly onBatch?: ((event: BatchEvent) => void) | undefined;
  /** Called when the batcher changes its setting. */
  readonly onAdapt?: ((event: AdaptEvent) => void) | undefined;
}

/** Batcher options with every default filled in. */
export interface BatcherSettings {
  readonly mode: BatchMode;
  readonly onConflict: 'error' | 'nothing';
  readonly key: readonly string[] | undefined;
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly delayMs: number;
  readonly inFlightMax: number;
  readonly adaptive: boolean;
  readonly waitingRowsMax: number;
  readonly waitingBytesMax: number;
  readonly attemptsMax: number;
  readonly deadlineMs: number;
  readonly onBatch: ((event: BatchEvent) => void) | undefined;
  readonly onAdapt: ((event: AdaptEvent) => void) | undefined;
}

const MIB = 1024 * 1024;

/** Defaults and limits of all numbers, in one table. */
const NUMBERS = {
  rowsMax: { initial: 4096, min: 1, max: 100_000 },
  bytesMax: { initial: MIB, min: 1024, max: 64 * MIB },
  delayMs: { initial: 0, min: 0, max: 60_000 },
  inFlightMax: { initial: 4, min: 1, max: 64 },
  waitingRowsMax: { initial: 50_000, min: 1, max: 10_000_000 },
  waitingBytesMax: { initial: 64 * MIB, min: 1024, max: 4096 * MIB },
  attemptsMax: { initial: 20, min: 1, max: 1000 },
  deadlineMs: { initial: 30_000, min: 1, max: 86_400_000 },
} as const;

const KNOWN = [
  ...['mode', 'onConflict', 'key', 'adaptive', 'onBatch', 'onAdapt'],
  ...Object.keys(NUMBERS),
];

/** Checks batcher options and fills in the defaults. */
export function readBatcherOptions(options: BatcherOptions): BatcherSettings {
  checkNames('batcher', options, KNOWN);
  const mode = choiceOption('mode', options.mode, ['insert', 'upsert', 'delete']) ?? 'insert';
  const onConflict =
    choiceOption('onConflict', options.onConflict, ['error', 'nothing']) ?? 'error';
  if (onConflict === 'nothing' && mode !== 'insert') {
    throw new OptionError('onConflict', 'is for mode "insert" only');
  }
  const whole = (name: keyof typeof NUMBERS): number => {
    return numberOption(name, options[name], { ...NUMBERS[name], isWhole: true });
  };
  return {
    mode,
    onConflict,
    key: readKey(options.key),
    rowsMax: whole('rowsMax'),
    bytesMax: whole('bytesMax'),
    delayMs: whole('delayMs'),
    inFlightMax: whole('inFlightMax'),
    adaptive: booleanOption('adaptive', options.adaptive) ?? true,
    waitingRowsMax: whole('waitingRowsMax'),
    waitingBytesMax: whole('waitingBytesMax'),
    attemptsMax: whole('attemptsMax'),
    deadlineMs: whole('deadlineMs'),
    onBatch: functionOption('onBatch', options.onBatch),
    onAdapt: functionOption('onAdapt', options.onAdapt),
  };
}

function readKey(key: readonly string[] | undefined): readonly string[] | undefined {
  const names = stringsOption('key', key);
  if (names?.length === 0) throw new OptionError('key', 'must have one or more column names');
  return names === undefined ? undefined : [...names];
}
