/** The process of a server: its output, its end, and its signals. */

import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

import type { ProcessExit } from './errors.js';
import { ServerStartError } from './errors.js';
import { guard } from './guard.js';
import { keepAlive } from './handles.js';

/** Log lines that are kept for errors. */
const LOG_LINES_MAX = 50;

/** What a process is started with. */
export interface ProcessSettings {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A folder that goes with the process if this process dies, or undefined. */
  readonly folder: string | undefined;
  readonly onLog: ((line: string) => void) | undefined;
}

/** A running server, or one that has ended. */
export class ServerProcess {
  /** The last lines of its log. */
  readonly log: string[] = [];
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<ProcessExit>;
  /** How it has ended; undefined while it runs. */
  exit: ProcessExit | undefined;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;

  private constructor(child: ChildProcessByStdio<null, Readable, Readable>) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      // `close` comes after `exit`, when the output has been read.
      child.once('close', (code, signal) => {
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
  }

  /** Starts it; fails with a {@link ServerStartError} if the binary does not run. */
  static async start(settings: ProcessSettings): Promise<ServerProcess> {
    const { binary, args, env, folder, onLog } = settings;
    // In a session of its own: Ctrl-C in a terminal ends this process, which then stops the server.
    const child = spawn(binary, args, {
      ...{ env: { ...env }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const server = new ServerProcess(child);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) => {
        const message = `${binary} could not be started: ${cause.message}`;
        reject(new ServerStartError(message, { reason: 'spawn', log: [], cause }));
      });
    });
    const release = guard({ pid: server.pid, folder });
    child.once('exit', release);
    createInterface({ input: child.stderr }).on('line', (line) => {
      server.log.push(line);
      if (server.log.length > LOG_LINES_MAX) server.log.shift();
      onLog?.(line);
    });
    return server;
  }

  /** Its process id. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Calls back with each line of its standard output. */
  onLine(callback: (line: string) => void): void {
    createInterface({ input: this.#child.stdout }).on('line', callback);
  }

  /** Whether this process stays alive because of the server. */
  keepAlive(stays: boolean): void {
    keepAlive(stays, this.#child, this.#child.stdout, this.#child.stderr);
  }

  /** Sends a signal; nothing happens if it has ended. */
  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
