/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import type { Generated, Kysely, Transaction } from 'kysely';
import { expectTypeOf } from 'vitest';

import type { Attempt } from '../src/index.js';
import { BraidDialect, run, transaction, withSignal } from '../src/index.js';

interface Schema {
  city: { id: Generated<number>; name: string };
}

export function dialectsTakeDatabases(db: Database): void {
  new BraidDialect({ db });
  new BraidDialect({ db: () => connect('postgresql://localhost') });
  new BraidDialect({ db, migrationLockTimeoutMs: 1000 });
  // @ts-expect-error A URL is no database.
  new BraidDialect({ db: 'postgresql://localhost' });
  // @ts-expect-error The database is missing.
  new BraidDialect({});
}

export async function transactionsKeepTheirTypes(kysely: Kysely<Schema>): Promise<void> {
  const names = await transaction(kysely, async (trx, attempt) => {
    expectTypeOf(trx).toEqualTypeOf<Transaction<Schema>>();
    expectTypeOf(attempt).toEqualTypeOf<Attempt>();
    const rows = await trx.selectFrom('city').select('name').execute();
    return rows.map(({ name }) => name);
  });
  expectTypeOf(names).toEqualTypeOf<string[]>();
  const options = { isolation: 'read committed', attemptsMax: 3, readOnly: true } as const;
  const count = await transaction(kysely, options, () => Promise.resolve(1));
  expectTypeOf(count).toEqualTypeOf<number>();
  // @ts-expect-error There is no such level.
  await transaction(kysely, { isolation: 'snapshot' }, () => Promise.resolve(1));
  // @ts-expect-error The table does not exist.
  await transaction(kysely, (trx) => trx.selectFrom('town').selectAll().execute());
  // @ts-expect-error The function is missing.
  await transaction(kysely, {});
}

export async function onlyWritesWithoutResultsAreUnawaited(kysely: Kysely<Schema>): Promise<void> {
  const insert = kysely.insertInto('city').values({ name: 'Bergen' });
  await run(insert);
  await run(insert.onConflict((conflict) => conflict.doNothing()));
  await run(kysely.updateTable('city').set({ name: 'Porto' }).where('id', '=', 1));
  await run(kysely.deleteFrom('city'));
  await run(
    kysely
      .mergeInto('city')
      .using('city as other', 'city.id', 'other.id')
      .whenMatched()
      .thenDelete(),
  );
  // @ts-expect-error Somebody wants the rows.
  await run(insert.returning('id'));
  // @ts-expect-error A read has rows.
  await run(kysely.selectFrom('city').selectAll());
}

export async function signalsKeepTheType(kysely: Kysely<Schema>): Promise<void> {
  const { signal } = new AbortController();
  const rows = await withSignal(signal, () => kysely.selectFrom('city').select('id').execute());
  expectTypeOf(rows).toEqualTypeOf<{ id: number }[]>();
}
