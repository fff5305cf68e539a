/**
 * `npm run pack -- --build --out DIR`: builds and packs what users install.
 *
 * Makes a tarball of `@braiddb/sdk`, of each package in this folder, and of one package for each
 * binary. `--build` builds the binary of each platform whose tools are installed (see `build.mjs`).
 * `--binary PATH` is one for this machine, `--binary linux-arm64-gnu=PATH` one for another. Binaries
 * are stripped. Only their packages become optional dependencies of `@braiddb/server`.
 *
 * | option | meaning |
 * |---|---|
 * | `--out DIR` | the folder of the tarballs |
 * | `--build` | builds all platforms that this machine can build; prints what the others need |
 * | `--platform NAME` | builds this one only, and fails if it cannot; may be repeated |
 * | `--plan` | only prints what `--build` would build |
 * | `--binary [PLATFORM=]PATH` | a server binary that exists; may be repeated |
 * | `--repository URL` | written into each package |
 * | `--built` | packs the `dist` folders as they are, without a build |
 * | `--quick` | compresses the binary less: for tests |
 */

import {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';

import { buildPackages, must, run, top } from '../../examples/iot-worker/steps.mjs';
import { buildBinaries, stripPrograms } from './build.mjs';

/** The packages with sources, in the order in which they are built. */
const PACKAGES = [
  ...['server', 'kysely', 'drizzle', 'knex', 'typeorm', 'prisma'],
  ...['opentelemetry', 'queue'],
];
const FOLDERS = ['sdk', ...PACKAGES.map((name) => `sdk/packages/${name}`)];

/** ELF's number of each processor. */
const MACHINES = { x64: 62, arm64: 183 };

/** Bytes of a binary in which the name of its loader is. */
const HEADER_BYTES = 4096;

const print = (line) => process.stdout.write(`${line}\n`);
const manifestOf = (folder) => JSON.parse(readFileSync(join(top, folder, 'package.json'), 'utf8'));

function readArguments() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      binary: { type: 'string', multiple: true, default: [] },
      build: { type: 'boolean', default: false },
      platform: { type: 'string', multiple: true, default: [] },
      plan: { type: 'boolean', default: false },
      repository: { type: 'string' },
      built: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  });
  if (values.out === undefined && !values.plan) throw new Error('--out DIR is missing');
  // Both say what to build.
  if (values.platform.length > 0 || values.plan) values.build = true;
  return values;
}

/** Refuses a name that is no platform. */
function checkPlatform(name, { PLATFORMS }) {
  if (Object.hasOwn(PLATFORMS, name)) return;
  throw new Error(`${name} is none of ${Object.keys(PLATFORMS).join(', ')}`);
}

/** The platforms and paths of `--binary`. */
function readBinaries(given, platforms) {
  return given.map((text) => {
    const [, name, path] = /^(?:([\w-]+)=)?(.+)$/.exec(text);
    const platform = name ?? platforms.thisPlatform();
    checkPlatform(platform, platforms);
    return { platform, path };
  });
}

/** Adds the facts of each binary's platform; refuses a binary of another one, and a second one. */
function checkBinaries(found, { PLATFORMS }) {
  const names = found.map(({ platform }) => platform);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`there are two binaries for ${twice}`);
  for (const { platform, path } of found) checkBinary(path, platform, PLATFORMS[platform]);
  return found.map((binary) => ({ ...binary, ...PLATFORMS[binary.platform] }));
}

/** Refuses a binary of another processor or C library. */
function checkBinary(path, platform, { cpu, libc }) {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  readSync(file, header, 0, HEADER_BYTES, 0);
  closeSync(file);
  if (header.toString('latin1', 0, 4) !== '\x7fELF') throw new Error(`${path} is no ELF binary`);
  const loader = /\/ld-(musl|linux)/.exec(header.toString('latin1'))?.[1];
  const found = loader === undefined ? libc : loader === 'musl' ? 'musl' : 'glibc';
  if (header.readUInt16LE(18) !== MACHINES[cpu] || found !== libc) {
    throw new Error(`${path} is no binary for ${platform}`);
  }
}

/** The fields of a manifest that are of no use to those who install the package. */
const OWN_FIELDS = ['private', 'scripts', 'devDependencies'];

/** What all packages have in common. */
function common(manifest, folder, repository) {
  const kept = Object.entries(manifest).filter(([name]) => !OWN_FIELDS.includes(name));
  const rest = Object.fromEntries(kept);
  if (repository === undefined) return rest;
  return { ...rest, repository: { type: 'git', url: repository, directory: folder } };
}

/** Packs a folder; returns the name of the tarball. */
async function pack(stage, out) {
  copyFileSync(join(top, 'LICENSE'), join(stage, 'LICENSE'));
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
  const printed = await must('npm', args, { cwd: stage, capture: 'stdout' });
  return printed.trim().split('\n').at(-1);
}

/** Packs a folder as `npm pack` does, but with little compression: a tenth of the time. */
async function packQuickly(stage, out, { name, version }) {
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
  copyFileSync(join(top, 'LICENSE'), join(stage, 'LICENSE'));
  renameSync(stage, join(`${stage}-tar`, 'package'));
  const archive = join(`${stage}-tar`, 'all.tar');
  await must('tar', ['-C', `${stage}-tar`, '-cf', archive, 'package'], { capture: true });
  const to = createWriteStream(join(out, file));
  await pipeline(createReadStream(archive), createGzip({ level: 1 }), to);
  return file;
}

/** Packs a package with sources. */
async function packSources(folder, { out, scratch, repository, binaries, packageOf }) {
  const manifest = common(manifestOf(folder), folder, repository);
  const stage = join(scratch, folder.replaceAll('/', '-'));
  mkdirSync(stage);
  for (const name of manifest.files) {
    const from = join(top, folder, name);
    if (existsSync(from)) cpSync(from, join(stage, name), { recursive: true });
  }
  if (manifest.name === '@braiddb/server' && binaries.length > 0) {
    const names = binaries.map(({ platform }) => [packageOf(platform), manifest.version]);
    manifest.optionalDependencies = Object.fromEntries(names);
  }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return pack(stage, out);
}

/** Copies a binary without its symbols; false if no program can do it. */
async function strip(binary, target) {
  for (const program of stripPrograms(binary)) {
    const { code } = await run(program, ['-s', '-o', target, binary.path], { capture: true });
    if (code === 0) return true;
  }
  return false;
}

/** Packs the binary of a platform. */
async function packBinary(binary, { out, scratch, repository, packageOf, quick }) {
  const { platform, path, os, cpu, libc } = binary;
  const stage = join(scratch, platform);
  const target = join(stage, 'bin', 'braid');
  mkdirSync(join(stage, 'bin'), { recursive: true });
  if (!(await strip(binary, target))) {
    print(`${platform}: not stripped: install llvm-strip, or binutils for ${cpu}`);
    copyFileSync(path, target);
  }
  chmodSync(target, 0o755);
  const { version, license, engines } = manifestOf('sdk/packages/server');
  const described = {
    name: packageOf(platform),
    version,
    description: `The server binary of BraidDB for ${platform}; installed by @braiddb/server`,
    ...{ license, engines, os: [os], cpu: [cpu], libc: [libc], preferUnplugged: true },
    files: ['bin'],
  };
  const manifest = common(described, 'server', repository);
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(stage, 'README.md'), `# ${manifest.name}\n\n${manifest.description}.\n`);
  if (!quick) return pack(stage, out);
  mkdirSync(`${stage}-tar`);
  return packQuickly(stage, out, manifest);
}

async function main() {
  const { out: given, repository, built, quick, ...wanted } = readArguments();
  const { plan: isPlan, platform: only } = wanted;
  if (!built) await buildPackages(FOLDERS.map((folder) => manifestOf(folder).name));
  const platforms = await import('./server/dist/platforms.js');
  for (const name of only) checkPlatform(name, platforms);
  const host = platforms.thisPlatform();
  const settings = { platforms: platforms.PLATFORMS, host, only, isPlan, print };
  const own = wanted.build ? await buildBinaries(settings) : [];
  if (isPlan) return;
  const binaries = checkBinaries([...readBinaries(wanted.binary, platforms), ...own], platforms);
  await packAll(given, { repository, binaries, quick, packageOf: platforms.packageOf });
}

/** Packs everything; prints the paths of the tarballs. */
async function packAll(given, options) {
  const out = resolve(given);
  mkdirSync(out, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'braiddb-pack-'));
  const settings = { ...options, out, scratch };
  try {
    const sources = FOLDERS.map((folder) => packSources(folder, settings));
    const packed = options.binaries.map((one) => packBinary(one, settings));
    for (const name of await Promise.all([...sources, ...packed])) print(join(out, name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`pack: ${error.message}\n`);
  process.exitCode = 1;
});
