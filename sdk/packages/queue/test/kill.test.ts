/**
 * Workers and the server are killed (SIGKILL) in the middle of the work, at random, again and again.
 *
 * QUEUE_JOBS is the number of jobs, QUEUE_KILLS that of kills. The seed is printed; QUEUE_SEED makes
 * the same choices again.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';

import { startServer } from '../../../../examples/iot-worker/server.mjs';
import type {} from '../../../test/setup.js';
import type { JobQueue } from '../src/index.js';
import { openQueue } from '../src/index.js';
import type { Note } from './bench.js';

const JOBS = Number(process.env.QUEUE_JOBS ?? 100);
const KILLS = Number(process.env.QUEUE_KILLS ?? 6);
const SEED = Number(process.env.QUEUE_SEED ?? Date.now() % 2 ** 31);
const WORKERS = 3;
const NAMES = ['short', 'batch', 'long', 'keyed'] as const;
/** Jobs of one call of `enqueueMany`. */
const GROUP = Math.max(20, Math.ceil(JOBS / 200));
const PAUSE_MAX_MS = 600;

const binary = inject('braidBinary');
const program = fileURLToPath(new URL('kill-worker.mjs', import.meta.url));
const isBuilt = existsSync(new URL('../dist/index.js', import.meta.url));
const isMissing = binary === undefined || !isBuilt;
if (isMissing) process.stdout.write('skipped: the kill test needs the server and npm run build\n');

function startWorker(url: string): ChildProcess {
  const env = { ...process.env, QUEUE_TEST_URL: url, QUEUE_TEST_SCHEMA: 'kill' };
  return spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

/** Enqueues all jobs, each with a key: a call without an answer is made again. */
async function enqueueAll(queue: JobQueue<Record<string, Note>>): Promise<void> {
  for (let from = 0; from < JOBS; from += GROUP) {
    for (const name of NAMES) {
      const jobs = Array.from({ length: Math.min(GROUP, JOBS - from) }, (_, at) => {
        const n = from + at;
        const concurrencyKey = name === 'keyed' ? { concurrencyKey: `k${n % 7}` } : {};
        return { payload: { n }, key: `job ${n}`, ...concurrencyKey };
      });
      for (;;) {
        const error: unknown = await queue.enqueueMany(name, jobs).then(
          () => undefined,
          (caught: unknown) => caught ?? new Error('rejected'),
        );
        if (error === undefined) break;
        await sleep(50);
      }
    }
    await sleep(10);
  }
}

/** How many rows each job of a queue has left: `0` and more than one are faults. */
async function faults(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ queue: string; n: number; times: number }>`
    SELECT queue, n, count(*)::int4 AS times FROM kill_effect GROUP BY queue, n`;
  const found = rows
    .filter(({ times }) => times !== 1)
    .map(({ queue, n, times }) => {
      return `${queue} ${n}: ${times} times`;
    });
  if (rows.length !== JOBS * NAMES.length) found.push(`${rows.length} jobs have left a row`);
  return found;
}

describe.skipIf(isMissing)('killing workers and the server', () => {
  it(
    `${KILLS} times loses and doubles none of ${JOBS * NAMES.length} jobs`,
    { timeout: 7_200_000 },
    async () => {
      process.stdout.write(`QUEUE_SEED=${SEED}\n`);
      const choices = fc.sample(
        fc.record({
          victim: fc.integer({ min: 0, max: WORKERS }),
          ms: fc.integer({ min: 20, max: PAUSE_MAX_MS }),
        }),
        { numRuns: KILLS, seed: SEED },
      );
      const folder = await mkdtemp(join(tmpdir(), 'braid-queue-'));
      let server = await startServer(binary ?? '', { folder });
      const { url } = server;
      const listen = new URL(url).host;
      const db = await connect(url, { connectTimeoutMs: 2_000, graceMs: 500 });
      await db.script('CREATE TABLE kill_effect (queue TEXT NOT NULL, n INT4 NOT NULL)');
      const queue = openQueue<Record<string, Note>>(db, {
        schema: 'kill',
        queues: Object.fromEntries(
          NAMES.map((name) => [name, name === 'keyed' ? { perKeyMax: 1 } : {}]),
        ),
      });
      await queue.migrate();
      const workers = Array.from({ length: WORKERS }, () => startWorker(url));
      const enqueueing = enqueueAll(queue);
      let serverKills = 0;
      try {
        for (const { victim, ms } of choices) {
          await sleep(ms);
          const worker = workers[victim];
          if (worker === undefined) {
            serverKills++;
            await server.kill();
            server = await startServer(binary ?? '', { folder, listen });
          } else {
            await kill(worker);
            workers[victim] = startWorker(url);
          }
        }
        await enqueueing;
        const left = async (): Promise<number> => {
          const all = Object.values(await queue.stats());
          return all.reduce((sum, { jobs: { ready, delayed, blocked, active } }) => {
            return sum + ready + delayed + blocked + active;
          }, 0);
        };
        await expect.poll(left, { timeout: 3_600_000, interval: 200 }).toBe(0);
        expect(await faults(db)).toEqual([]);
        for (const name of NAMES) expect(await queue.dead(name)).toEqual([]);
        process.stdout.write(
          `${serverKills} kills of the server, ${KILLS - serverKills} of workers\n`,
        );
      } finally {
        await Promise.all(workers.map(kill));
        await queue.close();
        await db.close({ timeoutMs: 1_000 });
        await server.stop();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});
