/**
 * How fast one client is: one operation after the other, measured by tinybench. The suites in which a
 * single client asks share it.
 */

import { Bench } from 'tinybench';

import { quantile } from './sides.js';

/** What one client has measured. */
export interface OneClient {
  /** Operations a second of the time that they took, without the pauses between them. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Operations that were measured. */
  readonly operations: number;
}

/** Milliseconds of operations that are not counted, at most. */
const WARMUP_MS_MAX = 300;

/** Runs `work` again and again for some seconds, after a warm-up; throws what it throws. */
export async function measureOne(
  name: string,
  seconds: number,
  work: () => Promise<void>,
): Promise<OneClient> {
  return roundOf(await latenciesOfOne(name, seconds, work));
}

/** The latencies of `work` in milliseconds, sorted; at least `operationsMin` of them. */
export async function latenciesOfOne(
  name: string,
  seconds: number,
  work: () => Promise<void>,
  operationsMin = 1,
): Promise<number[]> {
  const bench = new Bench({
    time: seconds * 1000,
    iterations: operationsMin,
    warmupTime: Math.min(WARMUP_MS_MAX, seconds * 200),
    warmupIterations: 1,
    retainSamples: true,
    throws: true,
  });
  bench.add(name, work);
  const [task] = await bench.run();
  const result = task?.result;
  if (result === undefined || !('latency' in result)) throw new Error(`${name}: nothing measured`);
  return [...(result.latency.samples ?? [])].sort((a, b) => a - b);
}

/** The numbers of some latencies in milliseconds. */
export function roundOf(samplesMs: readonly number[]): OneClient {
  const sorted = [...samplesMs].sort((a, b) => a - b);
  const totalMs = sorted.reduce((sum, sample) => sum + sample, 0);
  return {
    perSecond: (sorted.length * 1000) / totalMs,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    operations: sorted.length,
  };
}
