// graphile-worker: its schema, jobs by SQL and by its API, keys, queues, retries, cron, the view.
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { Logger, makeWorkerUtils, parseCronItems, run, runOnce } from 'graphile-worker';
import pg from 'pg';

import { fails, rows, say, step, url } from '../support.mjs';

/** Milliseconds that the program waits for a worker. */
const WORK_WAIT_MS = 30_000;

const logger = new Logger(() => () => {});
const client = new pg.Client({ connectionString: url });
await client.connect();

const query = async (text, values) => rows((await client.query(text, values)).rows);

/** Waits until the condition is met. */
async function until(condition) {
  for (const end = Date.now() + WORK_WAIT_MS; Date.now() < end; await sleep(20)) {
    if (await condition()) return;
  }
  throw new Error('the workers took too long');
}

const utils = await makeWorkerUtils({ connectionString: url, logger });
const options = { connectionString: url, logger, noHandleSignals: true };

await step('migrations', async () => {
  await utils.migrate();
  await query('SELECT id, breaking FROM graphile_worker.migrations ORDER BY id');
  await query(`
    SELECT relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = 'graphile_worker' AND relkind IN ('r', 'v') ORDER BY 1`);
  await query(`
    SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
    WHERE nspname = 'graphile_worker' ORDER BY 1`);
});

await step('jobs by SQL', async () => {
  await query(`
    SELECT id, task_id, payload, priority, attempts, max_attempts, key
    FROM graphile_worker.add_job('greet', '{"name": "ann"}', priority := 3, job_key := 'ann')`);
  await query(`
    SELECT id, payload, revision FROM graphile_worker.add_job(
      'greet', json_build_object('name', 'bob'), job_key := 'ann', job_key_mode := 'replace')`);
  await query(`SELECT (graphile_worker.add_job('greet', '{"name": "joe"}')).id`);
  await fails(() => client.query(`SELECT graphile_worker.add_job(repeat('x', 200))`));
});

await step('jobs by the API', async () => {
  const job = await utils.addJob('greet', { name: 'eve' }, { queueName: 'slow', flags: ['a'] });
  say(job.task_identifier ?? null, job.payload, job.flags);
  const later = await utils.addJob(
    'greet',
    { name: 'later' },
    { runAt: new Date(Date.now() + 1e7) },
  );
  const batch = await utils.addJobs([
    { identifier: 'greet', payload: { name: 'x' } },
    { identifier: 'fragile', payload: { times: 1 }, maxAttempts: 2 },
  ]);
  say(batch.map(({ payload, max_attempts }) => [payload, max_attempts]));
  await query(`
    SELECT task_identifier, queue_name, priority, attempts, max_attempts, key, flags
    FROM graphile_worker.jobs ORDER BY id`);
  const [failed] = await utils.permanentlyFailJobs([later.id], 'not wanted');
  say(failed.last_error, failed.attempts === failed.max_attempts);
  const [moved] = await utils.rescheduleJobs([later.id], { priority: 9, attempts: 0 });
  say(moved.priority, moved.attempts);
  say((await utils.completeJobs([later.id])).length);
});

const done = [];
const taskList = {
  greet: async ({ name }) => void done.push(name),
  fragile: async ({ times }, { job, query: ask }) => {
    const { rows: found } = await ask('SELECT 1 AS one');
    if (job.attempts <= times) throw new Error(`attempt ${job.attempts} of ${found[0].one}`);
    done.push('fragile');
  },
};

await step('run once', async () => {
  await runOnce({ ...options, taskList });
  say(done.sort());
  // The worker does not wait until its last failure has been written.
  await until(async () => {
    const found = await client.query(
      'SELECT 1 FROM graphile_worker.jobs WHERE last_error IS NOT NULL AND locked_at IS NULL',
    );
    return found.rowCount === 1;
  });
  await query(`SELECT task_identifier, attempts, last_error FROM graphile_worker.jobs ORDER BY id`);
  await client.query('UPDATE graphile_worker._private_jobs SET run_at = now()');
  await runOnce({ ...options, taskList });
  say(done.sort());
});

await step('a worker that is told of new jobs', async () => {
  const events = new EventEmitter();
  const counts = {};
  for (const name of ['job:success', 'job:complete', 'job:error']) {
    events.on(name, () => (counts[name] = (counts[name] ?? 0) + 1));
  }
  done.length = 0;
  const runner = await run({ ...options, taskList, events, concurrency: 3, pollInterval: 500 });
  for (let n = 0; n < 20; n += 1) {
    await utils.addJob('greet', { name: `n${n}` }, { queueName: n % 2 ? 'odd' : undefined });
  }
  await until(() => done.length === 20);
  await runner.stop();
  say(done.length, new Set(done).size, Object.keys(counts).sort());
});

await step('a trigger that adds jobs', async () => {
  await client.query(`
    CREATE TABLE users (id int PRIMARY KEY, name text);
    CREATE FUNCTION welcome() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM graphile_worker.add_job('greet', json_build_object('name', NEW.name));
      RETURN NEW;
    END $$;
    CREATE TRIGGER welcome AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION welcome()`);
  await client.query('BEGIN');
  await client.query(`INSERT INTO users VALUES (1, 'undone')`);
  await client.query('ROLLBACK');
  await client.query(`INSERT INTO users VALUES (1, 'kept')`);
  done.length = 0;
  await runOnce({ ...options, taskList });
  say(done);
});

await step('cron and cleanup', async () => {
  const parsedCronItems = parseCronItems([
    { task: 'greet', match: '0 3 * * *', identifier: 'nightly' },
  ]);
  const runner = await run({ ...options, taskList, parsedCronItems });
  await until(async () => {
    const found = await client.query('SELECT 1 FROM graphile_worker._private_known_crontabs');
    return found.rowCount === 1;
  });
  await runner.stop();
  await query('SELECT identifier, last_execution FROM graphile_worker._private_known_crontabs');
  await utils.cleanup({
    tasks: ['GC_TASK_IDENTIFIERS', 'GC_JOB_QUEUES', 'DELETE_PERMAFAILED_JOBS'],
  });
  await query('SELECT count(*)::int FROM graphile_worker._private_tasks');
  await utils.forceUnlockWorkers(['nobody']);
});

await step('drop', async () => {
  await utils.release();
  await client.query('DROP SCHEMA graphile_worker CASCADE');
  await query(`SELECT count(*)::int FROM pg_namespace WHERE nspname = 'graphile_worker'`);
});
await client.end();
