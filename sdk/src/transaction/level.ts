/**
 * The nesting of transactions: which handle may be used.
 */

import { UsageError } from '../errors.js';

/** A transaction or a nested one. */
export class TransactionLevel {
  readonly parent: TransactionLevel | undefined;
  /** The function has returned: its statements still run, no further ones are taken. */
  closing = false;
  /** Nothing more is sent. */
  ended = false;

  constructor(parent: TransactionLevel | undefined) {
    this.parent = parent;
  }
}

/** True if the level, or one around it, has ended. */
export function hasEnded(level: TransactionLevel | undefined): boolean {
  for (let open = level; open !== undefined; open = open.parent) if (open.ended) return true;
  return false;
}

/** Throws if the level, or one around it, has ended. */
export function checkOpen(level: TransactionLevel | undefined): void {
  if (hasEnded(level)) throw new UsageError('the transaction has ended');
}
