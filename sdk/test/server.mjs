/** The server's tests: builds them with cargo, runs each test binary and sums up what they say. */

import { basename, dirname } from 'node:path';

import { run } from '../../examples/iot-worker/steps.mjs';

/** Topics that run over TiKV as they do over the embedded store. */
export const ON_EVERY_STORE = [
  'sql::golden',
  'transactions::histories',
  'transactions::workload',
  'transactions::crash',
  'schema::check_table',
  'schema::online_index',
  'schema::online_interleave',
  'fairness',
];

/** Topics that run over TiKV in their small size only: what they show depends little on the store. */
export const BRIEFLY_OVER_TIKV = [
  'transactions::commit_tokens',
  'transactions::conflicts',
  'sql::errors',
  'schema::foreign_keys',
  'transactions::groups',
  'plans::insert_plans',
  'sql::interleaved_joins',
  'plans::literal_plans',
  'transactions::lock_waits',
  'schema::online_foreign_key',
  'plans::predictions',
  'schema::range_delete',
  'transactions::sessions',
  'sql::slt',
  'sql::wire',
];

/** Number of the slowest tests that are printed. */
const SLOWEST_SHOWN = 10;

/** Sums of test binaries: how many tests passed, failed and were ignored, and how long each took. */
class Sums {
  passed = 0;
  failed = 0;
  ignored = 0;
  /** Names of the tests that failed. */
  failures = [];
  /** Name and seconds of each test. */
  times = [];
  /** Programs that ended with an error, whatever they printed. */
  broken = [];

  /** Adds what a program of the test harness printed. */
  add(title, code, output) {
    for (const line of output.matchAll(/(\d+) passed; (\d+) failed; (\d+) ignored/g)) {
      this.passed += Number(line[1]);
      this.failed += Number(line[2]);
      this.ignored += Number(line[3]);
    }
    for (const line of output.matchAll(/^test (\S+)(?: - should panic)? \.\.\. FAILED/gm)) {
      this.failures.push(`${title} ${line[1]}`);
    }
    for (const line of output.matchAll(/^test (\S+).* <([\d.]+)s>$/gm)) {
      this.times.push({ name: `${title} ${line[1]}`, seconds: Number(line[2]) });
    }
    if (code !== 0) this.broken.push(`${title} ended with ${code}`);
  }

  /** The sums in words; throws with them if anything failed. */
  outcome() {
    const text = `${this.passed} passed, ${this.failed} failed, ${this.ignored} ignored`;
    if (this.broken.length > 0) {
      throw new Error([text, ...this.failures, ...this.broken].join('\n     '));
    }
    return text;
  }

  /** The slowest tests, a line each. */
  slowest() {
    const slowest = this.times.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
    return slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }
}

/** The tests over TiKV, and `further` topics: the sums in words. */
export async function testsOverTikv(binary, further = []) {
  const env = { BRAID_TEST_STORE: 'tikv' };
  const texts = [];
  const failures = [];
  for (const run of [
    { only: [...further, ...ON_EVERY_STORE], env },
    { only: BRIEFLY_OVER_TIKV, env: { ...env, BRAID_TEST_SIZE: 'small' } },
  ]) {
    // PostgreSQL is the same whatever store the server has.
    await serverTests(binary, { ...run, skip: 'on_postgres' }).then(
      (text) => texts.push(text),
      (error) => failures.push(error.message),
    );
  }
  if (failures.length > 0) throw new Error([...texts, ...failures].join('\n     '));
  return texts.join('; in their small size ');
}

/**
 * Builds the server and all test binaries, without optimization of our own crates. Always the whole
 * workspace: fewer crates would have other features, so they would be built again.
 *
 * @returns {Promise<{ server: string, binaries: { executable: string, folder: string,
 *   isIntegration: boolean, title: string }[] }>}
 */
export async function buildServerTests() {
  const args = ['test', '--workspace', '--no-run', '--message-format=json-render-diagnostics'];
  const { code, output } = await run('cargo', args, { capture: 'stdout' });
  if (code !== 0) throw new Error('the tests do not compile');
  const built = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ reason, executable }) => reason === 'compiler-artifact' && executable !== null);
  const server = built.find(({ profile, target }) => !profile.test && target.name === 'braid');
  const binaries = built
    .filter(({ profile }) => profile.test)
    .map(({ executable, manifest_path: manifest, target }) => ({
      executable,
      folder: dirname(manifest),
      isIntegration: target.kind.includes('test'),
      title: `${basename(dirname(manifest))}/${target.name}`,
    }))
    .toSorted((a, b) => a.title.localeCompare(b.title));
  return { server: server.executable, binaries };
}

/**
 * Runs the tests of all crates, or those of these topics of the integration tests (beginnings of
 * test names); the sum in words.
 *
 * The tests that start a server start `binary`.
 */
export async function serverTests(binary, { only = [], skip, env = {} } = {}) {
  const sums = new Sums();
  // The harness reports the time of each test to nightly compilers only; the variable asks anyway.
  const settings = { BRAID_BIN: binary, RUSTC_BOOTSTRAP: '1', ...env };
  const topics = only.map((topic) => `${topic}::`);
  const skipped = skip === undefined ? [] : ['--skip', skip];
  const args = [...topics, ...skipped, '-Zunstable-options', '--report-time'];
  const { binaries } = await buildServerTests();
  for (const { executable, folder, isIntegration, title } of binaries) {
    if (only.length > 0 && !isIntegration) continue;
    process.stdout.write(`   ${title}\n`);
    const options = { cwd: folder, env: settings, onOutput: () => undefined };
    const { code, output } = await run(executable, args, options);
    sums.add(title, code, output);
  }
  if (only.length === 0) {
    const { code, output } = await run('cargo', ['test', '--workspace', '--doc'], {
      env: { BRAID_BIN: binary, ...env },
      onOutput: () => undefined,
    });
    sums.add('examples in the documentation', code, output);
  }
  process.stdout.write(`\n   The slowest tests:\n`);
  for (const line of sums.slowest()) process.stdout.write(`   ${line}\n`);
  return sums.outcome();
}
