import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: { '@braiddb/sdk': fileURLToPath(new URL('src/index.ts', import.meta.url)) },
  },
  test: {
    globalSetup: ['test/setup.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
