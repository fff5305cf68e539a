/**
 * The two servers of a comparison, and how one question is asked of both.
 *
 * Each question runs in rounds, BraidDB and PostgreSQL in turn, and the median round counts: the
 * absolute times of a shared machine mean little, the ratio of one run means something.
 */

import pg from 'pg';
import { Bench } from 'tinybench';

/** One server. */
export interface Side {
  readonly name: 'BraidDB' | 'PostgreSQL';
  readonly url: string;
  /** Process id of the server, where its memory can be read. */
  readonly pid: number | undefined;
}

/** What one round measured. */
export interface Round {
  /** Operations a second, all connections together. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** One line of the table: the median round of each side. */
export interface Comparison {
  readonly question: string;
  readonly braid: Round;
  readonly postgres: Round;
  /** BraidDB's throughput by PostgreSQL's: 1 or more is the goal. */
  readonly ratio: number;
  readonly rounds: Readonly<Record<Side['name'], readonly Round[]>>;
}

/** Something that can be measured on any side. */
export interface Question {
  readonly name: string;
  readonly connections: number;
  /** Prepares the data; the tables are dropped afterwards by `finish`. */
  readonly prepare: (client: pg.Client, side: Side) => Promise<void>;
  /** One operation on one connection. */
  readonly operation: (client: pg.Client, connection: number) => Promise<void>;
  /** Checks the data after a round; throws if it is not what the operations should have left. */
  readonly check: (client: pg.Client, operations: number) => Promise<void>;
  readonly finish: (client: pg.Client) => Promise<void>;
}

/** How long and how often. */
export interface Effort {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmupMs: number;
}

/** Opens connections, hands them to `work`, and closes them whatever happens. */
export async function withClients<T>(
  url: string,
  count: number,
  work: (clients: pg.Client[]) => Promise<T>,
): Promise<T> {
  const clients = Array.from({ length: count }, () => new pg.Client({ connectionString: url }));
  try {
    await Promise.all(clients.map((client) => client.connect()));
    return await work(clients);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** Asks both sides in turn, as often as the effort says. */
export function compare(
  question: Question,
  sides: readonly [Side, Side],
  effort: Effort,
): Promise<Comparison> {
  return alternate(question, sides, effort, (side) => oneRound(question, side, effort));
}

/** Prepares both sides, runs the rounds in turn, and takes the median round of each side. */
export async function alternate(
  question: Question,
  sides: readonly [Side, Side],
  effort: Effort,
  oneRound: (side: Side) => Promise<Round>,
): Promise<Comparison> {
  const rounds: Record<Side['name'], Round[]> = { BraidDB: [], PostgreSQL: [] };
  for (const side of sides) await onOne(side, (client) => question.prepare(client, side));
  try {
    for (let round = 0; round < effort.rounds; round++) {
      for (const side of sides) rounds[side.name].push(await oneRound(side));
    }
  } finally {
    for (const side of sides) await onOne(side, question.finish);
  }
  const braid = medianRound(rounds.BraidDB);
  const postgres = medianRound(rounds.PostgreSQL);
  const ratio = braid.perSecond / postgres.perSecond;
  return { question: question.name, braid, postgres, ratio, rounds };
}

/** Opens one connection, hands it to `work`, and closes it whatever happens. */
export function onOne<T>(side: Side, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClients(side.url, 1, ([client]) => {
    if (client === undefined) throw new Error('no client');
    return work(client);
  });
}

/** One round: every connection works on its own, as a tinybench task of its own. */
async function oneRound(question: Question, side: Side, effort: Effort): Promise<Round> {
  let operations = 0;
  const round = await withClients(side.url, question.connections, async (clients) => {
    const bench = new Bench({
      name: question.name,
      time: effort.roundMs,
      iterations: 1,
      warmupTime: effort.warmupMs,
      warmupIterations: 1,
      retainSamples: true,
      throws: true,
      concurrency: clients.length > 1 ? 'bench' : null,
      threshold: clients.length,
    });
    clients.forEach((client, connection) => {
      bench.add(`connection ${connection}`, async () => {
        await question.operation(client, connection);
        operations++;
      });
    });
    const tasks = await bench.run();
    return summary(
      tasks.map((task) => {
        const { result } = task;
        if (!('latency' in result)) throw new Error(`${question.name}: ${result.state}`);
        return result.latency.samples ?? [];
      }),
    );
  });
  await onOne(side, (client) => question.check(client, operations));
  return round;
}

/** Throughput is the sum over the connections; each waits for its own answers only. */
function summary(samplesOfTasks: readonly (readonly number[])[]): Round {
  let perSecond = 0;
  for (const samples of samplesOfTasks) {
    const totalMs = samples.reduce((sum, sample) => sum + sample, 0);
    perSecond += (samples.length * 1000) / totalMs;
  }
  const all = samplesOfTasks.flat().sort((a, b) => a - b);
  return { perSecond, p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99) };
}

/** The value below which that part of the sorted numbers is. */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function medianRound(rounds: readonly Round[]): Round {
  const sorted = [...rounds].sort((a, b) => a.perSecond - b.perSecond);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) throw new Error('no round was measured');
  return median;
}
