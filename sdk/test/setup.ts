/**
 * Starts the servers that the tests run against, once for all test files.
 *
 * | variable | meaning |
 * |---|---|
 * | BRAID_TEST_URL | the BraidDB to test; else one is started in a folder of its own |
 * | BRAID_BINARY | the server binary; else `target/release/braid`, if it has been built |
 * | BRAID_TEST_STORE | `tikv`: two gateways over the cluster at TIKV_PD, or over the stand-in |
 * | BRAID_STANDIN | the stand-in; else `target/debug/tikv-standin`, if it has been built |
 * | POSTGRES_URL | a PostgreSQL or CockroachDB to test as well |
 */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { TestProject } from 'vitest/node';

import { startServer } from '../../examples/iot-worker/server.mjs';
import { openStore } from './tikv-store.js';

declare module 'vitest' {
  interface ProvidedContext {
    braidUrl: string | undefined;
    postgresUrl: string | undefined;
    /** The server binary, where one has been built: for tests that kill servers of their own. */
    braidBinary: string | undefined;
    /** The TiKV stand-in, where it has been built: for tests of several gateways. */
    standIn: string | undefined;
    /** A second gateway of the store that `braidUrl` has, where the tests run over TiKV. */
    secondBraidUrl: string | undefined;
    /** The store of the gateways, where the tests run over TiKV: for tests that start some. */
    braidStore: string | undefined;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = process.env.POSTGRES_URL;
  project.provide('postgresUrl', postgres === '' ? undefined : postgres);
  const binary =
    process.env.BRAID_BINARY ??
    fileURLToPath(new URL('../../target/release/braid', import.meta.url));
  const built = existsSync(binary);
  project.provide('braidBinary', built ? binary : undefined);
  // The examples of `@braiddb/server` start the same one.
  if (built) process.env.BRAIDDB_BINARY ??= resolve(binary);

  const standIn =
    process.env.BRAID_STANDIN ??
    fileURLToPath(new URL('../../target/debug/tikv-standin', import.meta.url));
  const foundStandIn = existsSync(standIn) ? standIn : undefined;
  project.provide('standIn', foundStandIn);
  project.provide('secondBraidUrl', undefined);
  project.provide('braidStore', undefined);

  if (process.env.BRAID_TEST_STORE === 'tikv') {
    if (!built) throw new Error('the tests over TiKV need the server binary');
    return overTikv(project, binary, foundStandIn);
  }
  const given = process.env.BRAID_TEST_URL;
  if (given !== undefined && given !== '') {
    project.provide('braidUrl', given);
    return () => Promise.resolve();
  }
  if (!built) {
    project.provide('braidUrl', undefined);
    return () => Promise.resolve();
  }
  const server = await startServer(binary);
  project.provide('braidUrl', server.url);
  return async () => {
    await server.stop();
  };
}

/** Starts two gateways of one store. PostgreSQL is the same whatever store BraidDB has. */
async function overTikv(
  project: TestProject,
  binary: string,
  standIn: string | undefined,
): Promise<() => Promise<void>> {
  const store = await openStore(standIn);
  const args = ['--store', `${store.url}?prefix=sdk-${randomBytes(4).toString('hex')}/`];
  const first = await startServer(binary, { args });
  const second = await startServer(binary, { args });
  project.provide('postgresUrl', undefined);
  project.provide('braidUrl', first.url);
  project.provide('secondBraidUrl', second.url);
  project.provide('braidStore', store.url);
  return async () => {
    await Promise.all([first.stop(), second.stop()]);
    store[Symbol.dispose]();
  };
}
