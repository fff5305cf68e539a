/** Runs the tests of npm packages. Uses nothing but Node. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from '../../examples/iot-worker/steps.mjs';

/** Name and message of each test and file that failed, as the report of vitest has them. */
function failures({ testResults }) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [`${name}: ${message}`] : [];
    return failed.map((test) => `${test.fullName}\n${test.failureMessages.join('\n')}`);
  });
}

/**
 * The tests of one npm package, against a server binary; their sums in words. The cause of an error is a
 * list of what failed.
 *
 * @param {string} folder
 * @param {string} binary
 * @param {Record<string, string>} [env] further variables, such as `BRAID_TEST_STORE`
 * @param {string[]} [files] words in the paths of the test files that run; all unless given
 */
export async function packageTests(folder, binary, env = {}, files = []) {
  const scratch = await mkdtemp(join(tmpdir(), 'braid-tests-'));
  const report = join(scratch, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const { code } = await run('npx', ['vitest', 'run', '--root', folder, ...reporters, ...files], {
      env: { BRAID_BINARY: binary, ...env },
      prefix: `${folder}${env.BRAID_TEST_STORE === 'tikv' ? ' over TiKV' : ''} | `,
    });
    const found = JSON.parse(await readFile(report, 'utf8'));
    const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = found;
    const text = `${passed} passed, ${failed} failed, ${skipped} skipped`;
    if (code !== 0) throw new Error(text, { cause: failures(found) });
    return text;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
