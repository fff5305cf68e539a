/**
 * Server or workers are killed (SIGKILL) in the middle of the work, at random, again and again; the
 * workers are processes of their own. Rounds: KILL_ROUNDS, default 6. The seed is printed; KILL_SEED
 * makes the same choices again.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { connect } from '@braiddb/sdk';
import { describe, expect, inject, it } from 'vitest';

import { startServer } from '../server.mjs';
import { checkReadings } from '../src/demo.js';
import type { SensorEvent } from '../src/events.js';
import { enqueue, openJobs } from '../src/jobs.js';
import { isTemporary } from '../src/service.js';
import { allReadings, createTables } from '../src/tables.js';
import { weatherEvents } from '../src/weather.js';
import { startWorker } from '../src/worker.js';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 6);
const SEED = Number(process.env.KILL_SEED ?? Date.now() % 2 ** 31);
const REQUEST_EVENTS = 20;
const POISON_EVERY = 150;
/** Milliseconds after which the events of a killed worker go to another one. */
const LEASE_MS = 1_000;

const binary = inject('braidBinary');
const workerProgram = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const missing = binary === undefined || !existsSync(workerProgram);
if (missing) process.stdout.write('skipped: the kill test needs the server and npm run build\n');

/** Numbers from 0 up to but not including 1, the same ones for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function startProcess(url: string): ChildProcess {
  const own = { DATABASE_URL: url, PORT: 'none', WORKERS: '2', LEASE_MS: String(LEASE_MS) };
  const env = { ...process.env, ...own };
  return spawn(process.execPath, [workerProgram], { env, stdio: 'ignore' });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

/** Sends request after request until one fails; returns those that were not acknowledged. */
async function sendUntil(
  url: string,
  requests: readonly SensorEvent[][],
  signal: AbortSignal,
): Promise<SensorEvent[][]> {
  let sent = 0;
  try {
    const transaction = { deadlineMs: 300 };
    await using db = await connect(url, { graceMs: 500, connectTimeoutMs: 1000, transaction });
    await using queue = openJobs(db);
    for (const request of requests) {
      if (signal.aborted) break;
      await enqueue(queue, request);
      sent++;
    }
  } catch (error) {
    if (!signal.aborted && !isTemporary(error)) throw error;
  }
  return requests.slice(sent);
}

describe.skipIf(missing)('killing server and workers', () => {
  it(`${ROUNDS} times loses and doubles no event`, { timeout: 600_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braid-kill-'));
    const good = (await weatherEvents()).slice(0, 400 * ROUNDS);
    const events = good.flatMap((event, index) =>
      index % POISON_EVERY === 7
        ? [event, { ...event, id: `poison-${index}`, value: 1e200 }]
        : [event],
    );
    let requests: SensorEvent[][] = [];
    for (let start = 0; start < events.length; start += REQUEST_EVENTS) {
      requests.push(events.slice(start, start + REQUEST_EVENTS));
    }
    let server = await startServer(binary ?? '', { folder });
    {
      await using db = await connect(server.url);
      await using queue = openJobs(db);
      await createTables(db);
      await queue.migrate();
    }
    process.stdout.write(`KILL_SEED=${SEED}\n`);
    const random = randomNumbers(SEED);
    const kills = { server: 0, worker: 0 };
    let worker = startProcess(server.url);
    for (let round = 0; round < ROUNDS; round++) {
      const stop = new AbortController();
      const sending = sendUntil(server.url, requests, stop.signal);
      await sleep(20 + 400 * random());
      const victim = random() < 0.5 ? 'worker' : 'server';
      kills[victim]++;
      if (victim === 'worker') {
        await end(worker);
        stop.abort();
        requests = await sending;
      } else {
        await server.kill();
        stop.abort();
        requests = await sending;
        server = await startServer(binary ?? '', { folder });
        await end(worker);
      }
      worker = startProcess(server.url);
    }
    await end(worker);
    {
      await using db = await connect(server.url);
      await using queue = openJobs(db);
      for (const request of requests) await enqueue(queue, request);
      await startWorker(queue, { leaseMs: LEASE_MS });
      await queue.idle('reading', { signal: AbortSignal.timeout(120_000) });
      await checkReadings(allReadings(db), good);
      // An event that was sent twice is refused twice.
      const dead = await queue.dead('reading', { limit: 1_000 });
      const poison = events.flatMap(({ id }) => (id.startsWith('poison') ? [id] : []));
      expect(new Set(dead.map(({ payload }) => payload.id))).toEqual(new Set(poison));
      expect(dead.every(({ error }) => error.startsWith('DeadJobError'))).toBe(true);
      process.stdout.write(
        `${kills.server} kills of the server, ${kills.worker} of the workers: ` +
          `${good.length} readings, each once, and ${poison.length} dead letters\n`,
      );
    }
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
});
