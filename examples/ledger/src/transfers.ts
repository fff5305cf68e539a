/**
 * Accounts and transfers.
 *
 * A transfer waits twice, however much it writes:
 *
 * ```text
 *  BEGIN, notify, lock both accounts, look for the key ──► decide
 *  transfer, 2 entries, 2 events, 2 balances, COMMIT   ──► done
 * ```
 *
 * **Once for each key.** The key is the primary key of the transfer, and the transfer is written
 * with the balances. A client that has no answer sends the same key again. It then gets the first
 * transfer.
 *
 * **A lost answer to COMMIT.** On BraidDB the SDK gives each transaction a commit token. When the
 * connection breaks during COMMIT, it asks the server what has become of the token, and runs the
 * function again only if nothing took effect. Where nobody can answer, `transfer` fails with a
 * `CommitUnknownError`. The client then sends the same key again.
 */

import type { Database, Queryable, Transaction } from '@braiddb/sdk';
import { ConstraintError, DatabaseError } from '@braiddb/sdk';

import { LedgerError } from './errors.js';
import type { AccountRow, EntryRow, LedgerEvent, TransferRow } from './tables.js';
import { accounts, CHANNEL, entries, outbox, transfers } from './tables.js';

/** What a client asks for. The amount is in the smallest unit, for example cents. */
export interface Order {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
}

/** What the client gets. */
export interface Receipt extends Order {
  /** True where an earlier request of the same key has made the transfer. */
  readonly repeated: boolean;
}

/** Milliseconds for all attempts of a transfer. */
const DEADLINE_MS = 5_000;

/** PostgreSQL's code for numbers beyond INT8. */
const OUT_OF_RANGE = '22003';

/**
 * Opens an account with a balance of 0. `minimum` is the smallest balance that is allowed, at most
 * 0; null is no limit.
 *
 * Fails with a {@link LedgerError} "account exists".
 */
export async function openAccount(
  db: Database,
  id: string,
  minimum: bigint | null,
): Promise<AccountRow> {
  try {
    await db.transaction({ deadlineMs: DEADLINE_MS }, async (tx) => {
      await tx.run`INSERT INTO ledger_account (id, minimum) VALUES (${id}, ${minimum})`;
      await tx.run`INSERT INTO ledger_lane (account) VALUES (${id})`;
    });
  } catch (error) {
    if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error;
    throw new LedgerError('account exists', `there is an account "${id}" already`);
  }
  return { id, minimum, balance: 0n, entries: 0n };
}

/** Reads an account; undefined if there is none. */
export function readAccount(db: Database, id: string): Promise<AccountRow | undefined> {
  return db.maybeOne<AccountRow>`
    SELECT id, minimum, balance, entries FROM ledger_account WHERE id = ${id}`;
}

/** Reads entries of an account in their order, from after the number `after`. */
export async function readEntries(
  db: Database,
  account: string,
  { after, limit }: { readonly after: bigint; readonly limit: number },
): Promise<EntryRow[]> {
  const { rows } = await db.query<EntryRow>`
    SELECT account, number, transfer, amount, balance FROM ledger_entry
    WHERE account = ${account} AND number > ${after} ORDER BY number LIMIT ${limit}::int8`;
  return rows;
}

/** Reads the transfer of a key; undefined if there is none. */
export function readTransfer(
  db: Pick<Queryable, 'maybeOne'>,
  key: string,
): Promise<TransferRow | undefined> {
  return db.maybeOne<TransferRow>`
    SELECT key, debit, credit, amount FROM ledger_transfer WHERE key = ${key}`;
}

/**
 * Moves money from one account to another, once for each key.
 *
 * Fails with a {@link LedgerError} if it is refused. After an error of which `isAmbiguous` or
 * `isTransient` is true, the same call is safe and may succeed.
 */
export async function transfer(db: Database, order: Order): Promise<Receipt> {
  if (order.from === order.to) {
    throw new LedgerError('same account', 'a transfer needs two accounts');
  }
  try {
    return await db.transaction({ deadlineMs: DEADLINE_MS }, (tx) => attempt(tx, order));
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === OUT_OF_RANGE)) throw error;
    throw new LedgerError('number too large', 'the balance would exceed 2^63 - 1');
  }
}

async function attempt(tx: Transaction, order: Order): Promise<Receipt> {
  const { key, from, to, amount } = order;
  // These three travel together with BEGIN. Others who want one of the accounts wait in line. The
  // locks come first: who has waited for a request of the same key then finds its transfer.
  const [, { rows }, earlier] = await Promise.all([
    tx.notify(CHANNEL),
    tx.query<AccountRow>`
      SELECT id, minimum, balance, entries FROM ledger_account
      WHERE id IN (${from}, ${to}) ORDER BY id`.forUpdate(),
    readTransfer(tx, key),
  ]);
  if (earlier !== undefined) return repeat(earlier, order);
  const debit = find(rows, from);
  const credit = find(rows, to);
  const left = debit.balance - amount;
  if (debit.minimum !== null && left < debit.minimum) {
    throw new LedgerError('insufficient funds', `"${from}" has ${debit.balance} only`);
  }
  const made: EntryRow[] = [
    entryOf(debit, { transfer: key, amount: -amount }),
    entryOf(credit, { transfer: key, amount }),
  ];
  // Nobody waits for these: they travel with COMMIT, and run side by side on BraidDB.
  await tx.insert(transfers, { key, debit: from, credit: to, amount });
  await tx.insert(entries, made);
  await tx.insert(
    outbox,
    made.map((entry) => ({
      ...{ account: entry.account, number: entry.number },
      event: eventOf(entry),
    })),
  );
  for (const { account, number, balance } of made) {
    await tx.update(accounts, { balance, entries: number }).where({ id: account });
  }
  return { ...order, repeated: false };
}

/** The answer to a key that has been used: the same transfer, or a refusal. */
function repeat({ debit, credit, amount }: TransferRow, order: Order): Receipt {
  if (debit === order.from && credit === order.to && amount === order.amount) {
    return { ...order, repeated: true };
  }
  throw new LedgerError('key used before', `"${order.key}" is the key of another transfer`);
}

function find(rows: readonly AccountRow[], id: string): AccountRow {
  const found = rows.find((row) => row.id === id);
  if (found === undefined) throw new LedgerError('no such account', `there is no account "${id}"`);
  return found;
}

function entryOf(
  account: AccountRow,
  { transfer, amount }: { readonly transfer: string; readonly amount: bigint },
): EntryRow {
  const { id, balance, entries: last } = account;
  return { account: id, number: last + 1n, transfer, amount, balance: balance + amount };
}

/** The event of an entry. */
export function eventOf({ account, number, transfer, amount, balance }: EntryRow): LedgerEvent {
  return {
    ...{ account, number: String(number), transfer },
    ...{ amount: String(amount), balance: String(balance) },
  };
}
