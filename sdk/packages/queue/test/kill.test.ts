/**
 * Workers and the server are killed (SIGKILL) in the middle of the work, at random, again and again.
 *
 * | variable | default | meaning |
 * |---|---|---|
 * | QUEUE_JOBS | 100 | jobs of each of four queues |
 * | QUEUE_KILLS | 6 | kills |
 * | QUEUE_PAUSE_MS | 600 | milliseconds between two kills at most |
 * | QUEUE_SEED | random, and printed | makes the same choices again |
 *
 * Over TiKV (BRAID_TEST_STORE) there are two gateways, and either may be killed.
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

import type { RunningServer } from '../../../../examples/iot-worker/server.mjs';
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
const PAUSE_MAX_MS = Number(process.env.QUEUE_PAUSE_MS ?? 600);
/** Jobs of a queue from which on progress is printed, and how often in milliseconds. */
const SHOWN_FROM = 10_000;
const SHOW_MS = 10_000;

const binary = inject('braidBinary');
const store = inject('braidStore');
const GATEWAYS = store === undefined ? 1 : 2;
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

/** What is wrong with the rows that the jobs of each queue have left: one for each job is right. */
async function faults(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ queue: string; rows: number; jobs: number }>`
    SELECT queue, count(*)::int4 AS rows, count(DISTINCT n)::int4 AS jobs
    FROM kill_effect GROUP BY queue`;
  const counts = new Map(rows.map((row) => [row.queue, row]));
  return NAMES.flatMap((name) => {
    const { rows: left = 0, jobs = 0 } = counts.get(name) ?? {};
    return left === JOBS && jobs === JOBS ? [] : [`${name}: ${left} rows of ${jobs} jobs`];
  });
}

/** The servers under test: one, or the gateways of one store. */
class Servers {
  readonly #folders: string[] = [];
  readonly #servers: RunningServer[] = [];
  readonly #args: string[];
  kills = 0;

  constructor() {
    const name = `kill-${Date.now().toString(36)}`;
    this.#args = store === undefined ? [] : ['--store', `${store}?prefix=${name}/`];
  }

  /** Starts all of them; a URL that names them all. */
  async start(): Promise<string> {
    for (let at = 0; at < GATEWAYS; at++) {
      const folder = await mkdtemp(join(tmpdir(), 'braid-queue-'));
      this.#folders.push(folder);
      this.#servers.push(await startServer(binary ?? '', { folder, args: this.#args }));
    }
    const hosts = this.#servers.map(({ url }) => new URL(url).host);
    return `postgresql://root@${hosts.join(',')}/defaultdb`;
  }

  /** Kills one of them, and starts it again at the same address. */
  async kill(at: number): Promise<void> {
    const [server, folder] = [this.#servers[at], this.#folders[at]];
    if (server === undefined || folder === undefined) throw new Error(`there is no server ${at}`);
    this.kills++;
    await server.kill();
    const listen = new URL(server.url).host;
    this.#servers[at] = await startServer(binary ?? '', { folder, listen, args: this.#args });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }
}

/** Prints how far a long run is; the returned function ends it. */
function showProgress(db: Database): () => void {
  if (JOBS < SHOWN_FROM) return () => undefined;
  const startMs = performance.now();
  let before = { n: 0, seconds: 0 };
  const timer = setInterval(() => {
    const count = db.one<{ n: number }>`SELECT count(*)::int4 AS n FROM kill_effect`;
    count.then(
      ({ n }) => {
        const seconds = (performance.now() - startMs) / 1000;
        const rate = (n - before.n) / (seconds - before.seconds);
        before = { n, seconds };
        process.stdout.write(`${seconds.toFixed()} s: ${n} jobs, ${rate.toFixed()} a second\n`);
      },
      () => undefined,
    );
  }, SHOW_MS);
  return () => {
    clearInterval(timer);
  };
}

describe.skipIf(isMissing)('killing workers and the server', () => {
  it(
    `${KILLS} times loses and doubles none of ${JOBS * NAMES.length} jobs`,
    { timeout: 7_200_000 },
    async () => {
      process.stdout.write(`QUEUE_SEED=${SEED}\n`);
      const choices = fc.sample(
        fc.record({
          victim: fc.integer({ min: 0, max: WORKERS + GATEWAYS - 1 }),
          ms: fc.integer({ min: 20, max: PAUSE_MAX_MS }),
        }),
        { numRuns: KILLS, seed: SEED },
      );
      const servers = new Servers();
      const url = await servers.start();
      const options = { connectTimeoutMs: 2_000, graceMs: 500, loadBalance: 'random' } as const;
      const db = await connect(url, options);
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
      const stopShowing = showProgress(db);
      try {
        for (const { victim, ms } of choices) {
          await sleep(ms);
          const worker = workers[victim];
          if (worker === undefined) await servers.kill(victim - WORKERS);
          else {
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
        // Statistics of very many jobs take a while themselves.
        const interval = JOBS < SHOWN_FROM ? 200 : 5_000;
        await expect.poll(left, { timeout: 3_600_000, interval }).toBe(0);
        expect(await faults(db)).toEqual([]);
        for (const name of NAMES) expect(await queue.dead(name)).toEqual([]);
        process.stdout.write(
          `${servers.kills} kills of servers, ${KILLS - servers.kills} of workers\n`,
        );
      } finally {
        stopShowing();
        await Promise.all(workers.map(kill));
        await queue.close();
        await db.close({ timeoutMs: 1_000 });
        await servers.stop();
      }
    },
  );
});
