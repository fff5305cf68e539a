/** The server binary that the tests run, or the reason to skip them. */

import { existsSync, readFileSync } from 'node:fs';

import { describe, inject, it } from 'vitest';

import type {} from '../../../test/setup.js';

/** Describes tests that start servers; says so where no binary has been built. */
export function withBinary(title: string, tests: (binary: string) => void): void {
  const binary = inject('braidBinary');
  describe(title, () => {
    if (binary === undefined) {
      it.skip('no server: build it (cargo build --release --bin braid)');
    } else {
      tests(binary);
    }
  });
}

/** Whether a process of this id runs; one that has ended may still wait for its parent. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) [ZX] /.test(readFileSync(stat, 'latin1'));
}
