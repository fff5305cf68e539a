/**
 * Finds the server binary: the one of `BRAIDDB_BINARY`, else the one of this platform's package.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

import { BinaryNotFoundError } from './errors.js';
import { packageOf, PLATFORMS, thisPlatform } from './platforms.js';

const require = createRequire(import.meta.url);

/**
 * The path of the server binary. The environment variable `BRAIDDB_BINARY` wins over the installed
 * package.
 *
 * Fails with a {@link BinaryNotFoundError} if there is none for this machine.
 *
 * @example
 * ```ts
 * import { BinaryNotFoundError, findBinary } from '@braiddb/server';
 * try {
 *   console.assert(findBinary() !== '');
 * } catch (error) {
 *   console.assert(error instanceof BinaryNotFoundError); // its message says how to build one
 * }
 * ```
 */
export function findBinary(): string {
  const given = process.env.BRAIDDB_BINARY;
  const platform = thisPlatform();
  if (given !== undefined && given !== '') {
    const path = resolve(given);
    if (existsSync(path)) return path;
    throw new BinaryNotFoundError(platform, `BRAIDDB_BINARY names ${path}, where no file is`);
  }
  const found = installedBinary(platform);
  if (found !== undefined) return found;
  throw new BinaryNotFoundError(platform, advice(platform));
}

function installedBinary(platform: string): string | undefined {
  if (!Object.hasOwn(PLATFORMS, platform)) return undefined;
  let manifest: string;
  try {
    manifest = require.resolve(`${packageOf(platform)}/package.json`);
  } catch {
    return undefined; // not installed
  }
  const path = join(dirname(manifest), 'bin', 'braid');
  return existsSync(path) ? path : undefined;
}

function advice(platform: string): string {
  const missing = Object.hasOwn(PLATFORMS, platform)
    ? `the package ${packageOf(platform)} is not installed (is npm's "omit" set to "optional"?)`
    : `there is no package for ${platform}`;
  return [
    `no BraidDB server for this machine: ${missing}.`,
    'Build one from the sources of BraidDB, with Rust, and name it:',
    '  cargo build --release --bin braid',
    '  export BRAIDDB_BINARY=$PWD/target/release/braid',
  ].join('\n');
}
