/**
 * Questions: how fast are joins of two and three tables and scans of one table of a hierarchy,
 * interleaved and not?
 *
 * BraidDB's ordinary tables are joined as it thinks best (by hash or lookup; it has no merge join).
 * PostgreSQL is asked twice: with a merge join, by switching the other joins off, and as it likes.
 * The first run is told apart from the median of those that follow; the tables were counted before.
 * Every answer is checked.
 */

import type pg from 'pg';

import { latenciesOfOne } from '../one-client.js';
import type { Side } from '../sides.js';
import { onOne } from '../sides.js';
import type { SuitePlan } from '../suite.js';
import { median } from '../suite.js';
import type { Placement, Shape, Table } from './shapes.js';
import { drop, fill, rowsOf } from './shapes.js';

/** A question on one way to store the tables. */
export interface ReadCell {
  readonly question: string;
  readonly way: string;
  readonly firstMs: number;
  readonly medianMs: number;
  readonly runs: number;
}

interface Way {
  readonly name: string;
  readonly side: Side['name'];
  readonly placement: Placement;
  readonly settings: readonly string[];
  /** What its plan must say of a join. */
  readonly plan: string;
}

const ALONE = ['SET max_parallel_workers_per_gather = 0', 'SET jit = off'];
const MERGE = ['SET enable_hashjoin = off', 'SET enable_nestloop = off'];

const WAYS: readonly Way[] = [
  {
    ...{ name: 'BraidDB, interleaved', side: 'BraidDB', placement: 'placed', settings: [] },
    plan: 'Interleaved Join',
  },
  {
    ...{ name: 'BraidDB, ordinary', side: 'BraidDB', placement: 'ordinary', settings: [] },
    plan: '',
  },
  {
    ...{ name: 'PostgreSQL, merge join', side: 'PostgreSQL', placement: 'ordinary' },
    ...{ settings: [...ALONE, ...MERGE], plan: 'Merge Join' },
  },
  {
    ...{ name: 'PostgreSQL, its choice', side: 'PostgreSQL', placement: 'ordinary' },
    ...{ settings: ALONE, plan: '' },
  },
];

const TOP: Table = { name: 't0', parent: undefined, key: ['a'], fan: 1 };

/** Joins of two and three tables: ten children of each parent, `fan` grandchildren of each child. */
export async function measureJoins(
  plan: SuitePlan,
  parents: number,
  fan: number,
): Promise<ReadCell[]> {
  const shape: Shape = {
    name: 'joins',
    tables: [
      TOP,
      { name: 't1', parent: 't0', key: ['a', 'b'], fan: 10 },
      { name: 't2', parent: 't1', key: ['a', 'b', 'c'], fan },
    ],
  };
  const children = parents * 10;
  const below = children * fan;
  const triple = 't0 JOIN t1 USING (a) JOIN t2 USING (a, b)';
  const questions: Question[] = [
    {
      name: `join of two, ${parents} × 10 rows`,
      text: 'SELECT count(*) AS n, sum(t1.n) AS total FROM t0 JOIN t1 USING (a)',
      expected: [children, parents * 55],
      isJoin: true,
    },
    {
      name: `join of three, ${parents} × 10 × ${fan} rows`,
      text: `SELECT count(*) AS n, sum(t2.n) AS total FROM ${triple}`,
      expected: [below, (children * fan * (fan + 1)) / 2],
      isJoin: true,
    },
    {
      name: 'the same, every row given out',
      text: `SELECT t0.n, t1.n, t2.n FROM ${triple}`,
      expected: below,
      isJoin: true,
    },
  ];
  const cells: ReadCell[] = [];
  for (const way of WAYS) cells.push(...(await measure(plan, shape, way, parents, questions)));
  return cells;
}

/** Scans of the parents alone, with `fan` children of each and with none, and of the children. */
export async function measureScans(
  plan: SuitePlan,
  parents: number,
  fan: number,
): Promise<ReadCell[]> {
  const cells: ReadCell[] = [];
  const total = (parents * (parents + 1)) / 2;
  const ways = WAYS.filter((way) => way.name !== 'PostgreSQL, merge join');
  for (const children of [0, fan]) {
    const child: Table = { name: 't1', parent: 't0', key: ['a', 'b'], fan: children };
    const sibling: Table = { name: 't2', parent: 't0', key: ['a', 'c'], fan: children / 10 };
    const questions: Question[] = [
      {
        name: `scan of ${parents} parents, ${children} children each`,
        text: 'SELECT count(*) AS n, sum(n) AS total FROM t0',
        expected: [parents, total],
      },
    ];
    if (children > 0) {
      questions.push({
        name: `scan of their ${(parents * children) / 10} children of another table`,
        text: 'SELECT count(*) AS n, sum(n) AS total FROM t2',
        expected: [
          (parents * children) / 10,
          (parents * (children / 10) * (children / 10 + 1)) / 2,
        ],
      });
    }
    const tables = children === 0 ? [TOP, child] : [TOP, child, sibling];
    const shape: Shape = { name: 'scans', tables };
    for (const way of children === 0 ? ways.slice(0, 1) : ways) {
      cells.push(...(await measure(plan, shape, way, parents, questions)));
    }
  }
  return cells;
}

interface Question {
  readonly name: string;
  readonly text: string;
  /** Count and sum, or the number of rows. */
  readonly expected: readonly [number, number] | number;
  readonly isJoin?: boolean;
}

async function measure(
  plan: SuitePlan,
  shape: Shape,
  way: Way,
  parents: number,
  questions: readonly Question[],
): Promise<ReadCell[]> {
  const side = plan.sides.find((one) => one.name === way.side);
  if (side === undefined) return [];
  return onOne(side, async (client) => {
    const cells: ReadCell[] = [];
    const rows = shape.tables.reduce((sum, table) => sum + rowsOf(shape, table, parents), 0);
    plan.print(`${way.name}: ${rows} rows`);
    await fill(client, shape, way.placement, parents);
    await client.query(way.side === 'PostgreSQL' ? 'VACUUM ANALYZE' : 'ANALYZE');
    for (const setting of way.settings) await client.query(setting);
    for (const question of questions) {
      plan.print(`${question.name}: ${way.name}`);
      if (question.isJoin === true) await checkPlan(client, question, way);
      cells.push(await repeated(client, question, way, plan.seconds));
    }
    await drop(client);
    return cells;
  });
}

/** A comparison of joins must be one of the joins it names. */
async function checkPlan(client: pg.Client, question: Question, way: Way): Promise<void> {
  const { rows } = await client.query<Record<string, string>>(`EXPLAIN ${question.text}`);
  const text = rows.map((row) => Object.values(row)[0]).join('\n');
  const joins = text.match(/(Hash|Merge|Lookup|Interleaved) Join|Nested Loop/g) ?? [];
  if (way.plan !== '' && joins.some((join) => join !== way.plan))
    throw new Error(`${way.name}: ${question.text} is\n${text}`);
}

async function repeated(
  client: pg.Client,
  question: Question,
  way: Way,
  seconds: number,
): Promise<ReadCell> {
  const ask = async (): Promise<void> => {
    const { rows } = await client.query<{ n: string; total: string }>(question.text);
    check(question, rows);
  };
  const startMs = performance.now();
  await ask();
  const firstMs = performance.now() - startMs;
  const others = await latenciesOfOne(question.name, seconds, ask, 2);
  const medianMs = median(others);
  return { question: question.name, way: way.name, firstMs, medianMs, runs: others.length };
}

function check({ text, expected }: Question, rows: readonly { n: string; total: string }[]): void {
  const [row] = rows;
  const found = typeof expected === 'number' ? rows.length : [Number(row?.n), Number(row?.total)];
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${text}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
}

/** A line for each question and way, with what the first way of the question gains. */
export function readTable(cells: readonly ReadCell[]): string[][] {
  const questions = [...new Set(cells.map((cell) => cell.question))];
  const sorted = questions.flatMap((name) => cells.filter((cell) => cell.question === name));
  return [
    ['question', 'tables', 'first ms', 'then ms', "to interleaved's"],
    ...sorted.map((cell) => {
      const ours = cells.find((one) => one.question === cell.question);
      const gain = ours === undefined ? '' : `${(cell.medianMs / ours.medianMs).toFixed(2)}×`;
      const times = [cell.firstMs.toFixed(2), cell.medianMs.toFixed(2)];
      return [cell.question, cell.way, ...times, gain];
    }),
  ];
}
