/**
 * `npm start` of an example: installs and builds what is missing, then runs the example. Uses
 * nothing but Node, so that it works in a fresh clone with Rust, Node and npm.
 *
 * DATABASE_URL names a server of yours. Without it the example starts one of its own: the binary of
 * BRAIDDB_BINARY, or that of this repository, which is built if it is missing.
 */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { buildServer, install, must, run, top } from './iot-worker/steps.mjs';

/** Packages of this repository, in the order in which they are built. */
const PACKAGES = ['sdk', 'server', 'kysely', 'drizzle', 'knex', 'typeorm', 'prisma', 'queue'];

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** True if a package has been built, and its sources have not changed since. */
function isBuilt(folder) {
  const built = join(folder, 'dist/index.js');
  if (!existsSync(built)) return false;
  const { mtimeMs } = statSync(built);
  const sources = readdirSync(join(folder, 'src'), { recursive: true });
  return sources.every((name) => statSync(join(folder, 'src', name)).mtimeMs <= mtimeMs);
}

/** Installs and builds an example; returns its folder. */
export async function prepare(folder) {
  const { dependencies } = manifestOf(folder);
  await install();
  for (const name of PACKAGES) {
    const path = name === 'sdk' ? 'sdk' : `sdk/packages/${name}`;
    const isUsed = name === 'sdk' || Object.hasOwn(dependencies, `@braiddb/${name}`);
    if (!isUsed || isBuilt(join(top, path))) continue;
    await must('npm', ['run', '--silent', 'build', '--workspace', `@braiddb/${name}`]);
  }
  // An example with a lock file has packages of its own, which the repository does not install.
  const isApart = existsSync(join(folder, 'package-lock.json'));
  if (isApart && !existsSync(join(folder, 'node_modules/.package-lock.json'))) {
    await must('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder });
  }
  // Prisma generates clients without this engine, but downloads it unless it is given.
  const env = {
    PRISMA_SCHEMA_ENGINE_BINARY: process.env.PRISMA_SCHEMA_ENGINE_BINARY ?? process.execPath,
  };
  await must('npm', ['run', '--silent', 'build'], { cwd: folder, env });
  return folder;
}

/** The variable that names the server binary, unless the example needs none. */
async function binary() {
  const { DATABASE_URL, BRAIDDB_BINARY } = process.env;
  if (DATABASE_URL !== undefined || BRAIDDB_BINARY !== undefined) return {};
  const built = join(top, 'target/release/braid');
  if (existsSync(built)) return { BRAIDDB_BINARY: built };
  process.stdout.write('building the server: this takes some minutes, once\n');
  return { BRAIDDB_BINARY: await buildServer() };
}

async function main() {
  const folder = await prepare(resolve('.'));
  const env = await binary();
  // CTRL-C reaches the example too, which then ends by itself.
  process.on('SIGINT', () => undefined);
  const { code } = await run(process.execPath, ['dist/main.js'], { cwd: folder, env });
  process.exitCode = typeof code === 'number' ? code : 1;
}

if (resolve(process.argv[1]) === resolve(import.meta.filename)) {
  main().catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
