/** A bank: accounts, and transfers between them. */

import { fileURLToPath } from 'node:url';

import { drizzle, migrate } from '@braiddb/drizzle';
import { connect } from '@braiddb/sdk';
import { eq, inArray, sum } from 'drizzle-orm';

import { account, transfer } from './tables.js';

const migrationsFolder = fileURLToPath(new URL('../drizzle/', import.meta.url));

/** An open bank. */
export interface Bank extends AsyncDisposable {
  /** How many times a transfer has run again so far. */
  readonly retries: number;
  /** Replaces all accounts by new ones, with the numbers from 1. */
  reset(accounts: number, balance: number): Promise<void>;
  /** Moves money; false if there is not enough. */
  transfer(from: number, to: number, amount: number): Promise<boolean>;
  /** The money in all accounts. */
  total(): Promise<number>;
}

/** Connects to a database, and brings its tables up to date. */
export async function openBank(url: string): Promise<Bank> {
  const client = await connect(url);
  const db = drizzle(client);
  await migrate(db, { migrationsFolder });
  let retries = 0;
  const options = { attemptsMax: 100, onRetry: (): void => void (retries += 1) };
  return {
    get retries() {
      return retries;
    },
    reset: (accounts, balance) =>
      db.transaction(async (tx) => {
        await tx.delete(transfer);
        await tx.delete(account);
        const rows = Array.from({ length: accounts }, (_, at) => ({ id: at + 1, balance }));
        await tx.insert(account).values(rows);
      }),
    transfer: (from, to, amount) =>
      // A conflict with another transfer runs this function again.
      db.transaction(async (tx) => {
        const rows = await tx
          .select()
          .from(account)
          .where(inArray(account.id, [from, to]));
        const [payer, payee] = [from, to].map((id) => rows.find((row) => row.id === id));
        if (payer === undefined || payee === undefined) throw new Error('no such account');
        if (payer.balance < amount) return false;
        // Nobody waits for these three: they travel with COMMIT.
        const set = (id: number, balance: number) =>
          tx.update(account).set({ balance }).where(eq(account.id, id));
        await tx.run(set(from, payer.balance - amount));
        await tx.run(set(to, payee.balance + amount));
        await tx.run(tx.insert(transfer).values({ from, to, amount }));
        return true;
      }, options),
    total: async () => {
      const [row] = await db.select({ total: sum(account.balance) }).from(account);
      return Number(row?.total);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
