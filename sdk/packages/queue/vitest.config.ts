import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      '@braiddb/sdk': source('../../src/index.ts'),
      '@braiddb/queue': source('src/index.ts'),
    },
  },
  test: {
    globalSetup: ['../../test/setup.ts'],
    include: ['test/**/*.test.ts'],
    // Over TiKV, beside other tests, hundreds of jobs take their time.
    testTimeout: 180_000,
    hookTimeout: 60_000,
  },
});
