/**
 * `startServer`: a server of your own, for tests and for development.
 *
 * ```text
 *  options ─► temporary folder ─► braid start, its guard ─► addresses ─► /health/ready ─► Server
 *                                       │ ended, late, aborted
 *                                       └─► killed, folder removed, error with the last log lines
 * ```
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ProcessExit } from './errors.js';
import { describeExit, ServerStartError, ServerStopError } from './errors.js';
import type { ServerOptions, ServerSettings } from './options.js';
import { readServerOptions } from './options.js';
import { ServerProcess } from './process.js';

/** Milliseconds between two questions whether the server is ready. */
const READY_INTERVAL_MS = 20;

/** A running server. Made by {@link startServer}. */
export interface Server extends AsyncDisposable {
  /** The address for SQL, with user and database. */
  readonly url: string;
  /** The address of `/health` and `/metrics`, without a slash at its end. */
  readonly httpUrl: string;
  /** The process id. */
  readonly pid: number;
  /** The data folder. */
  readonly data: string;
  /** False once the server has ended, or `close` has been called. */
  readonly isRunning: boolean;
  /**
   * Stops the server: its running statements may end within `stopTimeoutMs`, its sessions end. Then
   * removes the folder, if that was temporary. Further calls return the same promise.
   *
   * Fails with a {@link ServerStopError} if the server ended with an error, had ended before, or
   * had to be killed.
   */
  close(): Promise<void>;
}

/**
 * Starts a server on this machine and waits until it takes sessions. By default it has a new data
 * folder and free ports, so any number of them run side by side. It ends with this process, however
 * that ends, and does not keep this process alive.
 *
 * Fails with a {@link BinaryNotFoundError}, a {@link ServerStartError} (the server ended, or was
 * not ready within `startTimeoutMs`, 30 000 by default), or a {@link ServerOptionError}.
 *
 * @example
 * ```ts
 * import { connect } from '@braiddb/sdk';
 * import { startServer } from '@braiddb/server';
 * await using server = await startServer();
 * await using db = await connect(server.url);
 * const { sum } = await db.one<{ sum: number }>`SELECT ${1}::int4 + ${2}::int4 AS sum`;
 * console.assert(sum === 3);
 * ```
 */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const settings = readServerOptions(options);
  settings.signal?.throwIfAborted();
  const temporary =
    settings.data === undefined ? await mkdtemp(join(tmpdir(), 'braiddb-')) : undefined;
  const data = settings.data ?? temporary ?? '';
  let server: ServerProcess | undefined;
  try {
    const { binary, env, onLog } = settings;
    const args = argumentsOf(settings, data);
    server = await ServerProcess.start({ binary, args, env, folder: temporary, onLog });
    const addresses = await untilReady(server, settings);
    server.keepAlive(false);
    return new RunningServer(server, { ...addresses, data, temporary, settings });
  } catch (error) {
    server?.kill('SIGKILL');
    await server?.ended;
    await removeFolder(temporary);
    throw error;
  }
}

function argumentsOf({ port, httpPort, args }: ServerSettings, data: string): string[] {
  const addresses = ['--listen', `127.0.0.1:${port}`, '--http', `127.0.0.1:${httpPort}`];
  return ['start', '--data', data, ...addresses, ...args];
}

/** The addresses of a server. */
interface Addresses {
  readonly url: string;
  readonly httpUrl: string;
}

/** Waits until the server takes sessions; fails if it ends, is late, or the caller aborts. */
async function untilReady(server: ServerProcess, settings: ServerSettings): Promise<Addresses> {
  const { startTimeoutMs, signal } = settings;
  const done = new AbortController();
  const waits = done.signal;
  const failed = server.ended.then((exit) => {
    const message = `the server ended before it was ready (${describeExit(exit)})`;
    throw new ServerStartError(message, { reason: 'exited', exit, log: server.log });
  });
  const late = sleep(startTimeoutMs, undefined, { signal: waits }).then(() => {
    const message = `the server was not ready within startTimeoutMs, ${startTimeoutMs} ms`;
    throw new ServerStartError(message, { reason: 'timeout', log: [...server.log] });
  });
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => {
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { signal: waits });
    if (signal?.aborted === true) onAbort();
  });
  const ready = readAddresses(server).then(async (addresses) => {
    while (!waits.aborted && !(await takesSessions(addresses.httpUrl, waits))) {
      await sleep(READY_INTERVAL_MS, undefined, { signal: waits });
    }
    return addresses;
  });
  const all = [failed, late, aborted, ready] as const;
  for (const one of all) one.catch(() => undefined);
  try {
    return await Promise.race(all);
  } finally {
    done.abort();
  }
}

/** The addresses that the server prints at its start. */
function readAddresses(server: ServerProcess): Promise<Addresses> {
  const found: { sql?: string; http?: string } = {};
  return new Promise((resolve) => {
    server.onLine((line) => {
      const [, name, address] = /^(sql|http):\s+(\S+)$/.exec(line) ?? [];
      if (name === 'sql' || name === 'http') found[name] = address ?? '';
      const { sql, http } = found;
      if (sql !== undefined && http !== undefined) resolve({ url: sql, httpUrl: http });
    });
  });
}

/** Asks the server whether it takes sessions. */
function takesSessions(httpUrl: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`${httpUrl}/health/ready`, { agent: false, signal }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.once('error', () => {
      resolve(false);
    });
  });
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** What a running server consists of. */
interface ServerParts extends Addresses {
  readonly data: string;
  readonly temporary: string | undefined;
  readonly settings: ServerSettings;
}

class RunningServer implements Server {
  readonly url: string;
  readonly httpUrl: string;
  readonly data: string;
  readonly #process: ServerProcess;
  readonly #parts: ServerParts;
  #closing: Promise<void> | undefined;

  constructor(process: ServerProcess, parts: ServerParts) {
    this.#process = process;
    this.#parts = parts;
    this.url = parts.url;
    this.httpUrl = parts.httpUrl;
    this.data = parts.data;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get isRunning(): boolean {
    return this.#closing === undefined && this.#process.exit === undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const server = this.#process;
    const earlier = server.exit;
    const { temporary, settings } = this.#parts;
    const { stopTimeoutMs } = settings;
    const late = sleep(stopTimeoutMs, 'late' as const, { ref: false });
    server.keepAlive(true);
    server.kill('SIGTERM');
    const isLate = (await Promise.race([server.ended, late])) === 'late';
    if (isLate) server.kill('SIGKILL');
    const exit = await server.ended;
    await removeFolder(temporary);
    if (earlier === undefined && exit.code === 0) return;
    throw new ServerStopError(
      stopMessage(exit, { isLate, earlier, stopTimeoutMs }),
      exit,
      server.log,
    );
  }
}

/** What is known about a server that did not end as it should. */
interface StopFacts {
  readonly isLate: boolean;
  /** How it had ended before it was to stop. */
  readonly earlier: ProcessExit | undefined;
  readonly stopTimeoutMs: number;
}

function stopMessage(exit: ProcessExit, { isLate, earlier, stopTimeoutMs }: StopFacts): string {
  if (isLate) {
    return `the server did not stop within stopTimeoutMs, ${stopTimeoutMs} ms, and was killed`;
  }
  const how = describeExit(exit);
  if (earlier !== undefined) return `the server had ended before close (${how})`;
  return `the server ended with an error (${how})`;
}
