import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      '@braiddb/sdk': source('../../src/index.ts'),
      '@braiddb/server/tools': source('src/tools/index.ts'),
      '@braiddb/server': source('src/index.ts'),
    },
  },
  test: {
    globalSetup: ['../../test/setup.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most of them wait for a process.
    maxWorkers: 2,
  },
});
