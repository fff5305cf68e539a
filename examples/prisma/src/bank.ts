/** A bank: accounts, and transfers between them. */

import { PrismaBraid, transaction } from '@braiddb/prisma';
import { connect } from '@braiddb/sdk';

import { PrismaClient } from './generated/client.ts';
import { migrate } from './migrate.js';

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
  const db = await connect(url);
  await migrate(db);
  const prisma = new PrismaClient({ adapter: new PrismaBraid({ db }) });
  let retries = 0;
  const options = { attemptsMax: 100, onRetry: (): void => void (retries += 1) };
  return {
    get retries() {
      return retries;
    },
    reset: (accounts, balance) =>
      transaction(prisma, async (tx) => {
        await tx.transfer.deleteMany();
        await tx.account.deleteMany();
        const data = Array.from({ length: accounts }, (_, at) => ({ id: at + 1, balance }));
        await tx.account.createMany({ data });
      }),
    transfer: (from, to, amount) =>
      // A conflict with another transfer runs this function again.
      transaction(
        prisma,
        async (tx) => {
          const rows = await tx.account.findMany({ where: { id: { in: [from, to] } } });
          const [payer, payee] = [from, to].map((id) => rows.find((row) => row.id === id));
          if (payer === undefined || payee === undefined) throw new Error('no such account');
          if (payer.balance < amount) return false;
          const set = (id: number, balance: number) =>
            tx.account.update({ where: { id }, data: { balance } });
          await set(from, payer.balance - amount);
          await set(to, payee.balance + amount);
          await tx.transfer.create({ data: { from, to, amount } });
          return true;
        },
        options,
      ),
    total: async () => {
      const { _sum } = await prisma.account.aggregate({ _sum: { balance: true } });
      return _sum.balance ?? 0;
    },
    [Symbol.asyncDispose]: async () => {
      await prisma.$disconnect();
      await db.close();
    },
  };
}
