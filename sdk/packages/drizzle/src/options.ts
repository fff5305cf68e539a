/** Options of transactions, in Drizzle's words and in those of the SDK. */

import type { Isolation, TransactionOptions } from '@braiddb/sdk';
import { OptionError, UsageError } from '@braiddb/sdk';
import type { PgTransactionConfig } from 'drizzle-orm/pg-core';

/** Options of a transaction: Drizzle's, and those of the SDK about retries and signals. */
export interface DrizzleTransactionOptions
  extends
    Omit<PgTransactionConfig, 'deferrable'>,
    Omit<TransactionOptions, 'isolation' | 'readOnly'> {}

/** Turns Drizzle's options into those of the SDK. */
export function readOptions(config: DrizzleTransactionOptions): TransactionOptions {
  if (typeof (config as unknown) !== 'object' || (config as unknown) === null) {
    throw new OptionError('transaction', 'must be an object');
  }
  const { isolationLevel, accessMode, ...rest } = config;
  if ('deferrable' in rest) {
    throw new UsageError('"deferrable" is not supported: a read-only transaction runs again');
  }
  const readOnly = accessMode === undefined ? undefined : accessMode === 'read only';
  return { ...rest, isolation: isolationOf(isolationLevel), readOnly };
}

function isolationOf(level: PgTransactionConfig['isolationLevel']): Isolation | undefined {
  // PostgreSQL's READ UNCOMMITTED is READ COMMITTED.
  return level === 'read uncommitted' ? 'read committed' : level;
}
