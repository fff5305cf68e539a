import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: { '@braiddb/sdk': fileURLToPath(new URL('../../sdk/src/index.ts', import.meta.url)) },
  },
  test: {
    globalSetup: ['../../sdk/test/setup.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
