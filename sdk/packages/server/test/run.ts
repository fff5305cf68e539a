/** Runs programs for tests: with a time limit, and with their output where they fail. */

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** What a program is run with. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds until it is killed. Default 60 000. */
  readonly timeoutMs?: number;
}

/** Runs a program; returns its output, and fails with it. */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = {}, timeoutMs = 60_000 }: RunOptions,
): Promise<string> {
  try {
    const settings = { cwd, env: cleanEnvironment(env), timeout: timeoutMs };
    const { stdout, stderr } = await execute(program, args, settings);
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    const output = `${stdout ?? ''}${stderr ?? ''}`;
    throw new Error(`${program} ${args.join(' ')} failed:\n${output}`, { cause: error });
  }
}

/** The environment without what npm and test runners have put there for this process. */
export function cleanEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter(
    (name) => !/^(BRAID|npm_(package|lifecycle|command)|INIT_CWD|VITEST|NODE_OPTIONS)/.test(name),
  );
  return { ...Object.fromEntries(names.map((name) => [name, process.env[name]])), ...env };
}

/**
 * The program of jest, if it is installed: `npm i --no-save jest@30`. The repository leaves it out,
 * because it has 278 packages of 54 MB.
 */
export function jestProgram(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve('jest/package.json');
    return join(dirname(manifest), 'bin', 'jest.js');
  } catch {
    return undefined;
  }
}
