/**
 * Starts the servers that the tests run against, once for all test files.
 *
 * BraidDB: the one at BRAID_TEST_URL, else the binary at BRAID_BINARY or
 * `target/release/braid`, if it has been built, in a folder
 * of its own. The TiKV stand-in: BRAID_STANDIN, else `target/debug/tikv-standin`. PostgreSQL or CockroachDB: the one at POSTGRES_URL, if that is set.
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { TestProject } from 'vitest/node';

import { startServer } from '../../examples/iot-worker/server.mjs';

declare module 'vitest' {
  interface ProvidedContext {
    braidUrl: string | undefined;
    postgresUrl: string | undefined;
    /** The server binary, where one has been built: for tests that kill servers of their own. */
    braidBinary: string | undefined;
    /** The TiKV stand-in, where it has been built: for tests of several gateways. */
    standIn: string | undefined;
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
  project.provide('standIn', existsSync(standIn) ? standIn : undefined);

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
