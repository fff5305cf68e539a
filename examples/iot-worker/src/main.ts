/**
 * Service and worker in one process, until SIGINT or SIGTERM.
 *
 * DATABASE_URL: default `postgresql://root@127.0.0.1:26257/defaultdb`. PORT: default 3000.
 */

import { connect } from '@braiddb/sdk';

import { readable, showProgress } from './progress.js';
import { createTables } from './queue.js';
import { makeService } from './service.js';
import { runWorker } from './worker.js';

const url = process.env.DATABASE_URL ?? 'postgresql://root@127.0.0.1:26257/defaultdb';
const port = Number(process.env.PORT ?? 3000);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stop.abort();
  });
}

await using db = await connect(url);
await createTables(db);
const service = makeService(db);
const address = await service.listen({ port, host: '127.0.0.1' });
process.stdout.write(
  `${db.server.kind} at ${new URL(url).host}; POST events to ${address}/events\n`,
);

let stored = 0;
let trouble = '';
const done = showProgress(() => `${readable(stored)} readings stored${trouble}`);
await runWorker(db, {
  signal: stop.signal,
  onDrained: (drained) => {
    stored += drained.stored;
    trouble = '';
  },
  onTrouble: (error) => {
    trouble = `; waiting: ${error instanceof Error ? error.message : String(error)}`;
  },
});
await service.close();
done();
