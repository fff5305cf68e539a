/** A bank: accounts, and transfers between them. */

import { transaction } from '@braiddb/knex';
import knex from 'knex';

import { migrationSource } from './migrations.js';

interface Account {
  readonly id: number;
  readonly balance: number;
}

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
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 8 } });
  await db.migrate.latest({ migrationSource });
  let retries = 0;
  const options = { attemptsMax: 100, onRetry: (): void => void (retries += 1) };
  return {
    get retries() {
      return retries;
    },
    reset: (accounts, balance) =>
      transaction(db, async (trx) => {
        await trx('transfer').del();
        await trx('account').del();
        const rows = Array.from({ length: accounts }, (_, at) => ({ id: at + 1, balance }));
        await trx('account').insert(rows);
      }),
    transfer: (from, to, amount) =>
      // A conflict with another transfer runs this function again.
      transaction(
        db,
        async (trx) => {
          const rows = await trx<Account>('account').whereIn('id', [from, to]).select();
          const [payer, payee] = [from, to].map((id) => rows.find((row) => row.id === id));
          if (payer === undefined || payee === undefined) throw new Error('no such account');
          if (payer.balance < amount) return false;
          const set = (id: number, balance: number) =>
            trx('account').where({ id }).update({ balance });
          await set(from, payer.balance - amount);
          await set(to, payee.balance + amount);
          await trx('transfer').insert({ from_account: from, to_account: to, amount });
          return true;
        },
        options,
      ),
    total: async () => {
      const row = await db<Account>('account').sum({ total: 'balance' }).first();
      return Number(row?.total);
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}
