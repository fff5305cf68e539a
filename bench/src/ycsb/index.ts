/**
 * YCSB's workloads A and F on BraidDB, PostgreSQL and CockroachDB, in turn and in one run.
 *
 * Writes `ycsb.json` with every round, and a picture of throughput and 99th percentile for each
 * workload, driver and kind of table.
 */

import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { YcsbResult } from '../pictures/results.js';
import type { Cell, DriverName, Workload, YcsbSide } from './cell.js';
import { cellsOf, fits, nameOf } from './cell.js';
import type { YcsbRound } from './load.js';
import { clear, fill, oneRound } from './load.js';

/** What to run besides the plan of every suite. */
export interface YcsbPlan extends Omit<SuitePlan, 'sides'> {
  readonly sides: readonly YcsbSide[];
  readonly workloads: readonly Workload[];
  readonly drivers: readonly DriverName[];
  readonly connections: readonly number[];
  readonly records: number;
  /** File name of the results, without its ending. */
  readonly name: string;
}

/** A cell on a server with a number of connections. */
interface Result {
  readonly cell: Cell;
  readonly side: YcsbSide['name'];
  readonly connections: number;
  readonly rounds: YcsbRound[];
}

/** Runs all cells whose name contains `only`; returns the paths of what was written. */
export async function runYcsb(plan: YcsbPlan): Promise<string[]> {
  const wanted = plan.only?.split('|');
  const cells = cellsOf(plan.workloads, plan.drivers).filter(
    (cell) => wanted === undefined || wanted.some((text) => nameOf(cell).includes(text)),
  );
  const results: Result[] = [];
  for (const families of [false, true]) {
    const group = cells.filter((cell) => cell.families === families);
    const sides = plan.sides.filter((side) => group.some((cell) => fits(cell, side)));
    for (const side of sides) await fill(side, families, plan.records);
    for (const connections of plan.connections) {
      for (const cell of group) results.push(...(await measure(plan, cell, connections)));
    }
    for (const side of sides) await clear(side);
  }
  showTable(plan, tableOf(results));
  const content = { records: plan.records, results: results.map(flattened) };
  return saveResults(plan, plan.name, content);
}

/** The servers take turns, so that what disturbs the machine disturbs all of them. */
async function measure(plan: YcsbPlan, cell: Cell, connections: number): Promise<Result[]> {
  const results = plan.sides
    .filter((side) => fits(cell, side))
    .map((side) => ({ side, rounds: [] as YcsbRound[] }));
  for (let round = 0; round < plan.rounds; round++) {
    for (const { side, rounds } of results) {
      plan.print(`${nameOf(cell)}, ${connections} connections, ${side.name}, round ${round + 1}`);
      rounds.push(await oneRound(cell, side, connections, plan.records, plan.seconds * 1000));
    }
  }
  return results.map(({ side, rounds }) => ({ cell, side: side.name, connections, rounds }));
}

function tableOf(results: readonly Result[]): string[][] {
  const head = ['workload', 'server', 'conn', 'ops/s', 'p50 ms', 'p95 ms', 'p99 ms', 'max ms'];
  const rows = results.map(({ cell, side, connections, rounds }) => [
    ...[nameOf(cell), side, String(connections), middle(rounds, 'perSecond').toFixed(0)],
    ...(['p50Ms', 'p95Ms', 'p99Ms', 'maxMs'] as const).map((key) => middle(rounds, key).toFixed(2)),
    ...(['retries', 'lostUpdates'] as const).map((key) =>
      String(rounds.reduce((sum, round) => sum + round[key], 0)),
    ),
  ]);
  return [[...head, 'client retries', 'lost'], ...rows];
}

function middle(rounds: readonly YcsbRound[], key: keyof YcsbRound): number {
  return median(rounds.map((round) => round[key]));
}

function flattened({ cell, ...rest }: Result): YcsbResult {
  return { ...cell, ...rest };
}
