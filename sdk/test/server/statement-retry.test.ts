/** Single statements outside transactions: run again where they have had no effect, and only there. */

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import type { Database, RetryEvent } from '../../src/index.js';
import { connect, ConnectionError, isAmbiguous, sql } from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer } from '../targets.js';

onEachServer('single statements', ({ url, name: server }) => {
  let db: Database;
  const t = sql.identifier(freshName('sdk_again'));
  beforeAll(async () => {
    db = await connect(url);
    await db.run`CREATE TABLE ${t} (id INT4 PRIMARY KEY, n INT4 NOT NULL)`;
  });
  beforeEach(async () => {
    await db.run`DELETE FROM ${t}`;
    await db.run`INSERT INTO ${t} VALUES (1, 0)`;
  });
  afterAll(async () => {
    await db.run`DROP TABLE ${t}`;
    await db.close();
  });

  const count = async (): Promise<number> => (await db.one<{ n: number }>`SELECT n FROM ${t}`).n;

  /** A handle whose next statements need new connections, through a proxy. */
  async function behind(proxyUrl: string, heard: RetryEvent[] = []): Promise<Database> {
    const onRetry = (event: RetryEvent): void => void heard.push(event);
    return connect(proxyUrl, { connectionsMax: 1, transaction: { onRetry, attemptsMax: 5 } });
  }

  it('run again after a conflict with another transaction', async () => {
    const address = new URL(url);
    address.searchParams.set('options', '-c default_transaction_isolation=serializable');
    const heard: RetryEvent[] = [];
    await using other = await behind(address.href, heard);
    for (const write of [
      () => other.query`UPDATE ${t} SET n = n + 1`,
      () => other.run`UPDATE ${t} SET n = n + 1`,
    ]) {
      let waiting: Promise<unknown> | undefined;
      await db.transaction(async (tx) => {
        await tx.query`UPDATE ${t} SET n = n + 10`;
        waiting ??= Promise.resolve(write());
        await sleep(50);
      });
      await waiting;
    }
    expect(await count()).toBe(22);
    // BraidDB runs such a statement again by itself.
    if (server !== 'BraidDB') expect(heard.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(heard.every(({ error }) => (error as { code?: string }).code === '40001')).toBe(true);
  });

  it('run again when no connection could be made', async () => {
    await using proxy = await startProxy(url);
    const heard: RetryEvent[] = [];
    await using other = await behind(proxy.url, heard);
    proxy.cutAll();
    await sleep(20);
    let refused = 0;
    proxy.judge = () => (++refused <= 2 ? 'cut before' : 'pass');
    await other.query`UPDATE ${t} SET n = n + 1`;
    expect(await count()).toBe(1);
    expect(heard).toHaveLength(2);
    expect(heard[0]?.error).toBeInstanceOf(ConnectionError);
  });

  it('throw the last error itself when the attempts are over', async () => {
    await using proxy = await startProxy(url);
    const heard: RetryEvent[] = [];
    await using other = await behind(proxy.url, heard);
    proxy.cutAll();
    await sleep(20);
    proxy.judge = () => 'cut before';
    await expect(other.query`SELECT 1`).rejects.toBeInstanceOf(ConnectionError);
    expect(heard).toHaveLength(4);
    // What may commit on its way is not run again, nor is a text of several statements.
    heard.length = 0;
    await expect(other.query`CALL nothing()`).rejects.toBeInstanceOf(ConnectionError);
    await expect(other.script('SELECT 1')).rejects.toBeInstanceOf(ConnectionError);
    expect(heard).toEqual([]);
    const abort = new AbortController();
    const reason = new Error('stop');
    const stopped = other.query(sql`SELECT 1`, { signal: abort.signal });
    abort.abort(reason);
    await expect(stopped).rejects.toBe(reason);
  });

  it('never run again once they have been sent', async () => {
    for (const verdict of ['cut before', 'cut after'] as const) {
      await using proxy = await startProxy(url);
      const heard: RetryEvent[] = [];
      await using other = await behind(proxy.url, heard);
      proxy.judge = (chunk) => (chunk.includes('n + 1') ? verdict : 'pass');
      const error: unknown = await other.query`UPDATE ${t} SET n = n + 1`.catch(
        (caught: unknown) => caught,
      );
      expect(isAmbiguous(error)).toBe(true);
      expect(heard).toEqual([]);
    }
    expect(await count()).toBeLessThanOrEqual(1);
  });
});
