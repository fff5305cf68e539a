/**
 * What `db.listen` yields, and its options.
 */

import type { LazyIterator } from '../copy/lazy-iterator.js';
import { checkNames, functionOption, numberOption, signalOption } from '../options/checks.js';
import type { QueryOptions } from '../options/index.js';

/** A notification that somebody has sent. */
export interface Notification {
  readonly channel: string;
  /** The text that was sent; empty if there was none. */
  readonly payload: string;
  /** The number of the session that has sent it. */
  readonly processId: number;
  readonly gap?: undefined;
}

/** Notifications before this moment may have been lost: read again what they are about. */
export interface ListenGap {
  /**
   * `reconnected`: the connection was lost, and the channels are listened to again. `overflow`: more
   * than `bufferMax` notifications waited, so the oldest were dropped.
   */
  readonly gap: 'reconnected' | 'overflow';
  /** How many notifications were dropped; undefined after a lost connection. */
  readonly dropped: number | undefined;
  /** What ended the connection; undefined after an overflow. */
  readonly error: unknown;
  readonly channel?: undefined;
  readonly payload?: undefined;
  readonly processId?: undefined;
}

/** Notifications as they come: read with `for await`. */
export type NotificationStream<Item> = LazyIterator<Item>;

/** Options of `db.listen`. */
export interface ListenOptions extends QueryOptions {
  /**
   * Notifications that wait for the reader at most; the oldest are dropped, with a
   * {@link ListenGap}. Default 10 000; 1 to 1 000 000.
   */
  readonly bufferMax?: number | undefined;
  /** Gets each {@link ListenGap}; the loop then sees notifications only. Default: it sees both. */
  readonly onGap?: ((gap: ListenGap) => void) | undefined;
  /** Called each time the server has begun to listen: notifications sent from then on arrive. */
  readonly onListening?: (() => void) | undefined;
}

/** Listen options with every default filled in. */
export interface ListenSettings {
  readonly signal: AbortSignal | undefined;
  readonly bufferMax: number;
  readonly onGap: ((gap: ListenGap) => void) | undefined;
  readonly onListening: (() => void) | undefined;
}

const BUFFER = { initial: 10_000, min: 1, max: 1_000_000, isWhole: true };

/** Checks listen options and fills in the defaults. */
export function readListenOptions(options: ListenOptions): ListenSettings {
  checkNames('listen', options, ['signal', 'bufferMax', 'onGap', 'onListening']);
  return {
    signal: signalOption(options.signal),
    bufferMax: numberOption('bufferMax', options.bufferMax, BUFFER),
    onGap: functionOption('onGap', options.onGap),
    onListening: functionOption('onListening', options.onListening),
  };
}
