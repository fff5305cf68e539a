/** Queues for tests, in a schema of their own. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Database } from '@braiddb/sdk';
import { connect, sql } from '@braiddb/sdk';
import { afterAll, beforeAll, inject } from 'vitest';

import { freshName } from '../../../test/targets.js';
import type { JobQueue, QueueOptions, QueueSettings } from '../src/index.js';
import { openQueue } from '../src/index.js';

export { sleep };

/** A payload of the tests. */
export interface Note {
  readonly n: number;
}

/** One queue whose name nobody else uses. */
export interface Bench {
  readonly db: Database;
  readonly schema: string;
  /** Errors that workers have survived. */
  readonly errors: unknown[];
  /** The numbers that handlers have written to the table `done` as `who`, in order. */
  readonly done: (who: string) => Promise<number[]>;
  /** Opens a queue, and closes it at the end of the file if the test does not. */
  readonly open: (
    settings?: QueueSettings,
    options?: Partial<QueueOptions<object>> & { name?: string; on?: Database },
  ) => { queue: JobQueue<Record<string, Note>>; name: string };
}

/**
 * Makes a schema before the tests of a file, and drops it after them. Over TiKV every other queue is
 * opened on the second gateway.
 */
export function bench(url: string): Bench {
  const schema = freshName('queue');
  const opened: JobQueue<Record<string, Note>>[] = [];
  const errors: unknown[] = [];
  const done: Bench['done'] = async (who) => {
    const { rows } = await state.db.query<{ n: number }>`
      SELECT n FROM ${sql.identifier(schema, 'done')} WHERE who = ${who} ORDER BY n`;
    return rows.map(({ n }) => n);
  };
  const state = { db: undefined as unknown as Database, schema, errors, done };
  let second: Database | undefined;
  const next = (): Database => (opened.length % 2 === 1 ? (second ?? state.db) : state.db);
  const open: Bench['open'] = (settings = {}, { name = freshName('q'), on, ...options } = {}) => {
    const queue = openQueue<Record<string, Note>>(on ?? next(), {
      ...{ schema, pollMs: 100, upkeepMs: 200, onError: (error) => errors.push(error) },
      ...options,
      queues: { [name]: { backoffBaseMs: 20, backoffMaxMs: 100, ...settings } },
    });
    opened.push(queue);
    return { queue, name };
  };
  beforeAll(async () => {
    state.db = await connect(url, { connectionsMax: 30 });
    const other = url === inject('braidUrl') ? inject('secondBraidUrl') : undefined;
    if (other !== undefined) second = await connect(other, { connectionsMax: 30 });
    const { queue } = open();
    await Promise.all([queue.migrate(), queue.migrate(), queue.migrate()]);
    await state.db.script(`CREATE TABLE "${schema}".done (n INT4 NOT NULL, who TEXT)`);
  });
  afterAll(async () => {
    await Promise.all(opened.map((queue) => queue.close({ timeoutMs: 1_000 })));
    await state.db.script(`DROP SCHEMA "${schema}" CASCADE`);
    await Promise.all([state.db.close(), second?.close()]);
  });
  return Object.assign(state, { open });
}

/** Waits until nothing of a queue waits or runs. */
export async function untilEmpty(
  queue: JobQueue<Record<string, Note>>,
  name: string,
  timeoutMs = 120_000,
): Promise<void> {
  await queue.idle(name, { signal: AbortSignal.timeout(timeoutMs) });
}
