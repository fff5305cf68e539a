// Child processes: a command run to its end, and programs that a runtime needs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether this is continuous integration, where nothing may be skipped. */
export const strict = process.env.CI === 'true';

/** Runs a program to its end; resolves to its exit code and output. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output, errors }));
  });
}

/**
 * Runs the commands of a preparation in turn. Resolves to the complaint of the first that fails,
 * or to undefined when all succeed.
 */
export async function prepareWith(commands, options = {}) {
  for (const [command, ...args] of commands) {
    try {
      const { code, output, errors } = await run(command, args, options);
      if (code !== 0) return `${command} ${args[0]}: ${(errors || output).trim()}`;
    } catch (error) {
      return error.message;
    }
  }
  return undefined;
}

/** Whether all of these programs can be called. */
export function onPath(programs) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return programs.every((name) => folders.some((folder) => existsSync(join(folder, name))));
}

/** Installs packages with apt, but only in continuous integration. A failure shows itself later. */
export async function aptInstall(packages) {
  if (!strict || packages.length === 0) return;
  const install = ['apt-get', 'install', '-y', '-qq', ...packages];
  await prepareWith([process.getuid() === 0 ? install : ['sudo', ...install]]);
}
