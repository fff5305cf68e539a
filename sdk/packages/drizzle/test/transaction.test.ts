/** Transactions: they run again, nest, and send writes that nobody waits for. */

import type { RetryEvent } from '@braiddb/sdk';
import { ConstraintError, DatabaseError, isRetryable, UsageError } from '@braiddb/sdk';
import { desc, eq, gt, sql, TransactionRollbackError } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import type { Fixture } from './tables.js';
import { coins, failure, fixtureOn } from './tables.js';

const level = sql`SELECT current_setting('transaction_isolation') AS level,
  current_setting('transaction_read_only') AS ro`;

onEachServer('transactions', ({ url }) => {
  it('run the function again until it fits', async () => {
    await using fixture = await fixtureOn(url, { connectionsMax: 8 });
    const { db, purses } = fixture;
    const retries: RetryEvent[] = [];
    const attempts: number[] = [];
    const options = { attemptsMax: 50, onRetry: (event: RetryEvent) => retries.push(event) };
    const increment = (): Promise<number> =>
      db.transaction(async (tx) => {
        attempts.push(tx.attempt);
        expect(tx.signal.aborted).toBe(false);
        const [row] = await tx.select().from(purses).where(eq(purses.id, 1));
        const before = row?.coins ?? -1;
        await tx
          .update(purses)
          .set({ coins: before + 1 })
          .where(eq(purses.id, 1));
        return before;
      }, options);
    const before = await Promise.all(Array.from({ length: 12 }, increment));
    expect(before.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => 10 + i));
    expect(await coins(fixture)).toEqual([22, 0]);
    expect(attempts.filter((attempt) => attempt > 1)).toHaveLength(retries.length);
    expect(retries.every(({ error }) => isRetryable(error))).toBe(true);
  });

  it('run again after a conflict that waiting cannot solve', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    const both = [1, 2].map((id) => {
      let resolve = (): void => undefined;
      const hasRead = new Promise<void>((done) => (resolve = done));
      return { id, hasRead, resolve };
    });
    let runs = 0;
    const work = ({ id, resolve }: (typeof both)[number]): Promise<void> =>
      db.transaction(async (tx) => {
        runs += 1;
        const [other] = await tx
          .select()
          .from(purses)
          .where(eq(purses.id, 3 - id));
        resolve();
        if (tx.attempt === 1) await Promise.all(both.map(({ hasRead }) => hasRead));
        const more = (other?.coins ?? 0) + 1;
        await tx.run(tx.update(purses).set({ coins: more }).where(eq(purses.id, id)));
      });
    await Promise.all(both.map(work));
    expect(runs).toBeGreaterThan(2);
    expect([
      [1, 2],
      [12, 11],
    ]).toContainEqual(await coins(fixture));
  });

  it('roll back and throw what the function throws', async () => {
    await using fixture = await fixtureOn(url, { connectionsMax: 1 });
    const { db, purses } = fixture;
    const mine = new Error('mine');
    const failing = db.transaction(async (tx) => {
      await tx.delete(purses);
      throw mine;
    });
    expect(await failure(failing)).toBe(mine);
    const byHand = db.transaction(async (tx) => {
      await tx.delete(purses);
      tx.rollback();
    });
    expect(await failure(byHand)).toBeInstanceOf(TransactionRollbackError);
    expect(await coins(fixture)).toEqual([10, 0]);
  });

  it('take isolation level, access mode and a signal', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    const levels = [
      'read uncommitted',
      'read committed',
      'repeatable read',
      'serializable',
    ] as const;
    for (const isolationLevel of levels) {
      const { rows } = await db.transaction((tx) => tx.execute(level), {
        isolationLevel,
        accessMode: 'read only',
      });
      const expected = isolationLevel === 'read uncommitted' ? 'read committed' : isolationLevel;
      expect(rows).toEqual([{ level: expected, ro: 'on' }]);
    }
    const plain = await db.transaction((tx) => tx.execute(level));
    expect(plain.rows).toEqual([{ level: 'serializable', ro: 'off' }]);
    const readOnly = db.transaction((tx) => tx.delete(purses), { accessMode: 'read only' });
    expect(((await failure(readOnly)) as Error).cause).toMatchObject({ code: '25006' });
    const reason = new Error('stop');
    const never = db.transaction((tx) => tx.delete(purses), { signal: AbortSignal.abort(reason) });
    expect(await failure(never)).toBe(reason);
    const deferrable = db.transaction((tx) => tx.delete(purses), { deferrable: true } as never);
    expect(await failure(deferrable)).toBeInstanceOf(UsageError);
    expect(await coins(fixture)).toEqual([10, 0]);
  });

  it('nest', async () => {
    await using fixture = await fixtureOn(url, { connectionsMax: 1 });
    const { db, purses } = fixture;
    const value = await db.transaction(async (tx) => {
      await tx.update(purses).set({ coins: 7 }).where(eq(purses.id, 1));
      const inner = tx.transaction(async (nested) => {
        await nested.update(purses).set({ coins: 99 });
        await nested.transaction((third) => third.insert(purses).values({ id: 1 }));
      });
      expect(((await failure(inner)) as Error).cause).toBeInstanceOf(ConstraintError);
      const thrown = tx.transaction(async (nested) => {
        await nested.delete(purses);
        nested.rollback();
      });
      expect(await failure(thrown)).toBeInstanceOf(TransactionRollbackError);
      return tx.transaction(async (nested) => {
        await nested.run(nested.update(purses).set({ coins: 3 }).where(eq(purses.id, 2)));
        return 'kept';
      });
    });
    expect(value).toBe('kept');
    expect(await coins(fixture)).toEqual([7, 3]);
  });

  it('cannot be used after their end', async () => {
    await using fixture = await fixtureOn(url);
    const { db, purses } = fixture;
    let kept: Parameters<Parameters<Fixture['db']['transaction']>[0]>[0] | undefined;
    await db.transaction((tx) => {
      kept = tx;
      return Promise.resolve();
    });
    const late = failure(kept?.select().from(purses) ?? Promise.resolve());
    expect(((await late) as Error).cause).toBeInstanceOf(UsageError);
  });

  it('send writes without waiting, and report a failure at COMMIT', async () => {
    await using fixture = await fixtureOn(url);
    const { db, client, purses } = fixture;
    await db.transaction(async (tx) => {
      await tx.run(tx.update(purses).set({ coins: 3 }).where(eq(purses.id, 1)));
      await tx.run(tx.insert(purses).values({ id: 3 }));
      await tx.run(tx.delete(purses).where(eq(purses.id, 3)));
      expect(await tx.run(tx.update(purses).set({ coins: 4 })).count()).toBe(2);
    });
    expect(await coins(fixture)).toEqual([4, 4]);
    const bad = db.transaction(async (tx) => {
      await tx.run(tx.update(purses).set({ coins: -5 }).where(eq(purses.id, 1)));
    });
    const error = await failure(bad);
    expect(error).toBeInstanceOf(ConstraintError);
    const statement = error instanceof DatabaseError ? error.statements[0]?.statement : undefined;
    expect(statement?.endsWith(' RETURNING NOTHING')).toBe(client.server.kind === 'braiddb');
    expect(await db.run(db.delete(purses)).count()).toBe(2);
  });

  it('reach what else the SDK has', async () => {
    await using fixture = await fixtureOn(url);
    const { db, client, purses } = fixture;
    const { name } = getTableConfig(purses);
    await using rows = db.$client.batcher<{ id: number; coins: number }>(name);
    await Promise.all([10, 11, 12].map((id) => rows.add({ id, coins: id })));
    const [most] = await db.transaction(async (tx) => {
      const query = tx.select().from(purses).where(gt(purses.id, 2)).orderBy(desc(purses.id));
      const { rows } = await tx.$client.query<{ coins: number }>(query).forUpdate();
      return rows;
    });
    expect(most?.coins).toBe(12);
    expect(await db.$count(purses)).toBe(5);
    expect(db.$client).toBe(client);
  });
});
