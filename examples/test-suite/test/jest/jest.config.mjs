export default {
  globalSetup: './start.mjs',
  globalTeardown: './stop.mjs',
  testMatch: ['**/*.test.mjs'],
  transform: {},
};
