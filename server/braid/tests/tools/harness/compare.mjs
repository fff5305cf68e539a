// What a program printed on BraidDB against what PostgreSQL printed, step by step.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const missingFile = fileURLToPath(new URL('../missing.txt', import.meta.url));

/** Lines of a difference that are shown for each step. */
const SHOWN_LINES_MAX = 6;

/** The output by steps: `== name` begins one. */
function steps(output) {
  const found = new Map();
  let lines = [];
  for (const line of output.trimEnd().split('\n')) {
    if (line.startsWith('== ')) found.set(line.slice(3), (lines = []));
    else lines.push(line);
  }
  return found;
}

/** The lines of missing.txt for a tool: step → the error that the step must show. */
export function missingOf(tool) {
  const found = new Map();
  for (const line of readFileSync(missingFile, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name, step, thing, error] = line.split(' | ').map((part) => part.trim());
    if (!error) throw new Error(`missing.txt: four columns expected: ${line}`);
    if (name === tool) found.set(step, { thing, error });
  }
  return found;
}

/** Compares step by step; returns the complaints. */
export function compare(tool, expected, actual) {
  const complaints = [];
  const missing = missingOf(tool);
  const wanted = steps(expected);
  const got = steps(actual);
  for (const step of missing.keys()) {
    if (!wanted.has(step)) complaints.push(`missing.txt names "${step}", which is no step`);
  }
  for (const [step, lines] of wanted) {
    const shown = got.get(step) ?? ['(the step was not reached)'];
    const known = missing.get(step);
    const different = lines.join('\n') !== shown.join('\n');
    if (known && !different)
      complaints.push(`"${step}" passes now: take its line out of missing.txt`);
    if (known && different && !shown.some((line) => line.includes(known.error))) {
      complaints.push(`"${step}" does not fail with ${known.error} (${known.thing}):`, ...shown);
    }
    if (!known && different) complaints.push(`"${step}" differs:`, ...differences(lines, shown));
  }
  return complaints;
}

function differences(wanted, got) {
  const lines = [
    ...wanted
      .filter((line) => !got.includes(line))
      .slice(0, SHOWN_LINES_MAX)
      .map((line) => `  PostgreSQL: ${line}`),
    ...got
      .filter((line) => !wanted.includes(line))
      .slice(0, SHOWN_LINES_MAX)
      .map((line) => `  BraidDB:    ${line}`),
  ];
  return lines.length === 0 ? ['  the same lines in another order'] : lines;
}
