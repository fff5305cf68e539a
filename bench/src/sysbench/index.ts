/**
 * Question: what does the program sysbench find, with the Lua scripts of Debian's package, and with
 * seven scans and joins of the kinds that Dolt adds?
 *
 * Both servers run at the same isolation level, which is the sessions' default. Each measurement
 * comes after a warm-up, on both servers in turn; the median round counts. sysbench runs an event
 * again that meets 40001, 40P01 or 23505, and the suite counts these. Afterwards it checks rows and
 * sums. Of a scan it compares the rows themselves.
 */

import { fileURLToPath } from 'node:url';

import pg from 'pg';

import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { Content, Effort, Script } from './oltp.js';
import { dropTables, measure, prepareSide, SCRIPTS } from './oltp.js';
import type { Call, Report } from './program.js';
import { runScript, sessionOptions } from './program.js';
import type { Scan } from './scans.js';
import { answerOf, finishScans, prepareScans, SCANS } from './scans.js';

/** The suite, with its size. */
export interface SysbenchPlan extends SuitePlan {
  /** Threads of the program, a connection each; the scans have one. */
  readonly threads: readonly number[];
  /** Rows of sysbench's table. */
  readonly rows: number;
  /** Rows of each table of the scans. */
  readonly scanRows: number;
  /** Of both servers. */
  readonly isolation: string;
}

/** What one script has found. */
interface Line {
  readonly name: string;
  readonly threads: number;
  readonly rounds: Readonly<Record<Side['name'], readonly Report[]>>;
  readonly error: string | undefined;
}

type Sides = readonly [Side, Side];

const STATEMENT_SCRIPT = fileURLToPath(
  new URL('../../src/sysbench/statement.lua', import.meta.url),
);

/** Events of a measurement that takes less than a second. */
const MOMENT_EVENTS = 20;

/** Runs the suite; returns the files written. */
export async function runSysbench(plan: SysbenchPlan): Promise<string[]> {
  const [braid, postgres] = plan.sides;
  if (braid === undefined || postgres === undefined) throw new Error('two sides are needed');
  const sides: Sides = [braid, postgres];
  for (const side of sides) await checkIsolation(side, plan.isolation);
  const oltp = await runScripts(plan, sides);
  const scans = await runScans(plan, sides);
  if (oltp.length > 0) showTable(plan, rateTable(oltp));
  if (scans.length > 0) showTable(plan, latencyTable(scans));
  const { isolation, rows, scanRows } = plan;
  const written = await saveResults(plan, 'sysbench', { isolation, rows, scanRows, oltp, scans });
  const failed = [...oltp, ...scans].flatMap(({ name, error }) => {
    return error === undefined ? [] : `${name}: ${error}`;
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return written;
}

/** Makes sure that a server takes the isolation level from the options of a connection. */
async function checkIsolation(side: Side, isolation: string): Promise<void> {
  const client = new pg.Client({ connectionString: side.url, options: sessionOptions(isolation) });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, string>>('SHOW transaction_isolation');
    const found = Object.values(rows[0] ?? {})[0];
    if (found !== isolation) throw new Error(`${side.name} runs at ${found ?? 'no level'}`);
  } finally {
    await client.end();
  }
}

function effortOf({ seconds }: SysbenchPlan): Effort {
  if (seconds < 1) return { warmup: undefined, limit: { events: MOMENT_EVENTS } };
  return { warmup: { seconds: Math.max(1, seconds / 5) }, limit: { seconds } };
}

function isWanted(plan: SysbenchPlan, name: string): boolean {
  return plan.only?.split('|').some((text) => name.includes(text)) ?? true;
}

/** The scripts of Debian's package. */
async function runScripts(plan: SysbenchPlan, sides: Sides): Promise<Line[]> {
  const asked = SCRIPTS.flatMap((script) => plan.threads.map((threads) => ({ script, threads })));
  const wanted = asked.filter(({ script, threads }) => {
    return isWanted(plan, `${script.name}, ${threads} threads`);
  });
  const shared = new Map<Side, Content>();
  const lines: Line[] = [];
  for (const { script, threads } of wanted) {
    const rounds: Record<Side['name'], Report[]> = { BraidDB: [], PostgreSQL: [] };
    const oneRound = async (side: Side, round: number): Promise<Report> => {
      const call = callOf(plan, script, side, threads, round);
      const known = script.reads ? shared.get(side) : undefined;
      const content = known ?? (await prepareSide(script, side, call));
      if (script.reads) shared.set(side, content);
      return measure(script, side, call, content, effortOf(plan));
    };
    const name = `${script.name}, ${threads} threads`;
    const error = await inTurn(plan, name, sides, async (side, round) => {
      rounds[side.name].push(await oneRound(side, round));
    });
    if (!script.reads || error !== undefined) shared.clear();
    lines.push({ name: script.name, threads, rounds, error });
  }
  for (const side of sides) await onOne(side, dropTables);
  return lines;
}

function callOf(
  { rows, isolation }: SysbenchPlan,
  { name }: Script,
  side: Side,
  threads: number,
  round: number,
): Call {
  // bulk_insert knows no options.
  const options = name === 'bulk_insert' ? [] : [`--table_size=${rows}`];
  return { script: name, url: side.url, threads, seed: 2 * round + 1, isolation, options };
}

/** Runs the rounds on both servers in turn; the first failure ends them. */
async function inTurn(
  plan: SysbenchPlan,
  name: string,
  sides: Sides,
  oneRound: (side: Side, round: number) => Promise<void>,
): Promise<string | undefined> {
  plan.print(name);
  for (let round = 0; round < plan.rounds; round++) {
    for (const side of sides) {
      try {
        await oneRound(side, round);
      } catch (error) {
        return `${side.name}: ${error instanceof Error ? error.message : String(error)}`;
      }
    }
  }
  return undefined;
}

/** The scans and joins. */
async function runScans(plan: SysbenchPlan, sides: Sides): Promise<Line[]> {
  const wanted = SCANS.filter(({ name }) => isWanted(plan, `scans, ${name}`));
  if (wanted.length === 0) return [];
  for (const side of sides) await prepareScans(side, plan.scanRows);
  const lines: Line[] = [];
  for (const scan of wanted) {
    const { name } = scan;
    const rounds: Record<Side['name'], Report[]> = { BraidDB: [], PostgreSQL: [] };
    const different = await differenceOf(scan, sides);
    const failure = await inTurn(plan, `scans, ${name}`, sides, async (side, round) => {
      rounds[side.name].push(await measureScan(plan, scan, side, round));
    });
    lines.push({ name, threads: 1, rounds, error: different ?? failure });
  }
  for (const side of sides) await onOne(side, finishScans);
  return lines;
}

async function measureScan(
  plan: SysbenchPlan,
  { statement }: Scan,
  side: Side,
  round: number,
): Promise<Report> {
  const { isolation } = plan;
  const options = [`--statement=${statement}`];
  const where = { script: STATEMENT_SCRIPT, url: side.url, threads: 1, seed: round + 1 };
  const { warmup, limit } = effortOf(plan);
  if (warmup !== undefined) await runScript({ ...where, isolation, options }, warmup);
  return runScript({ ...where, isolation, options }, limit);
}

/** How the answers of the servers differ; undefined if they do not. */
async function differenceOf(scan: Scan, sides: Sides): Promise<string | undefined> {
  const [ours, theirs] = await Promise.all(
    sides.map((side) => onOne(side, (client) => answerOf(client, scan))),
  );
  return ours === theirs ? undefined : 'the rows of the servers differ';
}

const total = (reports: readonly Report[], key: 'retries' | 'reconnects'): string => {
  return String(reports.reduce((sum, report) => sum + report[key], 0));
};

const middle = (reports: readonly Report[], key: 'perSecond' | 'meanMs' | 'p95Ms'): number => {
  return median(reports.map((report) => report[key]));
};

function rateTable(lines: readonly Line[]): string[][] {
  const head = ['script, threads', 'BraidDB/s', 'p95 ms', 'retries', 'reconnects'];
  return [
    [...head, 'PostgreSQL/s', 'p95 ms', 'retries', 'reconnects', 'ratio of rates'],
    ...lines.map(({ name, threads, rounds, error }) => {
      const { BraidDB: ours, PostgreSQL: theirs } = rounds;
      const cells = [ours, theirs].flatMap((reports) => [
        ...[middle(reports, 'perSecond').toFixed(0), middle(reports, 'p95Ms').toFixed(2)],
        ...[total(reports, 'retries'), total(reports, 'reconnects')],
      ]);
      const ratio = middle(ours, 'perSecond') / middle(theirs, 'perSecond');
      const mark = ratio < 1 ? ' below 1' : '';
      return [
        `${name}, ${threads}`,
        ...cells,
        error === undefined ? `${ratio.toFixed(2)}${mark}` : 'failed',
      ];
    }),
  ];
}

function latencyTable(lines: readonly Line[]): string[][] {
  const ratios: number[] = [];
  const rows = lines.map(({ name, rounds, error }) => {
    const { BraidDB: ours, PostgreSQL: theirs } = rounds;
    const cells = [ours, theirs].flatMap((reports) => [
      ...[middle(reports, 'meanMs').toFixed(3), middle(reports, 'p95Ms').toFixed(2)],
      ...[total(reports, 'retries'), total(reports, 'reconnects')],
    ]);
    const ratio = middle(ours, 'meanMs') / middle(theirs, 'meanMs');
    if (error === undefined) ratios.push(ratio);
    return [name, ...cells, error === undefined ? ratio.toFixed(2) : 'failed'];
  });
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  const head = ['scan', 'BraidDB, mean ms', 'p95 ms', 'retries', 'reconnects'];
  return [
    [...head, 'PostgreSQL, mean ms', 'p95 ms', 'retries', 'reconnects', 'ratio of latencies'],
    ...rows,
    [`geometric mean of ${ratios.length}`, ...Array<string>(8).fill(''), mean.toFixed(2)],
  ];
}
