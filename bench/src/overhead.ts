/**
 * Question: what does the SDK cost beside bare `pg`, on a prepared point select by one connection?
 */

import { connect } from '@braiddb/sdk';
import pg from 'pg';
import { Bench } from 'tinybench';

import { quantile } from './sides.js';
import type { Side } from './sides.js';
import type { SuitePlan } from './suite.js';
import { median, saveResults, showTable } from './suite.js';

const ROWS = 10_000;

interface Round {
  readonly side: Side['name'];
  readonly client: 'pg' | 'sdk';
  readonly perSecond: number;
  readonly p50Ms: number;
}

/** Runs the suite; returns the files written. */
export async function runOverhead(plan: SuitePlan): Promise<string[]> {
  const rounds: Round[] = [];
  for (const side of plan.sides) {
    const bare = new pg.Client({ connectionString: side.url });
    await bare.connect();
    await using db = await connect(side.url, { connectionsMax: 1, prepare: true });
    await bare.query('DROP TABLE IF EXISTS bench_overhead');
    await bare.query('CREATE TABLE bench_overhead (id INT8 PRIMARY KEY, note TEXT)');
    await bare.query(
      `INSERT INTO bench_overhead SELECT i, 'x' FROM generate_series(0, ${ROWS - 1}) AS i`,
    );
    let next = 0;
    const clients = {
      pg: async () => {
        const { rows } = await bare.query<{ id: string }>({
          name: 'point',
          text: 'SELECT id, note FROM bench_overhead WHERE id = $1',
          values: [next++ % ROWS],
        });
        if (rows.length !== 1) throw new Error('the row is not there');
      },
      sdk: async () => {
        await db.one`SELECT id, note FROM bench_overhead WHERE id = ${next++ % ROWS}`;
      },
    };
    for (let round = 0; round < plan.rounds; round++) {
      for (const client of ['pg', 'sdk'] as const) {
        plan.print(`round ${round + 1}: ${side.name}, ${client}`);
        rounds.push({ side: side.name, client, ...(await measure(clients[client], plan.seconds)) });
      }
    }
    await bare.query('DROP TABLE bench_overhead');
    await bare.end();
  }
  showTable(plan, tableOf(plan, rounds));
  return saveResults(plan, 'overhead', { rounds });
}

async function measure(
  work: () => Promise<void>,
  seconds: number,
): Promise<{ perSecond: number; p50Ms: number }> {
  const bench = new Bench({
    time: seconds * 1000,
    warmupTime: 300,
    retainSamples: true,
    throws: true,
  });
  bench.add('select', work);
  const [task] = await bench.run();
  const result = task?.result;
  if (result === undefined || !('latency' in result)) throw new Error('nothing was measured');
  const samples = [...(result.latency.samples ?? [])].sort((a, b) => a - b);
  const totalMs = samples.reduce((sum, sample) => sum + sample, 0);
  return { perSecond: (samples.length * 1000) / totalMs, p50Ms: quantile(samples, 0.5) };
}

function tableOf(plan: SuitePlan, rounds: readonly Round[]): string[][] {
  const of = (side: Side, client: Round['client'], field: 'perSecond' | 'p50Ms'): number =>
    median(
      rounds
        .filter((one) => one.side === side.name && one.client === client)
        .map((one) => one[field]),
    );
  return [
    ['server', 'pg/s', 'SDK/s', 'pg p50 ms', 'SDK p50 ms', 'overhead'],
    ...plan.sides.map((side) => {
      const [bare, sdk] = [of(side, 'pg', 'perSecond'), of(side, 'sdk', 'perSecond')];
      const medians = [of(side, 'pg', 'p50Ms').toFixed(4), of(side, 'sdk', 'p50Ms').toFixed(4)];
      return [
        side.name,
        bare.toFixed(0),
        sdk.toFixed(0),
        ...medians,
        `${((bare / sdk - 1) * 100).toFixed(1)} %`,
      ];
    }),
  ];
}
