/**
 * Builds the release binary of the server for each platform whose tools are installed: the part
 * `--build` of `pack.mjs`.
 *
 * ```text
 *  platform ─► Rust's standard library? ─► C compiler and linker? ─► cargo build ─► binary
 *                       └─────── no ─────────────┴─► a line that says what to install
 * ```
 *
 * The C compiler compiles the allocator and the cryptography, and links. For this machine it is
 * `cc`. For another platform it is the first of these:
 *
 * 1. `CARGO_TARGET_…_LINKER` of the environment,
 * 2. a compiler for it on the PATH, such as `aarch64-linux-gnu-gcc` or `musl-gcc`,
 * 3. `zig cc`, through cargo-zigbuild.
 */

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { buildServer, must, targetFolder } from '../../examples/iot-worker/steps.mjs';

/** What cargo and compilers call each processor of Node. */
const CPUS = { x64: 'x86_64', arm64: 'aarch64' };

/** Debian's packages with compilers. */
const DEBIAN = {
  'aarch64-linux-gnu-gcc': 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross',
  'x86_64-linux-gnu-gcc': 'gcc-x86-64-linux-gnu libc6-dev-amd64-cross',
  'musl-gcc': 'musl-tools',
};

/**
 * Looks at this machine.
 *
 * @returns {import('./build.mjs').Machine}
 */
export function thisMachine() {
  return {
    platform: process.platform,
    cpu: process.arch,
    env: process.env,
    hasProgram: (name) => hasProgram(name, process.env.PATH ?? ''),
    hasStandardLibrary,
  };
}

/** Whether a folder of the PATH has a program. */
function hasProgram(name, path) {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether Rust's standard library for a target is installed, with rustup or without. */
function hasStandardLibrary(target) {
  const args = ['--print', 'target-libdir', '--target', target];
  const { status, stdout } = spawnSync('rustc', args, { encoding: 'utf8' });
  return status === 0 && existsSync(stdout.trim());
}

/**
 * How to build for a platform on a machine, or what is missing.
 *
 * @param {import('./server/dist/platforms.js').Platform} platform
 * @param {import('./build.mjs').Machine} machine
 * @param {boolean} isHost whether it is the platform of the machine
 * @returns {import('./build.mjs').Toolchain | import('./build.mjs').Missing}
 */
export function findToolchain({ cpu, libc, target }, machine, isHost) {
  if (!machine.hasProgram('cargo')) return { missing: 'install Rust 1.90 or later' };
  if (isHost) {
    if (!machine.hasProgram('cc')) return { missing: 'install a C compiler (cc)' };
    return { command: 'build', env: {} };
  }
  const missing = [];
  if (!machine.hasStandardLibrary(target)) missing.push(`run "rustup target add ${target}"`);
  const variable = `CARGO_TARGET_${target.toUpperCase().replaceAll('-', '_')}_LINKER`;
  const names = compilersOf(cpu, libc, machine);
  const compiler = machine.env[variable] ?? names.find((name) => machine.hasProgram(name));
  const hasZig = machine.hasProgram('zig') && machine.hasProgram('cargo-zigbuild');
  if (compiler === undefined && !hasZig) {
    const known = names.find((name) => name in DEBIAN);
    const debian = known === undefined ? '' : ` (Debian: apt-get install ${DEBIAN[known]})`;
    missing.push(`install ${known ?? names[0]}${debian}, or zig and cargo-zigbuild`);
  }
  if (missing.length > 0) return { missing: missing.join(', and ') };
  if (compiler === undefined) return { command: 'zigbuild', env: {} };
  // One that the caller names wins, for example for a compiler apart from the linker.
  const cc = `CC_${target.replaceAll('-', '_')}`;
  const linker = machine.env[variable] ?? linkerOf(compiler);
  const env = { [variable]: linker, [cc]: machine.env[cc] ?? compiler };
  return { command: 'build', env };
}

/** The names of C compilers for a platform, the best one first. */
function compilersOf(cpu, libc, machine) {
  if (libc === 'glibc') return [`${CPUS[cpu]}-linux-gnu-gcc`];
  // `musl-gcc` is a wrapper around the compiler of the machine.
  const own = machine.cpu === cpu && machine.platform === 'linux' ? ['musl-gcc'] : [];
  return [`${CPUS[cpu]}-linux-musl-gcc`, ...own];
}

/**
 * The linker that belongs to a compiler. Rust brings its own musl. `musl-gcc` knows nothing of
 * static position-independent binaries: what it links ends with SIGSEGV as it starts.
 */
function linkerOf(compiler) {
  return compiler === 'musl-gcc' ? 'cc' : compiler;
}

/**
 * Builds the binaries of all platforms that this machine can build, one after the other. Prints a
 * line for each of the others.
 *
 * @param {object} settings
 * @param {Record<string, import('./server/dist/platforms.js').Platform>} settings.platforms
 * @param {string} settings.host the platform of this machine
 * @param {string[]} settings.only build these and fail where one cannot be built; empty for all
 * @param {boolean} settings.isPlan only print what would be built
 * @param {(line: string) => void} settings.print
 * @returns {Promise<{ platform: string, path: string }[]>}
 */
export async function buildBinaries({ platforms, host, only, isPlan, print }) {
  const machine = thisMachine();
  const names = only.length > 0 ? only : Object.keys(platforms);
  const built = [];
  for (const name of names) {
    const toolchain = findToolchain(platforms[name], machine, name === host);
    if ('missing' in toolchain) {
      const line = `${name}: not built: ${toolchain.missing}`;
      if (only.length > 0) throw new Error(line);
      print(line);
      continue;
    }
    const { target } = platforms[name];
    print(`${name}: cargo ${toolchain.command} for ${target}`);
    if (isPlan) continue;
    const path = name === host ? await buildServer() : await build(target, toolchain);
    built.push({ platform: name, path });
  }
  return built;
}

/** Builds for another platform than this machine's. */
async function build(target, { command, env }) {
  const args = ['--release', '--bin', 'braid', '--locked', '--target', target];
  await must('cargo', [command, ...args], { env });
  return join(await targetFolder(), target, 'release', 'braid');
}

/**
 * The programs of a machine that can strip a platform's binary, the best one first.
 *
 * @param {import('./server/dist/platforms.js').Platform} platform
 * @param {import('./build.mjs').Machine} machine
 */
export function stripPrograms({ cpu }, machine = thisMachine()) {
  const own = machine.cpu === cpu ? ['strip'] : [];
  const others = [`${CPUS[cpu]}-linux-gnu-strip`, `${CPUS[cpu]}-linux-musl-strip`, 'llvm-strip'];
  return [...own, ...others].filter((name) => machine.hasProgram(name));
}
