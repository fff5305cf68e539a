/**
 * The clusters of the suite: a PD and three stores of `TIKV_BIN`, with their data in a temporary
 * folder, or the stand-in of the tests. Everything ends with the process that has started it.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Delay } from '../delay-proxy.js';
import { noDelay, Proxy } from '../delay-proxy.js';

/** A cluster that runs. */
export interface Cluster {
  /** What it is: "stand-in", or the versions. */
  readonly name: string;
  /** `--store` of its gateways. */
  readonly url: string;
  /** `host:port` of PD, without delay where there is one. */
  readonly pd: string;
  /** Connections to it so far, where there is a proxy. */
  readonly connections: Delay['connections'] | undefined;
  stop(): Promise<void>;
}

/** Where clusters come from. */
export interface Place {
  /** The folder with `pd-server` and `tikv-server`; undefined: the stand-in. */
  readonly bin: string | undefined;
  /** The folder with `tikv-standin` and `tikv-split`. */
  readonly tools: string;
}

const STORES = 3;
const PATIENCE_MS = 180_000;

/** As the tests of the server start them: small, and quick to elect. */
const STORE_CONFIG = `
[log]
level = "warn"
[server]
grpc-concurrency = 2
[storage]
reserve-space = "0MB"
reserve-raft-space = "0MB"
scheduler-worker-pool-size = 2
[storage.block-cache]
capacity = "128MB"
[readpool.unified]
min-thread-count = 1
max-thread-count = 2
[raftstore]
capacity = "8GB"
store-pool-size = 1
apply-pool-size = 1
[raft-engine]
enable = true
purge-threshold = "256MB"
prefill-for-recycle = false
[rocksdb]
max-background-jobs = 2
max-open-files = 1000
[raftdb]
max-open-files = 1000
`;

const PD_CONFIG = `
[log]
level = "warn"
[replication]
max-replicas = ${STORES}
`;

/** Runs `work` over a cluster. */
export async function onCluster<T>(
  place: Place,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await (place.bin === undefined ? standIn(place, 0) : real(place.bin, undefined));
  try {
    return await work(cluster);
  } finally {
    await cluster.stop();
  }
}

/** Runs `work` at each of some round trip times between a gateway and all of a cluster. */
export async function atRoundTrips(
  place: Place,
  roundTripsMs: readonly number[],
  work: (cluster: Cluster, roundTripMs: number) => Promise<void>,
): Promise<void> {
  const delay = noDelay();
  const proxied = place.bin === undefined ? undefined : await real(place.bin, delay);
  try {
    for (const roundTripMs of roundTripsMs) {
      delay.roundTripMs = roundTripMs;
      const cluster = proxied ?? (await standIn(place, roundTripMs));
      try {
        await work(cluster, roundTripMs);
      } finally {
        if (cluster !== proxied) await cluster.stop();
      }
    }
  } finally {
    await proxied?.stop();
  }
}

async function standIn({ tools }: Place, roundTripMs: number): Promise<Cluster> {
  const latency = ['--latency-ms', '--pd-latency-ms'].flatMap((name) => [name, `${roundTripMs}`]);
  const child = spawn(join(tools, 'tikv-standin'), [...latency, '--stores', `${STORES}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const processes = new Processes([child]);
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error('the stand-in has ended'));
    });
    createInterface({ input: child.stdout }).once('line', resolve);
  });
  const pd = url.replace('tikv://', '');
  const stop = (): Promise<void> => processes.stop();
  return { name: 'stand-in', url, pd, connections: undefined, stop };
}

async function real(bin: string, delay: Delay | undefined): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'braid-bench-tikv-'));
  const processes = new Processes();
  const proxies: Proxy[] = [];
  const stop = async (): Promise<void> => {
    await processes.stop();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const start = (program: string, name: string, args: readonly string[]): void => {
      const config = join(folder, `${program}.toml`);
      const files = [`--data-dir=${join(folder, name)}`, `--config=${config}`];
      const log = `--log-file=${join(folder, `${name}.log`)}`;
      const child = launch(join(bin, program), [...args, ...files, log], join(folder, 'out'));
      processes.add(child);
      if (child.pid !== undefined) delay?.inner.add(child.pid);
    };
    /** The port at which others find what listens on this one. */
    const known = async (port: number): Promise<number> => {
      if (delay === undefined) return port;
      const proxy = await Proxy.start(port, delay);
      proxies.push(proxy);
      return proxy.port;
    };
    const at = (port: number): string => `127.0.0.1:${port}`;
    await writeFile(join(folder, 'pd-server.toml'), PD_CONFIG);
    await writeFile(join(folder, 'tikv-server.toml'), STORE_CONFIG);
    const [pd = 0, peer = 0, ...ports] = await freePorts(2 + 2 * STORES);
    const pdKnown = await known(pd);
    start('pd-server', 'pd', [
      ...['--name=pd', `--client-urls=http://${at(pd)}`, `--peer-urls=http://${at(peer)}`],
      `--advertise-client-urls=http://${at(pdKnown)}`,
    ]);
    await until('PD', async () => (await ask(pd, 'health')) !== undefined);
    for (let store = 0; store < STORES; store++) {
      const [port = 0, status = 0] = ports.slice(2 * store);
      start('tikv-server', `store-${store}`, [
        ...[`--pd-endpoints=${at(pd)}`, `--addr=${at(port)}`, `--status-addr=${at(status)}`],
        `--advertise-addr=${at(await known(port))}`,
      ]);
    }
    const name = await complete(pd);
    const url = `tikv://${at(pdKnown)}`;
    return { name, url, pd: at(pd), connections: delay?.connections, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Stores {
  readonly stores?: readonly {
    readonly store: { readonly state_name: string; readonly version: string; git_hash?: string };
  }[];
}

/** Waits until every store is up and every region has a replica on each; the versions. */
async function complete(pd: number): Promise<string> {
  let versions = '';
  await until('the stores', async () => {
    const { stores = [] } = ((await ask(pd, 'stores')) ?? {}) as Stores;
    const [first] = stores;
    versions = `TiKV ${first?.store.version ?? '?'} ${first?.store.git_hash?.slice(0, 10) ?? ''}`;
    return stores.filter(({ store }) => store.state_name === 'Up').length === STORES;
  });
  await until('replicas', async () => {
    const answer = (await ask(pd, 'regions')) as { regions?: { peers?: unknown[] }[] } | undefined;
    const regions = answer?.regions ?? [];
    return regions.length > 0 && regions.every(({ peers }) => peers?.length === STORES);
  });
  const version = (await ask(pd, 'version')) as { version?: string } | undefined;
  return `PD ${version?.version ?? '?'}, ${versions.trim()}`;
}

/** PD's answer; undefined if it is not a good one. */
async function ask(pd: number, what: string): Promise<unknown> {
  try {
    const answer = await fetch(`http://127.0.0.1:${pd}/pd/api/v1/${what}`);
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined;
  }
}

/** Waits until something is so. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not there after a long wait`);
    await sleep(100);
  }
}

/** Starts a program with as many open files as the system allows. */
function launch(program: string, args: readonly string[], outputFile: string): ChildProcess {
  const output = openSync(outputFile, 'a');
  const script = 'ulimit -n "$(ulimit -Hn)"; exec "$0" "$@"';
  return spawn('sh', ['-c', script, program, ...args], { stdio: ['ignore', output, output] });
}

/** Processes that do not outlive this one. */
class Processes {
  readonly #children: ChildProcess[];
  readonly #killAll = (): void => {
    for (const child of this.#children) child.kill('SIGKILL');
  };

  constructor(children: ChildProcess[] = []) {
    this.#children = children;
    process.once('exit', this.#killAll);
  }

  add(child: ChildProcess): void {
    this.#children.push(child);
  }

  async stop(): Promise<void> {
    const running = this.#children.filter(
      (child) => child.exitCode === null && child.signalCode === null,
    );
    const ended = running.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    this.#killAll();
    await Promise.all(ended);
    process.removeListener('exit', this.#killAll);
  }
}

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => createServer());
  await Promise.all(
    probes.map((probe) => new Promise<void>((done) => probe.listen(0, '127.0.0.1', done))),
  );
  const ports = probes.map((probe) => (probe.address() as AddressInfo).port);
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return ports;
}
