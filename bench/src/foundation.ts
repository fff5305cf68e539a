/**
 * The questions of the foundation: point select, durable insert, full scan, idle memory.
 */

import { durableInsert } from './insert.js';
import type { IdleMemory } from './memory.js';
import { idleMemory } from './memory.js';
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
  return { command: plan.command, comparisons, memory };
}
