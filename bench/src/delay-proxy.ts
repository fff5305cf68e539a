/**
 * A TCP proxy that makes a connection longer: what comes in on one side goes out on the other after
 * half a round trip, in order, with no limit of bandwidth. It counts round trips.
 *
 * ```text
 *   application, gateway ──▶ listens here ── half a round trip ──▶ a server, PD or a store
 *   stores               ──▶ listens here ───────── at once ─────▶ PD or a store
 * ```
 *
 * A round trip begins when a client sends after it has been answered, so messages that travel
 * together count once.
 *
 * Stores and PD reach each other by the addresses that gateways use, too. Replication between them
 * is not what is asked about, so connections of their own processes are passed on at once: who has
 * opened a connection is looked up in /proc (Linux) when it comes.
 */

import { readdir, readFile, readlink } from 'node:fs/promises';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { median } from './suite.js';

/** What the proxies of a cluster have in common. */
export interface Delay {
  /** Of a round trip; may change at any time. */
  roundTripMs: number;
  /** Processes whose connections are passed on at once. */
  readonly inner: Set<number>;
  /** Connections so far: of those processes, and of others. */
  readonly connections: { inner: number; outer: number };
  /** Round trips so far, of all connections. */
  roundTrips: number;
}

/** No delay, and nobody inside. */
export function noDelay(): Delay {
  return { roundTripMs: 0, inner: new Set(), connections: { inner: 0, outer: 0 }, roundTrips: 0 };
}

/** One proxy, on a port of its own. */
export class Proxy {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Listens, and passes on to that port. */
  static async start(targetPort: number, delay: Delay): Promise<Proxy> {
    const sockets = new Set<Socket>();
    const keep = (socket: Socket): void => {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.once('close', () => sockets.delete(socket));
    };
    const server = createServer({ pauseOnConnect: true }, (client) => {
      keep(client);
      void join(client, targetPort, delay, keep);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Proxy(server, sockets);
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

async function join(
  client: Socket,
  targetPort: number,
  delay: Delay,
  keep: (socket: Socket) => void,
): Promise<void> {
  const trouble = (): void => {
    client.destroy();
  };
  client.once('error', trouble);
  const isInner = await isOpenedBy(delay.inner, client);
  delay.connections[isInner ? 'inner' : 'outer']++;
  if (client.destroyed) return;
  const target = connect(targetPort, '127.0.0.1');
  keep(target);
  const halfMs = isInner ? () => 0 : () => delay.roundTripMs / 2;
  pass(client, target, halfMs);
  pass(target, client, halfMs);
  let isAnswered = true;
  client.on('data', () => {
    if (isAnswered) delay.roundTrips += 1;
    isAnswered = false;
  });
  target.on('data', () => {
    isAnswered = true;
  });
  client.resume();
}

/** Half round trips below this, in milliseconds, are waited for exactly: timers are too coarse. */
const EXACT_BELOW_MS = 5;

/**
 * Calls back after some milliseconds. A timer counts whole milliseconds, so the rest of a short time
 * is waited for by turns of the event loop; they keep a core busy.
 */
function after(ms: number, call: () => void): void {
  if (ms >= EXACT_BELOW_MS) setTimeout(call, ms);
  else setImmediate(call);
}

/** Passes on what comes, later; and the end. */
function pass(from: Socket, to: Socket, halfMs: () => number): void {
  const waiting: { readonly dueMs: number; readonly chunk: Buffer | undefined }[] = [];
  const write = (chunk: Buffer | undefined): void => {
    if (chunk === undefined) to.end();
    else to.write(chunk);
  };
  const writeDue = (): void => {
    let [next] = waiting;
    // A timer may come a little early.
    const earlyMs = halfMs() < EXACT_BELOW_MS ? 0 : 0.5;
    while (next !== undefined && next.dueMs <= performance.now() + earlyMs) {
      write(next.chunk);
      waiting.shift();
      [next] = waiting;
    }
    if (next !== undefined) after(next.dueMs - performance.now(), writeDue);
  };
  const add = (chunk: Buffer | undefined): void => {
    const delayMs = halfMs();
    if (delayMs === 0 && waiting.length === 0) {
      write(chunk);
      return;
    }
    waiting.push({ dueMs: performance.now() + delayMs, chunk });
    if (waiting.length === 1) after(delayMs, writeDue);
  };
  from.on('data', add);
  from.once('end', () => {
    add(undefined);
  });
  from.once('error', () => to.destroy());
  from.once('close', (broken: boolean) => {
    if (broken) to.destroy();
  });
}

/** Whether one of these processes is at the other end of a connection from this machine. */
async function isOpenedBy(processes: ReadonlySet<number>, client: Socket): Promise<boolean> {
  if (processes.size === 0) return false;
  const ours = `:${hexPort(client.localPort)}`;
  const theirs = `:${hexPort(client.remotePort)}`;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(table, 'utf8').catch(() => '')).split('\n')) {
      const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/);
      if (local?.endsWith(theirs) !== true || remote?.endsWith(ours) !== true) continue;
      for (const pid of processes) {
        if (await hasOpen(pid, `socket:[${inode ?? ''}]`)) return true;
      }
    }
  }
  return false;
}

function hexPort(port: number | undefined): string {
  return (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

async function hasOpen(pid: number, name: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const numbers = await readdir(folder).catch(() => []);
  const names = numbers.map((number) => readlink(`${folder}/${number}`).catch(() => ''));
  return (await Promise.all(names)).includes(name);
}

/** How long a round trip through a proxy really takes: the median of some echoes. */
export async function realRoundTripMs(delayMs: number, echoes: number): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = (server.address() as AddressInfo).port;
  const proxy = await Proxy.start(target, { ...noDelay(), roundTripMs: delayMs });
  const client = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  try {
    const foundMs: number[] = [];
    for (let echo = 0; echo < echoes; echo++) {
      const startMs = performance.now();
      await new Promise((resolve, reject) => {
        client.once('error', reject);
        client.once('data', resolve);
        client.write('x');
      });
      client.removeAllListeners('error');
      foundMs.push(performance.now() - startMs);
    }
    return median(foundMs);
  } finally {
    client.destroy();
    await proxy.stop();
    server.close();
  }
}
