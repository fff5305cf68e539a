/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Knex } from 'knex';
import { expectTypeOf } from 'vitest';

import { transaction } from '../src/index.js';

interface Book {
  id: number;
  title: string;
}

export async function transactionsReturnWhatTheFunctionReturns(db: Knex): Promise<void> {
  const titles = await transaction(
    db,
    async (trx, { attempt, signal }) => {
      expectTypeOf(attempt).toEqualTypeOf<number>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      const books = await trx<Book>('book').select();
      return books.map(({ title }) => title);
    },
    { isolation: 'read committed', attemptsMax: 3 },
  );
  expectTypeOf(titles).toEqualTypeOf<string[]>();
  // @ts-expect-error There is no such level.
  await transaction(db, () => Promise.resolve(), { isolation: 'snapshot' });
  // @ts-expect-error There is no such option.
  await transaction(db, () => Promise.resolve(), { retries: 3 });
  // @ts-expect-error A URL is no instance of Knex.
  await transaction('postgresql://localhost', () => Promise.resolve());
}
