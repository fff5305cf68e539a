/**
 * What the connections of a round have done. Only what ends after the warm-up is measured; for the
 * checks of the data everything counts.
 */

import { quantile } from '../sides.js';
import type { Kind } from './mix.js';
import { KINDS } from './mix.js';

/** The errors after which a transaction runs again. */
const RETRYABLE = ['40001', '40P01'] as const;

/** One of them. */
export type RetryCode = (typeof RETRYABLE)[number];

/** The code of an error after which a transaction runs again; undefined for any other error. */
export function retryCode(error: unknown): RetryCode | undefined {
  const { code } = error as { code?: unknown };
  return RETRYABLE.find((one) => one === code);
}

/** What a kind of transaction has done in a round. */
export interface KindResult {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly retries: Readonly<Record<RetryCode, number>>;
}

/** What one round has found on one server. */
export interface RoundResult {
  readonly newOrdersPerMinute: number;
  readonly transactionsPerSecond: number;
  /** The client's processor time by the time of the round: with 1 it fills a core. */
  readonly clientLoad: number;
  /** New orders that name a missing item, and are rolled back as they have to be. */
  readonly rolledBack: number;
  readonly kinds: Readonly<Record<Kind, KindResult>>;
}

/** Everything that has been committed since the tables were filled. */
export interface Committed {
  newOrders: number;
  payments: number;
}

const ofEach = <T>(make: () => T): Record<Kind, T> => {
  return Object.fromEntries(KINDS.map((kind) => [kind, make()])) as Record<Kind, T>;
};

/** Counts a round. */
export class Tally {
  readonly #startMs: number;
  readonly #endMs: number;
  readonly #committed: Committed;
  readonly #latencies = ofEach<number[]>(() => []);
  readonly #retries = ofEach<Record<RetryCode, number>>(() => ({ '40001': 0, '40P01': 0 }));
  #rolledBack = 0;

  /** Measures between two moments. */
  constructor(startMs: number, endMs: number, committed: Committed) {
    this.#startMs = startMs;
    this.#endMs = endMs;
    this.#committed = committed;
  }

  retried(kind: Kind, code: RetryCode): void {
    if (this.#counts()) this.#retries[kind][code] += 1;
  }

  /** A transaction has ended, `tookMs` after its first try began. */
  ended(kind: Kind, isCommitted: boolean, tookMs: number): void {
    if (isCommitted && kind === 'new order') this.#committed.newOrders += 1;
    if (isCommitted && kind === 'payment') this.#committed.payments += 1;
    if (!this.#counts()) return;
    if (isCommitted) this.#latencies[kind].push(tookMs);
    else this.#rolledBack += 1;
  }

  #counts(): boolean {
    const nowMs = performance.now();
    return nowMs > this.#startMs && nowMs <= this.#endMs;
  }

  result(clientLoad: number): RoundResult {
    const seconds = (this.#endMs - this.#startMs) / 1000;
    const count = KINDS.reduce((sum, kind) => sum + this.#latencies[kind].length, 0);
    const kinds = KINDS.map((kind) => {
      const sorted = [...this.#latencies[kind]].sort((a, b) => a - b);
      const latency = { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
      return [kind, { count: sorted.length, ...latency, retries: this.#retries[kind] }] as const;
    });
    return {
      newOrdersPerMinute: (this.#latencies['new order'].length * 60) / seconds,
      transactionsPerSecond: (count + this.#rolledBack) / seconds,
      clientLoad,
      rolledBack: this.#rolledBack,
      kinds: Object.fromEntries(kinds) as Record<Kind, KindResult>,
    };
  }
}
