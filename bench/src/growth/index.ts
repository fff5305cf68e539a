/**
 * Question: does work grow with its size, or faster?
 *
 * Each kind of work runs at a size and at ten times that size, on both servers in turn. Linear work
 * may take 12 times as long, constant work twice; at the large size nothing should take more than
 * three times PostgreSQL's time. Small differences of small times mean nothing.
 */

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { Work } from './work.js';
import { WORKS } from './works.js';

/** The suite, with its size. */
export interface GrowthPlan extends SuitePlan {
  /** What sizes are multiplied with; 1 is the usual. */
  readonly scale: number;
}

/** The times of one kind of work on one server, in milliseconds. */
interface Times {
  readonly small: number;
  readonly large: number;
}

interface Line {
  readonly work: Work;
  readonly size: number;
  readonly braid: Times;
  readonly postgres: Times;
}

/** How much longer ten times the work may take. */
const GROWTH_MAX = { linear: 12, constant: 2 };
const BY_POSTGRES_MAX = 3;

/** Runs the suite; returns the files written. */
export async function runGrowth(plan: GrowthPlan): Promise<string[]> {
  const [braid, postgres] = plan.sides;
  if (braid === undefined || postgres === undefined) throw new Error('two sides are needed');
  const wanted = plan.only?.split('|');
  const lines: Line[] = [];
  for (const work of WORKS) {
    if (wanted !== undefined && !wanted.some((text) => work.name.includes(text))) continue;
    plan.print(work.name);
    const size = Math.max(2, Math.round(work.size * plan.scale));
    const [ours, theirs] = await inTurn(plan.rounds, [braid, postgres], work, size);
    lines.push({ work, size, braid: ours, postgres: theirs });
  }
  showTable(plan, tableOf(lines));
  const content = lines.map(({ work, ...times }) => ({ work: work.name, ...times }));
  return saveResults(plan, 'growth', { lines: content });
}

/** The median times of two servers that take turns. */
async function inTurn(
  rounds: number,
  sides: readonly [Side, Side],
  work: Work,
  size: number,
): Promise<[Times, Times]> {
  const times = sides.map((side) => ({ side, small: [] as number[], large: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const { side, small, large } of times) {
      small.push(await timed(side, work, size));
      large.push(await timed(side, work, size * 10));
    }
  }
  const medians = times.map(({ small, large }) => ({ small: median(small), large: median(large) }));
  const [ours, theirs] = medians;
  if (ours === undefined || theirs === undefined) throw new Error('two sides are needed');
  return [ours, theirs];
}

/** How long one run takes, in milliseconds. */
function timed(side: Side, work: Work, size: number): Promise<number> {
  return onOne(side, async (client) => {
    for (const statement of work.prepare?.(size) ?? []) await client.query(statement);
    const startMs = performance.now();
    await work.run(client, size);
    const tookMs = performance.now() - startMs;
    for (const statement of work.finish(size)) await client.query(statement);
    return tookMs;
  });
}

function tableOf(lines: readonly Line[]): string[][] {
  const head = ['work', 'size', 'n, ms', '10 n, ms', 'growth', 'PostgreSQL n', '10 n', 'growth'];
  const rows = lines.map(({ work, size, braid, postgres }) => {
    const grown = braid.large / braid.small;
    const ratio = braid.large / postgres.large;
    const flags = [
      ...(grown > GROWTH_MAX[work.growth]
        ? [`grows more than ${GROWTH_MAX[work.growth]} times`]
        : []),
      ...(ratio > BY_POSTGRES_MAX ? [`above ${BY_POSTGRES_MAX}`] : []),
    ];
    return [
      ...[`${work.name} (${work.growth})`, String(size)],
      ...[braid.small.toFixed(1), braid.large.toFixed(1), grown.toFixed(1)],
      ...[postgres.small.toFixed(1), postgres.large.toFixed(1)],
      ...[(postgres.large / postgres.small).toFixed(1), ratio.toFixed(2), flags.join(', ')],
    ];
  });
  return [[...head, 'by PostgreSQL', 'mark'], ...rows];
}
