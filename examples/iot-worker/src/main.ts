/**
 * Service and worker in one process, until SIGINT or SIGTERM.
 *
 * DATABASE_URL: default `postgresql://root@127.0.0.1:26257/defaultdb`. PORT: default 3000; `none` runs
 * a worker without the service. WORKERS: default 1.
 */

import { connect } from '@braiddb/sdk';

import { readable, showProgress } from './progress.js';
import { countRows, createTables, openQueue } from './queue.js';
import { makeService } from './service.js';
import { runWorker } from './worker.js';

const url = process.env.DATABASE_URL ?? 'postgresql://root@127.0.0.1:26257/defaultdb';
const port = process.env.PORT ?? '3000';
const workers = Number(process.env.WORKERS ?? 1);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stop.abort();
  });
}

await using db = await connect(url);
await createTables(db);
await using queue = openQueue(db);
const service = makeService(db, queue);
if (port !== 'none') {
  const address = await service.listen({ port: Number(port), host: '127.0.0.1' });
  process.stdout.write(
    `${db.server.kind} at ${new URL(url).host}; POST events to ${address}/events\n`,
  );
}

let stored = 0;
let queued = 0;
let trouble = '';
let beforeMs = performance.now();
let before = 0;
const done = showProgress(() => {
  const nowMs = performance.now();
  const rate = ((stored - before) * 1000) / Math.max(1, nowMs - beforeMs);
  [before, beforeMs] = [stored, nowMs];
  const { batchRows } = queue.stats;
  return (
    `${readable(stored)} stored, ${readable(rate)} events/s, ${readable(queued)} in the queue, ` +
    `batches of ${readable(batchRows)}${trouble}`
  );
});
const depth = setInterval(() => {
  countRows(db).then(
    (rows) => (queued = rows.queued),
    () => undefined,
  );
}, 1000);
const work = Array.from({ length: workers }, () =>
  runWorker(db, {
    signal: stop.signal,
    onDrained: ({ taken, dead }) => {
      stored += taken - dead;
      trouble = '';
    },
    onTrouble: (error) => {
      trouble = `; ${error instanceof Error ? error.message : String(error)}`;
    },
  }),
);
await Promise.all(work);
clearInterval(depth);
await service.close();
done();
