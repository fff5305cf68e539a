/** A bank: accounts, and transfers between them. */

import { transaction } from '@braiddb/typeorm';
import { DataSource, In } from 'typeorm';

import { Account, Transfer } from './entities.js';
import { Accounts1793491200000 } from './migrations.js';

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
  const dataSource = new DataSource({
    ...{ type: 'postgres', url, poolSize: 8, installExtensions: false },
    entities: [Account, Transfer],
    migrations: [Accounts1793491200000],
  });
  await dataSource.initialize();
  await dataSource.runMigrations();
  let retries = 0;
  const options = { attemptsMax: 100, onRetry: (): void => void (retries += 1) };
  return {
    get retries() {
      return retries;
    },
    reset: (accounts, balance) =>
      transaction(dataSource, async (manager) => {
        await manager.deleteAll(Transfer);
        await manager.deleteAll(Account);
        const rows = Array.from({ length: accounts }, (_, at) => ({ id: at + 1, balance }));
        await manager.insert(Account, rows);
      }),
    transfer: (from, to, amount) =>
      // A conflict with another transfer runs this function again, which reads its entities itself.
      transaction(
        dataSource,
        async (manager) => {
          const rows = await manager.findBy(Account, { id: In([from, to]) });
          const [payer, payee] = [from, to].map((id) => rows.find((row) => row.id === id));
          if (payer === undefined || payee === undefined) throw new Error('no such account');
          if (payer.balance < amount) return false;
          payer.balance -= amount;
          payee.balance += amount;
          await manager.save(Account, [payer, payee]);
          await manager.insert(Transfer, { from, to, amount });
          return true;
        },
        options,
      ),
    total: async () => (await dataSource.manager.sum(Account, 'balance')) ?? 0,
    [Symbol.asyncDispose]: () => dataSource.destroy(),
  };
}
