/** Which tools build the binary of a platform, and what is said where they are missing. */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Machine, Missing, Toolchain } from '../../build.mjs';
import { findToolchain, stripPrograms } from '../../build.mjs';
import type { Platform } from '../src/platforms.js';
import { PLATFORMS, thisPlatform } from '../src/platforms.js';
import { top } from './labelled.js';
import { run } from './run.js';

const isBuilt = existsSync(join(top, 'sdk/packages/server/dist/platforms.js'));

/** A machine with these programs, and the standard library for these targets. */
function machine(
  programs: readonly string[],
  { targets = [], env = {}, cpu = 'x64' }: Partial<Machine> & { targets?: string[] } = {},
): Machine {
  return {
    ...{ platform: 'linux', cpu, env },
    hasProgram: (name) => programs.includes(name),
    hasStandardLibrary: (target) => targets.includes(target),
  };
}

const ALL_TARGETS = Object.values(PLATFORMS).map(({ target }) => target);

function platformOf(name: string): Platform {
  const platform = PLATFORMS[name];
  if (platform === undefined) throw new Error(`there is no platform ${name}`);
  return platform;
}

function find(name: string, given: Machine, host = 'linux-x64-gnu'): Toolchain | Missing {
  return findToolchain(platformOf(name), given, name === host);
}

describe('the tools that build a binary', () => {
  it('are those of the machine for its own platform', () => {
    expect(find('linux-x64-gnu', machine(['cargo', 'cc']))).toEqual({ command: 'build', env: {} });
    expect(find('linux-x64-gnu', machine(['cargo']))).toEqual({
      missing: 'install a C compiler (cc)',
    });
    expect(find('linux-x64-gnu', machine(['cc']))).toEqual({
      missing: 'install Rust 1.90 or later',
    });
  });

  it('are a compiler on the PATH for another platform', () => {
    const programs = ['cargo', 'cc', 'aarch64-linux-gnu-gcc', 'musl-gcc', 'zig', 'cargo-zigbuild'];
    const given = machine(programs, { targets: ALL_TARGETS });
    expect(find('linux-arm64-gnu', given)).toEqual({
      command: 'build',
      env: {
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER: 'aarch64-linux-gnu-gcc',
        CC_aarch64_unknown_linux_gnu: 'aarch64-linux-gnu-gcc',
      },
    });
    // What musl-gcc links ends with SIGSEGV as it starts.
    expect(find('linux-x64-musl', given)).toEqual({
      command: 'build',
      env: {
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER: 'cc',
        CC_x86_64_unknown_linux_musl: 'musl-gcc',
      },
    });
    // musl-gcc compiles for the machine only, so zig does this one.
    expect(find('linux-arm64-musl', given)).toEqual({ command: 'zigbuild', env: {} });
  });

  it('are those that the environment names', () => {
    const env = {
      CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER: 'my-linker',
      CC_aarch64_unknown_linux_musl: 'my-compiler',
    };
    const given = machine(['cargo', 'cc'], { env, targets: ALL_TARGETS });
    expect(find('linux-arm64-musl', given)).toEqual({ command: 'build', env });
  });

  it('are named where they are missing', () => {
    const bare = machine(['cargo', 'cc']);
    expect(find('linux-arm64-gnu', bare)).toEqual({
      missing:
        'run "rustup target add aarch64-unknown-linux-gnu", and install aarch64-linux-gnu-gcc ' +
        '(Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross), ' +
        'or zig and cargo-zigbuild',
    });
    const withLibraries = machine(['cargo', 'cc'], { targets: ALL_TARGETS });
    expect(find('linux-x64-musl', withLibraries)).toEqual({
      missing: 'install musl-gcc (Debian: apt-get install musl-tools), or zig and cargo-zigbuild',
    });
    expect(find('linux-arm64-musl', withLibraries)).toEqual({
      missing: 'install aarch64-linux-musl-gcc, or zig and cargo-zigbuild',
    });
    const zigOnly = machine(['cargo', 'cc', 'zig', 'cargo-zigbuild']);
    expect(find('linux-x64-musl', zigOnly)).toEqual({
      missing: 'run "rustup target add x86_64-unknown-linux-musl"',
    });
  });

  it('strip with a program that knows the processor', () => {
    const given = machine(['strip', 'llvm-strip', 'aarch64-linux-gnu-strip']);
    const strips = (name: string): string[] => stripPrograms(platformOf(name), given);
    expect(strips('linux-x64-musl')).toEqual(['strip', 'llvm-strip']);
    expect(strips('linux-arm64-gnu')).toEqual(['aarch64-linux-gnu-strip', 'llvm-strip']);
  });
});

describe.skipIf(!isBuilt || thisPlatform() !== 'linux-x64-gnu')('npm run pack -- --build', () => {
  const pack = (args: readonly string[], path: string): Promise<string> =>
    run(process.execPath, ['sdk/packages/pack.mjs', '--built', ...args], {
      ...{ cwd: top, env: { PATH: path } },
    });

  it('has a line for each platform, and fails for one that was asked for', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braiddb-tools-'));
    // This Rust has no standard library of another platform.
    for (const name of ['cargo', 'cc', 'rustc']) {
      await writeFile(join(folder, name), '#!/bin/sh\nexit 1\n');
      await chmod(join(folder, name), 0o755);
    }
    const lines = (await pack(['--plan'], folder)).trim().split('\n');
    expect(lines).toEqual([
      'linux-x64-gnu: cargo build for x86_64-unknown-linux-gnu',
      expect.stringMatching(/^linux-arm64-gnu: not built: run "rustup target add aarch64-/),
      expect.stringMatching(/^linux-x64-musl: not built: run "rustup target add x86_64-/),
      expect.stringMatching(/^linux-arm64-musl: not built: run "rustup target add aarch64-/),
    ]);
    const wanted = ['--platform', 'linux-arm64-gnu', '--out', join(folder, 'out')];
    await expect(pack(wanted, folder)).rejects.toThrow('pack: linux-arm64-gnu: not built: run');
    const unknown = ['--platform', 'linux-mips-gnu', '--out', join(folder, 'out')];
    await expect(pack(unknown, folder)).rejects.toThrow('linux-mips-gnu is none of linux-x64-gnu');
    await rm(folder, { recursive: true });
  });
});
