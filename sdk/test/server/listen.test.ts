/** `db.listen` and `db.notify`: order, gaps, limits, and every way in which a loop can end. */

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Database, ListenGap, Notification } from '../../src/index.js';
import { connect, DatabaseError, OptionError, UsageError } from '../../src/index.js';
import { startProxy } from '../proxy.js';
import { freshName, onEachServer, socketCount } from '../targets.js';

onEachServer('listen', ({ url }) => {
  let db: Database;
  beforeAll(async () => {
    db = await connect(url, { connectionsMax: 1 });
  });
  afterAll(() => db.close());

  /** A promise, and what resolves it. */
  const signalled = (): { promise: Promise<void>; fire: () => void } => {
    let fire = (): void => undefined;
    const promise = new Promise<void>((resolve) => (fire = resolve));
    return { promise, fire };
  };

  it('yields what is sent to its channels, in order, beside a pool of one', async () => {
    const [a, b, c] = [freshName('A "quoted" one'), freshName('b'), freshName('c')];
    const onListening = (): void => {
      void (async () => {
        await db.notify(a, 'first');
        await db.notify(c, 'nobody listens');
        await db.transaction(async (tx) => {
          await tx.notify(b);
          await tx.notify(a, 'é');
        });
      })();
    };
    const seen: Notification[] = [];
    for await (const item of db.listen([a, b], { onListening, onGap: () => undefined })) {
      seen.push(item);
      if (seen.length === 3) break;
    }
    expect(seen).toMatchObject([
      { channel: a, payload: 'first' },
      { channel: b, payload: '' },
      { channel: a, payload: 'é' },
    ]);
    expect(seen[0]?.processId).toBeGreaterThan(0);
  });

  it('ends by its signal, by return and by close, and leaves no handle', async () => {
    const sockets = socketCount();
    const reason = new Error('stop');
    const aborted = db.listen('x', { signal: AbortSignal.abort(reason) });
    await expect(aborted.next()).rejects.toBe(reason);

    const abort = new AbortController();
    const ready = signalled();
    const stream = db.listen('x', { signal: abort.signal, onListening: ready.fire });
    const waiting = stream.next();
    await ready.promise;
    expect(socketCount()).toBeGreaterThan(0);
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect.poll(socketCount, { timeout: 10_000 }).toBeLessThanOrEqual(sockets);

    const returned = db.listen('x');
    const pending = returned.next();
    await returned.return();
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await returned.next()).toEqual({ done: true, value: undefined });

    const other = await connect(url, { connectionsMax: 1 });
    const listening = signalled();
    const open = other.listen('x', { onListening: listening.fire });
    const unread = other.listen('x');
    const last = open.next();
    await listening.promise;
    await other.close();
    expect(await last).toEqual({ done: true, value: undefined });
    expect(await unread.next()).toEqual({ done: true, value: undefined });
    expect(() => other.listen('x')).toThrow(UsageError);
    await expect.poll(socketCount, { timeout: 10_000 }).toBeLessThanOrEqual(sockets);
  });

  it('goes on after a lost connection, and says that there is a gap', async () => {
    await using proxy = await startProxy(url);
    await using other = await connect(proxy.url, { connectionsMax: 1 });
    const channel = freshName('gap');
    let listenings = 0;
    const onListening = (): void => {
      listenings += 1;
      void db.notify(channel, String(listenings));
    };
    const seen: (Notification | ListenGap)[] = [];
    for await (const item of other.listen(channel, { onListening })) {
      seen.push(item);
      if (item.payload === '3') break;
      if (item.payload !== undefined) proxy.cutAll();
    }
    expect(seen).toMatchObject([
      { payload: '1' },
      { gap: 'reconnected', error: { name: 'ConnectionError' } },
      { payload: '2' },
      { gap: 'reconnected' },
      { payload: '3' },
    ]);
    const gaps: ListenGap[] = [];
    listenings = 0;
    const onGap = (gap: ListenGap): void => void gaps.push(gap);
    for await (const { payload } of other.listen(channel, { onListening, onGap })) {
      if (payload === '2') break;
      proxy.cutAll();
    }
    expect(gaps).toMatchObject([{ gap: 'reconnected', dropped: undefined }]);
  });

  it('holds a bounded number of notifications for a slow reader', async () => {
    const channel = freshName('overflow');
    const ready = signalled();
    const stream = db.listen(channel, { bufferMax: 5, onListening: ready.fire });
    const first = stream.next();
    await ready.promise;
    await db.notify(channel, '0');
    expect(await first).toMatchObject({ value: { payload: '0' } });
    for (let n = 1; n <= 12; n++) await db.notify(channel, String(n));
    await sleep(300);
    expect(await stream.next()).toMatchObject({ value: { gap: 'overflow', dropped: 7 } });
    for (let n = 8; n <= 12; n++) {
      expect(await stream.next()).toMatchObject({ value: { payload: String(n) } });
    }
    await stream.return();
  });

  it('fails with errors that another attempt would meet again', async () => {
    expect(() => db.listen('')).toThrow(OptionError);
    const mine = new Error('mine');
    const thrown = db.listen('x', {
      onListening: () => {
        throw mine;
      },
    });
    await expect(thrown.next()).rejects.toBe(mine);
    expect(() => db.listen([])).toThrow(OptionError);
    expect(() => db.listen('x', { bufferMax: 0 })).toThrow(OptionError);
    expect(() => db.listen('x', { onGap: 'log' as never })).toThrow(OptionError);
    await expect(db.notify('x', 'y'.repeat(9000))).rejects.toBeInstanceOf(DatabaseError);
  });
});
