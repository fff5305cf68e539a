/** Transactions: those that run again, and Kysely's own. */

import { setTimeout } from 'node:timers/promises';

import type { RetryEvent } from '@braiddb/sdk';
import {
  connect,
  ConstraintError,
  DatabaseError,
  isRetryable,
  SerializationError,
  UsageError,
} from '@braiddb/sdk';
import type { LogEvent } from 'kysely';
import { DummyDriver, Kysely, PostgresAdapter, PostgresQueryCompiler, sql } from 'kysely';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { BraidDialect, run, transaction, withSignal } from '../src/index.js';
import type { Fixture, Schema } from './tables.js';
import { failure, purses } from './tables.js';

/** The coins of purses 1 and 2. */
async function coins({ kysely, name }: Fixture): Promise<number[]> {
  const rows = await kysely.selectFrom(name).select('coins').orderBy('id').execute();
  return rows.map((row) => row.coins);
}

onEachServer('transaction()', ({ url }) => {
  it('runs the function again until it fits', async () => {
    await using fixture = await purses(url, { connectionsMax: 8 });
    const { kysely, name } = fixture;
    const retries: RetryEvent[] = [];
    const attempts: number[] = [];
    const increment = (): Promise<number> =>
      transaction(
        kysely,
        { attemptsMax: 50, onRetry: (event) => retries.push(event) },
        async (trx, { attempt, signal }) => {
          attempts.push(attempt);
          expect(signal.aborted).toBe(false);
          const read = trx.selectFrom(name).select('coins').where('id', '=', 1);
          const { coins } = await read.executeTakeFirstOrThrow();
          await trx
            .updateTable(name)
            .set({ coins: coins + 1 })
            .where('id', '=', 1)
            .execute();
          return coins;
        },
      );
    const before = await Promise.all(Array.from({ length: 12 }, increment));
    expect(before.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => 10 + i));
    expect(await coins(fixture)).toEqual([22, 0]);
    expect(attempts.filter((attempt) => attempt > 1)).toHaveLength(retries.length);
    expect(retries.every(({ error }) => isRetryable(error))).toBe(true);
  });

  it('runs the function again after a conflict that waiting cannot solve', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    // In the first attempt each reads what the other writes.
    const both = [1, 2].map((id) => {
      let resolve = (): void => undefined;
      const hasRead = new Promise<void>((done) => (resolve = done));
      return { id, hasRead, resolve };
    });
    let runs = 0;
    const work = ({ id, resolve }: (typeof both)[number]): Promise<void> =>
      transaction(kysely, async (trx, { attempt }) => {
        runs += 1;
        const other = trx
          .selectFrom(name)
          .select('coins')
          .where('id', '=', 3 - id);
        const { coins } = await other.executeTakeFirstOrThrow();
        resolve();
        if (attempt === 1) await Promise.all(both.map(({ hasRead }) => hasRead));
        await run(
          trx
            .updateTable(name)
            .set({ coins: coins + 1 })
            .where('id', '=', id),
        );
      });
    await Promise.all(both.map(work));
    expect(runs).toBeGreaterThan(2);
    // One after the other: 10 and 0 become 1 and 2, or 12 and 11.
    expect([
      [1, 2],
      [12, 11],
    ]).toContainEqual(await coins(fixture));
  });

  it('rolls back and throws what the function throws', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, name } = fixture;
    const mine = new Error('mine');
    const failing = transaction(kysely, async (trx) => {
      await trx.deleteFrom(name).execute();
      throw mine;
    });
    expect(await failure(failing)).toBe(mine);
    const refused = transaction(kysely, { readOnly: true }, (trx) =>
      trx.deleteFrom(name).execute(),
    );
    expect(await failure(refused)).toMatchObject({ code: '25006' });
    expect(await coins(fixture)).toEqual([10, 0]);
  });

  it('logs its queries, and leaves the instance outside of it alone', async () => {
    const events: LogEvent[] = [];
    await using fixture = await purses(url, {}, { log: (event) => void events.push(event) });
    const { kysely, name } = fixture;
    await transaction(kysely, async (trx) => {
      expect(trx.isTransaction).toBe(true);
      await trx.updateTable(name).set({ coins: 99 }).where('id', '=', 1).execute();
      // Not part of the transaction: it reads what was before.
      expect(await coins(fixture)).toEqual([10, 0]);
      const own = await trx.selectFrom(name).select('coins').where('id', '=', 1).execute();
      expect(own).toEqual([{ coins: 99 }]);
    });
    expect(events).toHaveLength(3);
    expect(await coins(fixture)).toEqual([99, 0]);
  });

  it('takes a signal', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, name } = fixture;
    const abort = new AbortController();
    const reason = new Error('stop');
    const stopped = transaction(kysely, { signal: abort.signal }, async (trx, { signal }) => {
      await trx.deleteFrom(name).execute();
      abort.abort(reason);
      expect(signal.aborted).toBe(true);
      await trx.selectFrom(name).selectAll().execute();
    });
    expect(await failure(stopped)).toBe(reason);
    const never = withSignal(AbortSignal.abort(reason), () =>
      transaction(kysely, () => Promise.reject(new Error('it was called'))),
    );
    expect(await failure(never)).toBe(reason);
    expect(await coins(fixture)).toEqual([10, 0]);
  });

  it('refuses a transaction, another dialect, and what is no function', async () => {
    await using fixture = await purses(url);
    const { kysely } = fixture;
    const work = (): Promise<void> => Promise.resolve();
    const nested = transaction(kysely, (trx) => transaction(trx, work));
    expect(await failure(nested)).toBeInstanceOf(UsageError);
    expect(await failure(transaction(kysely, 7 as never))).toBeInstanceOf(UsageError);
    const other = new Kysely<object>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: () => ({}) as never,
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    });
    expect(await failure(transaction(other, work))).toBeInstanceOf(UsageError);
  });
});

onEachServer('run()', ({ url }) => {
  it('sends writes without waiting', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    await transaction(kysely, async (trx) => {
      await run(trx.updateTable(name).set({ coins: 3 }).where('id', '=', 1));
      await run(trx.updateTable(name).set({ coins: 7 }).where('id', '=', 2));
      await run(trx.insertInto(name).values({ id: 3, coins: 0, owner: null }));
      await run(trx.deleteFrom(name).where('id', '=', 3));
    });
    expect(await coins(fixture)).toEqual([3, 7]);
    // Outside of a transaction the write has been done when it returns.
    await run(kysely.updateTable(name).set({ coins: 1 }));
    expect(await coins(fixture)).toEqual([1, 1]);
  });

  it('reports a failure at the next query, or at COMMIT', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    const bad = (trx: Kysely<Schema>): Promise<void> =>
      run(trx.updateTable(name).set({ coins: -5 }).where('id', '=', 1));
    const error = await failure(transaction(kysely, (trx) => bad(trx)));
    expect(error).toBeInstanceOf(ConstraintError);
    expect(error).toMatchObject({ code: '23514', parameters: [-5, 1] });
    const { server } = fixture.db;
    const statement = error instanceof DatabaseError ? error.statements[0]?.statement : undefined;
    expect(statement?.endsWith(' RETURNING NOTHING')).toBe(server.kind === 'braiddb');
    const plain = kysely.transaction().execute(async (trx) => {
      await bad(trx);
      await trx.selectFrom(name).selectAll().execute();
    });
    expect(await failure(plain)).toMatchObject({ code: '23514' });
    const atCommit = kysely.transaction().execute((trx) => bad(trx));
    expect(await failure(atCommit)).toMatchObject({ code: '23514' });
    expect(await coins(fixture)).toEqual([10, 0]);
  });
});

onEachServer("Kysely's own transactions", ({ url }) => {
  it('commit, roll back, and give their connection back', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, name } = fixture;
    await kysely.transaction().execute(async (trx) => {
      await trx.updateTable(name).set({ coins: 5 }).where('id', '=', 2).execute();
    });
    const failing = kysely.transaction().execute(async (trx) => {
      await trx.deleteFrom(name).execute();
      await sql`SELECT nonsense`.execute(trx);
    });
    expect(await failure(failing)).toMatchObject({ code: '42703' });
    await kysely.transaction().execute(() => Promise.resolve());
    expect(await coins(fixture)).toEqual([10, 5]);
  });

  it('take isolation level and access mode', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    const isolation = sql<{
      level: string;
    }>`SELECT current_setting('transaction_isolation') AS level`;
    const levels = [
      'read uncommitted',
      'read committed',
      'repeatable read',
      'serializable',
    ] as const;
    for (const level of levels) {
      const { rows } = await kysely
        .transaction()
        .setIsolationLevel(level)
        .execute((trx) => isolation.execute(trx));
      const expected = level === 'read uncommitted' ? 'read committed' : level;
      expect(rows[0]?.level).toBe(expected);
    }
    const bySdk = await kysely.transaction().execute((trx) => isolation.execute(trx));
    expect(bySdk.rows[0]?.level).toBe('serializable');
    const readOnly = kysely
      .transaction()
      .setAccessMode('read only')
      .execute((trx) => trx.deleteFrom(name).execute());
    expect(await failure(readOnly)).toMatchObject({ code: '25006' });
    const snapshot = kysely.transaction().setIsolationLevel('snapshot');
    expect(await failure(snapshot.execute(() => Promise.resolve()))).toBeInstanceOf(UsageError);
  });

  it('throw the retry error itself, and run once', async () => {
    await using fixture = await purses(url);
    const { kysely, name } = fixture;
    let runs = 0;
    // Each reads what the other writes: one of them cannot be committed.
    const both = [1, 2].map((id) => {
      let resolve = (): void => undefined;
      const hasRead = new Promise<void>((done) => (resolve = done));
      return { id, hasRead, resolve };
    });
    const work = ({ id, resolve }: (typeof both)[number]): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        runs += 1;
        await trx
          .selectFrom(name)
          .selectAll()
          .where('id', '=', 3 - id)
          .execute();
        resolve();
        await Promise.all(both.map(({ hasRead }) => hasRead));
        await trx.updateTable(name).set({ coins: id }).where('id', '=', id).execute();
      });
    const outcomes = await Promise.allSettled(both.map(work));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed).toHaveLength(1);
    expect(failed[0]?.reason).toBeInstanceOf(DatabaseError);
    expect(isRetryable(failed[0]?.reason)).toBe(true);
    expect(failed[0]?.reason).toBeInstanceOf(SerializationError);
    expect(runs).toBe(2);
  });

  it('end at the deadline of the connection', async () => {
    await using fixture = await purses(url, { transaction: { deadlineMs: 300 } });
    const { kysely, name } = fixture;
    const late = kysely.transaction().execute(async (trx) => {
      await trx.deleteFrom(name).execute();
      await setTimeout(600);
    });
    expect(await failure(late)).toMatchObject({ name: 'RetriesExhaustedError', limit: 'deadline' });
    expect(await coins(fixture)).toEqual([10, 0]);
  });

  it('have savepoints where they are controlled by calls', async () => {
    await using fixture = await purses(url, { connectionsMax: 1 });
    const { kysely, name } = fixture;
    const trx = await kysely.startTransaction().execute();
    await trx.updateTable(name).set({ coins: 7 }).where('id', '=', 1).execute();
    const inner = await trx.savepoint('a "quoted" name').execute();
    await failure(inner.updateTable(name).set({ coins: -1 }).execute());
    const back = await inner.rollbackToSavepoint('a "quoted" name').execute();
    await back.releaseSavepoint('a "quoted" name').execute();
    await trx.commit().execute();
    expect(await coins(fixture)).toEqual([7, 0]);

    const second = await kysely.startTransaction().execute();
    await second.deleteFrom(name).execute();
    await second.rollback().execute();
    expect(await coins(fixture)).toEqual([7, 0]);
  });

  it('fail with the error of a connection that cannot be made', async () => {
    await using fixture = await purses(url);
    const db = await connect(url, { connectionsMax: 1 });
    await db.close();
    const closed = new Kysely<object>({ dialect: new BraidDialect({ db }) });
    const work = closed.transaction().execute((trx) => sql`SELECT 1`.execute(trx));
    expect(await failure(work)).toBeInstanceOf(Error);
    expect(await coins(fixture)).toEqual([10, 0]);
  });
});
