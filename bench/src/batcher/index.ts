/**
 * Question: does the adaptive batcher keep up with the best fixed size, as the load changes? And how
 * does it compare with single inserts and COPY, how long does an `add` take at a low load, and what
 * if each round trip to the store is slow?
 *
 * Full load: rows are always waiting, narrow ones first, then wide ones. Fixed settings run beside
 * the adaptive one, on both servers in turn, in an order that moves on from round to round: what a
 * server cleans up after one run is so paid by each of the others once. A load is counted after its
 * first second. The aim is 0.95 of the best fixed setting, see `share.ts`.
 */

import type { BatcherLatency, BatcherResult } from '../pictures/results.js';
import type { Side } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import { paced, PACES } from './latency.js';
import type { Load, Setting } from './loads.js';
import { fullLoad } from './loads.js';
import { shareOfBest } from './share.js';

/** The suite starts the server with a slow store itself: that is a setting of the server. */
export interface BatcherPlan extends SuitePlan {
  readonly startBraid: (args: string[]) => Promise<Side & { stop: () => Promise<unknown> }>;
}

const FIXED: readonly Setting[] = [64, 256, 1024, 4096].flatMap((rows) =>
  [1, 2, 4].map((inFlight): Setting => {
    return { name: `${rows} × ${inFlight}`, way: 'fixed', rows, inFlight };
  }),
);
const ADAPTIVE: Setting = { name: 'adaptive', way: 'adaptive', inFlight: 4 };
const SINGLE: Setting = { name: 'single inserts × 4', way: 'single', inFlight: 4 };
const COPY: Setting = { name: 'COPY of 10000', way: 'copy', rows: 10_000, inFlight: 1 };
const ALL = [ADAPTIVE, ...FIXED, SINGLE, COPY];
/** What the latencies are measured with. */
const PACED = [ADAPTIVE, ...FIXED.filter(({ inFlight }) => inFlight === 2), SINGLE];

const LOADS: readonly Load[] = [
  { name: 'narrow rows', bytes: 20 },
  { name: 'wide rows', bytes: 1000 },
];
const SLOW_LOADS: readonly Load[] = [{ name: 'slow store, narrow rows', bytes: 20 }];
/** Of each round trip to the slow store. */
const SLOW_STORE = '5ms';

/** The aim: the adaptive rate by that of the best fixed setting. */
const AIM = 0.95;

/** What the suite has found so far. */
interface Found {
  readonly results: BatcherResult[];
  readonly latencies: BatcherLatency[];
  readonly timelines: { readonly name: string; readonly points: [number, number][] }[];
}

/** Runs the suite; returns the files written. */
export async function runBatcher(plan: BatcherPlan): Promise<string[]> {
  const found: Found = { results: [], latencies: [], timelines: [] };
  await underFullLoad(plan, plan.sides, LOADS, found);
  await atPaces(plan, found);
  const isSlowWanted = ALL.some(({ name }) => isWanted(plan, `slow store, ${name}`));
  if (isSlowWanted) {
    const slow = await plan.startBraid(['--simulate-rtt', SLOW_STORE]);
    try {
      await underFullLoad(plan, [slow], SLOW_LOADS, found);
    } finally {
      await slow.stop();
    }
  }
  showTable(plan, sharesOf(found.results));
  plan.show(
    `The aim is ${AIM} of the best fixed setting. It is chosen for each round by the others.`,
  );
  showTable(plan, otherWaysOf(found.results));
  showTable(plan, latenciesOf(found.latencies));
  return saveResults(plan, 'batcher', found);
}

/** True if `--only` names this part or is not given. */
function isWanted(plan: SuitePlan, part: string): boolean {
  return plan.only?.split('|').some((text) => part.includes(text)) !== false;
}

async function underFullLoad(
  plan: SuitePlan,
  sides: readonly Side[],
  loads: readonly Load[],
  found: Found,
): Promise<void> {
  const slow = loads === SLOW_LOADS ? 'slow store, ' : '';
  for (let round = 0; round < plan.rounds; round++) {
    for (const setting of inOrder(round, plan.rounds)) {
      if (!isWanted(plan, `${slow}${setting.name}`)) continue;
      for (const side of sides) {
        plan.print(`round ${round + 1}: ${slow}${side.name}, ${setting.name}`);
        const { rates, choices } = await fullLoad(side, setting, loads, plan.seconds);
        rates.forEach((rate, place) => {
          const load = loads[place]?.name ?? '';
          roundsOf(found.results, { side: side.name, setting: setting.name, load }).push(rate);
        });
        if (setting !== ADAPTIVE || round > 0 || slow !== '') continue;
        const points = choices.map(({ atMs, rows }): [number, number] => [atMs, rows]);
        found.timelines.push({ name: side.name, points });
      }
    }
  }
}

async function atPaces(plan: SuitePlan, found: Found): Promise<void> {
  for (const pace of PACES) {
    for (let round = 0; round < plan.rounds; round++) {
      for (const setting of PACED) {
        if (!isWanted(plan, `${pace.name}, ${setting.name}`)) continue;
        for (const side of plan.sides) {
          plan.print(`round ${round + 1}: ${pace.name}, ${side.name}, ${setting.name}`);
          const where = { side: side.name, setting: setting.name, load: pace.name };
          roundsOf(found.latencies, where).push(await paced(side, setting, pace, plan.seconds));
        }
      }
    }
  }
}

/** All settings; each round begins elsewhere, spread over the rounds. */
function inOrder(round: number, rounds: number): Setting[] {
  const start = Math.floor((round * ALL.length) / rounds);
  return [...ALL.slice(start), ...ALL.slice(0, start)];
}

interface Place {
  readonly side: Side['name'];
  readonly setting: string;
  readonly load: string;
}

/** The rounds of a setting under a load; a new list if there is none. */
function roundsOf<Round>(all: (Place & { readonly rounds: Round[] })[], where: Place): Round[] {
  const known = all.find(
    ({ side, setting, load }) =>
      side === where.side && setting === where.setting && load === where.load,
  );
  if (known !== undefined) return known.rounds;
  const rounds: Round[] = [];
  all.push({ ...where, rounds });
  return rounds;
}

/** The results by server and load. */
function groupsOf<One extends Place>(all: readonly One[]): One[][] {
  const groups = new Map<string, One[]>();
  for (const one of all) {
    const name = `${one.side}, ${one.load}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups.values()];
}

function sharesOf(results: readonly BatcherResult[]): string[][] {
  const isFixed = ({ setting }: BatcherResult): boolean =>
    FIXED.some(({ name }) => name === setting);
  const rows = groupsOf(results).flatMap((group) => {
    const adaptive = group.find(({ setting }) => setting === ADAPTIVE.name);
    const fixed = group.filter(isFixed);
    if (adaptive === undefined || fixed.length === 0) return [];
    const { side, load, rounds } = adaptive;
    const { share, shareOfLuckiest, best } = shareOfBest(rounds, fixed);
    const bestRate = median(best?.rounds ?? []).toFixed(0);
    return [
      [
        ...[`${side}, ${load}`, median(rounds).toFixed(0), bestRate, best?.setting ?? ''],
        ...[`${share.toFixed(2)}${share < AIM ? ' not met' : ''}`, shareOfLuckiest.toFixed(2)],
      ],
    ];
  });
  const head = ['server, load', 'adaptive rows/s', 'best fixed', 'setting', 'ratio'];
  return [[...head, 'by the luckiest'], ...rows];
}

function otherWaysOf(results: readonly BatcherResult[]): string[][] {
  const rows = groupsOf(results).map((group) => {
    const [first] = group;
    const rateOf = (setting: Setting): number =>
      median(group.find((one) => one.setting === setting.name)?.rounds ?? []);
    const [adaptive, single, copy] = [rateOf(ADAPTIVE), rateOf(SINGLE), rateOf(COPY)];
    return [
      ...[`${first?.side ?? ''}, ${first?.load ?? ''}`, adaptive.toFixed(0)],
      ...[single.toFixed(0), (adaptive / single).toFixed(1)],
      ...[copy.toFixed(0), (adaptive / copy).toFixed(2)],
    ];
  });
  const head = ['server, load', 'adaptive rows/s', SINGLE.name, 'adaptive by that', COPY.name];
  return [[...head, 'adaptive by that'], ...rows];
}

function latenciesOf(latencies: readonly BatcherLatency[]): string[][] {
  const rows = latencies.map(({ side, setting, load, rounds }) => {
    const of = (field: 'p50Ms' | 'p99Ms'): string =>
      median(rounds.map((round) => round[field])).toFixed(2);
    return [`${side}, ${load}, ${setting}`, of('p50Ms'), of('p99Ms')];
  });
  return [['latency of a row', 'p50 ms', 'p99 ms'], ...rows];
}
