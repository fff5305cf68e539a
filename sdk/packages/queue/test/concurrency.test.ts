/**
 * Concurrency keys, several workers, and plans that do not depend on the number of rows.
 *
 * A handler runs again when its transaction meets a conflict, so the tests keep sets of what handlers
 * have seen. Rows that handlers write show that each job was done once.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { QueryTrace } from '@braiddb/sdk';
import { sql } from '@braiddb/sdk';
import { expect, it } from 'vitest';

import { onEachServer } from '../../../test/targets.js';
import { bench, sleep, untilEmpty } from './bench.js';

/** Rows of the large queue; QUEUE_ROWS sets another number. */
const ROWS = Number(process.env.QUEUE_ROWS ?? 20_000);

/** Parts of plans that read more than the next rows. */
const WHOLE = /seq scan|hash join|sort|scan on job j\b/i;

const sorted = (numbers: Iterable<number>): number[] => [...numbers].toSorted((a, b) => a - b);

onEachServer('many jobs', ({ url }) => {
  const place = bench(url);
  const { schema, open } = place;
  const job = sql.identifier(schema, 'job');

  it('runs at most perKeyMax jobs of a key over several workers, and all jobs', async () => {
    const { queue, name } = open({ perKeyMax: 2 });
    const workers = [
      queue,
      open({ perKeyMax: 2 }, { name }).queue,
      open({ perKeyMax: 2 }, { name }).queue,
    ];
    const running = new Map<string, number>();
    const most = new Map<string, number>();
    const seen = new Set<number>();
    const jobs = Array.from({ length: 60 }, (_, n) => ({
      payload: { n },
      ...(n % 5 === 0 ? {} : { concurrencyKey: `key${n % 3}` }),
    }));
    await queue.enqueueMany(name, jobs);
    for (const one of workers) {
      await one.work(name, { concurrency: 5 }, async ({ concurrencyKey = '', payload: { n } }) => {
        const now = (running.get(concurrencyKey) ?? 0) + 1;
        running.set(concurrencyKey, now);
        most.set(concurrencyKey, Math.max(now, most.get(concurrencyKey) ?? 0));
        seen.add(n);
        await sleep(10);
        running.set(concurrencyKey, (running.get(concurrencyKey) ?? 0) - 1);
      });
    }
    await untilEmpty(queue, name);
    expect(sorted(seen)).toEqual(jobs.map((_, n) => n));
    for (const key of ['key0', 'key1', 'key2']) expect(most.get(key)).toBeLessThanOrEqual(2);
  });

  it('parks what may not run, and upkeep brings back what a dead worker has left', async () => {
    const { queue, name } = open({ perKeyMax: 1 }, { upkeepMs: 60_000 });
    const jobs = Array.from({ length: 30 }, (_, n) => ({ payload: { n }, concurrencyKey: 'a' }));
    await queue.enqueueMany(name, [...jobs, { payload: { n: 99 }, concurrencyKey: 'b' }]);
    // As a worker leaves it that dies between the end of a job and the next of its key.
    await place.db.query`UPDATE ${job} SET state = 'blocked' WHERE queue = ${name}`;
    const seen = new Set<number>();
    await queue.work(name, ({ payload: { n } }) => void seen.add(n));
    await sleep(300);
    expect(sorted(seen)).toEqual([]);
    const other = open({ perKeyMax: 1 }, { name, upkeepMs: 100 });
    await other.queue.work(name, ({ payload: { n } }) => void seen.add(n));
    await untilEmpty(queue, name);
    expect(sorted(seen)).toEqual([...jobs.map((_, n) => n), 99]);
  });

  it('frees the key of a job that failed, and of one whose worker is gone', async () => {
    const { queue, name } = open({ perKeyMax: 1, maxAttempts: 1 });
    await queue.enqueueMany(
      name,
      [0, 1, 2].map((n) => ({ payload: { n }, concurrencyKey: 'a' })),
    );
    const seen = new Set<number>();
    await place.db.query`
      UPDATE ${job} SET state = 'active', attempt = 1, lease = gen_random_uuid(),
        due_at = now() + interval '0.3 s'
      WHERE queue = ${name} AND payload->>'n' = '0'`;
    await queue.work(name, ({ payload: { n } }) => {
      seen.add(n);
      if (n === 1) throw new Error('no');
    });
    await untilEmpty(queue, name);
    expect(sorted(seen)).toEqual([1, 2]);
    expect((await queue.dead(name)).map(({ payload }) => payload.n).toSorted()).toEqual([0, 1]);
    expect(await queue.redrive(name)).toBe(2);
  });

  it('shares a queue among workers: each job once, none waits for another worker', async () => {
    const { queue, name } = open();
    const shares = [0, 0, 0, 0];
    for (const at of shares.keys()) {
      const own = open({}, { name }).queue;
      await own.work(name, { concurrency: 2 }, async ({ payload: { n } }, tx) => {
        await tx.run`INSERT INTO ${sql.identifier(schema, 'done')} VALUES (${n}, ${name})`;
        shares[at] = (shares[at] ?? 0) + 1;
      });
    }
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await queue.enqueueMany(
      name,
      numbers.map((n) => ({ payload: { n } })),
    );
    await untilEmpty(queue, name);
    expect(await place.done(name)).toEqual(numbers);
    expect(Math.min(...shares)).toBeGreaterThan(10);
  });

  it(
    `takes a job out of ${ROWS} of any state by a few index entries`,
    { timeout: 300_000 },
    async () => {
      const { queue, name } = open();
      const payload = { n: 1 };
      for (let left = ROWS; left > 0; left -= 10_000) {
        const rows = Math.min(left, 10_000);
        await queue.enqueueMany(
          name,
          Array.from({ length: rows }, (_, n) =>
            n % 2 === 0 ? { payload } : { payload, delayMs: 3_600_000, priority: -5 },
          ),
        );
      }
      await place.db.query`ANALYZE ${job}`;
      const texts: string[] = [];
      const hear = (trace: unknown): void => void texts.push((trace as QueryTrace).text);
      subscribe('tracing:braiddb:query:start', hear);
      await (await queue.work(name, () => undefined)).close();
      const hasSettled = (): boolean => texts.some((text) => text.includes('WITH lost AS'));
      await expect.poll(hasSettled, { timeout: 30_000 }).toBe(true);
      unsubscribe('tracing:braiddb:query:start', hear);
      // The statements as they are sent, with parameters: a plan must not need their values.
      await using connection = await place.db.reserve();
      const plan = async (part: RegExp, args: string): Promise<string> => {
        const text = texts.find((one) => part.test(one)) ?? 'no such statement';
        await connection.script(`PREPARE asked AS ${text}`);
        const { rows } = await connection.query(sql.unsafe(`EXPLAIN EXECUTE asked(${args})`));
        await connection.script('DEALLOCATE asked');
        return rows.map((row) => Object.values(row).join()).join('\n');
      };
      const id = "'00000000-0000-0000-0000-000000000000'";
      const take = await plan(
        /WITH next AS MATERIALIZED \(SELECT id FROM \S+ WHERE/,
        `'${name}', ${id}, 1000`,
      );
      expect(take).toContain('job_ready');
      expect(take).not.toMatch(WHOLE);
      const settle = await plan(/WITH lost AS/, `'${name}', '${name}', 'lost'`);
      expect(settle).toContain('job_delayed');
      expect(settle).toContain('job_active');
      expect(settle).not.toMatch(WHOLE);
      const startMs = performance.now();
      let seen = 0;
      const worker = await queue.work(name, { concurrency: 1 }, () => {
        seen++;
      });
      await expect.poll(() => seen, { timeout: 20_000 }).toBeGreaterThan(5);
      await worker.close({ timeoutMs: 1_000 });
      process.stdout.write(
        `${seen} jobs of ${ROWS} in ${(performance.now() - startMs).toFixed()} ms\n`,
      );
      await place.db.query`DELETE FROM ${job} WHERE queue = ${name}`;
    },
  );
});
