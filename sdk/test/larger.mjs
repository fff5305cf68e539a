/**
 * `npm run test:larger`, part of `.ci/run`: the checks by chance in their medium size, and over TiKV what
 * the small size leaves out. With the debug server of `npm test`. `BRAID_TEST_SIZE=medium npm test` runs
 * everything in that size, with a release server.
 */

import { step } from '../../examples/iot-worker/steps.mjs';
import { Lanes } from './lanes.mjs';
import { packageTests } from './packages.mjs';
import { buildServerTests, OF_ANY_STORE, SELDOM_OVER_TIKV, serverTests } from './server.mjs';

/** What more random choices, transactions and kills can find. */
const MEDIUM = [
  'dump',
  'plans::lookup_joins',
  'plans::random_conditions',
  'schema::foreign_keys',
  'schema::online_index',
  'schema::range_delete',
  'sql::random_joins',
  'sql::random_queries',
  'sql::slt',
  'sql::spill',
  'transactions::crash',
  'transactions::groups',
  'transactions::histories',
  'transactions::workload',
];

/** The same over TiKV: what depends on the store. */
const MEDIUM_OVER_TIKV = ['transactions::histories', 'transactions::workload'];

/** Tests at a time of each of the two programs that run beside each other. */
const THREADS = { RUST_TEST_THREADS: '2' };

/** The kills and jobs of the queue's kill test are few: each kill waits for a lease. */
const QUEUE_OVER_TIKV = { BRAID_TEST_STORE: 'tikv', QUEUE_JOBS: '20', QUEUE_KILLS: '1' };

async function main() {
  const { server } = await step('server and its tests', buildServerTests);
  const lanes = new Lanes(3);
  const medium = { ...THREADS, BRAID_TEST_SIZE: 'medium' };
  const tikv = { BRAID_TEST_STORE: 'tikv' };
  const parts = {
    'medium size': () => serverTests(server, { only: MEDIUM, env: medium }, lanes),
    'medium size over TiKV': async () => {
      const env = { ...medium, ...tikv };
      return serverTests(server, { only: MEDIUM_OVER_TIKV, env, label: ' over TiKV' }, lanes);
    },
    'small size over TiKV, the rest': async () => {
      const rest = { only: SELDOM_OVER_TIKV, named: OF_ANY_STORE, env: { ...THREADS, ...tikv } };
      return serverTests(server, { ...rest, label: ' over TiKV' }, lanes);
    },
    'queue over TiKV': () => {
      return lanes.run(() => packageTests('sdk/packages/queue', server, QUEUE_OVER_TIKV));
    },
  };
  const outcomes = await Promise.allSettled(Object.values(parts).map((work) => work()));
  process.stdout.write('\nThe larger sizes:\n');
  for (const [i, name] of Object.keys(parts).entries()) {
    const { status, value, reason } = outcomes[i];
    const isPassed = status === 'fulfilled';
    const text = isPassed ? (value ?? 'passed') : reason.message;
    process.stdout.write(`  ${isPassed ? 'ok    ' : 'FAILED'}  ${name}: ${text}\n`);
    for (const message of reason?.cause ?? []) process.stdout.write(`\n${message}\n`);
    if (!isPassed) process.exitCode = 1;
  }
}

main().catch((error) => {
  process.stdout.write(`\nStopped: ${error.message}\n`);
  process.exitCode = 1;
});
