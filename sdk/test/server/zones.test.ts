/** Hosts with zones: which one connections go to, and when they come back. */

import { expect, it } from 'vitest';

import type { ConnectOptions, Database } from '../../src/index.js';
import { connect } from '../../src/index.js';
import type { Proxy } from '../proxy.js';
import { startProxy } from '../proxy.js';
import { onEachServer } from '../targets.js';

/** How much faster the clock of the SDK goes: a host is avoided for five seconds of it. */
const CLOCK_SPEED = 50;

onEachServer('zones', ({ url }) => {
  const { username, pathname } = new URL(url);
  const target = `postgresql://${username}@${pathname}`;
  const options: ConnectOptions = {
    connectionsMax: 2,
    lifetimeMs: 100,
    zone: 'near',
    scheduler: { now: () => performance.now() * CLOCK_SPEED },
  };
  const hostOf = (proxy: Proxy, zone: string): { host: string; port: number; zone: string } => {
    const { hostname, port } = new URL(proxy.url);
    return { host: hostname, port: Number(port), zone };
  };
  /** Counts the chunks that go through a proxy. */
  const counted = (proxy: Proxy): { count: number } => {
    const seen = { count: 0 };
    proxy.judge = () => ((seen.count += 1), 'pass');
    return seen;
  };
  const ask = async (db: Database): Promise<void> => {
    await Promise.all([db.query`SELECT 1`, db.query`SELECT 2`]);
  };

  it('are preferred, given up while away, and taken again when they are back', async () => {
    await using far = await startProxy(url);
    const atFar = counted(far);
    let near = await startProxy(url);
    const atNear = counted(near);
    const hosts = [hostOf(far, 'far'), hostOf(near, 'near')];
    await using db = await connect(target, { ...options, hosts });
    await ask(db);
    expect(atNear.count).toBeGreaterThan(0);
    expect(atFar.count).toBe(0);

    // The zone goes away: nobody listens there any more.
    const port = Number(new URL(near.url).port);
    await near[Symbol.asyncDispose]();
    await expect.poll(() => ask(db).then(() => atFar.count)).toBeGreaterThan(0);
    await ask(db);

    // It comes back: connections go to it again, as they are replaced.
    near = await startProxy(url, port);
    const again = counted(near);
    await expect.poll(() => ask(db).then(() => again.count)).toBeGreaterThan(0);
    const counts = (): [number, number] => [atFar.count, again.count];
    const settled = async (): Promise<boolean> => {
      const [farBefore, nearBefore] = counts();
      await ask(db);
      const [farAfter, nearAfter] = counts();
      return farAfter === farBefore && nearAfter > nearBefore;
    };
    await expect.poll(settled, { interval: 60, timeout: 10_000 }).toBe(true);
    await near[Symbol.asyncDispose]();
  });

  it('hold for the hosts of the URL as well, and for each of several', async () => {
    await using far = await startProxy(url);
    await using one = await startProxy(url);
    await using two = await startProxy(url);
    const [atFar, atOne, atTwo] = [counted(far), counted(one), counted(two)];
    const all = [far, one, two].map((proxy) => new URL(proxy.url).host).join(',');
    const hosts = [hostOf(one, 'near'), hostOf(two, 'near')];
    // Evenly spread, so that both hosts of the zone have their turn.
    let drawn = 0;
    const scheduler = { random: () => (++drawn * 0.618) % 1 };
    await using db = await connect(`postgresql://${username}@${all}${pathname}`, {
      ...options,
      ...{ hosts, scheduler, connectionsMax: 8, lifetimeMs: 0, loadBalance: 'random' },
    });
    const held = await Promise.all(Array.from({ length: 8 }, () => db.reserve()));
    for (const connection of held) await connection.release();
    expect(atFar.count).toBe(0);
    expect(atOne.count).toBeGreaterThan(0);
    expect(atTwo.count).toBeGreaterThan(0);
  });
});
