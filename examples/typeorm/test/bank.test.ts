/** The bank over a database of its own. */

import { createDatabase, type TestDatabase } from '@braiddb/server';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { onEachServer } from '../../../sdk/test/targets.js';
import type { Bank } from '../src/bank.js';
import { openBank } from '../src/bank.js';

onEachServer('the bank', ({ url }) => {
  let database: TestDatabase;
  let bank: Bank;
  beforeEach(async () => {
    database = await createDatabase(url, { prefix: 'bank' });
    // The second one finds that the migrations have been applied.
    await (await openBank(database.url))[Symbol.asyncDispose]();
    bank = await openBank(database.url);
    await bank.reset(3, 100);
  });
  afterEach(async () => {
    await bank[Symbol.asyncDispose]();
    await database.drop();
  });

  it('keeps its money, however many move it', async () => {
    const tellers = Array.from({ length: 8 }, async (_, teller) => {
      for (let number = 0; number < 5; number++) {
        const from = 1 + ((teller + number) % 3);
        await bank.transfer(from, 1 + (from % 3), 7);
      }
    });
    await Promise.all(tellers);
    expect(await bank.total()).toBe(300);
    expect(bank.retries).toBeGreaterThan(0);
  });

  it('refuses what is not there', async () => {
    expect(await bank.transfer(1, 2, 100)).toBe(true);
    expect(await bank.transfer(1, 2, 1)).toBe(false);
    await expect(bank.transfer(1, 9, 0)).rejects.toThrow('no such account');
    expect(await bank.total()).toBe(300);
  });
});
