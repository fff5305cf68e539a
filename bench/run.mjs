/**
 * Runs the bench: starts a PostgreSQL of its own and the release server, on empty folders, asks both
 * the same questions in one run, prints the table and writes bench/results.
 *
 *   node bench/run.mjs [--only TEXT] [--rounds 3] [--seconds 5] [--scan-rows 1000000] [--idle 1000]
 *
 * BRAID_BENCH_URL and POSTGRES_BENCH_URL name servers that run already, instead; memory is then not
 * measured. PG_BIN is the folder of PostgreSQL's programs (default: Debian's, version 15).
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { startServer } from '../examples/iot-worker/server.mjs';
import { buildServer, install, must, top } from '../examples/iot-worker/steps.mjs';

const pgBin = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';
const print = (line) => process.stdout.write(`${line}\n`);

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'scan-rows': { type: 'string', default: '1000000' },
    idle: { type: 'string', default: '1000' },
  },
});

/** A port that nobody uses at the moment. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Starts PostgreSQL on an empty folder; as user postgres where we are root, which it refuses. */
async function startPostgres() {
  if (!existsSync(join(pgBin, 'initdb'))) {
    throw new Error(`no PostgreSQL in ${pgBin}; set PG_BIN or POSTGRES_BENCH_URL`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'braid-bench-postgres-'));
  const asRoot = userInfo().uid === 0;
  if (asRoot) {
    await chmod(folder, 0o755);
    execFileSync('chown', ['postgres', folder]);
  }
  const data = join(folder, 'data');
  const call = (command) => {
    const options = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] };
    if (asRoot) execFileSync('su', ['postgres', '-s', '/bin/sh', '-c', command], options);
    else execFileSync('/bin/sh', ['-c', command], options);
  };
  const port = await freePort();
  call(`'${pgBin}/initdb' -D '${data}' -U root --auth=trust`);
  const settings = `-p ${port} -k '${folder}' -c listen_addresses=127.0.0.1 -c max_connections=1100`;
  call(`'${pgBin}/pg_ctl' -D '${data}' -l '${folder}/log' -w -o "${settings}" start`);
  const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return {
    url: `postgresql://root@127.0.0.1:${port}/postgres`,
    pid,
    async stop() {
      call(`'${pgBin}/pg_ctl' -D '${data}' -m fast -w stop`);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server that runs already, or one of our own. */
async function side(name, variable, start) {
  const url = process.env[variable];
  if (url) return { name, url, pid: undefined, stop: () => Promise.resolve() };
  return { name, ...(await start()) };
}

async function main() {
  await install();
  await must('npm', ['run', '--silent', 'build', '--workspace', '@braiddb/bench']);
  // The idle connections of the memory question need room; every flag is a variable too.
  process.env.BRAID_MAX_CONNECTIONS ??= '1100';
  const startBraid = async () => startServer(await buildServer());
  const braid = await side('BraidDB', 'BRAID_BENCH_URL', startBraid);
  try {
    const postgres = await side('PostgreSQL', 'POSTGRES_BENCH_URL', startPostgres);
    try {
      await ask(braid, postgres);
    } finally {
      await postgres.stop();
    }
  } finally {
    await braid.stop();
  }
}

async function ask(braid, postgres) {
  const { runFoundation } = await import('./dist/foundation.js');
  const { save, table } = await import('./dist/report.js');
  const report = await runFoundation({
    sides: [braid, postgres],
    effort: { rounds: Number(flags.rounds), roundMs: Number(flags.seconds) * 1000, warmupMs: 500 },
    scanRows: Number(flags['scan-rows']),
    idleConnections: Number(flags.idle),
    command: ['node bench/run.mjs', ...process.argv.slice(2)].join(' '),
    only: flags.only,
    print: (line) => print(`  ${line} …`),
  });
  print(`\n${table(report)}\n`);
  const folder = join(top, 'bench', 'results');
  print(`written: ${(await save(report, folder, 'foundation')).slice(top.length)}`);
}

main().catch((error) => {
  print(`\nThe bench failed: ${error.stack ?? error}`);
  process.exitCode = 1;
});
