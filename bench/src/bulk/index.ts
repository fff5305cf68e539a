/**
 * Question: how long do statements take that read or write very many rows?
 *
 * Each statement runs on both servers in turn, at the same isolation level, on fresh tables. Both
 * have to answer with the same number. The aim is 1.2 times PostgreSQL's time at most.
 */

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { BulkWork } from './works.js';
import { WORKS } from './works.js';

/** The suite, with its size. */
export interface BulkPlan extends SuitePlan {
  /** Rows of a statement; some take five times as many. */
  readonly rows: number;
  /** Of both servers. */
  readonly isolation: string;
}

interface Line {
  readonly work: string;
  readonly rows: number;
  readonly braidMs: number;
  readonly postgresMs: number;
  readonly ratio: number;
}

const BY_POSTGRES_MAX = 1.2;

/** Runs the suite; returns the files written. */
export async function runBulk(plan: BulkPlan): Promise<string[]> {
  const [braid, postgres] = plan.sides;
  if (braid === undefined || postgres === undefined) throw new Error('two sides are needed');
  const wanted = plan.only?.split('|');
  const lines: Line[] = [];
  for (const work of WORKS) {
    if (wanted !== undefined && !wanted.some((text) => work.name.includes(text))) continue;
    plan.print(work.name);
    lines.push(await compared(plan, [braid, postgres], work));
  }
  const rows = lines.map((line) => [
    ...[line.work, String(line.rows), line.braidMs.toFixed(0), line.postgresMs.toFixed(0)],
    ...[line.ratio.toFixed(2), line.ratio > BY_POSTGRES_MAX ? `above ${BY_POSTGRES_MAX}` : ''],
  ]);
  showTable(plan, [['work', 'rows', 'BraidDB, ms', 'PostgreSQL, ms', 'ratio', 'mark'], ...rows]);
  return saveResults(plan, 'bulk', { isolation: plan.isolation, lines });
}

/** The median times of both servers. */
async function compared(
  plan: BulkPlan,
  sides: readonly [Side, Side],
  work: BulkWork,
): Promise<Line> {
  const rows = work.rows(plan.rows);
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < plan.rounds; round++) {
    const ours = await timed(sides[0], plan.isolation, work, rows);
    const theirs = await timed(sides[1], plan.isolation, work, rows);
    if (ours.result !== theirs.result) {
      throw new Error(`${work.name}: ${ours.result} here, ${theirs.result} in PostgreSQL`);
    }
    times[0].push(ours.tookMs);
    times[1].push(theirs.tookMs);
  }
  const [braidMs, postgresMs] = [median(times[0]), median(times[1])];
  return { work: work.name, rows, braidMs, postgresMs, ratio: braidMs / postgresMs };
}

/** How long one run takes, and what it answers. */
function timed(
  side: Side,
  isolation: string,
  work: BulkWork,
  rows: number,
): Promise<{ tookMs: number; result: number }> {
  return onOne(side, async (client) => {
    await client.query(`SET default_transaction_isolation = '${isolation}'`);
    for (const statement of work.prepare(rows)) await client.query(statement);
    const startMs = performance.now();
    const result = await work.run(client, rows);
    const tookMs = performance.now() - startMs;
    for (const statement of work.finish) await client.query(statement);
    return { tookMs, result };
  });
}
