/**
 * `npm run pack -- --binary target/release/braid --out DIR`: packs what users install.
 *
 * Makes a tarball of `@braiddb/sdk`, of each package in this folder, and of one package for each
 * binary: `--binary PATH` for this machine, `--binary linux-arm64-gnu=PATH` for another. The binary
 * is stripped. Only packages whose binary is given become optional dependencies of `@braiddb/server`.
 *
 * | option | meaning |
 * |---|---|
 * | `--out DIR` | the folder of the tarballs |
 * | `--binary [PLATFORM=]PATH` | a server binary; may be repeated |
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
      repository: { type: 'string' },
      built: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  });
  if (values.out === undefined) throw new Error('--out DIR is missing');
  return values;
}

/** The platforms and paths of `--binary`. */
function readBinaries(given, { PLATFORMS, thisPlatform }) {
  return given.map((text) => {
    const [, name, path] = /^(?:([\w-]+)=)?(.+)$/.exec(text);
    const platform = name ?? thisPlatform();
    if (!Object.hasOwn(PLATFORMS, platform)) {
      throw new Error(`${platform} is none of ${Object.keys(PLATFORMS).join(', ')}`);
    }
    checkBinary(path, platform, PLATFORMS[platform]);
    return { platform, path, ...PLATFORMS[platform] };
  });
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

/** Packs the binary of a platform. */
async function packBinary(binary, { out, scratch, repository, packageOf, quick }) {
  const { platform, path, os, cpu, libc } = binary;
  const stage = join(scratch, platform);
  const target = join(stage, 'bin', 'braid');
  mkdirSync(join(stage, 'bin'), { recursive: true });
  const { code } = await run('strip', ['-s', '-o', target, path], { capture: true }).catch(() => ({
    code: 1,
  }));
  if (code !== 0) {
    print(`${platform}: not stripped (is a strip for this processor installed?)`);
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
  const { out: given, binary, repository, built, quick } = readArguments();
  if (!built) await buildPackages(FOLDERS.map((folder) => manifestOf(folder).name));
  const platforms = await import('./server/dist/platforms.js');
  const binaries = readBinaries(binary, platforms);
  const out = resolve(given);
  mkdirSync(out, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'braiddb-pack-'));
  const { packageOf } = platforms;
  const settings = { out, scratch, repository, binaries, packageOf, quick };
  try {
    const sources = FOLDERS.map((folder) => packSources(folder, settings));
    const packed = binaries.map((one) => packBinary(one, settings));
    for (const name of await Promise.all([...sources, ...packed])) print(join(out, name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`pack: ${error.message}\n`);
  process.exitCode = 1;
});
