/**
 * The steps that the demo and the test run share: install, build the server, build the packages.
 * Uses nothing but Node, so that it runs before anything is installed.
 */

import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The top of the repository. */
export const top = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs a program at the top of the repository.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ capture?: boolean | 'stdout', cwd?: string, env?: Record<string, string>,
 *   niceness?: number, prefix?: string }} [options] `capture`: keep the output instead of showing it, or
 *   only stdout; `cwd`: the folder to run in instead of the top; `niceness`: the program makes way for
 *   others, from 0 (the default) to 19; `prefix`: keep the output, and show each line of it after this
 *   text
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(program, args, options = {}) {
  const { capture = false, niceness, prefix } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? top,
      env: { ...process.env, ...options.env },
      shell: process.platform === 'win32',
      stdio: [
        'ignore',
        capture || prefix !== undefined ? 'pipe' : 'inherit',
        capture === true ? 'pipe' : 'inherit',
      ],
    });
    if (niceness !== undefined && child.pid !== undefined) setPriority(child.pid, niceness);
    let output = '';
    /** The beginning of a line that has not ended. */
    let partial = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (prefix === undefined) return;
      const lines = (partial + text).split('\n');
      partial = lines.pop();
      for (const line of lines) process.stdout.write(`${prefix}${line}\n`);
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => {
      const missing = error.code === 'ENOENT';
      reject(missing ? new Error(`"${program}" is not installed; the README says what is`) : error);
    });
    child.once('close', (code, signal) => {
      if (partial !== '') process.stdout.write(`${prefix}${partial}\n`);
      resolve({ code: code ?? `ended by ${signal}`, output });
    });
  });
}

/** Runs a program and fails unless it ends with 0. */
export async function must(program, args, options) {
  const { code, output } = await run(program, args, options);
  if (code !== 0) {
    const shown = options?.capture ? `\n${output}` : '';
    throw new Error(`"${program} ${args.join(' ')}" failed (${code})${shown}`);
  }
  return output;
}

/** Installs the npm packages unless they are there and up to date. Returns whether it had to. */
export async function install() {
  const installed = join(top, 'node_modules', '.package-lock.json');
  const wanted = statSync(join(top, 'package-lock.json')).mtimeMs;
  if (existsSync(installed) && statSync(installed).mtimeMs >= wanted) return false;
  await must('npm', ['ci', '--no-audit', '--no-fund']);
  return true;
}

const BINARY = process.platform === 'win32' ? 'braid.exe' : 'braid';

/** Builds the server (release) and returns the path of its binary. */
export async function buildServer() {
  return join(await build('--bin', 'braid'), BINARY);
}

/** Builds the server as the tests do, without optimization, which takes half the time; its path. */
export async function buildDebugServer() {
  const folder = process.env.BRAID_BUILT;
  if (folder !== undefined) return join(resolve(folder), BINARY);
  await must('cargo', ['build', '--workspace', '--bin', 'braid']);
  return join(await targetFolder(), 'debug', BINARY);
}

/**
 * Builds programs with optimization; their folder. BRAID_BUILT names a folder of cargo in which they are
 * built already, such as `target/debug` after the tests.
 */
export async function build(...args) {
  if (process.env.BRAID_BUILT !== undefined) return resolve(process.env.BRAID_BUILT);
  await must('cargo', ['build', '--release', ...args]);
  return join(await targetFolder(), 'release');
}

/** Where cargo puts what it builds. */
export async function targetFolder() {
  const metadata = ['metadata', '--no-deps', '--format-version', '1', '--quiet'];
  return JSON.parse(await must('cargo', metadata, { capture: true })).target_directory;
}

/** Compiles TypeScript packages, in this order; `options` are those of `run`. */
export async function buildPackages(names, options) {
  for (const name of names) {
    await must('npm', ['run', '--silent', 'build', '--workspace', name], options);
  }
}

/** Prints the heading of a step, and afterwards how long it took. */
export async function step(title, work) {
  const startMs = performance.now();
  process.stdout.write(`\n== ${title}\n`);
  const result = await work();
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(`   done in ${seconds} s\n`);
  return result;
}
