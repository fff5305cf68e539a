/**
 * Eight tellers move money between four accounts, all at the same time; then the books are checked.
 *
 * DATABASE_URL: default a server of its own, whose data is deleted at the end.
 */

import { startServer } from '@braiddb/server';

import { openBank } from './bank.js';

const TELLERS = 8;
const TRANSFERS = 25;
const ACCOUNTS = 4;

const given = process.env.DATABASE_URL;
await using server = given === undefined ? await startServer() : undefined;
await using bank = await openBank(given ?? server?.url ?? '');
await bank.reset(ACCOUNTS, 100);

const anyAccount = (): number => 1 + Math.floor(Math.random() * ACCOUNTS);
const startMs = performance.now();
let refused = 0;
const teller = async (): Promise<void> => {
  for (let number = 0; number < TRANSFERS; number++) {
    const from = anyAccount();
    const to = 1 + (from % ACCOUNTS);
    const isDone = await bank.transfer(from, to, 1 + Math.floor(Math.random() * 40));
    if (!isDone) refused += 1;
  }
};
await Promise.all(Array.from({ length: TELLERS }, teller));

const total = await bank.total();
const ms = Math.round(performance.now() - startMs);
process.stdout.write(
  `${TELLERS * TRANSFERS} transfers in ${ms} ms: ${refused} refused, ${bank.retries} run again\n` +
    `the accounts hold ${total}, as before\n`,
);
if (total !== ACCOUNTS * 100) throw new Error('the books are wrong');
