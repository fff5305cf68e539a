/**
 * Very many calls of every kind, those that fail and those that are given up among them: no socket, no
 * timer, no listener and no memory stays behind.
 *
 * LEAK_CALLS is the number of calls, 4 000 by default; a million by hand.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect, it } from 'vitest';

import type { Database } from '../../src/index.js';
import { connect, sql, table } from '../../src/index.js';
import { freshName, onEachServer } from '../targets.js';

const CALLS = Number(process.env.LEAK_CALLS ?? 4_000);
/** Calls at the same time. */
const LANES = 20;
/** Bytes by which the heap may differ, whatever the number of calls: caches and compiled code. */
const SLACK_BYTES = 12 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Memory and handles when nothing is under way. */
async function measure(): Promise<{ heap: number; handles: Map<string, number> }> {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    collect();
  }
  const handles = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    // The limits of AbortSignal.timeout and those of this file are no handles of the SDK.
    if (name !== 'Timeout') handles.set(name, (handles.get(name) ?? 0) + 1);
  }
  return { heap: process.memoryUsage().heapUsed, handles };
}

onEachServer('many calls', ({ url }) => {
  it(`of every kind leave nothing behind: ${CALLS}`, { timeout: 7_200_000 }, async () => {
    const name = freshName('sdk_leak');
    const db = await connect(url, { connectionsMax: 8 });
    const leak = table<{ id: number; n: number }>(name, { key: ['id'] });
    await db.script(`CREATE TABLE ${name} (id INT8 PRIMARY KEY, n INT4);
      INSERT INTO ${name} SELECT g, 0 FROM generate_series(1, 100) AS s(g)`);
    const batcher = db.batcher<{ id: number; n: number }>(name, { mode: 'upsert' });
    const kinds = callsOf(db, name);
    kinds.push((i) => batcher.add({ id: (i % 500) + 1_000, n: i }));
    kinds.push((i) => db.upsert(leak, [{ id: (i % 100) + 1, n: i }]));
    const errors = new Map<string, number>();
    const run = async (calls: number): Promise<void> => {
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let i = next++; i < calls; i = next++) {
          try {
            await kinds[i % kinds.length]?.(i);
          } catch (error) {
            const kind = (error as Error).name;
            errors.set(kind, (errors.get(kind) ?? 0) + 1);
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      await batcher.flush();
    };
    await run(Math.max(kinds.length * 50, CALLS / 20));
    const before = await measure();
    errors.clear();
    const startMs = performance.now();
    await run(CALLS);
    const seconds = (performance.now() - startMs) / 1000;
    const after = await measure();
    const grownBytes = after.heap - before.heap;
    process.stdout.write(
      `${CALLS} calls in ${seconds.toFixed(1)} s: heap ${(before.heap / 2 ** 20).toFixed(1)} MiB, ` +
        `grown by ${(grownBytes / 1024).toFixed()} KiB; ${JSON.stringify([...errors])}\n`,
    );
    expect([...errors.keys()].sort()).toEqual([
      ...['ConstraintError', 'DatabaseError', 'Error', 'UsageError', 'ValueError'],
    ]);
    // Connections that lived out their time may be missing; none may have been added.
    for (const [kind, count] of after.handles) {
      const most = kind.startsWith('TCP') ? Math.max(8, before.handles.get(kind) ?? 0) : undefined;
      expect([kind, count <= (most ?? before.handles.get(kind) ?? 0)]).toEqual([kind, true]);
    }
    expect(db.stats().connections).toMatchObject({ waiting: 0, reserved: 0 });
    expect(grownBytes).toBeLessThan(SLACK_BYTES);
    await batcher.close();
    await db.run`DROP TABLE ${sql.identifier(name)}`;
    await db.close();
  });
});

/** A call of each kind. */
function callsOf(db: Database, name: string): ((i: number) => unknown)[] {
  const t = sql.identifier(name);
  const steady = new AbortController().signal;
  const early = AbortSignal.abort(new Error('too late'));
  return [
    (i) => db.query`SELECT n FROM ${t} WHERE id = ${(i % 100) + 1}`,
    (i) => db.with({ signal: steady }).one`SELECT n FROM ${t} WHERE id = ${(i % 100) + 1}`,
    (i) => db.run`UPDATE ${t} SET n = ${i % 1000} WHERE id = ${(i % 100) + 1}`,
    (i) =>
      db.transaction({ signal: steady, isolation: 'read committed' }, async (tx) => {
        await tx.query`SELECT n FROM ${t} WHERE id = ${(i % 100) + 1}`;
        await tx.run`UPDATE ${t} SET n = n + 1 WHERE id = ${(i % 100) + 1}`;
      }),
    () => db.transaction(() => Promise.reject(new Error('mine'))),
    () =>
      db.transaction(async (tx) => {
        await tx.transaction((inner) => inner.query`SELECT 1 / 0`).catch(() => undefined);
        await tx.query`SELECT 1`;
      }),
    () => db.query(sql`SELECT 1`, { signal: early }),
    () => {
      const abort = new AbortController();
      const call = db.query(sql`SELECT n FROM ${t} WHERE id = 1`, { signal: abort.signal });
      abort.abort(new Error('at once'));
      return call;
    },
    () => db.query`INSERT INTO ${t} VALUES (1, 1)`,
    () => db.query`SELECT no_such_column FROM ${t}`,
    () => db.query`SELECT ${undefined as never}`,
    async () => {
      for await (const row of db.stream(sql`SELECT id FROM ${t} ORDER BY id`, { batchRows: 5 })) {
        if (Number(row.id) === 7) break;
      }
    },
    async () => {
      await using connection = await db.reserve();
      await connection.query`SELECT 1`;
    },
    async () => {
      let kept: { query: Database['query'] } | undefined;
      await db.transaction(async (tx) => {
        kept = tx;
        await tx.query`SELECT 1`;
      });
      if (kept !== undefined) await kept.query`SELECT 1`;
    },
    async () => {
      const rows = db.copyTo(sql`COPY (SELECT id FROM ${t} ORDER BY id) TO STDOUT`);
      for await (const chunk of rows) if (chunk.length > 0) break;
    },
  ];
}
