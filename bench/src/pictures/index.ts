/**
 * The pictures of each suite, made from its results file alone: they can be drawn again later.
 */

import type { TimelineEntry } from '@braiddb/sdk';

import type { FairnessRound } from '../fairness.js';
import type { JobsCell } from '../jobs/index.js';
import type { QueueCell } from '../queue.js';
import type { Comparison } from '../sides.js';
import type { Bar, Caption, Line, Spread } from './charts.js';
import { bars, lines, ratios, spreadOf } from './charts.js';
import type { Picture } from './draw.js';
import type {
  BankResult,
  BatcherResult,
  LineitemCell,
  NetworkResult,
  ScanResult,
  YcsbResult,
} from './results.js';
import { timelines } from './timeline.js';

/** What every results file begins with. */
export interface Results {
  readonly machine: string;
  readonly command: string;
}

type Maker<Content> = (name: string, results: Results & Content) => Picture[];

const MAKERS = {
  foundation,
  lineitem,
  batcher,
  bank,
  network,
  scan,
  timelines: transfers,
  ycsb,
  fairness,
  jobs,
  queue,
};

/** The pictures of a results file; none where a suite has none. */
export function picturesOf(name: string, results: Results & object): Picture[] {
  const suite = name.split('-')[0] ?? name;
  if (!Object.hasOwn(MAKERS, suite)) return [];
  return (MAKERS[suite as keyof typeof MAKERS] as Maker<object>)(name, results);
}

function captionOf({ command, machine }: Results, title: string): Caption {
  return { title, notes: [command, machine] };
}

function foundation(
  name: string,
  results: Results & { readonly comparisons: readonly Comparison[] },
): Picture[] {
  const values = results.comparisons.map(({ question, rounds }) => {
    const pairs = rounds.BraidDB.map(({ perSecond }, round) => {
      return perSecond / (rounds.PostgreSQL[round]?.perSecond ?? Number.NaN);
    });
    return { category: question, ...spreadOf(pairs.filter(Number.isFinite)) };
  });
  const caption = captionOf(results, 'Throughput: BraidDB by PostgreSQL');
  return [ratios(name, caption, 'ratio (right of 1: BraidDB is faster)', values)];
}

function lineitem(
  name: string,
  results: Results & { readonly cells: readonly LineitemCell[] },
): Picture[] {
  const modes = [...new Set(results.cells.map(({ mode }) => mode))];
  return modes.flatMap((mode) => {
    const cells = results.cells.filter((cell) => cell.mode === mode);
    const lineOf = (side: 'braid' | 'postgres', connections: number): Line => ({
      series: `${side === 'braid' ? 'BraidDB' : 'PostgreSQL'}, ${connections} connections`,
      isDashed: side === 'postgres',
      points: cells
        .filter((cell) => cell.connections === connections)
        .map((cell) => ({ x: cell.batchRows, ...spreadOf(cell.rounds[side]) })),
    });
    const all = [...new Set(cells.map(({ connections }) => connections))];
    const series = all.flatMap((one) => [lineOf('braid', one), lineOf('postgres', one)]);
    const caption = captionOf(results, `lineitem, ${mode}: rows a second`);
    const axes = { x: 'rows of a statement', y: 'rows a second', isLogX: true, isLogY: true };
    const compared = cells.map((cell) => ({
      category: `${cell.batchRows} rows, ${cell.connections} connections`,
      ...ratioOf(cell.rounds.braid, cell.rounds.postgres),
    }));
    const ratioCaption = captionOf(results, `lineitem, ${mode}: BraidDB by PostgreSQL`);
    const title = 'ratio (right of 1: BraidDB is faster)';
    return [
      lines(`${name}-${mode}`, caption, axes, series),
      ratios(`${name}-${mode}-ratio`, ratioCaption, title, compared),
    ];
  });
}

/** Round by round: what disturbs the machine disturbs both servers of a round. */
function ratioOf(ours: readonly number[], theirs: readonly number[]): Spread {
  return spreadOf(ours.map((one, round) => one / (theirs[round] ?? Number.NaN)));
}

function batcher(
  name: string,
  results: Results & {
    readonly results: readonly BatcherResult[];
    readonly timelines: readonly { readonly name: string; readonly points: [number, number][] }[];
  },
): Picture[] {
  const settings = results.results.map(({ side, setting, load, rounds }): Bar => {
    return {
      panel: `${load}, rows a second`,
      category: `${side}, ${setting}`,
      group: side,
      ...spreadOf(rounds),
    };
  });
  const series = results.timelines
    .filter(({ points }) => points.length > 0)
    .map(({ name: side, points }): Line => {
      const spread = points.map(([x, rows]) => ({ x, ...spreadOf([rows]) }));
      return { series: side, points: spread };
    });
  const sizes = 'The batch size that the batcher chooses (narrow rows, then wide ones)';
  const axes = { x: 'milliseconds', y: 'rows of a batch', isStep: true };
  return [
    lines(name, captionOf(results, sizes), axes, series),
    bars(
      `${name}-throughput`,
      captionOf(results, 'The batcher by batch size × statements in flight'),
      settings,
    ),
  ];
}

function bank(
  name: string,
  results: Results & { readonly results: readonly BankResult[] },
): Picture[] {
  const ways = { serial: 'every statement awaited', parallel: 'RETURNING NOTHING' } as const;
  const values = results.results.flatMap((one): Bar[] => {
    const { side, roundTripMs, way, medianMs, p99Ms } = one;
    const group = ways[way];
    const category = `${side}, ${roundTripMs} ms, ${way === 'serial' ? 'awaited' : 'not awaited'}`;
    return [
      {
        panel: 'milliseconds: median, line to the 99th percentile',
        category,
        group,
        middle: medianMs,
        low: medianMs,
        high: p99Ms,
      },
    ];
  });
  const title = 'A bank transfer of seven statements, by round-trip time to the store';
  return [bars(name, captionOf(results, title), values)];
}

function network(
  name: string,
  results: Results & { readonly results: readonly NetworkResult[] },
): Picture[] {
  const panels = [...new Set(results.results.map(({ roundTripMs }) => roundTripMs))];
  const values = results.results.map(({ side, roundTripMs, client, rounds }): Bar => {
    const panel = `${roundTripMs} ms a round trip${roundTripMs === panels[0] ? ', ms' : ''}`;
    const category = `${side}, ${client}`;
    return { panel, category, group: side, ...spreadOf(rounds.map(({ p50Ms }) => p50Ms)) };
  });
  const title = 'A transaction of four statements, median milliseconds, by client and distance';
  return [bars(name, captionOf(results, title), values)];
}

function scan(
  name: string,
  results: Results & { readonly rows: number; readonly results: readonly ScanResult[] },
): Picture[] {
  const values = results.results.flatMap(({ server, coldMs, warm }): Bar[] => {
    const of = { category: server, group: server.split(',')[0] ?? server };
    const warmMs = warm.map(({ p50Ms }) => p50Ms);
    return [
      { panel: 'cold, milliseconds', ...of, ...spreadOf(coldMs) },
      { panel: 'warm, milliseconds', ...of, ...spreadOf(warmMs) },
    ];
  });
  const title = `A full scan of ${results.rows} rows, cold and warm`;
  return [bars(name, captionOf(results, title), values)];
}

function transfers(
  _name: string,
  results: Results & {
    readonly roundTripMs: number;
    readonly serial: readonly TimelineEntry[];
    readonly parallel: readonly TimelineEntry[];
  },
): Picture[] {
  const title = `A bank transfer, ${results.roundTripMs} ms a round trip to the store`;
  return [
    timelines('timeline', captionOf(results, title), [
      { title: 'every statement awaited', entries: results.serial },
      { title: 'writes with RETURNING NOTHING', entries: results.parallel },
    ]),
  ];
}

function ycsb(
  name: string,
  results: Results & { readonly results: readonly YcsbResult[] },
): Picture[] {
  const pictures = new Map<string, Bar[]>();
  const counts = new Set(results.results.map(({ connections }) => connections));
  for (const { workload, driver, families, ...rest } of results.results) {
    const { side, locking, isolation, connections, rounds } = rest;
    const picture = `${workload}-${driver}${families ? '-families' : ''}`;
    const lock = locking === 'off' ? 'no locks' : locking;
    const level = isolation === 'serializable' ? '' : ', RC';
    const load = counts.size > 1 ? `, ${connections} connections` : '';
    const category = `${side}, ${lock}${level}${load}`;
    const bar = (panel: string, values: readonly number[]): Bar => {
      return { panel, category, group: side, ...spreadOf(values) };
    };
    const shown = pictures.get(picture) ?? [];
    shown.push(
      bar(
        'operations a second',
        rounds.map(({ perSecond }) => perSecond),
      ),
      bar(
        '99th percentile, ms',
        rounds.map(({ p99Ms }) => p99Ms),
      ),
    );
    pictures.set(picture, shown);
  }
  const [only] = counts;
  const load = counts.size === 1 ? `, ${only} connections` : '';
  return [...pictures].map(([picture, values]) => {
    const words = picture.replaceAll('-', ', ');
    const title = `YCSB ${words}${load} (RC: READ COMMITTED, else SERIALIZABLE)`;
    return bars(`${name}-${picture}`, captionOf(results, title), values);
  });
}

function fairness(
  name: string,
  results: Results & { readonly rounds: readonly FairnessRound[] },
): Picture[] {
  const names = new Set(results.rounds.map(({ side, neighbours }) => `${side}, ${neighbours}`));
  const values = [...names].flatMap((category): Bar[] => {
    const own = results.rounds.filter(
      ({ side, neighbours }) => `${side}, ${neighbours}` === category,
    );
    const group = own[0]?.side ?? '';
    const bar = (panel: string, field: 'p50Ms' | 'p99Ms'): Bar => {
      return { panel, category, group, ...spreadOf(own.map((round) => round[field])) };
    };
    return [bar('median, ms', 'p50Ms'), bar('99th percentile, ms', 'p99Ms')];
  });
  const title = 'A point select beside connections that compute without an end';
  return [bars(name, captionOf(results, title), values)];
}

function jobs(name: string, results: Results & { readonly cells: readonly JobsCell[] }): Picture[] {
  const values = results.cells.flatMap(({ system, workers, side, run }): Bar[] => {
    if (run === undefined) return [];
    const of = { category: `${side}, ${system}, ${workers} workers`, group: side };
    const latency = { middle: run.p50Ms, low: run.p50Ms, high: run.p99Ms };
    return [
      { panel: 'jobs a second', ...of, ...spreadOf([run.jobsPerSecond]) },
      { panel: 'latency, ms: median, line to the 99th percentile', ...of, ...latency },
    ];
  });
  return [bars(name, captionOf(results, 'Queues of jobs, by system and workers'), values)];
}

function queue(
  name: string,
  results: Results & { readonly cells: readonly QueueCell[] },
): Picture[] {
  const kinds = [...new Set(results.cells.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const cells = results.cells.filter((cell) => cell.kind === kind);
    const series = cells.map(({ side, workers, slices }): Line => {
      const points = slices.map((perSecond, slice) => ({ x: slice + 1, ...spreadOf([perSecond]) }));
      return { series: `${side}, ${workers} workers`, isDashed: side === 'PostgreSQL', points };
    });
    const caption = captionOf(results, `A queue as it is worked off, ${kind}: jobs a second`);
    return lines(
      `${name}-${kind}`,
      caption,
      { x: 'slice of the jobs', y: 'jobs a second' },
      series,
    );
  });
}
