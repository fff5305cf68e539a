// The tools' programs against a fresh server: `node server/braid/tests/tools/run.mjs [TOOL…]`.
// A folder with a program of one of the languages in harness/runtimes.mjs is a tool. Programs that
// it needs besides are in its needs.txt.
//
// BRAID_BINARY        the server to start; target/release/braid unless set
// POSTGRES_URL        if set, each program runs there too, and both must print the same lines;
//                     else its output is compared with expected.txt, recorded from PostgreSQL
// UPDATE_GOLDENFILES  if 1, records expected.txt from PostgreSQL
// CI                  if "true", a runtime that cannot be made ready is a failure, not a skip
//
// missing.txt lists the steps that differ on BraidDB for one known reason. Such a step must differ,
// and must show the listed error: a step that begins to pass fails the run until its line goes.
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { compare, missingOf } from './harness/compare.mjs';
import { lacking } from './harness/needs.mjs';
import { run, strict } from './harness/process.mjs';
import { prepare, runtimeOf } from './harness/runtimes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const binary =
  process.env.BRAID_BINARY ??
  fileURLToPath(new URL('../../../../target/release/braid', import.meta.url));
const postgresUrl = process.env.POSTGRES_URL;
const recording = process.env.UPDATE_GOLDENFILES === '1';

/** Milliseconds after which a program is stopped. */
const PROGRAM_TIMEOUT_MS = 120_000;

/** Variables that make the output of every program alike. */
const plain = { TZ: 'UTC', NO_COLOR: '1' };

const scratch = mkdtempSync(join(tmpdir(), 'braid-tools-'));
const copy = join(scratch, 'tools');
let server;

const print = (text) => process.stdout.write(`${text}\n`);

/** Starts the server on an empty folder; resolves to its SQL address. */
async function startServer() {
  const listen = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', '--log', 'warn'];
  server = spawn(binary, ['start', '--data', join(scratch, 'data'), ...listen], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const failed = new Promise((_, reject) => server.once('error', reject));
  const ready = (async () => {
    for await (const line of createInterface({ input: server.stdout })) {
      const [, url] = /^sql: *(\S+)/.exec(line) ?? [];
      if (url) return url;
    }
    throw new Error('the server ended before it was ready');
  })();
  return Promise.race([ready, failed]);
}

async function install() {
  cpSync(here, copy, { recursive: true });
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel', 'error'];
  const { code, errors } = await run('npm', args, { cwd: copy });
  return code === 0 ? undefined : errors.trim();
}

/** Runs a tool's program in an empty database of its own; resolves to what it printed. */
async function runProgram({ tool, runtime }, url, database) {
  const { default: pg } = await import(join(copy, 'node_modules/pg/lib/index.js'));
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${database}`);
    const own = new URL(url);
    own.pathname = `/${database}`;
    const [command, ...args] = runtime.command(copy, tool);
    const result = await run(command, args, {
      cwd: join(copy, tool),
      env: { ...process.env, DATABASE_URL: own.href, ...plain, ...runtime.env(copy) },
      timeout: PROGRAM_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    return result;
  } finally {
    await admin.end();
  }
}

/** Runs one tool on the targets; returns the complaints. */
async function check({ tool, runtime }, braidUrl) {
  const database = `tools_${tool.replaceAll('-', '_')}_${process.pid}`;
  const file = join(here, tool, 'expected.txt');
  const [braid, postgres] = await Promise.all([
    runProgram({ tool, runtime }, braidUrl, database),
    postgresUrl && runProgram({ tool, runtime }, postgresUrl, database),
  ]);
  const complaints = [];
  for (const [target, result] of Object.entries({ BraidDB: braid, PostgreSQL: postgres })) {
    if (result && result.code !== 0) {
      complaints.push(`the program on ${target} ended with ${result.code}`, result.errors.trim());
    }
  }
  if (postgres && recording) writeFileSync(file, postgres.output);
  const expected = postgres ? postgres.output : readFileSync(file, 'utf8');
  if (postgres && expected !== readFileSync(file, 'utf8')) {
    complaints.push('PostgreSQL prints other lines than expected.txt: record it again');
  }
  return [...complaints, ...compare(tool, expected, braid.output)];
}

/** The tools of the command line, all if there are none, each with its runtime. */
function chosenTools() {
  const chosen = process.argv.slice(2);
  const all = readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ tool: name, runtime: runtimeOf(readdirSync(join(here, name))) }))
    .filter(({ runtime }) => runtime !== undefined);
  const unknown = chosen.find((name) => !all.some(({ tool }) => tool === name));
  if (unknown) throw new Error(`no tool has the name ${unknown}`);
  return chosen.length === 0 ? all : all.filter(({ tool }) => chosen.includes(tool));
}

/** Runs one tool and prints its result; resolves to "ok", "failed" or "skipped". */
async function report({ tool, runtime }, braidUrl) {
  const started = Date.now();
  const lack = await lacking(join(here, tool));
  const unready = lack ? undefined : await prepare(runtime, copy);
  const problem = lack ?? unready;
  if (problem) {
    const why = unready ? `no ${runtime.name}: ${problem.text}` : problem.text;
    print(`${problem.skip ? 'skipped' : 'FAILED'} ${tool}: ${why}`);
    return problem.skip ? 'skipped' : 'failed';
  }
  const complaints = await check({ tool, runtime }, braidUrl);
  const known = missingOf(tool).size;
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const note = known === 0 ? '' : `, but for ${known} steps in missing.txt`;
  print(`${complaints.length === 0 ? 'ok' : 'FAILED'} ${tool} (${seconds}s${note})`);
  for (const complaint of complaints) print(`  ${complaint}`);
  return complaints.length === 0 ? 'ok' : 'failed';
}

async function main() {
  if (!existsSync(binary))
    throw new Error(`no server at ${binary}; build it: cargo build --release --bin braid`);
  if (recording && !postgresUrl) throw new Error('UPDATE_GOLDENFILES needs POSTGRES_URL');
  const chosen = chosenTools();
  const problem = await install();
  if (problem && strict) throw new Error(`npm install failed: ${problem}`);
  if (problem) {
    return print(`skipped tools: npm install failed: ${problem.split('\n')[0]}`);
  }
  const braidUrl = await startServer();
  const results = { ok: 0, failed: 0, skipped: 0 };
  for (const tool of chosen) {
    results[await report(tool, braidUrl)] += 1;
    if (server.exitCode !== null) throw new Error('the server died under the tools');
  }
  const { ok, failed, skipped } = results;
  if (failed > 0) throw new Error(`tools: ${failed} of ${chosen.length} failed`);
  print(`tools: ${ok} passed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
}

try {
  await main();
} catch (error) {
  print(`FAILED: ${error.message}`);
  process.exitCode = 1;
} finally {
  if (server && server.exitCode === null) {
    server.kill();
    await new Promise((resolve) => server.once('exit', resolve));
  }
  rmSync(scratch, { recursive: true, force: true });
}
