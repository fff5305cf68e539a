// pg-boss: its schema, queues with policies, jobs, workers, retries, schedules and partitions.
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';
import { PgBoss } from 'pg-boss';

import { fails, rows, say, step, url } from '../support.mjs';

/** Milliseconds that the program waits for a worker. */
const WORK_WAIT_MS = 30_000;

const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
boss.on('error', (error) => say('error event', error.message));
const client = new pg.Client({ connectionString: url });
await client.connect();

const query = async (text) => rows((await client.query(text)).rows);

/** Waits until the condition is met. */
async function until(condition) {
  for (const end = Date.now() + WORK_WAIT_MS; Date.now() < end; await sleep(20)) {
    if (await condition()) return;
  }
  throw new Error('the workers took too long');
}

await step('start', async () => {
  await boss.start();
  say('installed', await boss.isInstalled());
  await query(`
    SELECT relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = 'pgboss' AND relkind IN ('r', 'p', 'v', 'S') AND relname !~ '_[0-9]{8}$'
    ORDER BY 1`);
});

await step('queues', async () => {
  await boss.createQueue('dead');
  await boss.createQueue('mail', { retryLimit: 1, deadLetter: 'dead' });
  await boss.createQueue('one', { policy: 'singleton' });
  await boss.createQueue('short', { policy: 'short' });
  await boss.createQueue('apart', { partition: true });
  await boss.updateQueue('one', { retryLimit: 3 });
  const queues = await boss.getQueues();
  queues.sort((a, b) => a.name.localeCompare(b.name));
  for (const { name, policy, retryLimit, deadLetter, partition } of queues) {
    say(name, policy, [retryLimit, deadLetter, partition]);
  }
  await fails(() => boss.send('nosuch', {}));
});

await step('send, fetch, complete', async () => {
  const id = await boss.send('mail', { to: 'ann' }, { priority: 1 });
  say(typeof id, id.length);
  await boss.send('mail', { to: 'bob' }, { priority: 5 });
  await boss.send('mail', { to: 'later' }, { startAfter: 3600 });
  const jobs = await boss.fetch('mail', { batchSize: 5 });
  // RETURNING promises no order.
  jobs.sort((a, b) => a.data.to.localeCompare(b.data.to));
  say(jobs.map(({ name, data }) => [name, data]));
  await boss.complete('mail', jobs[0].id, { sent: true });
  await boss.fail('mail', jobs[1].id, { reason: 'full' });
  const [again] = await boss.fetch('mail');
  say(again.data, again.id === jobs[1].id);
  await boss.fail('mail', again.id, { reason: 'still full' });
  const [dead] = await boss.fetch('dead');
  say(dead.data);
  await boss.complete('dead', dead.id);
  await query(`SELECT name, state, retry_count, output FROM pgboss.job ORDER BY name, data::text`);
});

await step('policies', async () => {
  say(typeof (await boss.send('short', {})), await boss.send('short', {}));
  await boss.send('one', { n: 1 });
  await boss.send('one', { n: 2 });
  const first = await boss.fetch('one', { batchSize: 2 });
  say(first.length, (await boss.fetch('one')).length);
  await boss.complete('one', first[0].id);
  say((await boss.fetch('one')).length);
  const key = { singletonKey: 'k', singletonSeconds: 600 };
  say(typeof (await boss.send('mail', {}, key)), await boss.send('mail', {}, key));
});

await step('many jobs, a partition of its own', async () => {
  const jobs = Array.from({ length: 50 }, (_, n) => ({ data: { n }, priority: n % 3 }));
  await boss.insert('apart', jobs);
  const fetched = await boss.fetch('apart', { batchSize: 4 });
  say(fetched.map(({ data }) => data.n % 3));
  await boss.cancel('apart', fetched[0].id);
  await boss.resume('apart', fetched[0].id);
  await boss.deleteJob('apart', fetched[1].id);
  await query(
    `SELECT state, count(*)::int FROM pgboss.job WHERE name = 'apart' GROUP BY 1 ORDER BY 1`,
  );
  await query(`
    SELECT count(*)::int AS partitions FROM pg_inherits WHERE inhparent = 'pgboss.job'::regclass`);
});

await step('in a transaction of the caller', async () => {
  const db = { executeSql: (text, values) => client.query(text, values) };
  await client.query('BEGIN');
  await boss.send('mail', { to: 'nobody' }, { db });
  await client.query('ROLLBACK');
  await query(`SELECT count(*)::int FROM pgboss.job WHERE data->>'to' = 'nobody'`);
});

await step('workers', async () => {
  const seen = [];
  await boss.work('apart', { batchSize: 10, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    seen.push(...jobs.map(({ data }) => data.n));
  });
  // Of 50 jobs three stay active, and one of the four that were fetched came back.
  await until(() => seen.length >= 47);
  await boss.offWork('apart');
  say(seen.length, new Set(seen).size);
});

await step('publish, schedule', async () => {
  await boss.subscribe('news', 'mail');
  await boss.publish('news', { title: 'hello' });
  await query(`SELECT count(*)::int FROM pgboss.job WHERE data->>'title' = 'hello'`);
  await boss.schedule('mail', '0 3 * * *', { nightly: true }, { tz: 'Europe/Berlin' });
  say(
    (await boss.getSchedules()).map(({ name, cron, timezone, data }) => [
      name,
      cron,
      timezone,
      data,
    ]),
  );
  await boss.unschedule('mail');
  say((await boss.getSchedules()).length);
});

await step('maintenance', async () => {
  await boss.supervise();
  const { queuedCount, activeCount } = (await boss.getQueueStats('apart'))[0] ?? {};
  say(typeof queuedCount, typeof activeCount);
  await boss.deleteAllJobs('apart');
  await boss.deleteQueue('apart');
  say((await boss.getQueues()).map(({ name }) => name).sort());
});

await step('stop', async () => {
  await boss.stop({ graceful: false });
  await client.query('DROP SCHEMA pgboss CASCADE');
  await query(`SELECT count(*)::int FROM pg_namespace WHERE nspname = 'pgboss'`);
});
await client.end();
