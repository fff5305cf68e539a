/**
 * Question: does a queue, or a log with retention, stay as fast as it is when it is new?
 *
 * ```text
 *  delete     DELETE FROM job WHERE id = (SELECT id … ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1)
 *  update     UPDATE job SET state = 'done' WHERE id = (SELECT id … WHERE state = 'new' …)
 *  feed       INSERT of a job, then the statement of `delete`: the queue stays short
 *  retention  DELETE FROM log WHERE id IN (SELECT id … ORDER BY id LIMIT 50), two inserters beside
 * ```
 *
 * Each kind works through a number of jobs with 2 and with 16 workers, in slices of equal size. The
 * table shows jobs a second in the first and in the last slice: flat is a ratio of 1. After each
 * run the jobs are counted: each is taken exactly once.
 */

import type pg from 'pg';

import { withClients } from './sides.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

/** The suite, with its size. */
export interface QueuePlan extends SuitePlan {
  /** Jobs of one run. */
  readonly jobs: number;
  readonly workers: readonly number[];
  /** Into how many slices a run is divided. */
  readonly slices: number;
}

/** What the runs of one kind have found on one server. */
export interface QueueCell {
  readonly kind: string;
  readonly workers: number;
  readonly side: Side['name'];
  /** Jobs a second in each slice, the median of the rounds. */
  readonly slices: readonly number[];
  /** What others have done meanwhile, a second; undefined if there are none. */
  readonly beside: number | undefined;
}

/** One run of one kind. */
interface Run {
  readonly slices: readonly number[];
  readonly beside: number | undefined;
}

/** What a kind of queue does. */
interface Kind {
  readonly name: string;
  /** Statements that make the table and fill it with `jobs`. */
  readonly prepare: (jobs: number) => readonly string[];
  /** Takes jobs; how many. 0 if there are none at the moment. */
  readonly take: (client: pg.Client) => Promise<number>;
  /** What two more connections do meanwhile. */
  readonly beside?: (client: pg.Client) => Promise<void>;
  /** How many jobs the table still has. */
  readonly left: string;
  /** Each take adds a job before, and the queue is empty at the start. */
  readonly feeds?: boolean;
}

const TABLE = 'CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT NOT NULL, payload TEXT)';
const INDEX = 'CREATE INDEX job_state ON job (state, id)';
const SEQUENCE = 'CREATE SEQUENCE job_id';
const PAYLOAD = "repeat('x', 60)";
const WAITING = "SELECT id FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";

/** Fills in statements of 10,000 rows, so that no server needs one large transaction. */
function fill(table: string, columns: string, row: string, jobs: number): string[] {
  const statements = [];
  for (let from = 1; from <= jobs; from += 10_000) {
    const to = Math.min(jobs, from + 9_999);
    const rows = `SELECT ${row} FROM generate_series(${from}, ${to}) AS i`;
    statements.push(`INSERT INTO ${table} (${columns}) ${rows}`);
  }
  return statements;
}

const jobTable = (jobs: number): string[] => [
  'DROP TABLE IF EXISTS job',
  ...['DROP SEQUENCE IF EXISTS job_id', TABLE, INDEX, SEQUENCE],
  ...fill('job', 'id, state, payload', `i, 'new', ${PAYLOAD}`, jobs),
];

async function changed(client: pg.Client, name: string, text: string): Promise<number> {
  const { rowCount } = await client.query({ name, text });
  return rowCount ?? 0;
}

const DELETE_JOB = `DELETE FROM job WHERE id = (${WAITING})`;
const UPDATE_JOB = `UPDATE job SET state = 'done' WHERE id = (${WAITING})`;
const INSERT_JOB = `INSERT INTO job VALUES (nextval('job_id'), 'new', ${PAYLOAD})`;
const OLDEST = 'SELECT id FROM log ORDER BY id LIMIT 50';
const INSERT_LOG = `INSERT INTO log VALUES (nextval('log_id'), ${PAYLOAD})`;

const KINDS: readonly Kind[] = [
  {
    name: 'delete',
    prepare: jobTable,
    take: (client) => changed(client, 'delete_job', DELETE_JOB),
    left: 'SELECT count(*) AS n FROM job',
  },
  {
    name: 'update',
    prepare: jobTable,
    take: (client) => changed(client, 'update_job', UPDATE_JOB),
    left: "SELECT count(*) AS n FROM job WHERE state = 'new'",
  },
  {
    name: 'feed',
    prepare: () => jobTable(0),
    take: async (client) => {
      await retried(() => changed(client, 'insert_job', INSERT_JOB));
      return retried(() => changed(client, 'delete_job', DELETE_JOB));
    },
    left: 'SELECT count(*) AS n FROM job',
    feeds: true,
  },
  {
    name: 'retention',
    prepare: (jobs) => [
      ...['DROP TABLE IF EXISTS log', 'DROP SEQUENCE IF EXISTS log_id'],
      'CREATE TABLE log (id BIGINT PRIMARY KEY, line TEXT)',
      `CREATE SEQUENCE log_id START ${jobs + 1}`,
      ...fill('log', 'id, line', `i, ${PAYLOAD}`, jobs),
    ],
    take: (client) => changed(client, 'delete_log', `DELETE FROM log WHERE id IN (${OLDEST})`),
    beside: async (client) => {
      await changed(client, 'insert_log', INSERT_LOG);
    },
    left: 'SELECT count(*) AS n FROM log',
  },
];

/** Runs the suite; returns the files written. */
export async function runQueue(plan: QueuePlan): Promise<string[]> {
  const wanted = plan.only?.split('|');
  const cells: QueueCell[] = [];
  for (const kind of KINDS) {
    for (const workers of plan.workers) {
      const name = `${kind.name}, ${workers} workers`;
      if (wanted !== undefined && !wanted.some((text) => name.includes(text))) continue;
      const runs = plan.sides.map((side) => ({ side, rounds: [] as Run[] }));
      for (let round = 0; round < plan.rounds; round++) {
        for (const { side, rounds } of runs) {
          plan.print(`${name}, ${side.name}, round ${round + 1}`);
          rounds.push(await oneRun(side, kind, workers, plan));
        }
      }
      for (const { side, rounds } of runs) {
        cells.push({ kind: kind.name, workers, side: side.name, ...medianRun(rounds) });
      }
    }
  }
  showTable(plan, tableOf(cells));
  return saveResults(plan, 'queue', { jobs: plan.jobs, cells });
}

/** The median of each slice. */
function medianRun(rounds: readonly Run[]): Run {
  const slices = (rounds[0]?.slices ?? []).map((_, slice) =>
    median(rounds.map((round) => round.slices[slice] ?? Number.NaN)),
  );
  const beside = rounds.flatMap((round) => (round.beside === undefined ? [] : [round.beside]));
  return { slices, beside: beside.length === 0 ? undefined : median(beside) };
}

/** Prepares a table, works through its jobs, and counts what is left. */
async function oneRun(side: Side, kind: Kind, workers: number, plan: QueuePlan): Promise<Run> {
  const others = kind.beside === undefined ? 0 : 2;
  return withClients(side.url, workers + others, async (clients) => {
    const [first] = clients;
    if (first === undefined) throw new Error('no client');
    for (const client of clients) {
      await client.query(
        'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
      );
    }
    for (const statement of kind.prepare(plan.jobs)) await first.query(statement);
    await first.query(`ANALYZE ${kind.name === 'retention' ? 'log' : 'job'}`);
    const progress = new Progress(plan.jobs, plan.slices);
    let written = 0;
    let added = kind.feeds === true ? 0 : plan.jobs;
    const work = clients.slice(0, workers).map(async (client) => {
      while (!progress.isDone) {
        progress.add(await retried(() => kind.take(client)));
        if (kind.feeds === true) added += 1;
      }
    });
    const beside = clients.slice(workers).map(async (client) => {
      while (!progress.isDone) {
        await retried(() => kind.beside?.(client) ?? Promise.resolve());
        written += 1;
      }
    });
    await Promise.all([...work, ...beside]);
    const { rows } = await first.query<{ n: string }>(kind.left);
    const expected = added + written - progress.taken;
    if (Number(rows[0]?.n) !== expected) {
      throw new Error(`${expected} jobs should be left of ${kind.name}, not ${rows[0]?.n ?? '?'}`);
    }
    const perSecond = others === 0 ? undefined : (written * 1000) / progress.tookMs;
    return { slices: progress.perSecond, beside: perSecond };
  });
}

/** What was taken, and when each slice was over. */
class Progress {
  readonly #jobs: number;
  readonly #slice: number;
  readonly #startMs = performance.now();
  readonly #marks: { taken: number; atMs: number }[] = [];
  taken = 0;

  constructor(jobs: number, slices: number) {
    this.#jobs = jobs;
    this.#slice = jobs / slices;
  }

  get isDone(): boolean {
    return this.taken >= this.#jobs;
  }

  get tookMs(): number {
    return (this.#marks.at(-1)?.atMs ?? performance.now()) - this.#startMs;
  }

  add(taken: number): void {
    this.taken += taken;
    if (this.taken >= this.#slice * (this.#marks.length + 1)) {
      this.#marks.push({ taken: this.taken, atMs: performance.now() });
    }
  }

  /** Jobs a second in each slice. */
  get perSecond(): number[] {
    let before = { taken: 0, atMs: this.#startMs };
    return this.#marks.map((mark) => {
      const perSecond = ((mark.taken - before.taken) * 1000) / (mark.atMs - before.atMs);
      before = mark;
      return perSecond;
    });
  }
}

/** Runs again what has met another transaction. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (code !== '40001' && code !== '40P01') throw error;
    }
  }
}

function tableOf(cells: readonly QueueCell[]): string[][] {
  const head = ['queue', 'workers', 'server', 'first slice/s', 'last slice/s', 'last by first'];
  const rows = cells.map(({ kind, workers, side, slices, beside }) => {
    const [first, last] = [slices[0] ?? Number.NaN, slices.at(-1) ?? Number.NaN];
    const speeds = [first.toFixed(0), last.toFixed(0), (last / first).toFixed(2)];
    return [
      kind,
      String(workers),
      side,
      ...speeds,
      beside?.toFixed(0) ?? '',
      ratioOf(cells, side, kind, workers),
    ];
  });
  return [[...head, 'inserts beside/s', 'by PostgreSQL'], ...rows];
}

/** BraidDB's last slice by PostgreSQL's. */
function ratioOf(
  cells: readonly QueueCell[],
  side: Side['name'],
  kind: string,
  workers: number,
): string {
  if (side !== 'BraidDB') return '';
  const last = (name: Side['name']): number | undefined =>
    cells
      .find((cell) => cell.side === name && cell.kind === kind && cell.workers === workers)
      ?.slices.at(-1);
  const [braid, postgres] = [last('BraidDB'), last('PostgreSQL')];
  return braid === undefined || postgres === undefined ? '' : (braid / postgres).toFixed(2);
}
