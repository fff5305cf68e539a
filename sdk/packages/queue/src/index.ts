/**
 * `@braiddb/queue`: jobs in the database, over `@braiddb/sdk`.
 *
 * The map; a folder uses only what is below it:
 *
 * ```text
 *  queue.ts     openQueue, and the handle
 *  cli.ts       npx braiddb-queue sql
 *  work/        worker.ts: takes jobs    call.ts: one call of a handler, and what becomes of its jobs
 *               heartbeat.ts  limits.ts  backoff.ts  job.ts
 *               listener.ts, poller.ts: what wakes a worker; delayed and lost jobs; retention
 *  cron/        pattern.ts  scheduler.ts
 *  store/       the SQL: enqueue.ts  take.ts  finish.ts  history.ts  settle.ts  dead.ts  stats.ts
 *               literals.ts
 *  ───────────────────────────────────────────────────────────────────────
 *  schema.ts (the tables and the states of a job)  counters.ts  context.ts
 *  options.ts  payload.ts  ids.ts  errors.ts  diagnostics.ts
 * ```
 *
 * The glossary:
 *
 * - **enqueue**: add a job. **take**: give it to a worker. **attempt**: one try of a job.
 * - **lease**: the time for which a worker has a job. **heartbeat**: begins it again.
 * - **lost**: the lease has ended before the job. **dead letter**: a job without attempts left.
 * - **parked**: kept back because too many jobs of its concurrency key run. Its state is `blocked`.
 * - **upkeep**: what keeps the tables small and leaves no job behind.
 *
 * No side effects on import, no console output.
 */

export type { LocalStats } from './counters.js';
export type { JobTrace, QueueEvent } from './diagnostics.js';
export {
  CronError,
  DeadJobError,
  JobTimeoutError,
  LeaseLostError,
  PayloadError,
  QueueClosedError,
  QueueError,
  QueueSchemaError,
  UnknownQueueError,
} from './errors.js';
export type {
  BatchWorkOptions,
  CloseQueueOptions,
  CronOptions,
  EnqueueOptions,
  QueueOptions,
  QueueSettings,
  WorkOptions,
} from './options.js';
export type { IdleOptions, JobInput, JobQueue } from './queue.js';
export { openQueue } from './queue.js';
export type { SchemaTarget } from './schema.js';
export { schemaSql } from './schema.js';
export type { QueueStats } from './store/stats.js';
export type { DeadJob, DeadOptions } from './store/dead.js';
export type { Job, LongJob } from './work/job.js';
export type { Worker } from './work/worker.js';
