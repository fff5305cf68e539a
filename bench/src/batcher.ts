/**
 * Question: does the adaptive batcher keep up with the best fixed size, as the load changes?
 *
 * The load is rows of `lineitem` width from as many producers as needed to keep rows waiting; it
 * changes from narrow rows to wide ones half-way. Fixed settings run beside the adaptive one, on both
 * servers in turn, in an order that moves on from round to round: what a server cleans up behind one
 * run is so paid by each of the others once. Throughput is counted from the second second on, as the
 * issue of a warm-up.
 */

import type { Batcher } from '@braiddb/sdk';
import { connect, sql } from '@braiddb/sdk';

import type { BatcherResult } from './pictures/results.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

interface Row {
  readonly id: number;
  readonly note: string;
}

/** A setting under test; undefined rows: adaptive. */
interface Setting {
  readonly name: string;
  readonly rows: number | undefined;
  readonly inFlight: number;
}

const FIXED: readonly Setting[] = [64, 256, 1024, 4096].flatMap((rows) =>
  [1, 2, 4].map((inFlight) => ({ name: `${rows} × ${inFlight}`, rows, inFlight })),
);
const ADAPTIVE: Setting = { name: 'adaptive', rows: undefined, inFlight: 4 };
const LOADS = [
  { name: 'narrow rows', bytes: 20 },
  { name: 'wide rows', bytes: 1000 },
];
const WARMUP_MS = 1000;
/** Tables made so far. */
let tables = 0;

/** Runs the suite; returns the files written. */
export async function runBatcher(plan: SuitePlan): Promise<string[]> {
  const results: BatcherResult[] = [];
  const timelines: { readonly name: string; readonly points: [number, number][] }[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    for (const setting of inOrder(round, plan.rounds)) {
      if (plan.only !== undefined && !setting.name.includes(plan.only)) continue;
      for (const side of plan.sides) {
        plan.print(`round ${round + 1}: ${side.name}, ${setting.name}`);
        const { rates, sizes } = await run(side, setting, plan.seconds);
        rates.forEach((rate, place) => {
          note(results, side.name, setting.name, LOADS[place]?.name ?? '', rate);
        });
        if (setting === ADAPTIVE && round === 0) timelines.push({ name: side.name, points: sizes });
      }
    }
  }
  showTable(plan, tableOf(plan, results));
  return saveResults(plan, 'batcher', { results, timelines });
}

/** All settings; each round begins elsewhere, spread over the rounds. */
function inOrder(round: number, rounds: number): Setting[] {
  const all = [ADAPTIVE, ...FIXED];
  const start = Math.floor((round * all.length) / rounds);
  return [...all.slice(start), ...all.slice(0, start)];
}

function note(
  results: BatcherResult[],
  side: Side['name'],
  setting: string,
  load: string,
  rate: number,
): void {
  const known = results.find(
    (one) => one.side === side && one.setting === setting && one.load === load,
  );
  if (known === undefined) results.push({ side, setting, load, rounds: [rate] });
  else known.rounds.push(rate);
}

/** One run over both loads with one batcher. */
async function run(
  side: Side,
  setting: Setting,
  seconds: number,
): Promise<{ rates: number[]; sizes: [number, number][] }> {
  await using db = await connect(side.url);
  // A table of its own, and none is dropped: what a server cleans up would be paid by the next run.
  tables += 1;
  const table = `bench_batcher_${tables}`;
  const name = sql.identifier(table);
  await db.query`CREATE TABLE ${name} (id INT8 PRIMARY KEY, note TEXT NOT NULL)`;
  const startMs = performance.now();
  const sizes: [number, number][] = [];
  const rates: number[] = [];
  let next = 0;
  {
    await using batcher = db.batcher<Row>(table, {
      adaptive: setting.rows === undefined,
      inFlightMax: setting.inFlight,
      onConflict: 'nothing',
      bytesMax: 16 * 1024 * 1024,
      ...(setting.rows === undefined ? {} : { rowsMax: setting.rows }),
      onAdapt: ({ rows }) => sizes.push([performance.now() - startMs, rows]),
    });
    for (const { bytes } of LOADS) {
      const fill = 'x'.repeat(bytes);
      rates.push(await load(batcher, seconds * 1000, () => ({ id: next++, note: fill })));
    }
    const { n } = await db.one<{ n: bigint }>`SELECT count(*) AS n FROM ${name}`;
    if (Number(n) !== next) throw new Error(`${next} rows were acknowledged, ${n} are there`);
  }
  return { rates, sizes };
}

/** Keeps rows waiting; returns rows a second after the warm-up. */
async function load(batcher: Batcher<Row>, ms: number, make: () => Row): Promise<number> {
  const startMs = performance.now();
  const open = new Set<Promise<void>>();
  let warmAt: { ms: number; stored: number } | undefined;
  while (performance.now() - startMs < ms) {
    for (let i = 0; i < 500; i++) {
      const adding = batcher.add(make());
      open.add(adding);
      void adding.finally(() => open.delete(adding));
    }
    while (batcher.stats.waiting > 20_000) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setImmediate(resolve));
    if (warmAt === undefined && performance.now() - startMs > WARMUP_MS) {
      warmAt = { ms: performance.now(), stored: batcher.stats.stored };
    }
  }
  const { stored } = batcher.stats;
  const endMs = performance.now();
  await Promise.all(open);
  if (warmAt === undefined) throw new Error('a run takes more than one second');
  return ((stored - warmAt.stored) * 1000) / (endMs - warmAt.ms);
}

function tableOf(plan: SuitePlan, results: readonly BatcherResult[]): string[][] {
  const rows: string[][] = [
    ['server', 'load', 'adaptive rows/s', 'best fixed rows/s', 'setting', 'ratio'],
  ];
  for (const side of plan.sides) {
    for (const { name: load } of LOADS) {
      const those = results.filter((one) => one.side === side.name && one.load === load);
      const adaptive = median(those.find((one) => one.setting === 'adaptive')?.rounds ?? []);
      const fixed = those.filter((one) => one.setting !== 'adaptive');
      const [best] = fixed.sort((a, b) => median(b.rounds) - median(a.rounds));
      const rate = median(best?.rounds ?? []);
      rows.push([
        ...[side.name, load, adaptive.toFixed(0), rate.toFixed(0), best?.setting ?? ''],
        (adaptive / rate).toFixed(2),
      ]);
    }
  }
  return rows;
}
