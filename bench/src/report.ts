/**
 * Results as a table for people and as JSON for plots.
 */

import { cpus, release, totalmem, type } from 'node:os';

import type { IdleMemory } from './memory.js';
import type { Comparison, Round } from './sides.js';

/** Everything that one run has found. */
export interface Report {
  readonly command: string;
  readonly comparisons: readonly Comparison[];
  readonly memory: readonly IdleMemory[];
}

/** The machine in one line. */
export function machine(): string {
  const [first] = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const system = `${type()} ${release()}, Node ${process.version}`;
  return `${cpus().length} × ${first?.model ?? 'unknown CPU'}, ${memoryGb} GB, ${system}`;
}

/** The table, bad numbers included. */
export function table(report: Report): string {
  const rows = [
    ['question', 'BraidDB/s', 'p50 ms', 'p99 ms', 'PostgreSQL/s', 'p50 ms', 'p99 ms', 'ratio'],
    ...report.comparisons.map(({ question, braid, postgres, ratio }) => [
      ...[question, ...cells(braid), ...cells(postgres)],
      `${ratio.toFixed(2)}${ratio < 1 ? ' below 1' : ''}`,
    ]),
  ];
  const memory = [
    ['idle memory', 'no connection', 'connections', 'with them', 'per connection'],
    ...report.memory.map((one) => [
      ...[one.side, megabytes(one.idleKb), String(one.connections)],
      ...[megabytes(one.withConnectionsKb), `${one.perConnectionKb.toFixed(1)} kB`],
    ]),
  ];
  const parts = [machine(), `command: ${report.command}`, '', aligned(rows)];
  if (report.memory.length > 0) parts.push('', aligned(memory));
  return parts.join('\n');
}

function cells(round: Round): string[] {
  const whole = round.perSecond < 100 ? round.perSecond.toFixed(2) : round.perSecond.toFixed(0);
  return [whole, round.p50Ms.toFixed(3), round.p99Ms.toFixed(3)];
}

function megabytes(kb: number): string {
  return `${(kb / 1024).toFixed(1)} MB`;
}

/** Columns of equal width, the first to the left. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}
