/** Cron over a clock of the test, and by several programs at once. */

import { sql } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { CronError, UnknownQueueError } from '../src/index.js';
import { bench, sleep } from './bench.js';

onEachServer('cron', ({ url }) => {
  const place = bench(url);
  const { schema, open } = place;
  const ticks = async (name: string): Promise<string[]> => {
    const { rows } = await place.db.query<{ at: string }>`
      SELECT to_char(run_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI:SS') AS at
      FROM ${sql.identifier(schema, 'job')} WHERE queue = ${name} ORDER BY run_at`;
    return rows.map(({ at }) => at);
  };

  it('fires each time once, however many programs declare the pattern', async () => {
    let nowMs = Date.UTC(2026, 0, 31, 23, 59, 50);
    const now = (): number => nowMs;
    const first = open({}, { now });
    const { name } = first;
    const all = [first, ...[1, 2, 3].map(() => open({}, { name, now }))];
    for (const { queue } of all) await queue.cron(`tick-${name}`, '*/30 * * * * *', name, { n: 1 });
    for (let step = 0; step < 30; step++) {
      nowMs += 4_000;
      await sleep(250);
    }
    await expect
      .poll(() => ticks(name), { timeout: 10_000 })
      .toEqual([...['02-01 00:00:00', '02-01 00:00:30', '02-01 00:01:00', '02-01 00:01:30']]);
    for (const { queue } of all) await queue.close();
  });

  it('goes on after a restart, makes one job of missed times, and can be changed', async () => {
    let nowMs = Date.UTC(2026, 2, 1, 2, 59, 59);
    const now = (): number => nowMs;
    const first = open({}, { now });
    const { name } = first;
    const id = `nightly-${name}`;
    await first.queue.cron(id, '0 3 * * *', name, { n: 1 }, { timeZone: 'UTC', priority: 3 });
    await first.queue.close();
    nowMs = Date.UTC(2026, 2, 8, 12);
    const second = open({}, { name, now });
    await second.queue.cron(id, '0 3 * * *', name, { n: 2 }, { missed: 'once' });
    await expect.poll(() => ticks(name), { timeout: 10_000 }).toEqual(['03-01 03:00:00']);
    await second.queue.cron(id, '30 12 * * *', name, { n: 3 }, { timeZone: 'Europe/Vienna' });
    nowMs = Date.UTC(2026, 2, 9, 11, 30, 1);
    await expect.poll(() => ticks(name), { timeout: 10_000 }).toHaveLength(2);
    expect((await ticks(name))[1]).toBe('03-09 11:30:00');
    expect(await second.queue.removeCron(id)).toBe(true);
    expect(await second.queue.removeCron(id)).toBe(false);
    nowMs += 7 * 86_400_000;
    await sleep(300);
    expect(await ticks(name)).toHaveLength(2);
    await second.queue.close();
  });

  it('refuses patterns and queues that are wrong', async () => {
    const { queue, name } = open();
    await expect(queue.cron('a', 'every day', name, { n: 1 })).rejects.toThrow(CronError);
    await expect(queue.cron('a', '0 0 30 2 *', name, { n: 1 })).rejects.toThrow(CronError);
    await expect(queue.cron('a', '@daily', 'nope', { n: 1 })).rejects.toThrow(UnknownQueueError);
    const zone = { timeZone: 'Mars/Base' };
    await expect(queue.cron('a', '@daily', name, { n: 1 }, zone)).rejects.toThrow(CronError);
    await expect(queue.cron('', '@daily', name, { n: 1 })).rejects.toThrow('id');
    await expect(queue.cron('a', '@daily', name, { n: Number.NaN })).rejects.toThrow('NaN');
  });
});
