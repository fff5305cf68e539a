/**
 * What the suites share beyond the foundation: their plan, medians, tables and files.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { axisFault, savePictures } from './pictures/draw.js';
import { picturesOf } from './pictures/index.js';
import { aligned, machine } from './report.js';
import type { Side } from './sides.js';

/** What a suite is told. */
export interface SuitePlan {
  readonly sides: readonly Side[];
  readonly command: string;
  /** Only parts whose name contains this. */
  readonly only: string | undefined;
  readonly rounds: number;
  /** Seconds of one measurement. */
  readonly seconds: number;
  /** Where results go. */
  readonly folder: string;
  /** Reports progress. */
  readonly print: (line: string) => void;
  /** Shows results. */
  readonly show: (text: string) => void;
}

/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Shows a table with the command and the machine above. */
export function showTable(
  plan: Pick<SuitePlan, 'command' | 'show'>,
  rows: readonly (readonly string[])[],
): void {
  plan.show(`\n${machine()}\ncommand: ${plan.command}\n\n${aligned(rows)}\n`);
}

/**
 * Writes raw results as `<name>.json`, and their pictures; returns the paths. A picture whose axis
 * would show nothing, as after a measurement of a moment, is left out with a message.
 */
export async function saveResults(
  plan: Pick<SuitePlan, 'command' | 'folder'>,
  name: string,
  content: object,
): Promise<string[]> {
  await mkdir(plan.folder, { recursive: true });
  const path = join(plan.folder, `${name}.json`);
  const { command } = plan;
  const all = { machine: machine(), at: new Date().toISOString(), command, ...content };
  await writeFile(path, `${JSON.stringify(all, null, 2)}\n`);
  const pictures = picturesOf(name, all).filter((picture) => {
    const fault = axisFault(picture);
    if (fault !== undefined) process.stderr.write(`no picture: ${fault}\n`);
    return fault === undefined;
  });
  return [path, ...(await savePictures(plan.folder, pictures))];
}
