#!/usr/bin/env node
/**
 * `npx braiddb …`: runs the server binary with the same arguments, and ends as it ends. `npx braiddb
 * migrate` and `npx braiddb types` are programs of this package: see `tools/`.
 *
 * A signal goes on to the server. A terminal and npm may both send the same Ctrl-C, and a server
 * that gets a second signal stops at once: so a copy of a signal within half a second is dropped.
 *
 * npm starts this program by a shell, and passes signals to that shell only, which dies of them. So
 * a program that npm has started stops the server when its parent is gone.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';

import { findBinary } from './binary.js';
import { ServerError } from './errors.js';
import { guard } from './guard.js';

/** Milliseconds within which a second signal of the same kind is a copy of the first. */
const COPY_WITHIN_MS = 500;

/** Milliseconds between two looks whether the parent is still there. */
const PARENT_INTERVAL_MS = 200;

/** Signals, and what the server gets instead. */
const FORWARDED = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGHUP: 'SIGTERM' } as const;

function fail(message: string): void {
  process.stderr.write(`braiddb: ${message}\n`);
  process.exitCode = 1;
}

/** Stops the server once the shell of npm has ended. */
function stopWithParent(child: ChildProcess): void {
  if (process.env.npm_command === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, PARENT_INTERVAL_MS);
  timer.unref();
}

function main(args: readonly string[]): void {
  const binary = findBinary();
  // In a session of its own: the terminal's Ctrl-C comes to this process only, which passes it on.
  const child = spawn(binary, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  child.once('error', (error) => {
    fail(`${binary} could not be started: ${error.message}`);
  });
  if (child.pid === undefined) return;
  child.once('exit', guard({ pid: child.pid, folder: undefined }));
  stopWithParent(child);
  const lastMs = new Map<string, number>();
  for (const [signal, forwarded] of Object.entries(FORWARDED)) {
    process.on(signal, () => {
      const nowMs = performance.now();
      const isCopy = nowMs - (lastMs.get(signal) ?? -Infinity) < COPY_WITHIN_MS;
      lastMs.set(signal, nowMs);
      if (!isCopy) child.kill(forwarded);
    });
  }
  child.once('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** Commands that need no server binary; they are loaded when they are used. */
const TOOLS = ['migrate', 'types'];

const [command = '', ...rest] = process.argv.slice(2);
try {
  if (TOOLS.includes(command)) {
    const { runTool } = await import('./tools/command.js');
    process.exitCode = await runTool(command, rest);
  } else main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ServerError)) throw error;
  fail(error.message);
}
