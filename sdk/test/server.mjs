/**
 * The server's tests: builds them with cargo once, runs the test binaries side by side and sums up what
 * they print.
 */

import { basename, dirname } from 'node:path';

import { run } from '../../examples/iot-worker/steps.mjs';
import { Lanes } from './lanes.mjs';

/** Topics that run over TiKV as they do over the embedded store. */
export const ON_EVERY_STORE = [
  'sql::golden',
  'transactions::histories',
  'transactions::workload',
  'transactions::crash',
  'schema::check_table',
  'fairness',
];

/** Topics that run over TiKV in their small size only: what they show depends little on the store. */
export const BRIEFLY_OVER_TIKV = [
  'transactions::commit_tokens',
  'transactions::conflicts',
  'schema::foreign_keys',
  'transactions::groups',
  'transactions::lock_waits',
  'schema::online_foreign_key',
  'schema::online_index',
  'schema::online_interleave',
  'schema::range_delete',
  'transactions::sessions',
];

/** The same, for the larger sizes of the whole: plans and answers that hardly see the store. */
const SELDOM_OVER_TIKV = [
  'sql::errors',
  'plans::insert_plans',
  'sql::interleaved_joins',
  'plans::literal_plans',
  'plans::predictions',
  'sql::slt',
  'sql::wire',
];

/**
 * What the small size leaves out over TiKV: scripts and tests that hardly see the store, or whose topic
 * has others that run. The larger sizes run them.
 */
const OF_ANY_STORE = [
  ...[
    'catalog::',
    'collations::',
    'constraints::',
    'ddl::',
    'errors::',
    'expressions::',
    'functions::',
    'grantors::',
    'materialized::',
    'partitions::',
    'policies::',
    'queries::',
    'routines::',
    'session::',
    'temporary::',
    'triggers::',
    'types::',
    'braid::access_paths',
    'braid::bounds_and_filters',
    'braid::build_sides',
    'braid::changes_by_subquery',
    'braid::char_bounds',
    'braid::collations_refused',
    'braid::correlated_aggregates',
    'braid::explain',
    'braid::few_values',
    'braid::first_matches',
    'braid::first_rows',
    'braid::inverted_index_plans',
    'braid::join_order',
    'braid::json_paths',
    'braid::layout',
    'braid::memory_limit',
    'braid::not_in',
    'braid::not_yet',
    'braid::offset_of_index',
    'braid::partial_index_plans',
    'braid::partition_pruning',
    'braid::settings_of_all',
    'braid::show',
    'braid::spans_of_or',
    'braid::statement_statistics',
    'braid::system_columns',
    'braid::text_search_plans',
    'braid::time_bounds',
    'braid::unique_semi_joins',
  ].map((name) => `golden::on_braid::${name}`),
  'schema::foreign_keys::',
  'schema::online_foreign_key::',
  'schema::online_index::',
  'schema::online_interleave::',
  'schema::range_delete::range_deletes_are_the_same_as_row_by_row',
];

/** Whether this run is of the default size: see `server/docs/testing.md`. */
export const isSmall = ['small', ''].includes(process.env.BRAID_TEST_SIZE ?? '');

/** Programs of tests at a time: many tests wait for a server, a lock or a pause and leave a core idle. */
export const LANES = 3;

/**
 * Binaries of tests of moments and time limits: they run beside nothing else. Most of the time they wait
 * for a limit, so several run at a time.
 */
const ALONE = ['braid/timing'];
const ALONE_THREADS = '5';

/** The binary that takes longest: it takes the first free lane. */
const LONGEST = 'braid/it';

/** Tests of it at a time. Several wait a minute for a lease that ends, so two would leave both cores idle. */
const LONGEST_THREADS = '4';

/**
 * Topics of it that wait for a lease or a commit for most of their time. They begin first, beside the
 * lanes: at the end they would leave both cores idle.
 */
const WAITING = ['transactions::dropped::', 'transactions::reruns::'];

/** The variable with the number of a binary's tests at a time, where it differs from the number of cores. */
function threadsOf(title) {
  if (ALONE.includes(title)) return { RUST_TEST_THREADS: ALONE_THREADS };
  if (title === LONGEST) return { RUST_TEST_THREADS: LONGEST_THREADS };
  return {};
}

/** Number of the slowest tests that are printed. */
const SLOWEST_SHOWN = 10;

/** What the test harness prints again of a test that failed. */
const FAILURE = /^---- (\S+) stdout ----\n([^]*?)\n\n(?=---- |failures:)/gm;

/** Sums of test binaries: how many tests passed, failed and were ignored, and how long each took. */
class Sums {
  passed = 0;
  failed = 0;
  ignored = 0;
  /** Names of the tests that failed. */
  failures = [];
  /** Name and output of each test that failed. */
  messages = [];
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
    for (const [, name, text] of output.matchAll(FAILURE)) {
      this.messages.push(`${title} ${name}\n${text.split('stack backtrace:')[0].trim()}`);
    }
    if (code !== 0) this.broken.push(`${title} ended with ${code}`);
  }

  /** The sums in words; throws with them if anything failed, with the messages as the cause. */
  outcome() {
    const text = `${this.passed} passed, ${this.failed} failed, ${this.ignored} ignored`;
    if (this.broken.length > 0) {
      const all = [text, ...this.failures, ...this.broken].join('\n     ');
      throw new Error(all, { cause: this.messages });
    }
    return text;
  }

  /** The slowest tests, a line each. */
  slowest() {
    const slowest = this.times.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
    return slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
  }
}

/**
 * The tests over TiKV, and `further` topics: the sums in words.
 *
 * @param {Promise<string> | string} binary the server that the tests start
 */
export async function testsOverTikv(binary, further = [], lanes = new Lanes(LANES)) {
  const env = { BRAID_TEST_STORE: 'tikv' };
  const always = [...further, ...ON_EVERY_STORE];
  // In the small size both lists are of that size: one run of each binary does for both.
  const runs = isSmall
    ? [
        {
          only: [...always, ...BRIEFLY_OVER_TIKV],
          skip: OF_ANY_STORE,
          env,
        },
      ]
    : [
        { only: always, env },
        {
          only: [...BRIEFLY_OVER_TIKV, ...SELDOM_OVER_TIKV],
          env: { ...env, BRAID_TEST_SIZE: 'small' },
        },
      ];
  // PostgreSQL is the same whatever store the server has.
  const outcomes = await Promise.allSettled(
    runs.map((one) =>
      serverTests(
        binary,
        { ...one, skip: ['on_postgres', ...(one.skip ?? [])], label: ' over TiKV' },
        lanes,
      ),
    ),
  );
  const texts = outcomes.map(({ value, reason }) => value ?? reason.message);
  if (outcomes.some(({ status }) => status === 'rejected')) {
    const cause = outcomes.flatMap(({ reason }) => reason?.cause ?? []);
    throw new Error(texts.join('\n     '), { cause });
  }
  return texts.join('; in their small size ');
}

let built;

/**
 * Builds the server and all test binaries, without optimization of our own crates; once, however often
 * it is called. Always the whole workspace: fewer crates would have other features, so they would be
 * built again.
 *
 * @returns {Promise<{ server: string, binaries: { executable: string, folder: string,
 *   isIntegration: boolean, title: string }[] }>}
 */
export function buildServerTests() {
  return (built ??= build());
}

async function build() {
  const args = ['test', '--workspace', '--no-run', '--message-format=json-render-diagnostics'];
  const { code, output } = await run('cargo', args, { capture: 'stdout' });
  if (code !== 0) throw new Error('the tests do not compile');
  const artifacts = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ reason, executable }) => reason === 'compiler-artifact' && executable !== null);
  const server = artifacts.find(({ profile, target }) => !profile.test && target.name === 'braid');
  const binaries = artifacts
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
 * The tests that start a server start `binary`. Unit tests and examples start none: they run while
 * `binary` is still being built.
 */
export async function serverTests(
  binary,
  { only = [], skip = [], env = {}, label = '' } = {},
  lanes = new Lanes(LANES),
) {
  const sums = new Sums();
  const topics = only.map((topic) => `${topic}::`);
  const skipping = (names) => names.flatMap((name) => ['--skip', name]);
  const args = [...topics, ...skipping(skip), '-Zunstable-options', '--report-time'];
  const { server, binaries } = await buildServerTests();
  const settings = (path) => {
    // The harness reports the time of each test to nightly compilers only; the variable asks anyway.
    return { BRAID_BIN: path, RUSTC_BOOTSTRAP: '1', ...env };
  };
  const runOne = async ({ executable, folder, title }, path, further = []) => {
    const prefix = `${title}${label} | `;
    const threads = threadsOf(title);
    const { code, output } = await run(executable, [...further, ...args], {
      cwd: folder,
      env: { ...settings(path), ...threads },
      prefix,
    });
    sums.add(`${title}${label}`, code, output);
  };
  const units = only.length > 0 ? [] : binaries.filter(({ isIntegration }) => !isIntegration);
  const running = units.map((unit) => lanes.run(() => runOne(unit, server)));
  if (only.length === 0) running.push(lanes.run(() => runDocExamples(sums, server, env)));
  const path = await binary;
  for (const one of binaries.filter(({ isIntegration }) => isIntegration)) {
    const work = () => runOne(one, path);
    if (ALONE.includes(one.title)) running.push(lanes.runAlone(work));
    else if (one.title !== LONGEST) running.push(lanes.run(work));
    else if (only.length > 0) running.push(lanes.runNext(work));
    else {
      running.push(runOne(one, path, WAITING));
      running.push(lanes.runNext(() => runOne(one, path, skipping(WAITING))));
    }
  }
  await Promise.all(running);
  process.stdout.write(`\n   The slowest tests${label}:\n`);
  for (const line of sums.slowest()) process.stdout.write(`   ${line}\n`);
  return sums.outcome();
}

async function runDocExamples(sums, server, env) {
  const { code, output } = await run('cargo', ['test', '--workspace', '--doc'], {
    env: { BRAID_BIN: server, ...env },
    prefix: 'examples | ',
  });
  sums.add('examples in the documentation', code, output);
}
