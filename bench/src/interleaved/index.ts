/**
 * Interleaved tables against ordinary ones, BraidDB against PostgreSQL, in one run: cascading deletes
 * of three shapes, joins of two and three tables, scans of parents among their children, bulk inserts
 * with and without a foreign key.
 */

import type { SuitePlan } from '../suite.js';
import { saveResults, showTable } from '../suite.js';
import { deleteTable, measureDeletes } from './deletes.js';
import { insertTable, measureInserts } from './inserts.js';
import { measureJoins, measureScans, readTable } from './reads.js';

/** What to run besides the plan of every suite. */
export interface InterleavedPlan extends SuitePlan {
  readonly parents: number;
  /** Children of each parent, for the deletes. */
  readonly children: readonly number[];
}

/** Runs the parts that `only` names, or all; returns the files written. */
export async function runInterleaved(plan: InterleavedPlan): Promise<string[]> {
  const wanted = (part: string): boolean => plan.only?.split('|').includes(part) ?? true;
  const { parents, children } = plan;
  const joins = wanted('joins') ? await measureJoins(plan, parents, 30) : [];
  const scans = wanted('scans') ? await measureScans(plan, parents * 10, 100) : [];
  const reads = [...joins, ...scans];
  const inserts = wanted('inserts') ? await measureInserts(plan, parents * 100) : [];
  const deletes = wanted('deletes') ? await measureDeletes(plan, parents, children) : [];
  if (reads.length > 0) showTable(plan, readTable(reads));
  if (inserts.length > 0) showTable(plan, insertTable(inserts));
  if (deletes.length > 0) showTable(plan, deleteTable(deletes));
  return saveResults(plan, 'interleaved', { parents, joins, scans, inserts, deletes });
}
