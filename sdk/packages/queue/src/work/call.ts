/**
 * One call of a handler, from the jobs that were taken to what becomes of them.
 *
 * ```text
 *  work, workBatch    BEGIN, DELETE the jobs ─► handler(job, tx) ─► INSERT history, COMMIT
 *  workLong           handler(job), heartbeats ─► BEGIN, DELETE the job ─► finish ─► COMMIT
 * ```
 *
 * The rules that must always hold:
 * - A job ends in the transaction that removes it, and that transaction has proved its lease.
 * - What the handler writes with `tx` is committed with that, or not at all.
 * - A handler that ignores its signal holds neither a connection nor a place in the worker.
 */

import type { Transaction } from '@braiddb/sdk';
import { isAmbiguous, isTransient } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import { note, report, settingsOf } from '../context.js';
import { tracedCall } from '../diagnostics.js';
import { DeadJobError, LeaseLostError, QueueClosedError } from '../errors.js';
import type { WorkSettings } from '../options.js';
import { failJob, removeJobs, returnJobs } from '../store/finish.js';
import { openPeriod, recordHistory } from '../store/history.js';
import type { TakenJob } from '../store/take.js';
import { unblock } from '../store/take.js';
import { pauseMs } from './backoff.js';
import type { Heartbeat } from './heartbeat.js';
import type { Job, LongJob } from './job.js';
import { jobView } from './job.js';
import type { CallLimit, CallLimits } from './limits.js';
import { ignore, untilAborted } from './limits.js';

/** What a worker calls. */
export type Handler =
  | { readonly kind: 'each'; readonly call: (job: Job<never>, tx: Transaction) => unknown }
  | { readonly kind: 'batch'; readonly call: (jobs: Job<never>[], tx: Transaction) => unknown }
  | { readonly kind: 'long'; readonly call: (job: LongJob<never>) => unknown };

/** What the calls of one worker have in common. */
export interface CallPlan {
  readonly context: QueueContext;
  readonly queue: string;
  readonly settings: WorkSettings;
  readonly handler: Handler;
  readonly heartbeat: Heartbeat;
  readonly limits: CallLimits;
}

/** Characters of an error that are kept. */
const ERROR_MAX = 2_000;

/** Works on jobs; never rejects. */
export async function runCall(plan: CallPlan, jobs: readonly TakenJob[]): Promise<void> {
  try {
    await attempt(plan, jobs);
  } catch (error) {
    // The database could not even note what has happened: the end of the lease brings the jobs back.
    report(plan.context, error);
  }
  await unblockKeys(plan, jobs);
}

async function attempt(plan: CallPlan, jobs: readonly TakenJob[]): Promise<void> {
  const [first] = jobs;
  if (first === undefined) return;
  const { context, queue } = plan;
  const trace = {
    queue,
    ids: jobs.map(({ id }) => id),
    attempt: Math.max(...jobs.map((job) => job.attempt)),
    lagMs: first.lagMs,
  };
  using limit = plan.limits.begin(plan.settings.timeoutMs);
  try {
    const work = plan.handler.kind === 'long' ? runLong : runInTransaction;
    const finished = await tracedCall(trace, () => work(plan, jobs, limit));
    context.counters.count(queue, 'finished', finished.length);
    for (const job of jobs) {
      if (!finished.includes(job)) noteLost(plan, job, new LeaseLostError([job.id]));
    }
  } catch (error) {
    await afterFailure(plan, jobs, error, limit.signal.aborted);
  }
}

async function runInTransaction(
  plan: CallPlan,
  jobs: readonly TakenJob[],
  { signal }: CallLimit,
): Promise<readonly TakenJob[]> {
  const { context, settings, handler } = plan;
  const { isolation } = settings;
  const period = await periodOf(plan);
  const options = isolation === undefined ? { signal } : { signal, isolation };
  return context.db.transaction(options, async (tx) => {
    const ours = await removeJobs(context, tx, jobs);
    const [first] = ours;
    if (first === undefined) throw new LeaseLostError(jobs.map(({ id }) => id));
    const views = ours.map((job) => jobView(job, signal));
    if (handler.kind === 'batch') await handler.call(views, tx);
    else if (handler.kind === 'each') for (const view of views) await handler.call(view, tx);
    if (period !== undefined) await recordHistory(context, tx, period, ours);
    return ours;
  });
}

async function runLong(
  plan: CallPlan,
  jobs: readonly TakenJob[],
  limit: CallLimit,
): Promise<readonly TakenJob[]> {
  const { handler, heartbeat } = plan;
  const [job] = jobs;
  if (job === undefined || handler.kind !== 'long') return [];
  const { signal } = limit;
  let finishing: Promise<void> | undefined;
  const finish = (fn: (tx: Transaction) => unknown): Promise<void> => {
    if (finishing !== undefined) return finishing;
    // From here on the lock on the row is the lease, so heartbeats would only wait for it.
    heartbeat.remove(job);
    finishing = finishLong(plan, job, signal, fn);
    finishing.catch(ignore);
    return finishing;
  };
  heartbeat.add(job, limit);
  try {
    const view: LongJob<never> = { ...jobView(job, signal), finish };
    await untilAborted(
      callLater(() => handler.call(view)),
      signal,
    );
    await finish(() => undefined);
    return jobs;
  } finally {
    heartbeat.remove(job);
  }
}

async function finishLong(
  plan: CallPlan,
  job: TakenJob,
  signal: AbortSignal,
  fn: (tx: Transaction) => unknown,
): Promise<void> {
  const { context, settings } = plan;
  const { isolation } = settings;
  const period = await periodOf(plan);
  const options = isolation === undefined ? { signal } : { signal, isolation };
  await context.db.transaction(options, async (tx) => {
    const ours = await removeJobs(context, tx, [job]);
    if (ours.length === 0) throw new LeaseLostError([job.id]);
    await fn(tx);
    if (period !== undefined) await recordHistory(context, tx, period, ours);
  });
}

/** The period that jobs belong to when they end; undefined where no history is kept. */
async function periodOf({ context, queue, settings }: CallPlan): Promise<Date | undefined> {
  if (settingsOf(context, queue).keepMs === 0) return undefined;
  // Before the transaction, which would not see a period that another one has made meanwhile.
  return openPeriod(context, queue, settings.timeoutMs);
}

/** Calls a function whose throw shall be a rejection. */
async function callLater(fn: () => unknown): Promise<void> {
  await fn();
}

async function afterFailure(
  plan: CallPlan,
  jobs: readonly TakenJob[],
  error: unknown,
  wasEnded: boolean,
): Promise<void> {
  const { context, queue } = plan;
  if (error instanceof LeaseLostError) {
    for (const job of jobs) noteLost(plan, job, error);
    return;
  }
  if (error instanceof QueueClosedError) {
    await returnJobs(context, jobs);
    for (const { id, attempt: which } of jobs) {
      note(context, { kind: 'returned', queue, id, attempt: which, error });
    }
    return;
  }
  // One bad job must not take the others with it: the halves are tried apart. What is no fault of a
  // job, such as a lost connection, is no better for fewer of them.
  if (jobs.length > 1 && !wasEnded && !isTransient(error) && !isAmbiguous(error)) {
    const middle = Math.ceil(jobs.length / 2);
    await attempt(plan, jobs.slice(0, middle));
    await attempt(plan, jobs.slice(middle));
    return;
  }
  report(context, error);
  const settings = settingsOf(context, queue);
  for (const job of jobs) {
    const isDead = error instanceof DeadJobError;
    const failure = { job, pauseMs: pauseMs(settings, job.attempt), isDead, text: textOf(error) };
    const state = await failJob(context, failure);
    if (state === undefined) noteLost(plan, job, error);
    else {
      const kind = state === 'dead' ? 'dead' : 'retry';
      note(context, { kind, queue, id: job.id, attempt: job.attempt, error });
    }
  }
}

function noteLost({ context, queue }: CallPlan, job: TakenJob, error: unknown): void {
  note(context, { kind: 'lost', queue, id: job.id, attempt: job.attempt, error });
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.slice(0, ERROR_MAX).replaceAll('\0', '').toWellFormed();
}

/** Lets jobs run that waited for a concurrency key of these. */
async function unblockKeys({ context, queue }: CallPlan, jobs: readonly TakenJob[]): Promise<void> {
  const keys = new Set(jobs.map(({ concurrencyKey }) => concurrencyKey));
  keys.delete(null);
  try {
    for (const key of keys) if (key !== null) await unblock(context, queue, key);
  } catch (error) {
    // Upkeep finds them later.
    report(context, error);
  }
}
