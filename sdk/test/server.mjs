/** The server's tests: cargo, and the sum of what its test binaries say. */

import { run } from '../../examples/iot-worker/steps.mjs';

/** Tests that run over TiKV as they do over the embedded store. */
export const ON_EVERY_STORE = [
  'golden',
  'histories',
  'workload',
  'crash',
  'check_table',
  'fairness',
  'online_index',
  'online_interleave',
];

/** Tests that run over TiKV in their small size only: what they show depends little on the store. */
export const BRIEFLY_OVER_TIKV = [
  'commit_tokens',
  'conflicts',
  'errors',
  'foreign_keys',
  'groups',
  'insert_plans',
  'interleaved_joins',
  'literal_plans',
  'lock_waits',
  'online_foreign_key',
  'predictions',
  'range_delete',
  'sessions',
  'slt',
  'wire',
];

/** The tests over TiKV, and `further` ones: the sums in words. */
export async function testsOverTikv(binary, further = []) {
  const env = { BRAID_TEST_STORE: 'tikv' };
  const texts = [];
  const failures = [];
  for (const run of [
    { only: [...further, ...ON_EVERY_STORE], env },
    { only: BRIEFLY_OVER_TIKV, env: { ...env, BRAID_TEST_SIZE: 'small' } },
  ]) {
    await serverTests(binary, run).then(
      (text) => texts.push(text),
      (error) => failures.push(error.message),
    );
  }
  if (failures.length > 0) throw new Error([...texts, ...failures].join('\n     '));
  return texts.join('; in their small size ');
}

/**
 * Runs the tests of all crates, or those of that name; the sum in words.
 *
 * The tests that start a server take that binary: the corpus is long for a debug build.
 */
export async function serverTests(binary, { only = [], env = {} } = {}) {
  const totals = { passed: 0, failed: 0, ignored: 0 };
  // Always the whole workspace: fewer crates would be built with other features, so anew.
  const targets = only.flatMap((name) => ['--test', name]);
  const args = ['test', '--workspace', '--no-fail-fast', ...targets];
  const { code, output } = await run('cargo', args, {
    onOutput: () => undefined,
    env: { BRAID_BIN: binary, ...env },
  });
  for (const line of output.matchAll(/(\d+) passed; (\d+) failed; (\d+) ignored/g)) {
    totals.passed += Number(line[1]);
    totals.failed += Number(line[2]);
    totals.ignored += Number(line[3]);
  }
  const text = `${totals.passed} passed, ${totals.failed} failed, ${totals.ignored} ignored`;
  if (code !== 0) {
    const failed = [...output.matchAll(/^test (\S+) \.\.\. FAILED/gm)].map((line) => line[1]);
    throw new Error([text, ...failed].join('\n     '));
  }
  return text;
}
