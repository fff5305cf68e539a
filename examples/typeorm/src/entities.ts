/** The entities. */

import { EntitySchema } from 'typeorm';

/** An account. */
export interface Account {
  id: number;
  balance: number;
}

/** One transfer, written down. */
export interface Transfer {
  id: string;
  from: number;
  to: number;
  amount: number;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
export const Account = new EntitySchema<Account>({
  name: 'account',
  columns: { id: { type: 'int', primary: true }, balance: { type: 'int' } },
  checks: [{ name: 'account_balance', expression: 'balance >= 0' }],
});

// eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
export const Transfer = new EntitySchema<Transfer>({
  name: 'transfer',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    from: { name: 'from_account', type: 'int' },
    to: { name: 'to_account', type: 'int' },
    amount: { type: 'int' },
  },
});
