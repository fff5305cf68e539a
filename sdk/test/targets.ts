/**
 * The servers that a test file runs against, and tables of its own on each.
 */

import { randomBytes } from 'node:crypto';

import { describe, inject, it } from 'vitest';

import type { Database } from '../src/index.js';
import { connect } from '../src/index.js';
import type {} from './setup.js';

/** One server under test. */
export interface Target {
  readonly name: string;
  readonly url: string;
}

/** Every server that was found. */
export function targets(): Target[] {
  const found: Target[] = [];
  const braid = inject('braidUrl');
  const postgres = inject('postgresUrl');
  if (braid !== undefined) found.push({ name: 'BraidDB', url: braid });
  if (postgres !== undefined) found.push({ name: 'POSTGRES_URL', url: postgres });
  return found;
}

/** Describes tests once for each server; says so where there is none. */
export function onEachServer(title: string, tests: (target: Target) => void): void {
  const found = targets();
  if (found.length === 0) {
    describe(title, () => {
      it.skip('no server: build it (cargo build --release --bin braid) or set POSTGRES_URL');
    });
  }
  for (const target of found) {
    describe(`${title} on ${target.name}`, () => {
      tests(target);
    });
  }
}

/** A name that no other test uses. */
export function freshName(prefix: string): string {
  return `${prefix}_${randomBytes(6).toString('hex')}`;
}

/** A statement that runs for half a minute unless it is cancelled. */
export async function slowStatement(url: string): Promise<string> {
  await using db: Database = await connect(url);
  const known = await db.query`SELECT pg_sleep(0)`.then(
    () => true,
    () => false,
  );
  if (known) return 'SELECT pg_sleep(30)';
  return 'SELECT count(*) FROM generate_series(1, 2000000000)';
}

/** TCP connections that this process has open. */
export function socketCount(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
