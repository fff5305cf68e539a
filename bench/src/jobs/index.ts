/**
 * Question: how many jobs a second does a queue run, and how long does a job wait for a worker?
 *
 * `@braiddb/queue`, graphile-worker and pg-boss on both servers, with 1, 4 and 16 workers. The handler
 * does nothing, so what is measured is the queue. A system that does not run on a server says why.
 *
 * - **throughput**: jobs are added first, then workers start; jobs a second until the time is over.
 * - **latency**: one job after the other for idle workers, from the call that adds it to its handler.
 *
 * After each run the jobs are counted: each has run exactly once.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import type { Side } from '../sides.js';
import { quantile } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { OpenedQueue, QueueSystem } from './systems.js';
import { SYSTEMS } from './systems.js';

/** The suite, with its size. */
export interface JobsPlan extends SuitePlan {
  /** Jobs that are added before the workers start. */
  readonly queued: number;
  readonly workers: readonly number[];
}

/** What one run has found. */
export interface JobsRun {
  readonly addedPerSecond: number;
  readonly jobsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the runs of one system have found on one server. */
export interface JobsCell {
  readonly system: string;
  readonly workers: number;
  readonly side: Side['name'];
  /** The median of each number; undefined if the system does not run there. */
  readonly run: JobsRun | undefined;
  /** Why it does not run. */
  readonly reason: string | undefined;
}

/** Milliseconds between two jobs of the latency part. */
const PAUSE_MS = 20;

/** Milliseconds without a job that must come, before the run counts as failed. */
const PATIENCE_MS = 60_000;

/** Jobs that have run, each once. */
class Seen {
  readonly #atMs = new Map<number, number>();
  #wake = (): void => undefined;

  readonly done = (n: number): void => {
    if (this.#atMs.has(n)) throw new Error(`job ${n} has run twice`);
    this.#atMs.set(n, performance.now());
    this.#wake();
  };

  get count(): number {
    return this.#atMs.size;
  }

  atMs(n: number): number {
    return this.#atMs.get(n) ?? Number.NaN;
  }

  /** Waits for a number of jobs, at most until a moment. */
  async until(count: number, endMs: number): Promise<void> {
    while (this.count < count && performance.now() < endMs) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      await Promise.race([woken, sleep(50)]);
    }
  }

  /** Waits for a number of jobs, as long as some still come. */
  async all(count: number): Promise<void> {
    for (let before = -1; this.count < count && this.count > before;) {
      before = this.count;
      await this.until(count, performance.now() + PATIENCE_MS);
    }
  }
}

/** Runs the suite; returns the files written. */
export async function runJobs(plan: JobsPlan): Promise<string[]> {
  const wanted = plan.only?.split('|');
  const cells: JobsCell[] = [];
  for (const system of SYSTEMS) {
    for (const workers of plan.workers) {
      const name = `${system.name}, ${workers} workers`;
      if (wanted !== undefined && !wanted.some((text) => name.includes(text))) continue;
      for (const side of plan.sides) {
        plan.print(`${name}, ${side.name}`);
        cells.push(await cellOf(system, workers, side, plan));
      }
    }
  }
  showTable(plan, tableOf(cells));
  for (const reason of new Set(cells.flatMap(reasonOf))) plan.show(reason);
  return saveResults(plan, 'jobs', { queued: plan.queued, cells });
}

async function cellOf(
  system: QueueSystem,
  workers: number,
  side: Side,
  plan: JobsPlan,
): Promise<JobsCell> {
  const where = { system: system.name, workers, side: side.name };
  const runs: JobsRun[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    let opened: OpenedQueue;
    try {
      opened = await system.open(side.url, workers);
    } catch (error) {
      return { ...where, run: undefined, reason: messageOf(error) };
    }
    try {
      runs.push(await oneRun(opened, workers, plan));
    } finally {
      await opened.close();
    }
  }
  const medianOf = (name: keyof JobsRun): number => median(runs.map((run) => run[name]));
  const [addedPerSecond, jobsPerSecond] = [medianOf('addedPerSecond'), medianOf('jobsPerSecond')];
  const latency = { p50Ms: medianOf('p50Ms'), p99Ms: medianOf('p99Ms') };
  return { ...where, run: { addedPerSecond, jobsPerSecond, ...latency }, reason: undefined };
}

async function oneRun(queue: OpenedQueue, workers: number, plan: JobsPlan): Promise<JobsRun> {
  const seen = new Seen();
  let startMs = performance.now();
  await queue.add(0, plan.queued);
  const addedPerSecond = (plan.queued * 1000) / (performance.now() - startMs);
  await queue.work(workers, seen.done);
  await seen.until(1, performance.now() + PATIENCE_MS);
  startMs = performance.now();
  const first = seen.count;
  await seen.until(plan.queued, startMs + plan.seconds * 1000);
  const jobsPerSecond = ((seen.count - first) * 1000) / (performance.now() - startMs);
  await seen.all(plan.queued);
  if (seen.count !== plan.queued) throw new Error(`only ${seen.count} of ${plan.queued} have run`);
  const waits = await latencies(queue, seen, plan);
  return {
    addedPerSecond,
    jobsPerSecond,
    p50Ms: quantile(waits, 0.5),
    p99Ms: quantile(waits, 0.99),
  };
}

/** Milliseconds from the call that adds a job to its handler, sorted. */
async function latencies(queue: OpenedQueue, seen: Seen, plan: JobsPlan): Promise<number[]> {
  const waits: number[] = [];
  const endMs = performance.now() + plan.seconds * 1000;
  for (let n = plan.queued; performance.now() < endMs || waits.length < 3; n++) {
    await sleep(PAUSE_MS);
    const startMs = performance.now();
    await queue.add(n, n + 1);
    await seen.until(n + 1, startMs + PATIENCE_MS);
    waits.push(seen.atMs(n) - startMs);
  }
  return waits.sort((a, b) => a - b);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

function reasonOf({ system, side, reason }: JobsCell): string[] {
  return reason === undefined ? [] : [`${system} does not run on ${side}: ${reason}`];
}

function tableOf(cells: readonly JobsCell[]): string[][] {
  const head = ['queue', 'workers', 'server', 'jobs/s', 'added/s', 'p50 ms', 'p99 ms'];
  const rows = cells.map(({ system, workers, side, run }) => {
    const found =
      run === undefined
        ? ['does not run', '', '', '']
        : [
            ...[run.jobsPerSecond.toFixed(0), run.addedPerSecond.toFixed(0)],
            ...[run.p50Ms.toFixed(1), run.p99Ms.toFixed(1)],
          ];
    return [system, String(workers), side, ...found];
  });
  return [head, ...rows];
}
