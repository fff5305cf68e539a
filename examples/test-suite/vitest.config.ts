import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['../../sdk/test/setup.ts'],
    include: ['test/runners.test.ts'],
    testTimeout: 60_000,
  },
});
