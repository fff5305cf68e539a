/**
 * What the suites write into their results files, as far as pictures show it.
 */

import type { OneClient } from '../one-client.js';
import type { Side } from '../sides.js';
import type { Cell, YcsbSide } from '../ycsb/cell.js';
import type { YcsbRound } from '../ycsb/load.js';

/** A bank transfer: every statement awaited, or writes not waited for. */
export type Way = 'serial' | 'parallel';

/** The transfers of one server, at one round-trip time. */
export interface BankResult {
  readonly side: Side['name'];
  readonly roundTripMs: number;
  readonly way: Way;
  /** Milliseconds, the median of the rounds' medians. */
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Waits for the store, as the server counts them; undefined on PostgreSQL. */
  readonly roundTrips?: number | undefined;
}

/** One client library on one server, at one distance. */
export interface NetworkResult {
  readonly side: Side['name'];
  /** Milliseconds that the proxy adds to a round trip. */
  readonly roundTripMs: number;
  readonly client: string;
  /** Transactions of each round, and how many round trips one of them took. */
  readonly rounds: (OneClient & { readonly roundTrips: number })[];
}

/** A setting of the batcher under a load. */
export interface BatcherResult {
  readonly side: Side['name'];
  readonly setting: string;
  readonly load: string;
  /** Rows a second of each round, after its first second. */
  readonly rounds: number[];
}

/** Latencies of single rows that come at a fixed pace. */
export interface BatcherLatency {
  readonly side: Side['name'];
  readonly setting: string;
  readonly load: string;
  readonly rounds: OneClient[];
}

/** Full scans of a table by one server. */
export interface ScanResult {
  readonly server: string;
  /** Milliseconds of the first scan of each round. */
  readonly coldMs: number[];
  readonly warm: OneClient[];
}

/** The kind of statement of the lineitem suite. */
export type Mode = 'insert' | 'upsert' | 'delete';

/** A batch size and a number of connections, on both servers. */
export interface LineitemCell {
  readonly mode: Mode;
  readonly connections: number;
  readonly batchRows: number;
  /** Rows a second, the median round of each side. */
  readonly braid: number;
  readonly postgres: number;
  readonly rounds: { readonly braid: readonly number[]; readonly postgres: readonly number[] };
}

/** A cell of YCSB on a server, with a number of connections. */
export interface YcsbResult extends Cell {
  readonly side: YcsbSide['name'];
  readonly connections: number;
  readonly rounds: readonly YcsbRound[];
}
