/** Handles of Node that keep a process alive, or not. */

import type { Readable, Writable } from 'node:stream';

/** A process, or a pipe to one. */
type Handle = Readable | Writable | { ref(): void; unref(): void };

/** Says whether this process stays alive because of such handles. */
export function keepAlive(stays: boolean, ...handles: readonly Handle[]): void {
  for (const handle of handles) {
    // The pipes of a child are sockets; their types do not say so.
    if (!('ref' in handle) || !('unref' in handle)) continue;
    if (stays) handle.ref();
    else handle.unref();
  }
}
