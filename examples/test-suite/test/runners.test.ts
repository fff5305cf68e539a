/** Runs the tests in each runner, as `npm test` of a team would do. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, inject, it } from 'vitest';

import { jestProgram, run } from '../../../sdk/packages/server/test/run.js';
import type {} from '../../../sdk/test/setup.js';

const folder = fileURLToPath(new URL('..', import.meta.url));
const vitest = join(folder, '../../node_modules/vitest/vitest.mjs');
const jest = jestProgram();
const binary = inject('braidBinary');
// The suites import the built packages, as those of a user do.
const isBuilt = existsSync(join(folder, 'dist/shop.js'));
const isMissing = binary === undefined || !isBuilt;
if (isMissing) process.stdout.write('skipped: the suites need the server and npm run build\n');

/** What a runner prints in the folder of the example. */
function runSuite(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const own = { BRAIDDB_BINARY: binary ?? '', NO_COLOR: '1', ...env };
  return run(process.execPath, args, { cwd: folder, env: own });
}

describe.skipIf(isMissing)('the same three tests', () => {
  it('pass in vitest', async () => {
    expect(await runSuite([vitest, 'run', '--root', 'test/vitest'])).toMatch(/Tests +3 passed/);
  });

  it('pass in node:test', async () => {
    expect(await runSuite(['--test', 'test/node/shop.test.mjs'])).toMatch(/pass 3\n/);
  });

  it.skipIf(jest === undefined)('pass in jest, where it is installed', async () => {
    const args = [jest ?? '', '--config', 'test/jest/jest.config.mjs'];
    const options = { NODE_OPTIONS: '--experimental-vm-modules' };
    expect(await runSuite(args, options)).toMatch(/Tests: +3 passed/);
  });
});
