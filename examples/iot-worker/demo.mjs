/**
 * `npm run demo`: from a fresh clone to real events in tables, with one command. BRAID_BINARY names a
 * server that is built already, such as an optimized one.
 */

import { buildDebugServer, buildPackages, install, step } from './steps.mjs';
import { startServer } from './server.mjs';

const print = (line) => process.stdout.write(`   ${line}\n`);

/** Whoever builds in half the time should know what the figures are worth. */
const NOT_OPTIMIZED =
  'The server was built without optimization; BRAID_BINARY=target/release/braid is several times as fast.\n';

async function main() {
  await step('1/5 npm packages', async () => {
    if (!(await install())) print('already installed');
  });
  const binary = await step(
    '2/5 server (cargo build, without optimization; minutes the first time)',
    async () => process.env.BRAID_BINARY ?? (await buildDebugServer()),
  );
  await step('3/5 SDK and example', () =>
    buildPackages(['@braiddb/sdk', '@braiddb/queue', 'iot-worker']),
  );

  const server = await step('4/5 starting the server on an empty folder', async () => {
    const started = await startServer(binary);
    print(`sql:  ${started.url}`);
    print(`http: ${started.http}`);
    return started;
  });
  let result;
  try {
    result = await step('5/5 weather of Seattle: HTTP, queue, readings', async () => {
      const { runDemo } = await import('./dist/demo.js');
      return runDemo(server.url, print);
    });
  } finally {
    const code = await server.stop();
    print(`server stopped (exit code ${code})`);
  }

  const { events, sentTwice, dead, seconds, eventsPerSecond } = result;
  const readable = (value) => Math.round(value).toLocaleString('en-US');
  process.stdout.write(`
Every one of ${readable(events)} events is stored exactly once; ${readable(sentTwice)} were sent twice on purpose.
${readable(dead)} more that no table takes are among the dead letters, with the reason.
${readable(eventsPerSecond)} events a second, from the first request to the last reading (${seconds.toFixed(1)} s).
${process.env.BRAID_BINARY === undefined ? NOT_OPTIMIZED : ''}
Where to look next:
  examples/iot-worker/src/jobs.ts    the queue, and why nothing is lost or doubled
  examples/iot-worker/src/tables.ts  the SQL: interleaved tables, families, retention
  sdk/README.md                      the SDK in one page
  README.md                          a session with psql, and how to run everything else
  server/ARCHITECTURE.md             how the server works
  npm test                           all tests
`);
}

main().catch((error) => {
  process.stdout.write(`\nThe demo failed: ${error.stack ?? error}\n`);
  process.exitCode = 1;
});
