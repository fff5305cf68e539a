// Compares what a run of PostgreSQL's regression statements has counted with the counts of the documents:
// `node check.mjs found.jsonl VERSION`. Exits 1 if fewer statements of a file are alike. The statements of
// another version of PostgreSQL are others: of these it only prints the counts.

import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../docs/testing-regression.md', import.meta.url);

/** How many statements of each file are not alike; in the files that the last table names, none. */
function documented(text) {
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

const [found, version] = process.argv.slice(2);
const text = readFileSync(DOCUMENT, 'utf8');
const isSame = version.startsWith(/PostgreSQL ([\d.]+)'s/.exec(text)[1]);
const known = documented(text);
const lines = readFileSync(found, 'utf8').split('\n').filter(Boolean);
const files = lines.map((line) => JSON.parse(line)).filter(({ summary }) => summary !== undefined);
let isWorse = files.length === 0;
for (const { file, summary } of files) {
  const [differ, allowed] = [different(summary), known.get(file) ?? 0];
  isWorse ||= isSame && differ > allowed;
  const verdict = differ > allowed ? `more than the ${allowed} of the document` : 'ok';
  process.stdout.write(`${file}: ${differ} of ${summary.total} differ, ${verdict}\n`);
}
if (!isSame) process.stdout.write(`PostgreSQL ${version} is another than that of the document\n`);
process.exitCode = isWorse ? 1 : 0;
