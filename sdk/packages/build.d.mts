/** Types of `build.mjs`, for its tests. */

import type { Platform } from './server/src/platforms.js';

/** What is known about a machine that builds. */
export interface Machine {
  /** As `process.platform`. */
  readonly platform: string;
  /** As `process.arch`. */
  readonly cpu: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a program is on the PATH. */
  hasProgram(name: string): boolean;
  /** Whether Rust's standard library for a target is installed. */
  hasStandardLibrary(target: string): boolean;
}

/** How to build for a platform. */
export interface Toolchain {
  /** The command of cargo. */
  readonly command: 'build' | 'zigbuild';
  /** Variables for cargo: the C compiler and the linker. */
  readonly env: Readonly<Record<string, string>>;
}

/** What to install, in words. */
export interface Missing {
  readonly missing: string;
}

export function findToolchain(
  platform: Platform,
  machine: Machine,
  isHost: boolean,
): Toolchain | Missing;

export function stripPrograms(platform: Platform, machine?: Machine): string[];
