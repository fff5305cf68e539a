/**
 * Options of transactions, statements, streams and `close`: type, unit, default and limits. Those of
 * `connect` are in `connect.ts`.
 *
 * A wrong option is an `OptionError` at once, not a surprise later. Unknown names are refused
 * too: a misspelt option is worse than none.
 */

import type { NumberRange } from './checks.js';
import {
  booleanOption,
  checkNames,
  choiceOption,
  functionOption,
  numberOption,
  signalOption,
} from './checks.js';

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
  backoffBaseMs: { initial: 10, min: 0, max: 60_000 },
  backoffMaxMs: { initial: 1000, min: 0, max: 600_000 },
  deadlineMs: { initial: 30_000, min: 1, max: 86_400_000 },
  timeoutMs: { initial: 86_400_000, min: 0, max: 86_400_000 },
} as const satisfies Record<string, NumberRange>;

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

/** Checks the options of `close`: milliseconds, undefined for as long as it takes. */
export function readCloseOptions(options: CloseOptions): number | undefined {
  checkNames('close', options, ['timeoutMs']);
  return options.timeoutMs === undefined ? undefined : number(options, 'timeoutMs');
}

function number<Name extends keyof typeof NUMBERS>(
  options: Readonly<Partial<Record<Name, number | undefined>>>,
  name: Name,
  initial?: number,
): number {
  return numberOption(name, options[name], NUMBERS[name], initial);
}
