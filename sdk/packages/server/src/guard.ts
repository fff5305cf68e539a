/**
 * Ends the server when this process ends, whatever ended it.
 *
 * ```text
 *  this process ──pipe──► sh: read ─┬─ a line: the server has ended ─► exit
 *                                   └─ end of file: this process is gone ─► kill -KILL server
 * ```
 *
 * A process that is killed by SIGKILL runs no code of its own, but its pipes close. Where there is
 * no `sh`, only an ordinary end of this process ends the server.
 */

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

import { keepAlive } from './handles.js';

// A killed process may write for a moment, so its folder is removed until it stays away.
const SCRIPT = `
read -r line && exit 0
kill -KILL "$1" 2>/dev/null
left=50
while [ -n "$2" ] && [ -e "$2" ] && [ "$left" -gt 0 ]; do
  rm -rf -- "$2"
  left=$((left - 1))
  sleep 0.1
done
`;

/** What a guard watches over. */
export interface Guarded {
  readonly pid: number;
  /** A folder to remove after the server, or undefined. */
  readonly folder: string | undefined;
}

const guarded = new Set<Guarded>();

function killAll(): void {
  for (const { pid, folder } of guarded) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      continue; // it has ended already
    }
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Watches over a process; the result ends that, and is called when the process has ended. */
export function guard(one: Guarded): () => void {
  if (guarded.size === 0) process.on('exit', killAll);
  guarded.add(one);
  const args = ['-c', SCRIPT, 'guard', String(one.pid), one.folder ?? ''];
  // In a session of its own, so that Ctrl-C in a terminal does not end it before its work.
  const child = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const ignore = (): void => undefined;
  child.on('error', ignore);
  child.stdin.on('error', ignore);
  keepAlive(false, child, child.stdin);
  return () => {
    if (!guarded.delete(one)) return;
    if (guarded.size === 0) process.off('exit', killAll);
    child.stdin.end('ended\n');
  };
}
