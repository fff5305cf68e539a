/**
 * A worker of the kill test: works until it is killed. Each job leaves one row, in the transaction
 * that finishes it.
 */

import { openQueue } from '@braiddb/queue';
import { connect } from '@braiddb/sdk';

const { QUEUE_TEST_URL: url = '', QUEUE_TEST_SCHEMA: schema = '' } = process.env;

async function main() {
  const db = await connect(url, { connectTimeoutMs: 2_000, graceMs: 500, loadBalance: 'random' });
  const settings = { maxAttempts: 10_000, backoffBaseMs: 20, backoffMaxMs: 200 };
  const queue = openQueue(db, {
    ...{ schema, pollMs: 200 },
    queues: {
      short: settings,
      batch: settings,
      long: settings,
      keyed: { ...settings, perKeyMax: 1 },
    },
  });
  const note = async (tx, name, { payload, attempt }) => {
    await tx.run`INSERT INTO kill_effect (queue, n) VALUES (${name}, ${payload.n})`;
    if (attempt === 1 && payload.n % 10 === 3) throw new Error('fails the first time');
  };
  const options = { leaseMs: 1_000, timeoutMs: 20_000, concurrency: 2 };
  await queue.work('short', options, (job, tx) => note(tx, 'short', job));
  await queue.work('keyed', options, (job, tx) => note(tx, 'keyed', job));
  await queue.workBatch('batch', { ...options, batchMax: 20 }, async (jobs, tx) => {
    for (const job of jobs) await note(tx, 'batch', job);
  });
  await queue.workLong('long', options, async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await job.finish((tx) => note(tx, 'long', job));
  });
}

/** Starts again until the server is there. */
async function insist() {
  for (;;) {
    try {
      return await main();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

await insist();
