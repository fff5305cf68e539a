/** Why the ledger refuses a request. Nothing has been written. */

/** The reasons, each with its HTTP status in `service.ts`. */
export type Refusal =
  | 'account exists'
  | 'no such account'
  | 'same account'
  | 'insufficient funds'
  | 'key used before'
  | 'number too large';

/** A refused request: another attempt would be refused as well, until something else changes. */
export class LedgerError extends Error {
  readonly reason: Refusal;

  constructor(reason: Refusal, message: string) {
    super(message);
    this.name = 'LedgerError';
    this.reason = reason;
  }
}
