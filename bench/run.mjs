/**
 * Runs a bench: starts a PostgreSQL of its own and the release server, on empty folders, asks both
 * the same questions in one run, prints the table and writes bench/results.
 *
 *   node bench/run.mjs [SUITE] [--rounds 3] [--seconds 5] [--only TEXT] [--results FOLDER]
 *   node bench/run.mjs all --smoke
 *
 *   foundation  point select, durable insert, full scan, idle memory   [--scan-rows N] [--idle N]
 *   lineitem    multi-row inserts, upserts and deletes by batch size   [--rows N]
 *   batcher     the adaptive batcher against fixed sizes, single inserts and COPY, as the load changes;
 *               latency of a row at a fixed pace; a slow store
 *   bank        a bank transfer by round-trip time, every statement awaited and not; its timelines
 *   network     a transaction of four statements by the SDK, postgres.js, Kysely, Drizzle and pg, with 0,
 *               0.2, 1 and 5 ms a round trip between application and server
 *   overhead    the SDK against bare pg: a select, one with a signal, a transaction
 *   scan        cold and warm scans beside PostgreSQL as installed and tuned [--scan-rows N]; always
 *               starts servers of its own
 *   fairness    point selects beside 0, 1, 4 and 16 connections that compute without an end
 *   ycsb        workloads A and F: families, FOR UPDATE, implicit locking, levels, both drivers
 *               [--records 10000] [--connections 1,4,16] [--workloads A,F] [--drivers sdk,pg]
 *               [--name ycsb]; --only takes several texts, separated by |
 *   interleaved cascading deletes, joins and scans of interleaved and of ordinary tables
 *               [--parents 1000] [--children 1,10,100,1000]
 *   queue       queues and logs with retention: is the last job as fast as the first?
 *               [--jobs 100000] [--workers 2,16]
 *   jobs        jobs a second and latency of @braiddb/queue, graphile-worker and pg-boss
 *               [--queued 20000] [--connections 1,4,16]; connections are workers
 *   growth      every kind of work at n and at 10 n
 *   bulk        statements on very many rows [--bulk-rows 200000] [--isolation serializable]
 *   tpch        the 22 queries of TPC-H [--scale 0.2] [--workers 1]; --only takes their numbers, separated by |
 *   sysbench    the scripts of Debian's sysbench, and seven scans and joins as Dolt adds them; left out
 *               if the program is not installed
 *               [--table-rows 100000] [--connections 1,8] [--isolation serializable]
 *   tpcc        TPC-C's five transactions without think times
 *               [--warehouses 5] [--connections 8] [--isolation serializable]
 *   tikv        over TiKV: round trips of a transfer, inserts into several regions, YCSB's F, reads by
 *               one gateway and by two  [--point-rows 20000]; TIKV_BIN=FOLDER with pd-server and
 *               tikv-server makes it a real cluster, else it is the tests' stand-in
 *   all         one after the other
 *
 * --smoke asks every question for a moment only, and writes to a folder that is removed: it checks
 * whether a suite works, and nothing about speed.
 *
 * BRAID_BENCH_URL and POSTGRES_BENCH_URL name servers that run already, instead; memory is then not
 * measured. COCKROACH_BENCH_URL adds a CockroachDB to ycsb. BRAID_BINARY names another server
 * binary, BRAID_BUILT a folder of cargo in which everything is built already, PG_BIN the folder of
 * PostgreSQL's programs (default: Debian's, version 15). BRAID_BEFORE names the server binary of another
 * commit: it takes PostgreSQL's place, so that one run pairs two commits. Send the results of such a run
 * to a folder of their own.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { build, install, must, top } from '../examples/iot-worker/steps.mjs';
import {
  braidSide,
  buildTikvTools,
  gateway,
  postgresSide,
  restartableBraid,
  startPostgres,
} from './servers.mjs';

const print = (line) => process.stdout.write(`${line}\n`);

const DEFAULTS = {
  rounds: '3',
  seconds: '5',
  'scan-rows': '1000000',
  rows: '60000',
  idle: '1000',
  records: '10000',
  connections: '1,4,16',
  workloads: 'A,F',
  drivers: 'sdk,pg',
  name: 'ycsb',
  parents: '1000',
  children: '1,10,100,1000',
  'point-rows': '20000',
  jobs: '100000',
  workers: '2,16',
  queued: '20000',
  scale: '0.2',
  workers: '1',
  'bulk-rows': '200000',
  isolation: 'serializable',
  'table-rows': '100000',
  warehouses: '5',
};

/** For --smoke: enough to pass by every line once. */
const MOMENT = {
  rounds: '1',
  seconds: '0.1',
  'scan-rows': '1000',
  rows: '2000',
  idle: '5',
  records: '100',
  connections: '2',
  parents: '20',
  children: '1,10',
  'point-rows': '500',
  jobs: '100',
  workers: '2',
  queued: '50',
  scale: '0.01',
  'bulk-rows': '200',
  'table-rows': '1000',
  warehouses: '2',
};

const OPTIONS = {
  only: { type: 'string' },
  smoke: { type: 'boolean', default: false },
  results: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
  ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }])),
};

/** What was given. `--help` prints the text at the top of this file; an unknown option ends with 2. */
async function readArguments() {
  try {
    const read = parseArgs({ allowPositionals: true, options: OPTIONS });
    if (!read.values.help) return read;
    const [text] = (await readFile(new URL(import.meta.url), 'utf8')).split('\n */');
    print(text.replaceAll(/^(\/\*\*\n| \* ?)/gm, ''));
    process.exit(0);
  } catch (error) {
    print(`${error.message.split('. To specify')[0]}; --help prints all options`);
    process.exit(2);
  }
}

const { values: given, positionals } = await readArguments();
const flags = { ...DEFAULTS, ...(given.smoke ? MOMENT : {}), ...given };

const folder = flags.smoke
  ? await mkdtemp(join(tmpdir(), 'braid-bench-smoke-'))
  : (flags.results ?? join(top, 'bench', 'results'));

/** The numbers of connections, where a suite has others than the usual ones. */
const connectionsOr = (standard) =>
  (given.connections ?? (given.smoke ? MOMENT.connections : standard)).split(',').map(Number);

/** The command as results show it: without the folder that they go to, which is of this machine. */
function commandOf(args) {
  const isKept = (arg, place) =>
    !arg.startsWith('--results') && (place === 0 || args[place - 1] !== '--results');
  return ['node bench/run.mjs', ...args.filter(isKept)].join(' ');
}

/** What every suite is told. */
const common = {
  command: commandOf(process.argv.slice(2)),
  only: flags.only,
  rounds: Number(flags.rounds),
  seconds: Number(flags.seconds),
  folder,
  print: (line) => print(`  ${line} …`),
  show: print,
};

const SUITES = {
  async foundation(sides) {
    const { runFoundation } = await import('./dist/foundation.js');
    const { table } = await import('./dist/report.js');
    const { saveResults } = await import('./dist/suite.js');
    const report = await runFoundation({
      ...common,
      sides,
      effort: {
        ...{ rounds: common.rounds, roundMs: common.seconds * 1000 },
        warmupMs: flags.smoke ? 50 : 500,
      },
      scanRows: Number(flags['scan-rows']),
      idleConnections: Number(flags.idle),
    });
    print(`\n${table(report)}\n`);
    return saveResults({ ...common, command: report.command }, 'foundation', report);
  },
  async lineitem(sides) {
    const { runLineitem } = await import('./dist/lineitem.js');
    return runLineitem({ ...common, sides, text: await lineitems() });
  },
  async batcher(sides) {
    const { runBatcher } = await import('./dist/batcher/index.js');
    const moment = { seconds: 0.3, only: flags.only ?? 'adaptive|256 × 2|single inserts|COPY' };
    return runBatcher({
      ...{ ...common, sides, startBraid: braidSide },
      ...(flags.smoke ? moment : {}),
    });
  },
  async bank() {
    const { runBank } = await import('./dist/bank.js');
    return runBank({ ...common, sides: [], startBraid: braidSide, startPostgres: postgresSide });
  },
  async network(sides) {
    const { runNetwork } = await import('./dist/network/index.js');
    return runNetwork({ ...common, sides, roundTripsMs: flags.smoke ? [0, 0.2] : [0, 0.2, 1, 5] });
  },
  async overhead(sides) {
    const { runOverhead } = await import('./dist/overhead.js');
    return runOverhead({ ...common, sides });
  },
  async scan() {
    const { runScan } = await import('./dist/cold-scan.js');
    // More than the caches of servers as they are installed.
    const rows = given['scan-rows'] ?? (flags.smoke ? MOMENT['scan-rows'] : '5000000');
    return runScan({
      ...{ ...common, sides: [], rows: Number(rows), memoryBytes: totalmem() },
      ...{ startBraid: restartableBraid, startPostgres },
    });
  },
  async fairness(sides) {
    const { runFairness } = await import('./dist/fairness.js');
    return runFairness({ ...common, sides });
  },
  async ycsb(sides) {
    const { runYcsb } = await import('./dist/ycsb/index.js');
    const cockroach = process.env.COCKROACH_BENCH_URL;
    const third = cockroach ? [{ name: 'CockroachDB', url: cockroach }] : [];
    return runYcsb({
      ...common,
      sides: [...sides, ...third],
      workloads: flags.workloads.split(','),
      drivers: flags.drivers.split(','),
      connections: flags.connections.split(',').map(Number),
      records: Number(flags.records),
      name: flags.name,
    });
  },
  async interleaved(sides) {
    const { runInterleaved } = await import('./dist/interleaved/index.js');
    const children = flags.children.split(',').map(Number);
    return runInterleaved({ ...common, sides, parents: Number(flags.parents), children });
  },
  async queue(sides) {
    const { runQueue } = await import('./dist/queue.js');
    const workers = flags.workers.split(',').map(Number);
    return runQueue({ ...common, sides, jobs: Number(flags.jobs), workers, slices: 10 });
  },
  async jobs(sides) {
    const { runJobs } = await import('./dist/jobs/index.js');
    const workers = flags.connections.split(',').map(Number);
    return runJobs({ ...common, sides, queued: Number(flags.queued), workers });
  },
  async growth(sides) {
    const { runGrowth } = await import('./dist/growth/index.js');
    return runGrowth({ ...common, sides, scale: flags.smoke ? 0.02 : 1 });
  },
  async bulk(sides) {
    const { runBulk } = await import('./dist/bulk/index.js');
    return runBulk({
      ...common,
      sides,
      rows: Number(flags['bulk-rows']),
      isolation: flags.isolation,
    });
  },
  async tpch(sides) {
    const { runTpch } = await import('./dist/tpch/index.js');
    const generator = await buildExample('tpch');
    const [scale, workers] = [Number(flags.scale), Number(flags.workers)];
    return runTpch({ ...common, sides, scale, workers, generator });
  },
  async sysbench(sides) {
    const { missingSysbench } = await import('./dist/sysbench/program.js');
    const missing = await missingSysbench();
    if (missing !== undefined) {
      print(`  sysbench: left out, ${missing}`);
      return undefined;
    }
    const { runSysbench } = await import('./dist/sysbench/index.js');
    const rows = Number(flags['table-rows']);
    return runSysbench({
      ...common,
      sides,
      threads: connectionsOr('1,8'),
      rows,
      // Dolt's tables have a tenth of the rows of sysbench's.
      scanRows: Math.ceil(rows / 10),
      isolation: flags.isolation,
    });
  },
  async tpcc(sides) {
    const { runTpcc } = await import('./dist/tpcc/index.js');
    const { FULL } = await import('./dist/tpcc/tables.js');
    const rows = flags.smoke ? { items: 200, customers: 30 } : FULL;
    const [connections] = connectionsOr('8');
    return runTpcc({
      ...common,
      sides,
      size: { warehouses: Number(flags.warehouses), ...rows },
      connections,
      isolation: flags.isolation,
    });
  },
  async tikv() {
    const { runTikv } = await import('./dist/tikv/index.js');
    return runTikv({
      ...common,
      place: { bin: process.env.TIKV_BIN, tools: await buildTikvTools() },
      startGateway: gateway,
      text: await lineitems(),
      records: Number(flags.records),
      connections: flags.connections.split(',').map(Number),
      rows: Number(flags['point-rows']),
    });
  },
};

/** Builds an example of the testkit, which makes rows; its path. */
async function buildExample(name) {
  const folder = await build('--quiet', '-p', 'braid-testkit', '--example', name);
  return join(folder, 'examples', name);
}

/** The generator's output. */
async function lineitems() {
  return must(await buildExample('lineitem'), [flags.rows], { capture: true });
}

async function withSides(work) {
  const braid = await braidSide();
  try {
    const postgres = await postgresSide();
    try {
      return await work([braid, postgres]);
    } finally {
      await postgres.stop();
    }
  } finally {
    await braid.stop();
  }
}

/** Runs a suite; a suite that is left out gives no list of files. */
async function run(name) {
  if (flags.smoke) print(`${name}:`);
  // Some need servers with settings of their own, so they start them themselves.
  const ownSides = ['bank', 'scan', 'tikv'].includes(name);
  const written = await (ownSides ? SUITES[name]() : withSides(SUITES[name]));
  if (written === undefined) return;
  if (written.length === 0) throw new Error(`${name} has written nothing`);
  for (const path of written) print(`written: ${path.replace(top, '')}`);
}

async function main() {
  const [name = 'foundation', ...rest] = positionals;
  const names = name === 'all' ? Object.keys(SUITES) : [name];
  if (rest.length > 0 || !names.every((one) => Object.hasOwn(SUITES, one))) {
    const known = [...Object.keys(SUITES), 'all'].join(', ');
    throw new Error(`no suite "${positionals.join(' ')}"; known: ${known}`);
  }
  await install();
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/sdk']);
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/queue']);
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/bench']);
  try {
    for (const one of names) await run(one);
  } finally {
    if (flags.smoke) await rm(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  print(`\nThe bench failed: ${error.stack ?? error}`);
  process.exitCode = 1;
});
