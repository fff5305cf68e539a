/**
 * What BraidDB alone can do: writes that are acknowledged before they have run. On other servers
 * the same transactions are pipelined, and these tests look only at what they leave behind.
 */

import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

import type { Database, Transaction, Write } from '../../src/index.js';
import {
  connect,
  ConstraintError,
  DatabaseError,
  readTimeline,
  sql,
  timelineSvg,
} from '../../src/index.js';
import { uuidOfTime } from '../../src/transaction/commit-token.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer } from '../targets.js';

const HOUR_MS = 3_600_000;

onEachServer('writes that run side by side', ({ url, name: server }) => {
  const isBraid = server === 'BraidDB';
  const schema = freshName('sdk_bank');
  const account = sql.identifier(`${schema}_account`);
  const transfer = sql.identifier(`${schema}_transfer`);
  const leg = sql.identifier(`${schema}_leg`);
  /** One connection, so that the session reports on the transaction before. */
  let db: Database;
  let transfers = 0;

  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 1 });
    await db.run`CREATE TABLE ${account} (id INT8 PRIMARY KEY, balance NUMERIC CHECK (balance >= 0))`;
    await db.run`CREATE TABLE ${transfer} (id INT8 PRIMARY KEY, amount NUMERIC NOT NULL)`;
    await db.run`CREATE TABLE ${leg} (transfer_id INT8 REFERENCES ${transfer}, leg INT2,
      account_id INT8 NOT NULL REFERENCES ${account}, PRIMARY KEY (transfer_id, leg))`;
  });
  beforeEach(async () => {
    await db.run`DELETE FROM ${leg}`;
    await db.run`DELETE FROM ${transfer}`;
    await db.run`DELETE FROM ${account}`;
    await db.run`INSERT INTO ${account} SELECT i, 1000 FROM generate_series(1, 10) AS i`;
  });
  afterAll(async () => {
    for (const table of [leg, transfer, account]) await db.run`DROP TABLE ${table}`;
    await db.close();
  });

  /** A bank transfer: writes awaited one by one, or not at all. */
  const transferring = async (
    tx: Transaction,
    amount: number,
    way: 'serial' | 'parallel',
  ): Promise<void> => {
    const done = async (write: Write): Promise<void> => {
      if (way === 'parallel') await write;
      else expect(await write.count()).toBe(1);
    };
    const id = ++transfers;
    await tx.query`SELECT id, balance FROM ${account} WHERE id IN (${1}, ${2}) ORDER BY id`.forUpdate();
    await done(tx.run`INSERT INTO ${transfer} (id, amount) VALUES (${id}, ${amount})`);
    await done(tx.run`INSERT INTO ${leg} VALUES (${id}, 1, ${1})`);
    await done(tx.run`INSERT INTO ${leg} VALUES (${id}, 2, ${2})`);
    await done(tx.run`UPDATE ${account} SET balance = balance - ${amount} WHERE id = ${1}`);
    await done(tx.run`UPDATE ${account} SET balance = balance + ${amount} WHERE id = ${2}`);
  };
  const roundTrips = async (): Promise<number> => {
    const row = await db.one<Record<string, unknown>>`SHOW last_transaction_round_trips`;
    return Number(Object.values(row)[0]);
  };

  it('make a bank transfer of two round trips', async () => {
    const trips: number[] = [];
    for (const way of ['serial', 'parallel'] as const) {
      for (let round = 0; round < 2; round++)
        await db.transaction((tx) => transferring(tx, 5, way));
      if (isBraid) trips.push(await roundTrips());
    }
    if (isBraid) {
      expect(trips[0]).toBeLessThanOrEqual(7);
      expect(trips[1]).toBe(2);
    }
    const { rows } = await db.query`SELECT id, balance::int4 AS balance FROM ${account}
      WHERE id <= 3 ORDER BY id`;
    expect(rows).toMatchObject([{ balance: 980 }, { balance: 1020 }, { balance: 1000 }]);
    expect(await db.one`SELECT count(*)::int4 AS n FROM ${leg}`).toEqual({ n: 8 });
  });

  it('name every call that failed, the earliest first', async () => {
    await db.run`INSERT INTO ${transfer} VALUES (${-1}, 1), (${-2}, 1)`;
    const work = db.transaction(async function guilty(tx) {
      await tx.run`INSERT INTO ${transfer} VALUES (${-3}, ${1})`;
      await tx.run`UPDATE ${account} SET balance = balance - ${2000} WHERE id = ${1}`;
      await tx.run`INSERT INTO ${transfer} VALUES (${-1}, ${2})`;
      await tx.run`INSERT INTO ${transfer} VALUES (${-2}, ${3})`;
      await tx.query`SELECT 1`;
    });
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConstraintError);
    if (!(error instanceof ConstraintError)) return;
    expect(error.code).toBe('23514');
    expect(error.parameters).toEqual([2000, 1]);
    expect(error.stack).toContain('guilty');
    expect(error.statements[0]).toMatchObject({ code: '23514', parameters: [2000, 1] });
    expect(error.statements[0]?.statement).toContain('UPDATE');
    if (!isBraid) return;
    // Numbers count what the SDK sends itself; the lines are the server's own.
    expect(error.where).toMatch(/^statement \d+: 23514 new row for relation .*: UPDATE /);
    for (const failed of error.statements) {
      expect(failed.number).toBeGreaterThan(0);
      expect(failed.stack).toContain('guilty');
      expect(failed.stack).toContain('parallel.test.ts');
      expect(error.where).toContain(`statement ${failed.number}: ${failed.code} ${failed.message}`);
    }
    const places = error.statements.map(
      ({ stack }) => /parallel\.test\.ts:(\d+)/.exec(stack ?? '')?.[1],
    );
    expect(new Set(places).size).toBe(error.statements.length);
  });

  it('name both of two that ran side by side and failed', async () => {
    await db.run`INSERT INTO ${transfer} VALUES (${-1}, 1), (${-2}, 1)`;
    const work = db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${transfer} VALUES (${-1}, ${2})`;
      await tx.run`INSERT INTO ${transfer} VALUES (${-2}, ${3})`;
      await tx.query`SELECT 1`;
    });
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: '23505', parameters: [-1, 2] });
    if (!isBraid || !(error instanceof DatabaseError)) return;
    expect(error.statements.map(({ code, parameters }) => [code, parameters])).toEqual([
      ['23505', [-1, 2]],
      ['23505', [-2, 3]],
    ]);
  });

  it('name the call that failed at the commit, and leave the connection in order', async () => {
    await db.run`INSERT INTO ${transfer} VALUES (${-1}, 1)`;
    const work = db.transaction(async function guilty(tx) {
      await tx.run`INSERT INTO ${transfer} VALUES (${-3}, ${1})`;
      await tx.run`INSERT INTO ${transfer} VALUES (${-1}, ${2})`;
    });
    const error: unknown = await work.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: '23505', parameters: [-1, 2] });
    expect((error as Error).stack).toContain('guilty');
    expect(await db.one`SELECT count(*)::int4 AS n FROM ${transfer}`).toEqual({ n: 1 });
    await db.transaction((tx) => transferring(tx, 1, 'parallel'));
  });

  it('of a nested transaction fail it, with their call, and the rest stays', async () => {
    await db.transaction(async (tx) => {
      await tx.run`INSERT INTO ${transfer} VALUES (${-1}, ${1})`;
      const nested = tx.transaction(async function guilty(inner) {
        await inner.run`INSERT INTO ${transfer} VALUES (${-2}, ${2})`;
        await inner.run`INSERT INTO ${leg} VALUES (${-9}, 1, ${1})`;
      });
      const error: unknown = await nested.catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: '23503', kind: 'foreign key', parameters: [-9, 1] });
      expect((error as Error).stack).toContain('guilty');
      await tx.run`INSERT INTO ${leg} VALUES (${-1}, 1, ${1})`;
    });
    expect(await db.one`SELECT count(*)::int4 AS n FROM ${transfer}`).toEqual({ n: 1 });
    expect(await db.one`SELECT count(*)::int4 AS n FROM ${leg}`).toEqual({ n: 1 });
  });

  it.runIf(isBraid)('can be seen on a timeline, and as a picture', async () => {
    await using one = await connect(url, { connectionsMax: 1 });
    await one.run`SET record_timeline = on`;
    await one.transaction((tx) => transferring(tx, 1, 'parallel'));
    const timeline = await readTimeline(one);
    expect(timeline.map(({ number }) => number)).toEqual(timeline.map((_, index) => index + 1));
    const legs = timeline.filter(({ statement }) => statement.includes(`${schema}_leg`));
    const parent = timeline.find(({ statement }) => statement.includes(`${schema}_transfer" (id`));
    expect(legs).toHaveLength(2);
    expect(parent?.statement).toContain('RETURNING NOTHING');
    for (const { queuedUs, startedUs, finishedUs } of timeline) {
      expect(startedUs).toBeGreaterThanOrEqual(queuedUs);
      expect(finishedUs).toBeGreaterThanOrEqual(startedUs ?? Infinity);
    }
    for (const { waitedFor, startedUs, waitReason } of legs) {
      if (waitedFor.length > 0) expect(waitReason).toMatch(/reads .*_transfer/);
      expect(startedUs).toBeGreaterThanOrEqual(parent?.finishedUs ?? Infinity);
    }
    const svg = timelineSvg(timeline, { title: 'A bank transfer' });
    expect(svg.match(/<g>/g)).toHaveLength(timeline.length);
    expect(svg).toContain('RELEASE SAVEPOINT');
  });
});

onEachServer('commit tokens', ({ url, name: server }) => {
  const isBraid = server === 'BraidDB';
  const t = sql.identifier(freshName('sdk_token'));

  /** The tokens that a piece of work sends. */
  const tokensOf = async (
    work: (db: Database) => Promise<unknown>,
    onSent: (sent: string) => void = () => undefined,
  ): Promise<string[]> => {
    await using proxy = await startProxy(url);
    let sent = '';
    proxy.judge = (chunk) => {
      sent += chunk.toString('latin1');
      return 'pass';
    };
    await using db = await connect(proxy.url, { prepare: true });
    await work(db);
    onSent(sent);
    return [...sent.matchAll(/SET LOCAL commit_token = '([^']*)'/g)].map(
      ([, token]) => token ?? '',
    );
  };
  const timeOf = (token: string): number =>
    Number.parseInt(token.replaceAll('-', '').slice(0, 12), 16);

  it.runIf(isBraid)('tell their time and are good for one commit', async () => {
    const tokens = await tokensOf(async (db) => {
      await db.run`CREATE TABLE ${t} (id INT4)`;
      for (const id of [1, 2])
        await db.transaction((tx) => tx.run`INSERT INTO ${t} VALUES (${id})`);
      await db.transaction({ readOnly: true }, (tx) => tx.query`SELECT 1`);
      await db.run`DROP TABLE ${t}`;
    });
    expect(tokens).toHaveLength(2);
    await using db = await connect(url);
    for (const token of tokens) {
      expect(token[14]).toBe('7');
      expect(Math.abs(timeOf(token) - Date.now())).toBeLessThan(60_000);
      const status = await db.one`SELECT braid_commit_status(${token}) AS status`;
      expect(status).toEqual({ status: 'committed' });
    }
  });

  it.runIf(isBraid)('are not kept prepared: each is another text', async () => {
    let sent = '';
    const twice = async (db: Database): Promise<void> => {
      for (let round = 0; round < 2; round++) await db.transaction((tx) => tx.query`SELECT 1`);
    };
    await tokensOf(twice, (all) => (sent = all));
    expect(sent.match(/\0SELECT 1\0/g)).toHaveLength(1);
    expect(sent).toMatch(/braid_[0-9a-f]{32}\0SELECT 1\0/);
    expect(sent).not.toMatch(/braid_[0-9a-f]{32}\0SET LOCAL/);
  });

  it.runIf(isBraid)(
    'that are older than what the server keeps are unknown, not aborted',
    async () => {
      await using db = await connect(url, { commitTokens: false });
      const status = async (hours: number): Promise<unknown> => {
        const token = uuidOfTime(Date.now() - hours * HOUR_MS);
        return (await db.one`SELECT braid_commit_status(${token}) AS status`).status;
      };
      expect(await status(25)).toBe('unknown');
      expect(await status(1)).toBe('aborted');
      const late = db.transaction(async (tx) => {
        const token = uuidOfTime(Date.now() - 25 * HOUR_MS);
        await tx.script(`SET LOCAL commit_token = '${token}'`);
        await tx.query`SELECT 1`;
      });
      await expect(late).rejects.toMatchObject({ code: '22023' });
    },
  );

  it.runIf(isBraid)('do not mind that the clock of the machine is days behind', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 72 * HOUR_MS });
    try {
      const [token = ''] = await tokensOf((db) => db.transaction((tx) => tx.query`SELECT 1`));
      expect(timeOf(token)).toBeGreaterThan(Date.now() + 71 * HOUR_MS);
    } finally {
      vi.useRealTimers();
    }
  });

  it.runIf(!isBraid)('are not sent to other servers', async () => {
    expect(await tokensOf((db) => db.transaction((tx) => tx.query`SELECT 1`))).toEqual([]);
  });
});
