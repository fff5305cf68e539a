// Compares what a run of PostgreSQL's regression statements has counted with the counts of the documents:
// `node check.mjs found.jsonl`. Exits 1 if fewer statements of a file are alike.

import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../docs/testing-regression.md', import.meta.url);

/** How many statements of each file are alike; of files in which nothing differs, none is missing. */
function documented() {
  const text = readFileSync(DOCUMENT, 'utf8');
  const rows = text.matchAll(/^\| `(\w+)` \| (\d+) of (\d+) \|/gm);
  const counts = new Map(
    [...rows].map(([, file, alike, total]) => [file, Number(total) - Number(alike)]),
  );
  for (const [, file] of text.slice(text.indexOf('## Alike')).matchAll(/`(\w+)`/g)) counts.set(file, 0);
  return counts;
}

/** The statements of a file that are not alike. Other types, or rows in another order, count as alike. */
function different({ total, same = 0, type = 0, order = 0 }) {
  return total - same - type - order;
}

const known = documented();
const lines = readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean);
const files = lines.map((line) => JSON.parse(line)).filter(({ summary }) => summary !== undefined);
let isWorse = files.length === 0;
for (const { file, summary } of files) {
  const [found, allowed] = [different(summary), known.get(file) ?? 0];
  isWorse ||= found > allowed;
  const verdict = found > allowed ? `FAILED: the document says ${allowed}` : 'ok';
  process.stdout.write(`${file}: ${found} of ${summary.total} differ, ${verdict}\n`);
}
process.exitCode = isWorse ? 1 : 0;
