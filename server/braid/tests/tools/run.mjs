// The tools' programs against a fresh server: `node server/braid/tests/tools/run.mjs [TOOL…]`.
//
// BRAID_BINARY        the server to start; target/release/braid unless set
// POSTGRES_URL        if set, each program runs there too, and both must print the same lines;
//                     else its output is compared with expected.txt, recorded from PostgreSQL
// UPDATE_GOLDENFILES  if 1, records expected.txt from PostgreSQL
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

const here = fileURLToPath(new URL('.', import.meta.url));
const binary =
  process.env.BRAID_BINARY ??
  fileURLToPath(new URL('../../../../target/release/braid', import.meta.url));
const postgresUrl = process.env.POSTGRES_URL;
const recording = process.env.UPDATE_GOLDENFILES === '1';

/** Milliseconds after which a program is stopped. */
const PROGRAM_TIMEOUT_MS = 60_000;
/** Lines of a difference that are shown for each step. */
const SHOWN_LINES_MAX = 6;

const scratch = mkdtempSync(join(tmpdir(), 'braid-tools-'));
const copy = join(scratch, 'tools');
let server;

const print = (text) => process.stdout.write(`${text}\n`);

/** Runs a program to its end; resolves to its exit code and output. */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal, output, errors }));
  });
}

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
async function runProgram(tool, url, database) {
  const { default: pg } = await import(join(copy, 'node_modules/pg/lib/index.js'));
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${database}`);
    const own = new URL(url);
    own.pathname = `/${database}`;
    const result = await run('node', ['program.mjs'], {
      cwd: join(copy, tool),
      env: { ...process.env, DATABASE_URL: own.href, TZ: 'UTC', NO_COLOR: '1' },
      timeout: PROGRAM_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    return result;
  } finally {
    await admin.end();
  }
}

/** The output by steps: `== name` begins one. */
function steps(output) {
  const found = new Map();
  let lines = [];
  for (const line of output.trimEnd().split('\n')) {
    if (line.startsWith('== ')) found.set(line.slice(3), (lines = []));
    else lines.push(line);
  }
  return found;
}

/** The lines of missing.txt for a tool: step → the error that the step must show. */
function missingOf(tool) {
  const found = new Map();
  for (const line of readFileSync(join(here, 'missing.txt'), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name, step, thing, error] = line.split('|').map((part) => part.trim());
    if (!error) throw new Error(`missing.txt: four columns expected: ${line}`);
    if (name === tool) found.set(step, { thing, error });
  }
  return found;
}

/** Compares step by step; returns the complaints. */
function compare(tool, expected, actual) {
  const complaints = [];
  const missing = missingOf(tool);
  const wanted = steps(expected);
  const got = steps(actual);
  for (const step of missing.keys()) {
    if (!wanted.has(step)) complaints.push(`missing.txt names "${step}", which is no step`);
  }
  for (const [step, lines] of wanted) {
    const shown = got.get(step) ?? ['(the step was not reached)'];
    const known = missing.get(step);
    const different = lines.join('\n') !== shown.join('\n');
    if (known && !different)
      complaints.push(`"${step}" passes now: take its line out of missing.txt`);
    if (known && different && !shown.some((line) => line.includes(known.error))) {
      complaints.push(`"${step}" does not fail with ${known.error} (${known.thing}):`, ...shown);
    }
    if (!known && different) complaints.push(`"${step}" differs:`, ...differences(lines, shown));
  }
  return complaints;
}

function differences(wanted, got) {
  const lines = [
    ...wanted
      .filter((line) => !got.includes(line))
      .slice(0, SHOWN_LINES_MAX)
      .map((line) => `  PostgreSQL: ${line}`),
    ...got
      .filter((line) => !wanted.includes(line))
      .slice(0, SHOWN_LINES_MAX)
      .map((line) => `  BraidDB:    ${line}`),
  ];
  return lines.length === 0 ? ['  the same lines in another order'] : lines;
}

/** Runs one tool on the targets; returns the complaints. */
async function check(tool, braidUrl) {
  const database = `tools_${tool.replaceAll('-', '_')}_${process.pid}`;
  const file = join(here, tool, 'expected.txt');
  const [braid, postgres] = await Promise.all([
    runProgram(tool, braidUrl, database),
    postgresUrl && runProgram(tool, postgresUrl, database),
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

async function main() {
  if (!existsSync(binary))
    throw new Error(`no server at ${binary}; build it: cargo build --release --bin braid`);
  if (recording && !postgresUrl) throw new Error('UPDATE_GOLDENFILES needs POSTGRES_URL');
  const problem = await install();
  if (problem) {
    return print(`skipped tools: npm install failed: ${problem.split('\n')[0]}`);
  }
  const braidUrl = await startServer();
  const all = readdirSync(here).filter((name) => existsSync(join(here, name, 'program.mjs')));
  const chosen = process.argv.length > 2 ? process.argv.slice(2) : all;
  let failures = 0;
  for (const tool of chosen) {
    const started = Date.now();
    const complaints = await check(tool, braidUrl);
    const known = missingOf(tool).size;
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const note = known === 0 ? '' : `, but for ${known} steps in missing.txt`;
    print(`${complaints.length === 0 ? 'ok' : 'FAILED'} ${tool} (${seconds}s${note})`);
    for (const complaint of complaints) print(`  ${complaint}`);
    failures += complaints.length === 0 ? 0 : 1;
    if (server.exitCode !== null) throw new Error('the server died under the tools');
  }
  if (failures > 0) throw new Error(`tools: ${failures} of ${chosen.length} failed`);
  print(`tools: all ${chosen.length} passed`);
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
