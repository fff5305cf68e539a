/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { DataSource, EntityManager } from 'typeorm';
import { EntitySchema } from 'typeorm';
import { expectTypeOf } from 'vitest';

import { transaction } from '../src/index.js';

interface Book {
  id: number;
  title: string;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
const Book = new EntitySchema<Book>({
  name: 'book',
  columns: { id: { type: 'int', primary: true }, title: { type: 'text' } },
});

export async function transactionsReturnWhatTheFunctionReturns(source: DataSource): Promise<void> {
  const titles = await transaction(
    source,
    async (manager, { attempt, signal }) => {
      expectTypeOf(manager).toEqualTypeOf<EntityManager>();
      expectTypeOf(attempt).toEqualTypeOf<number>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      return (await manager.find(Book)).map(({ title }) => title);
    },
    { isolation: 'read committed', attemptsMax: 3 },
  );
  expectTypeOf(titles).toEqualTypeOf<string[]>();
  expectTypeOf(await transaction(source.manager, () => Promise.resolve(1))).toBeNumber();
  // @ts-expect-error There is no such level.
  await transaction(source, () => Promise.resolve(), { isolation: 'SERIALIZABLE' });
  // @ts-expect-error There is no such option.
  await transaction(source, () => Promise.resolve(), { retries: 3 });
  // @ts-expect-error A URL is no data source.
  await transaction('postgresql://localhost', () => Promise.resolve());
}
