/** Where the binary is looked for, and what is said where there is none. */

import { join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { BinaryNotFoundError, findBinary } from '../src/index.js';
import { PLATFORMS, thisPlatform } from '../src/platforms.js';
import { top } from './labelled.js';

describe('findBinary', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('takes the file that BRAIDDB_BINARY names', () => {
    vi.stubEnv('BRAIDDB_BINARY', join(top, 'package.json'));
    expect(findBinary()).toBe(join(top, 'package.json'));
    vi.stubEnv('BRAIDDB_BINARY', '/nowhere/braid');
    expect(() => findBinary()).toThrow('BRAIDDB_BINARY names /nowhere/braid, where no file is');
  });

  it('says how to build one where no package is installed', () => {
    vi.stubEnv('BRAIDDB_BINARY', '');
    // The repository has no package with a binary: that is made by `npm run pack`.
    expect(() => findBinary()).toThrow(BinaryNotFoundError);
    expect(() => findBinary()).toThrow('cargo build --release --bin braid');
  });

  it('knows the platform of this machine', () => {
    expect(thisPlatform()).toMatch(new RegExp(`^${process.platform}-${process.arch}`));
    if (process.platform === 'linux') expect(thisPlatform()).toMatch(/-(gnu|musl)$/);
    for (const [name, { os, cpu, libc }] of Object.entries(PLATFORMS)) {
      expect(name).toBe(`${os}-${cpu}-${libc === 'glibc' ? 'gnu' : libc}`);
    }
  });

  it.runIf(process.platform === 'linux')('knows musl from glibc by the report of Node', () => {
    const getReport = vi.spyOn(process.report, 'getReport');
    try {
      // What Node reports on Debian, and on Alpine.
      getReport.mockReturnValueOnce({ header: { glibcVersionRuntime: '2.36' } });
      expect(thisPlatform()).toBe(`linux-${process.arch}-gnu`);
      getReport.mockReturnValueOnce({ header: {} });
      expect(thisPlatform()).toBe(`linux-${process.arch}-musl`);
      expect(getReport).toHaveBeenCalledTimes(2);
    } finally {
      getReport.mockRestore();
    }
  });
});
