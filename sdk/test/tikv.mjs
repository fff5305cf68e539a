/**
 * `npm run test:tikv`: what runs over TiKV, on the cluster that `TIKV_PD=host:port` names (one of its
 * PD members), or on the stand-in of the tests: the tests of the server and of the queue. `BRAID_BIN`
 * is the server, else the release build.
 * With `TIKV_BIN=folder`, which has `pd-server` and `tikv-server`, the tests that disturb a cluster
 * start a real one as well.
 */

import { buildPackages, buildServer, step } from '../../examples/iot-worker/steps.mjs';
import { packageTests } from './packages.mjs';
import { testsOverTikv } from './server.mjs';

/** The rules of the stand-in, the tests of kv-tikv, and those of several gateways. */
const OF_TIKV = [
  'rules',
  'shared',
  'rough',
  'gc',
  'range_deletes',
  'disturbed',
  'dead_gateway',
  'gateways',
  'taken_over',
  'transactions::dropped',
];

async function main() {
  const { BRAID_BIN, TIKV_PD } = process.env;
  const place = TIKV_PD === undefined ? 'the stand-in (TIKV_PD is not set)' : TIKV_PD;
  process.stdout.write(`Testing over ${place}\n`);
  const binary =
    BRAID_BIN ?? (await step('server binary (cargo build --release --bin braid)', buildServer));
  const text = await step('server tests', () => testsOverTikv(binary, OF_TIKV));
  process.stdout.write(`   ${text}\n`);
  const queue = await step('queue, by two gateways', async () => {
    await buildPackages(['@braiddb/sdk', '@braiddb/queue']);
    return packageTests('sdk/packages/queue', binary, { BRAID_TEST_STORE: 'tikv' });
  });
  process.stdout.write(`   ${queue}\n`);
}

main().catch((error) => {
  process.stdout.write(`\nFailed: ${error.message}\n`);
  process.exitCode = 1;
});
