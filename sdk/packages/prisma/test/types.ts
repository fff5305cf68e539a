/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Database } from '@braiddb/sdk';
import { expectTypeOf } from 'vitest';

import { PrismaBraid, transaction } from '../src/index.js';

interface Book {
  readonly id: number;
  readonly title: string;
}

/** The shape of a client that Prisma generates. */
interface Client {
  readonly book: { findMany(): Promise<Book[]> };
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
  $transaction<P extends Promise<unknown>[]>(work: [...P], options?: object): Promise<unknown[]>;
  $transaction<R>(
    fn: (prisma: Omit<Client, '$connect' | '$disconnect'>) => Promise<R>,
    options?: { readonly timeout?: number },
  ): Promise<R>;
}

export async function transactionsKeepTheirTypes(prisma: Client): Promise<void> {
  const titles = await transaction(
    prisma,
    async (tx, { attempt, signal }) => {
      expectTypeOf(attempt).toEqualTypeOf<number>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      // @ts-expect-error A transaction does not end the client.
      expectTypeOf(tx.$disconnect).toBeFunction();
      return (await tx.book.findMany()).map(({ title }) => title);
    },
    { isolation: 'read committed', attemptsMax: 3 },
  );
  expectTypeOf(titles).toEqualTypeOf<string[]>();
  // @ts-expect-error There is no such level.
  await transaction(prisma, () => Promise.resolve(), { isolation: 'Serializable' });
  // @ts-expect-error Prisma's limit does not apply.
  await transaction(prisma, () => Promise.resolve(), { timeout: 5000 });
  // @ts-expect-error Without `$transaction` it is no client.
  await transaction({}, () => Promise.resolve());
}

export function adaptersTakeDatabases(db: Database): void {
  new PrismaBraid({ db });
  new PrismaBraid({ db: () => Promise.resolve(db), schema: 'shop' });
  // @ts-expect-error A URL is no database.
  new PrismaBraid({ db: 'postgresql://localhost' });
}
