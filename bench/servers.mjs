/**
 * The servers of a bench: a PostgreSQL and a BraidDB of its own on empty folders, or ones that run
 * already.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import { startServer } from '../examples/iot-worker/server.mjs';
import { build, buildServer } from '../examples/iot-worker/steps.mjs';

const pgBin = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';

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

/**
 * Starts PostgreSQL on an empty folder; as user postgres where we are root, which it refuses.
 *
 * @param {readonly string[]} [settings] such as `jit=off`
 */
export async function startPostgres(settings = []) {
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
  // Range reads of eight clients at SERIALIZABLE need more predicate locks than 64 for each of the
  // connections; without room they fail with 53200.
  const locks = 'max_pred_locks_per_transaction=256';
  const all = ['listen_addresses=127.0.0.1', 'max_connections=1100', locks, ...settings];
  const options = `-p ${port} -k '${folder}' ${all.map((one) => `-c ${one}`).join(' ')}`;
  const start = () =>
    call(`'${pgBin}/pg_ctl' -D '${data}' -l '${folder}/log' -w -o "${options}" start`);
  const stop = () => call(`'${pgBin}/pg_ctl' -D '${data}' -m fast -w stop`);
  start();
  const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return {
    url: `postgresql://root@127.0.0.1:${port}/postgres`,
    pid,
    async restart() {
      stop();
      start();
    },
    async stop() {
      stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The server that a variable names, or one of our own. */
async function side(name, variable, start) {
  const url = process.env[variable];
  if (url) return { name, url, pid: undefined, stop: () => Promise.resolve() };
  return { name, ...(await start()) };
}

/**
 * A BraidDB: the one at BRAID_BENCH_URL, or a release server started with these arguments.
 *
 * @param {string[]} [args]
 */
export function braidSide(args = []) {
  // The idle connections of the memory question need room; every flag is a variable too.
  process.env.BRAID_MAX_CONNECTIONS ??= '1100';
  return side('BraidDB', 'BRAID_BENCH_URL', async () => {
    const binary = process.env.BRAID_BINARY ?? (await buildServer());
    return startServer(binary, { args });
  });
}

/** A release server of our own that can be restarted with its data. */
export async function restartableBraid() {
  const binary = process.env.BRAID_BINARY ?? (await buildServer());
  const folder = await mkdtemp(join(tmpdir(), 'braid-bench-'));
  let server = await startServer(binary, { folder });
  return {
    get url() {
      return server.url;
    },
    async restart() {
      await server.stop();
      server = await startServer(binary, { folder });
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A gateway over a store of several, started for the bench: never one that runs already. */
export async function gateway(storeUrl) {
  const binary = process.env.BRAID_BINARY ?? (await buildServer());
  return startServer(binary, { args: ['--store', storeUrl] });
}

/** Builds the stand-in for TiKV and the splitter of regions (release); their folder. */
export async function buildTikvTools() {
  const bins = ['tikv-standin', 'tikv-split'].flatMap((name) => ['--bin', name]);
  return build('--quiet', '-p', 'braid-testkit', '--features', 'tikv', ...bins);
}

/**
 * What BraidDB is compared with: the PostgreSQL at POSTGRES_BENCH_URL, or one of our own. With
 * BRAID_BEFORE it is the server of another commit, under PostgreSQL's name in the tables.
 */
export function postgresSide() {
  const before = process.env.BRAID_BEFORE;
  const start = before === undefined ? () => startPostgres() : () => startServer(before);
  return side('PostgreSQL', 'POSTGRES_BENCH_URL', start);
}
