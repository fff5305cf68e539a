/**
 * `npm test`: every test of the server, the SDK, the examples and the bench, and nothing left out
 * silently. Works in a fresh clone with Rust, Node and npm; uses nothing but Node itself.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  buildPackages,
  buildServer,
  install,
  must,
  run,
  step,
  top,
} from '../../examples/iot-worker/steps.mjs';
import { buildServerTests, serverTests, testsOverTikv } from './server.mjs';

/** Whether this run is of the default size: see `server/TESTING.md`. */
const isSmall = ['small', ''].includes(process.env.BRAID_TEST_SIZE ?? '');
/** Name and outcome of each part, for the summary. */
const parts = [];
const print = (line) => process.stdout.write(`   ${line}\n`);

/** Runs one part; a failure is noted and the next part still runs. */
async function part(name, work) {
  const outcome = { name, ok: false, text: 'failed' };
  parts.push(outcome);
  try {
    await step(name, async () => {
      outcome.text = (await work()) ?? 'passed';
      outcome.ok = true;
    });
  } catch (error) {
    outcome.text = `failed: ${error.message}`;
    print(outcome.text);
  }
}

/** The tests of one npm package, against the server that has just been built. */
async function packageTests(folder, binary) {
  const scratch = await mkdtemp(join(tmpdir(), 'braid-tests-'));
  const report = join(scratch, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const { code } = await run('npx', ['vitest', 'run', '--root', folder, ...reporters], {
      env: { BRAID_BINARY: binary },
    });
    const found = JSON.parse(await readFile(report, 'utf8'));
    const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = found;
    const text = `${passed} passed, ${failed} failed, ${skipped} skipped`;
    if (code !== 0) throw new Error(text);
    return text;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function main() {
  const startMs = performance.now();
  process.stdout.write(`Testing everything in ${top}\n`);
  await step('npm packages', async () => {
    if (!(await install())) print('already installed');
  });
  const { server } = await step('server and its tests (cargo test --no-run)', buildServerTests);
  // The larger sizes are long for a server that is built without optimization.
  const binary = isSmall
    ? server
    : await step('server binary (cargo build --release --bin braid)', buildServer);
  await step('SDK, example and bench (tsc)', () =>
    buildPackages(['@braiddb/sdk', 'iot-worker', '@braiddb/bench']),
  );

  await part('types', () => must('npm', ['run', '--silent', 'typecheck']).then(() => 'passed'));
  await part('lint and format', () =>
    must('npm', ['run', '--silent', 'lint']).then(() => 'passed'),
  );
  await part('SDK', () => packageTests('sdk', binary));
  await part('example iot-worker', () => packageTests('examples/iot-worker', binary));
  await part('server (cargo test --workspace)', () => serverTests(binary));
  await part('server over TiKV (the stand-in, or TIKV_PD)', () => testsOverTikv(binary));

  const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
  process.stdout.write(`\nAll parts, in ${minutes} minutes:\n`);
  for (const { name, ok, text } of parts) {
    process.stdout.write(`  ${ok ? 'ok    ' : 'FAILED'}  ${name}: ${text}\n`);
  }
  if (process.env.POSTGRES_URL === undefined) {
    print('POSTGRES_URL is not set: the same tests did not run on PostgreSQL.');
  }
  if (!parts.every((one) => one.ok)) process.exitCode = 1;
}

main().catch((error) => {
  process.stdout.write(`\nStopped: ${error.message}\n`);
  process.exitCode = 1;
});
