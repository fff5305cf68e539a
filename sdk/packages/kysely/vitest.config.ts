import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      '@braiddb/sdk/wrap': source('../../src/wrap/index.ts'),
      '@braiddb/sdk': source('../../src/index.ts'),
      '@braiddb/kysely': source('src/index.ts'),
    },
  },
  test: {
    globalSetup: ['../../test/setup.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
