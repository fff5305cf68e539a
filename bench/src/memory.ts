/**
 * Question: how much memory does the idle server hold, and how much does each idle connection add?
 */

import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Side } from './sides.js';
import { withClients } from './sides.js';

/** Resident memory of the idle server. */
export interface IdleMemory {
  readonly side: Side['name'];
  readonly idleKb: number;
  readonly connections: number;
  readonly withConnectionsKb: number;
  readonly perConnectionKb: number;
}

const BATCH = 50;
const SETTLE_MS = 1000;

/** Resident memory of a process, from /proc (Linux). */
export async function residentKb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  if (match === null) throw new Error(`/proc/${pid}/status has no VmRSS`);
  return Number(match[1]);
}

/**
 * Memory without and with idle connections. Of PostgreSQL, which has a process a connection, the
 * private memory of all its processes is counted; shared buffers are left out.
 */
export async function idleMemory(side: Side, connections: number): Promise<IdleMemory> {
  const { pid } = side;
  if (pid === undefined) throw new Error(`the process of ${side.name} is not known`);
  const measure = async (): Promise<number> => {
    await sleep(SETTLE_MS);
    return side.name === 'BraidDB' ? residentKb(pid) : privateKbOfChildren(pid);
  };
  const idleKb = await measure();
  const withConnectionsKb = await opened(side.url, connections, measure);
  const perConnectionKb = (withConnectionsKb - idleKb) / connections;
  return { side: side.name, idleKb, connections, withConnectionsKb, perConnectionKb };
}

/** Opens connections in batches, so that no listen queue overflows. */
function opened(url: string, count: number, work: () => Promise<number>): Promise<number> {
  if (count === 0) return work();
  return withClients(url, Math.min(count, BATCH), async (clients) => {
    await Promise.all(clients.map((client) => client.query('SELECT 1')));
    return opened(url, count - clients.length, work);
  });
}

async function privateKbOfChildren(pid: number): Promise<number> {
  let total = 0;
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    const parent = /^PPid:\s+(\d+)$/m.exec(status)?.[1];
    if (entry !== String(pid) && parent !== String(pid)) continue;
    total += Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  }
  return total;
}
