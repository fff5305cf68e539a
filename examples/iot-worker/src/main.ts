/**
 * Service and workers in one process, until SIGINT or SIGTERM.
 *
 * | variable | default | meaning |
 * |---|---|---|
 * | DATABASE_URL | `postgresql://root@127.0.0.1:26257/defaultdb` | |
 * | HOST, PORT | `127.0.0.1`, 3000 | where the service listens; PORT `none` is no service |
 * | WORKERS | 1 | transactions at the same time; 0 is a service without workers |
 * | LEASE_MS | 30000 | after this time the events of a process that was killed go to another one |
 * | KEEP_DAYS | 365 | older readings are deleted, once an hour |
 */

import { connect } from '@braiddb/sdk';

import { openJobs } from './jobs.js';
import { readable, showProgress } from './progress.js';
import { makeService } from './service.js';
import { createTables } from './tables.js';
import { startRetention, startWorker } from './worker.js';

const { env } = process;
const url = env.DATABASE_URL ?? 'postgresql://root@127.0.0.1:26257/defaultdb';
const host = env.HOST ?? '127.0.0.1';
const port = env.PORT ?? '3000';

/** Milliseconds that running work has after a signal. Then it goes back to the queue. */
const DRAIN_MS = 5_000;

/** A variable that is a whole number from `min`. */
function whole(name: string, initial: number, min: number): number {
  const value = Number(env[name] ?? initial);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`${name} must be a whole number from ${min}`);
}

const workers = whole('WORKERS', 1, 0);
const leaseMs = whole('LEASE_MS', 30_000, 100);
const keepDays = whole('KEEP_DAYS', 365, 1);
const portNumber = port === 'none' ? undefined : whole('PORT', 3000, 0);

let trouble = '';
// Beside the workers: the service, takes, heartbeats, retention.
await using db = await connect(url, { connectionsMax: 10 + workers });
await using queue = openJobs(db, (error) => {
  trouble = `; ${error instanceof Error ? error.message : String(error)}`;
});
await createTables(db);
await queue.migrate();
const service = makeService(db, queue);
if (portNumber !== undefined) {
  const address = await service.listen({ port: portNumber, host });
  process.stdout.write(
    `${db.server.kind} at ${new URL(url).host}; POST events to ${address}/events\n`,
  );
}
if (workers > 0) {
  await startWorker(queue, { concurrency: workers, leaseMs });
  await startRetention(db, queue, keepDays);
}

let text = 'ready';
const done = showProgress(() => text + trouble);
const look = setInterval(() => {
  queue.stats().then(
    ({ reading: { jobs, lagMs, here } }) => {
      const waiting = jobs.ready + jobs.delayed + jobs.active;
      text =
        `${readable(here.finished)} stored, ${readable(here.finishedPerSecond)} events/s, ` +
        `${readable(waiting)} in the queue, the oldest for ${readable(lagMs)} ms`;
      trouble = '';
    },
    () => undefined,
  );
}, 1000);

await new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      resolve();
    });
  }
});
clearInterval(look);
await service.close();
await queue.close({ timeoutMs: DRAIN_MS });
await db.close({ timeoutMs: DRAIN_MS });
done();
