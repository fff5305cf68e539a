/**
 * Runs a bench: starts a PostgreSQL of its own and the release server, on empty folders, asks both
 * the same questions in one run, prints the table and writes bench/results.
 *
 *   node bench/run.mjs [SUITE] [--rounds 3] [--seconds 5] [--only TEXT]
 *
 *   foundation  point select, durable insert, full scan, idle memory   [--scan-rows N] [--idle N]
 *   lineitem    multi-row inserts, upserts and deletes by batch size   [--rows N]
 *   batcher     the adaptive batcher against fixed sizes, as the load changes
 *   bank        a bank transfer by round-trip time, every statement awaited and not
 *   overhead    the SDK against bare pg
 *   ycsb        workloads A and F: families, FOR UPDATE, implicit locking, levels, both drivers
 *               [--records 10000] [--connections 1,4,16] [--workloads A,F] [--drivers sdk,pg]
 *               [--name ycsb]; --only takes several texts, separated by |
 *
 * COCKROACH_BENCH_URL adds a CockroachDB to ycsb. BRAID_BENCH_URL and POSTGRES_BENCH_URL name servers that run already, instead; memory is then not
 * measured. PG_BIN is the folder of PostgreSQL's programs (default: Debian's, version 15).
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { install, must, top } from '../examples/iot-worker/steps.mjs';
import { braidSide, postgresSide } from './servers.mjs';

const print = (line) => process.stdout.write(`${line}\n`);

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'scan-rows': { type: 'string', default: '1000000' },
    rows: { type: 'string', default: '60000' },
    idle: { type: 'string', default: '1000' },
    records: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '1,4,16' },
    workloads: { type: 'string', default: 'A,F' },
    drivers: { type: 'string', default: 'sdk,pg' },
    name: { type: 'string', default: 'ycsb' },
  },
});

const folder = join(top, 'bench', 'results');

/** What every suite is told. */
const common = {
  command: ['node bench/run.mjs', ...process.argv.slice(2)].join(' '),
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
    const { save, table } = await import('./dist/report.js');
    const report = await runFoundation({
      ...common,
      sides,
      effort: { rounds: common.rounds, roundMs: common.seconds * 1000, warmupMs: 500 },
      scanRows: Number(flags['scan-rows']),
      idleConnections: Number(flags.idle),
    });
    print(`\n${table(report)}\n`);
    return [await save(report, folder, 'foundation')];
  },
  async lineitem(sides) {
    const { runLineitem } = await import('./dist/lineitem.js');
    const generator = [
      'run',
      '--release',
      '--quiet',
      '-p',
      'braid-testkit',
      '--example',
      'lineitem',
    ];
    const text = await must('cargo', [...generator, '--', flags.rows], { capture: true });
    return runLineitem({ ...common, sides, text });
  },
  async batcher(sides) {
    const { runBatcher } = await import('./dist/batcher.js');
    return runBatcher({ ...common, sides });
  },
  async bank() {
    const { runBank } = await import('./dist/bank.js');
    return runBank({ ...common, sides: [], startBraid: braidSide, startPostgres: postgresSide });
  },
  async overhead(sides) {
    const { runOverhead } = await import('./dist/overhead.js');
    return runOverhead({ ...common, sides });
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
};

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

async function main() {
  const [name = 'foundation', ...rest] = positionals;
  const suite = rest.length === 0 ? SUITES[name] : undefined;
  if (suite === undefined) {
    throw new Error(
      `no suite "${positionals.join(' ')}"; known: ${Object.keys(SUITES).join(', ')}`,
    );
  }
  await install();
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/sdk']);
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/bench']);
  // The bank's servers differ in a setting, so it starts them itself.
  const written = await (suite === SUITES.bank ? suite() : withSides(suite));
  for (const path of written) print(`written: ${path.slice(top.length)}`);
}

main().catch((error) => {
  print(`\nThe bench failed: ${error.stack ?? error}`);
  process.exitCode = 1;
});
