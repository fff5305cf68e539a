/**
 * Question: how many rows of lineitem a second over TiKV by multi-row INSERT, by the number of rows
 * of a statement, into a table of several regions?
 *
 * Rows come in the order of the key, as when a file is loaded, so that a statement meets one region
 * or two; and scattered, so that each one meets all of them.
 */

import type { RowSource } from '../lineitem.js';
import { rowsOf, TABLE, work } from '../lineitem.js';
import { withClients } from '../sides.js';
import { median } from '../suite.js';
import type { Cluster, Place } from './cluster.js';
import type { Gateway } from './gateway.js';
import { onGateway, spent, splitTable, untilFast } from './gateway.js';

/** What to do, and how long. */
export interface InsertsPlan {
  readonly place: Place;
  readonly cluster: Cluster;
  readonly gateway: Gateway;
  /** The generator's output. */
  readonly text: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly print: (line: string) => void;
}

type Order = 'in order' | 'scattered';

/** Statements of one size. */
export interface Inserts {
  readonly regions: number;
  readonly order: Order;
  readonly batchRows: number;
  /** Rows a second, the median round. */
  readonly perSecond: number;
  readonly rounds: readonly number[];
  /** Regions that a step of requests went to, on average. */
  readonly regionsOfStep: number;
}

const BATCH_ROWS = [1, 10, 50, 200, 1000];
const REGIONS = [4, 12];
const CONNECTIONS = 2;
/** Rows that are there before the table is split. */
const FIRST_ROWS = 600;

/** Measures all sizes, in turn. */
export async function measureInserts(plan: InsertsPlan): Promise<Inserts[]> {
  const rows = rowsOf(plan.text);
  const results: Inserts[] = [];
  for (const wanted of REGIONS) {
    const source = new Lineitems(rows);
    const regions = await prepare(plan, source, wanted);
    let expected = FIRST_ROWS;
    for (const order of ['in order', 'scattered'] as const) {
      const found = BATCH_ROWS.map(() => ({ rounds: [] as number[], perStep: [] as number[] }));
      for (let round = 0; round < plan.rounds; round++) {
        for (const [place, batchRows] of BATCH_ROWS.entries()) {
          plan.print(
            `inserts: ${regions} regions, ${order}, ${batchRows} rows, round ${round + 1}`,
          );
          const one = await measure(plan, source.in(order), batchRows);
          expected += one.rows;
          found[place]?.rounds.push(one.perSecond);
          found[place]?.perStep.push(one.regionsOfStep);
        }
      }
      for (const [place, batchRows] of BATCH_ROWS.entries()) {
        const { rounds = [], perStep = [] } = found[place] ?? {};
        const [perSecond, regionsOfStep] = [median(rounds), median(perStep)];
        results.push({ regions, order, batchRows, perSecond, rounds, regionsOfStep });
      }
    }
    await check(plan, expected);
  }
  return results;
}

/** A table of several regions; how many it has. */
function prepare(plan: InsertsPlan, source: Lineitems, regions: number): Promise<number> {
  const { place, cluster, gateway } = plan;
  return onGateway(gateway, async (client) => {
    await client.query('DROP TABLE IF EXISTS lineitem');
    await client.query(TABLE);
    await work(client, { mode: 'insert', batchRows: FIRST_ROWS }, source.in('scattered'), 0);
    const found = await splitTable(place, cluster, client, 'lineitem', regions);
    if (found < regions) throw new Error(`lineitem has ${found} regions`);
    await untilFast(gateway);
    return found;
  });
}

async function measure(
  { gateway, seconds }: InsertsPlan,
  source: RowSource,
  batchRows: number,
): Promise<{ perSecond: number; rows: number; regionsOfStep: number }> {
  return withClients(gateway.url, CONNECTIONS, async (clients) => {
    let perSecond = 0;
    const all = await spent(gateway, async () => {
      const untilMs = performance.now() + seconds * 1000;
      const load = { mode: 'insert', batchRows } as const;
      const runs = await Promise.all(clients.map((client) => work(client, load, source, untilMs)));
      // The time of the first statement, which prepares, is not in it.
      for (const run of runs) {
        if (run.busyMs > 0) perSecond += ((run.rows - batchRows) * 1000) / run.busyMs;
      }
      return runs.reduce((sum, run) => sum + run.rows, 0);
    });
    const regionsOfStep = all.counts.regions / all.counts.steps;
    return { perSecond, rows: all.operations, regionsOfStep };
  });
}

function check({ gateway }: InsertsPlan, expected: number): Promise<void> {
  return onGateway(gateway, async (client) => {
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM lineitem');
    const found = Number(rows[0]?.n);
    if (found !== expected) throw new Error(`${expected} rows written, ${found} found`);
    await client.query('DROP TABLE lineitem');
  });
}

/** How often the generator's rows may come again. */
const CYCLES = 10_000;
/** A step through the rows that meets each of them, unless it divides their number. */
const STRIDE = 7919;

/** The generator's rows again and again, each time with order keys between those of before. */
class Lineitems {
  readonly #rows: readonly string[][];
  #cycle = 0;

  constructor(rows: readonly string[][]) {
    this.#rows = rows;
  }

  /** The rows once more, and so on, in that order. */
  in(order: Order): RowSource {
    const step = order === 'in order' ? 1 : STRIDE;
    const rows = this.#rows;
    let cycle = this.#cycle++;
    let place = 0;
    const next = (): string[] => {
      if (place === rows.length) {
        place = 0;
        cycle = this.#cycle++;
      }
      const row = rows[(place++ * step) % rows.length] ?? [];
      return [String(Number(row[0]) * CYCLES + cycle), ...row.slice(1)];
    };
    return { take: (count) => Array.from({ length: count }, next) };
  }
}

/** Rows a second, and the gain over single rows. */
export function insertsTable(results: readonly Inserts[]): string[][] {
  const head = ['INSERT', 'regions', 'rows', 'rows/s', 'to 1 row', 'regions a step'];
  const rows = results.map((one) => {
    const single = results.find(
      ({ regions, order, batchRows }) =>
        regions === one.regions && order === one.order && batchRows === 1,
    );
    const gain = single === undefined ? '' : `${(one.perSecond / single.perSecond).toFixed(1)}×`;
    const counted = [`${one.regions}`, `${one.batchRows}`, one.perSecond.toFixed(0)];
    return [one.order, ...counted, gain, one.regionsOfStep.toFixed(2)];
  });
  return [head, ...rows];
}
