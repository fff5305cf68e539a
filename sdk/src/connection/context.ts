/**
 * What every connection of a `db` shares.
 */

import type pg from 'pg';

import type { Settings } from '../options/connect.js';
import type { Features } from '../server.js';
import type { TypeParsers } from '../sql/parsers.js';
import type { Counts } from '../stats.js';

/** What every connection of a `db` shares. */
export interface DatabaseContext {
  readonly pool: pg.Pool;
  /** The SDK made the pool: nothing else uses its connections. */
  readonly ownPool: boolean;
  readonly settings: Settings;
  readonly parsers: TypeParsers;
  readonly features: Features;
  /** Aborts when `close({ timeoutMs })` has waited long enough: connections are cut. */
  readonly closed: AbortSignal;
  /** The hosts that a new connection may go to. */
  readonly hostCount: number;
  /** The connections in use. */
  readonly inUse: Set<{ readonly cut: () => void }>;
  readonly counts: Counts;
}
