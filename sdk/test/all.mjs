/**
 * `npm test`: every test of the server, the SDK, the examples and the bench, and nothing left out
 * silently. Works in a fresh clone with Rust, Node and npm; uses nothing but Node itself.
 */

import {
  buildPackages,
  buildServer,
  install,
  run,
  step,
  top,
} from '../../examples/iot-worker/steps.mjs';
import { Lanes } from './lanes.mjs';
import { packageTests } from './packages.mjs';
import { buildServerTests, isSmall, LANES, serverTests, testsOverTikv } from './server.mjs';

/** Name and outcome of each part, for the summary. */
const parts = [];
const print = (line) => process.stdout.write(`   ${line}\n`);

/** The kills and jobs of the queue's kill test are fewer over TiKV: each kill waits for a lease. */
const QUEUE_OVER_TIKV = { BRAID_TEST_STORE: 'tikv', QUEUE_JOBS: '50', QUEUE_KILLS: '3' };

/** The queue's tests over TiKV. The others hardly see the store; `npm run test:tikv` runs them. */
const QUEUE_FILES_OVER_TIKV = ['test/kill.test.ts', ...(isSmall ? [] : ['test/queue.test.ts'])];

/** Kills, rows and calls of the small size, where a test has a variable for them. */
const SMALL = {
  KILL_ROUNDS: '3',
  LEAK_CALLS: '2000',
  QUEUE_KILLS: '3',
  QUEUE_ROWS: '4000',
  STOP_ROUNDS: '5',
};

/** The failures of a part that the end of the output repeats, and the lines of each. */
const REPEATED = { failures: 5, lines: 12 };

/** Repeats what failed: it stands far above, between the lines of other parts. */
function repeatFailures() {
  for (const { name, failures = [] } of parts) {
    for (const text of failures.slice(0, REPEATED.failures)) {
      process.stdout.write(`\n== failed in ${name}\n`);
      for (const line of text.split('\n').slice(0, REPEATED.lines)) print(line);
    }
  }
}

/** Runs one part, perhaps beside others; a failure is noted and the other parts still run. */
async function part(name, work) {
  const outcome = { name, ok: false, text: 'failed' };
  parts.push(outcome);
  const startMs = performance.now();
  try {
    outcome.text = (await work()) ?? 'passed';
    outcome.ok = true;
  } catch (error) {
    outcome.text = `failed: ${error.message}`;
    outcome.failures = Array.isArray(error.cause) ? error.cause : [];
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(`\n== ${name}: ${outcome.text} (after ${seconds} s)\n`);
}

/** What runs beside cargo makes way for it: crates wait for each other, so a core is idle at times. */
const BESIDE_CARGO = { niceness: 10 };
/** What may run beside tests of moments and time limits makes more way. */
const BESIDE_TIMING = { niceness: 19 };

/** A part that is one program and makes way for others. */
function program(name, command, ...args) {
  return part(name, async () => {
    const { code } = await run(command, args, { ...BESIDE_TIMING, prefix: `${name} | ` });
    if (code !== 0) throw new Error(`ended with ${code}`);
  });
}

/** The npm packages, others' and ours. */
async function packages() {
  if (!(await install())) print('npm packages: already installed');
  const libraries = ['kysely', 'drizzle', 'knex', 'typeorm', 'prisma'];
  const names = ['sdk', 'server', ...libraries, 'opentelemetry', 'queue'];
  const published = names.map((name) => `@braiddb/${name}`);
  const banks = ['drizzle-bank', 'knex-bank', 'typeorm-bank'];
  const examples = ['iot-worker', 'fastify-kysely', 'ledger', 'test-suite', ...banks];
  const own = [...examples, '@braiddb/bench'];
  await buildPackages([...published, ...own], BESIDE_CARGO);
}

/** What needs the packages and no server. */
async function checks() {
  await Promise.all([
    program('types', 'npm', 'run', '--silent', 'typecheck'),
    program('documents', 'node', 'server/docs/.vitepress/check.mjs'),
  ]);
}

async function main() {
  const startMs = performance.now();
  // Until every part has passed.
  process.exitCode = 1;
  process.stdout.write(`Testing everything in ${top}\n`);
  const built = packages();
  const lanes = new Lanes(LANES);
  // The small size checks while tests wait for time limits: building keeps both cores busy by itself.
  const begin = isSmall ? lanes.alone : built;
  // A failure of what comes before is reported by the step.
  const checked = begin.then(checks, () => undefined);
  const [{ server }] = await step(
    'server and its tests (cargo test --no-run); beside it npm packages',
    () => Promise.all([buildServerTests(), built]),
  );
  // The larger sizes are long for a server that is built without optimization. Unit tests run while
  // it is built.
  const binary = isSmall
    ? Promise.resolve(server)
    : step('server binary (cargo build --release --bin braid)', buildServer);
  const ofPackage = (folder, env, files) => async () => {
    const path = await binary;
    return lanes.run(() =>
      packageTests(folder, path, { ...(isSmall ? SMALL : {}), ...env }, files),
    );
  };
  await Promise.all([
    checked,
    part('server (cargo test --workspace)', () => serverTests(binary, {}, lanes)),
    // The long ones first: the last lane is not to be left with one of them.
    part('SDK', ofPackage('sdk')),
    part('queue', ofPackage('sdk/packages/queue')),
    part(
      'queue over TiKV',
      ofPackage('sdk/packages/queue', QUEUE_OVER_TIKV, QUEUE_FILES_OVER_TIKV),
    ),
    part('example iot-worker', ofPackage('examples/iot-worker')),
    part('server from npm', ofPackage('sdk/packages/server')),
    part('Kysely dialect', ofPackage('sdk/packages/kysely')),
    part('Drizzle driver', ofPackage('sdk/packages/drizzle')),
    part('Knex transactions', ofPackage('sdk/packages/knex')),
    part('TypeORM transactions', ofPackage('sdk/packages/typeorm')),
    part('Prisma adapter', ofPackage('sdk/packages/prisma')),
    part('OpenTelemetry', ofPackage('sdk/packages/opentelemetry')),
    part('example fastify-kysely', ofPackage('examples/fastify-kysely')),
    part('example ledger', ofPackage('examples/ledger')),
    part('example test-suite', ofPackage('examples/test-suite')),
    part('example drizzle', ofPackage('examples/drizzle')),
    part('example knex', ofPackage('examples/knex')),
    part('example typeorm', ofPackage('examples/typeorm')),
    part('bench pictures', ofPackage('bench')),
    part('server over TiKV (the stand-in, or TIKV_PD)', () => testsOverTikv(binary, [], lanes)),
  ]);

  const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
  process.stdout.write(`\nAll parts, in ${minutes} minutes:\n`);
  for (const { name, ok, text } of parts) {
    process.stdout.write(`  ${ok ? 'ok    ' : 'FAILED'}  ${name}: ${text}\n`);
  }
  repeatFailures();
  if (process.env.POSTGRES_URL === undefined) {
    print('POSTGRES_URL is not set: the same tests did not run on PostgreSQL.');
  }
  if (parts.every((one) => one.ok)) process.exitCode = 0;
}

main().catch((error) => {
  process.stdout.write(`\nStopped: ${error.message}\n`);
});
