/**
 * Starts a BraidDB server in a folder of its own, for the demo and for tests. Uses nothing but
 * Node, so that it runs before anything is installed.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/**
 * @typedef {object} RunningServer
 * @property {string} url     SQL address, user and database included
 * @property {string} http    HTTP address
 * @property {number} pid     process id
 * @property {string} folder  data folder
 * @property {() => Promise<number>} stop  stops it cleanly and removes the folder it made; exit code
 * @property {() => Promise<void>} kill    kills it (SIGKILL) and leaves the folder
 */

/**
 * Starts `binary` and waits for its ready lines.
 *
 * @param {string} binary
 * @param {{ folder?: string, listen?: string, args?: string[] }} [options]
 * @returns {Promise<RunningServer>}
 */
export async function startServer(binary, options = {}) {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'braid-')));
  const child = spawn(
    binary,
    [
      ...['start', '--data', folder, '--listen', options.listen ?? '127.0.0.1:0'],
      ...['--http', '127.0.0.1:0'],
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
    child.once('error', (error) => resolve(error.message));
  });
  const errors = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors.push(line);
    if (errors.length > 50) errors.shift();
  });
  // If this process dies, the server should not stay behind.
  const killOnExit = () => child.kill('SIGKILL');
  process.once('exit', killOnExit);

  const addresses = await readyLines(child, exited, errors);
  const end = async (signal) => {
    child.kill(signal);
    const timer = setTimeout(killOnExit, STOP_TIMEOUT_MS);
    const code = await exited;
    clearTimeout(timer);
    process.removeListener('exit', killOnExit);
    return code;
  };
  return {
    ...addresses,
    pid: child.pid,
    folder,
    async stop() {
      const code = await end('SIGTERM');
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the server ended with ${code}\n${errors.join('\n')}`);
      return code;
    },
    async kill() {
      await end('SIGKILL');
    },
  };
}

/** Waits for `sql:` and `http:` on standard output. */
async function readyLines(child, exited, errors) {
  let timer;
  const lines = createInterface({ input: child.stdout });
  const found = {};
  const ready = new Promise((resolve) => {
    lines.on('line', (line) => {
      const match = /^(sql|http):\s+(\S+)$/.exec(line);
      if (match) found[match[1] === 'sql' ? 'url' : 'http'] = match[2];
      if (found.url && found.http) resolve(found);
    });
  });
  const failed = exited.then((code) => {
    throw new Error(`the server did not start (${code})\n${errors.join('\n')}`);
  });
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`the server was not ready within ${START_TIMEOUT_MS / 1000} s`));
    }, START_TIMEOUT_MS);
  });
  try {
    return await Promise.race([ready, failed, late]);
  } finally {
    clearTimeout(timer);
    failed.catch(() => undefined);
  }
}
