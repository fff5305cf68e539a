/**
 * The questions of the foundation: point select and durable insert (asked by `pg` and by pgbench),
 * full scan, idle memory.
 */

import { durableInsert } from './insert.js';
import type { IdleMemory } from './memory.js';
import { idleMemory } from './memory.js';
import { comparePgbench, INSERT_SCRIPT, missingPgbench, SELECT_SCRIPT } from './pgbench.js';
import { pointSelect } from './point.js';
import type { Report } from './report.js';
import { fullScan } from './scan.js';
import type { Comparison, Effort, Side } from './sides.js';
import { compare } from './sides.js';

/** What to run. */
export interface Plan {
  readonly sides: readonly [Side, Side];
  readonly effort: Effort;
  readonly scanRows: number;
  readonly idleConnections: number;
  readonly command: string;
  /** Only questions whose name contains this. */
  readonly only: string | undefined;
  readonly print: (line: string) => void;
}

/** Runs the questions one after another. */
export async function runFoundation(plan: Plan): Promise<Report> {
  const wanted = (name: string): boolean => plan.only === undefined || name.includes(plan.only);
  const memory: IdleMemory[] = [];
  // Memory first: a server that has worked holds caches that say nothing about its connections.
  const known = plan.sides.every((side) => side.pid !== undefined);
  if (known && wanted('idle memory')) {
    for (const side of plan.sides) {
      plan.print(`idle memory: ${side.name}`);
      memory.push(await idleMemory(side, plan.idleConnections));
    }
  }
  const questions = [
    ...[pointSelect(1), pointSelect(8), durableInsert(1), durableInsert(8)],
    fullScan(plan.scanRows),
  ];
  const comparisons: Comparison[] = [];
  for (const question of questions) {
    if (!wanted(question.name)) continue;
    plan.print(question.name);
    comparisons.push(await compare(question, plan.sides, plan.effort));
  }
  comparisons.push(...(await runPgbench(plan, wanted)));
  return { command: plan.command, comparisons, memory };
}

/** The same by pgbench, where it is installed. */
async function runPgbench(
  plan: Plan,
  wanted: (name: string) => boolean,
): Promise<readonly Comparison[]> {
  const scripts = [1, 8].flatMap((connections) => [
    { question: pointSelect(connections), script: SELECT_SCRIPT },
    { question: durableInsert(connections), script: INSERT_SCRIPT },
  ]);
  const named = scripts.map(({ question, script }) => ({
    question: { ...question, name: `pgbench -M prepared: ${question.name}` },
    script,
  }));
  const asked = named.filter(({ question }) => wanted(question.name));
  const missing = missingPgbench();
  if (asked.length > 0 && missing !== undefined) {
    plan.print(`pgbench: left out, ${missing}`);
    return [];
  }
  const comparisons: Comparison[] = [];
  for (const script of asked) {
    plan.print(script.question.name);
    comparisons.push(await comparePgbench(script, plan.sides, plan.effort));
  }
  return comparisons;
}
