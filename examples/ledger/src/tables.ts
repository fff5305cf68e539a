/**
 * The tables.
 *
 * ```text
 *  ledger_account    id, balance, minimum, entries       the row that a transfer locks
 *  ledger_transfer   key, debit, credit, amount          the client's key is the primary key
 *  ledger_entry      account, number, transfer, amount   two for each transfer; numbers 1, 2, 3, …
 *  ledger_outbox     account, number, event              events that have not been delivered yet
 *  ledger_lane       account, next_at, failures          the row that a relay locks
 * ```
 *
 * What always holds: the balances sum to zero, a balance is the sum of its entries, and the numbers
 * of an account's entries have no gap. `audit.ts` checks it.
 */

import type { Database } from '@braiddb/sdk';
import { createOnce, sql, table } from '@braiddb/sdk';

/** An account. Amounts are in the smallest unit of the currency, for example cents. */
export interface AccountRow {
  id: string;
  /** The smallest balance that is allowed; null for an account without a limit. */
  minimum: bigint | null;
  balance: bigint;
  /** How many entries the account has: also the number of its last one. */
  entries: bigint;
}

/** Money that has gone from one account to another. */
export interface TransferRow {
  /** Chosen by the client. The same key is the same transfer. */
  key: string;
  debit: string;
  credit: string;
  amount: bigint;
}

/** What a transfer has done to one account. */
export interface EntryRow {
  account: string;
  /** Its place among the entries of the account, from 1. */
  number: bigint;
  transfer: string;
  /** Negative where money has left the account. */
  amount: bigint;
  /** The balance of the account after the entry. */
  balance: bigint;
}

/** What others learn about an entry. Whole numbers are strings, because JSON has no bigint. */
export interface LedgerEvent {
  readonly account: string;
  readonly number: string;
  readonly transfer: string;
  readonly amount: string;
  readonly balance: string;
}

/** An event that has not been delivered yet. */
export interface OutboxRow {
  account: string;
  number: bigint;
  event: LedgerEvent;
}

export const accounts = table<AccountRow>('ledger_account', { key: ['id'] });
export const transfers = table<TransferRow>('ledger_transfer', { key: ['key'] });
export const entries = table<EntryRow>('ledger_entry', { key: ['account', 'number'] });
export const outbox = table<OutboxRow>('ledger_outbox', { key: ['account', 'number'] });

/** Notified by each transfer. */
export const CHANNEL = 'ledger_outbox';

/** Creates the tables where they are missing. Several programs may do so at once. */
export async function createTables(db: Database): Promise<void> {
  for (const statement of STATEMENTS) await createOnce(db, statement);
}

const STATEMENTS = [
  sql`CREATE TABLE IF NOT EXISTS ledger_account (
    id TEXT PRIMARY KEY,
    minimum INT8,
    balance INT8 NOT NULL DEFAULT 0,
    entries INT8 NOT NULL DEFAULT 0,
    CONSTRAINT ledger_account_funds CHECK (minimum IS NULL OR balance >= minimum))`,
  sql`CREATE TABLE IF NOT EXISTS ledger_transfer (
    key TEXT PRIMARY KEY,
    debit TEXT NOT NULL REFERENCES ledger_account,
    credit TEXT NOT NULL REFERENCES ledger_account,
    amount INT8 NOT NULL CHECK (amount > 0),
    made_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT ledger_transfer_two_accounts CHECK (debit <> credit))`,
  sql`CREATE TABLE IF NOT EXISTS ledger_entry (
    account TEXT NOT NULL REFERENCES ledger_account,
    number INT8 NOT NULL,
    transfer TEXT NOT NULL REFERENCES ledger_transfer,
    amount INT8 NOT NULL CHECK (amount <> 0),
    balance INT8 NOT NULL,
    PRIMARY KEY (account, number))`,
  sql`CREATE TABLE IF NOT EXISTS ledger_outbox (
    account TEXT NOT NULL,
    number INT8 NOT NULL,
    event JSONB NOT NULL,
    PRIMARY KEY (account, number))`,
  sql`CREATE TABLE IF NOT EXISTS ledger_lane (
    account TEXT PRIMARY KEY,
    next_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    failures INT4 NOT NULL DEFAULT 0)`,
];
