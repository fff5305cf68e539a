/**
 * BraidDB over TiKV, by itself: round trips of a transfer, multi-row inserts into several regions,
 * YCSB's workload F with FOR UPDATE, point selects by one gateway and by two.
 *
 * Over a PD and three stores of `TIKV_BIN`, or over the stand-in of the tests; the results say
 * which. What is counted and what is compared within a run means something on any machine; times do
 * not, where all of it shares a few processors.
 */

import type { SuitePlan } from '../suite.js';
import { median, saveResults, showTable } from '../suite.js';
import type { Cell } from '../ycsb/cell.js';
import { nameOf } from '../ycsb/cell.js';
import type { YcsbRound } from '../ycsb/load.js';
import { clear, fill, oneRound } from '../ycsb/load.js';
import type { Place } from './cluster.js';
import { onCluster } from './cluster.js';
import type { Gateway, StartGateway } from './gateway.js';
import { untilFast, withGateways } from './gateway.js';
import { insertsTable, measureInserts } from './inserts.js';
import { measureReads, readsTable } from './reads.js';
import { measureTransfers, transfersTable } from './transfers.js';

/** The suite starts clusters and gateways itself. */
export interface TikvPlan extends Omit<SuitePlan, 'sides'> {
  readonly place: Place;
  readonly startGateway: StartGateway;
  /** The generator's lineitem. */
  readonly text: string;
  /** Of YCSB. */
  readonly records: number;
  readonly connections: readonly number[];
  /** Of the table for point selects. */
  readonly rows: number;
}

/** Some connections under YCSB's load. */
interface Ycsb {
  readonly cell: Cell;
  readonly connections: number;
  readonly rounds: readonly YcsbRound[];
}

/** Runs the suite; returns the files written. Parts: "transfers", "inserts", "ycsb", "reads". */
export async function runTikv(plan: TikvPlan): Promise<string[]> {
  const only = plan.only?.split('|');
  const wants = (part: string): boolean => only === undefined || only.includes(part);
  const found: Record<string, unknown> = {};
  if (wants('transfers')) {
    const transfers = await measureTransfers(plan);
    showTable(plan, transfersTable(transfers));
    found.transfers = transfers;
  }
  if (['reads', 'ycsb', 'inserts'].some(wants)) {
    await onCluster(plan.place, async (cluster) => {
      found.cluster = cluster.name;
      if (wants('reads')) {
        const reads = await withGateways(2, plan.startGateway, cluster, (...gateways) =>
          measureReads({ ...plan, gateways }),
        );
        showTable(plan, readsTable(reads));
        found.reads = reads;
      }
      if (!wants('ycsb') && !wants('inserts')) return;
      await withGateways(1, plan.startGateway, cluster, async (gateway) => {
        if (wants('ycsb')) {
          const ycsb = await measureYcsb(plan, gateway);
          showTable(plan, ycsbTable(ycsb));
          found.ycsb = ycsb;
        }
        if (wants('inserts')) {
          const inserts = await measureInserts({ ...plan, cluster, gateway });
          showTable(plan, insertsTable(inserts));
          found.inserts = inserts;
        }
      });
    });
  }
  return saveResults(plan, 'tikv', found);
}

/** Workload F with FOR UPDATE at both levels. */
async function measureYcsb(plan: TikvPlan, gateway: Gateway): Promise<Ycsb[]> {
  const side = { name: 'BraidDB', url: gateway.url } as const;
  const loads = (['serializable', 'read committed'] as const).flatMap((isolation) =>
    plan.connections.map((connections) => {
      const cell = {
        workload: 'F',
        driver: 'sdk',
        families: false,
        locking: 'for update',
      } as const;
      return { cell: { ...cell, isolation }, connections, rounds: [] as YcsbRound[] };
    }),
  );
  await fill(side, false, plan.records);
  await untilFast(gateway);
  for (let round = 0; round < plan.rounds; round++) {
    for (const { cell, connections, rounds } of loads) {
      plan.print(`ycsb: ${nameOf(cell)}, ${connections} connections, round ${round + 1}`);
      rounds.push(await oneRound(cell, side, connections, plan.records, plan.seconds * 1000));
    }
  }
  await clear(side);
  return loads;
}

/** The aim: no retry of the client. */
function ycsbTable(results: readonly Ycsb[]): string[][] {
  const head = ['workload', 'conn', 'ops/s', 'p50 ms', 'p99 ms', 'client retries', 'lost'];
  const rows = results.map(({ cell, connections, rounds }) => [
    ...[nameOf(cell), `${connections}`],
    median(rounds.map((round) => round.perSecond)).toFixed(0),
    ...(['p50Ms', 'p99Ms'] as const).map((key) =>
      median(rounds.map((round) => round[key])).toFixed(2),
    ),
    ...(['retries', 'lostUpdates'] as const).map(
      (key) => `${rounds.reduce((sum, round) => sum + round[key], 0)}`,
    ),
  ]);
  return [head, ...rows];
}
