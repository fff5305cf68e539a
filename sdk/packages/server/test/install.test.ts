/**
 * The packages as a user gets them: packed, installed into an empty project, and a server that runs
 * there within a minute.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

import type { TestContext } from 'vitest';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { withBinary } from './binary.js';
import { labelledBlocks, top, writeBlocks } from './labelled.js';
import { cleanEnvironment, run } from './run.js';

const PRINTED_URL = 'postgresql://root@127.0.0.1:26257/defaultdb';
const REPOSITORY = 'git+https://example.org/braiddb.git';
/** Milliseconds that everything may take, from `npm i` to the output of the program. */
const ALL_MAX_MS = 60_000;
/** What npm reports where it cannot reach the registry. */
const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|ENETUNREACH/;
const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries=0'];

/** `npx braiddb start`. */
interface Started {
  readonly npx: ChildProcess;
  /** The address for SQL. */
  readonly url: string;
  /** Resolves when npx has ended. */
  readonly ended: Promise<unknown>;
}

/** Whether this Node loads ES modules by `require`. */
function requiresModules(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major === 20) return minor >= 19;
  return major === 22 ? minor >= 12 : major > 22;
}

/** Whether something listens at the address of a URL. */
function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    for (const [event, answer] of [
      ['connect', true],
      ['error', false],
    ] as const) {
      socket.once(event, () => {
        socket.destroy();
        resolve(answer);
      });
    }
  });
}

withBinary('the packed packages', (binary) => {
  let folder = '';
  let tarballs: string[] = [];
  let project = '';
  let unreachable: string | undefined;
  let installMs = 0;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'braiddb-install-'));
    project = join(folder, 'project');
    await mkdir(project);
    const isBuilt = existsSync(join(top, 'sdk/packages/server/dist/platforms.js'));
    const pack = [
      'sdk/packages/pack.mjs',
      '--quick',
      '--repository',
      REPOSITORY,
      '--binary',
      binary,
      '--out',
      join(folder, 'packed'),
    ];
    const printed = await run(process.execPath, [...pack, ...(isBuilt ? ['--built'] : [])], {
      ...{ cwd: top, timeoutMs: 120_000 },
    });
    tarballs = printed.split('\n').filter((line) => line.endsWith('.tgz'));
    await writeFile(join(project, 'package.json'), '{"private":true}');
    const startMs = performance.now();
    const first = tarballs.filter(
      (path) => !/braiddb-(kysely|drizzle|knex|typeorm|prisma|opentelemetry|queue)-/.test(path),
    );
    await run('npm', [...INSTALL, ...first], { cwd: project }).catch((error: unknown) => {
      if (!UNREACHABLE.test(String(error))) throw error;
      unreachable = 'npm cannot reach its registry, and does not have "pg" in its cache';
    });
    installMs = performance.now() - startMs;
  }, 240_000);
  afterAll(async () => {
    for (const { pid = 0, exitCode, signalCode } of children) {
      if (exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
    }
    await rm(folder, { recursive: true, force: true });
  });

  function skipUnlessInstalled({ skip }: TestContext): void {
    if (unreachable !== undefined) skip(unreachable);
  }

  /** Starts `npx braiddb start` on free ports; resolves to its address for SQL. */
  async function start(): Promise<Started> {
    const addresses = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'];
    const npx = spawn('npx', ['--no-install', 'braiddb', 'start', ...addresses], {
      ...{ cwd: project, env: cleanEnvironment({}) },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(npx);
    const ended = new Promise((resolve) => npx.once('exit', resolve));
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: npx.stdout }).on('line', (line) => {
        const [, address] = /^sql:\s+(\S+)$/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      });
      void ended.then(() => {
        reject(new Error('npx braiddb start has ended'));
      });
    });
    return { npx, url, ended };
  }

  it('are those of the SDK, the server and this platform, and hold no sources', async () => {
    const names = tarballs.map((path) => basename(path).replace(/-\d[\d.]*\.tgz$/, ''));
    expect(names).toEqual(expect.arrayContaining(['braiddb-sdk', 'braiddb-server']));
    expect(names.filter((name) => name.startsWith('braiddb-server-linux-'))).toHaveLength(1);
    for (const path of tarballs) {
      const files = (await run('tar', ['tf', path], { cwd: folder })).trim().split('\n');
      expect(files).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md']));
      expect(files.filter((name) => /^package\/(src|test)\//.test(name))).toEqual([]);
      const manifest = await run('tar', ['xOf', path, 'package/package.json'], { cwd: folder });
      expect(JSON.parse(manifest)).toMatchObject({
        ...{ license: 'Apache-2.0', engines: { node: '>=20.11' } },
        repository: { type: 'git', url: REPOSITORY },
      });
    }
  });

  it(`start a server and run a program in less than ${ALL_MAX_MS / 1000} s`, async (context) => {
    skipUnlessInstalled(context);
    const startMs = performance.now();
    const { npx, url, ended } = await start();
    const blocks = await labelledBlocks('sdk/packages/server/README.md');
    const first = blocks.get('first.mjs')?.replaceAll(PRINTED_URL, url) ?? '';
    expect(first).toContain(url);
    await writeBlocks(project, new Map([['first.mjs', first]]));
    for (const visits of [1, 2]) {
      const printed = await run(process.execPath, ['first.mjs'], { cwd: project });
      expect(printed).toBe(`visits: ${visits}\n`);
    }
    const allMs = installMs + performance.now() - startMs;
    npx.kill('SIGTERM');
    await ended;
    await vi.waitFor(async () => {
      expect(await listens(url)).toBe(false);
    }, 10_000);
    expect(allMs).toBeLessThan(ALL_MAX_MS);
    process.stdout.write(`installed in ${installMs.toFixed()} ms, all in ${allMs.toFixed()} ms\n`);
  });

  it('pass flags and exit codes through', async (context) => {
    skipUnlessInstalled(context);
    const braiddb = join(project, 'node_modules', '.bin', 'braiddb');
    expect(await run(braiddb, ['version'], { cwd: project })).toMatch(/^braid \d/);
    await expect(run(braiddb, ['start', '--nonsense'], { cwd: project })).rejects.toMatchObject({
      ...{ message: expect.stringContaining('--nonsense') as string, cause: { code: 2 } },
    });
    const missing = { BRAIDDB_BINARY: '/nowhere/braid' };
    await expect(run(braiddb, ['start'], { cwd: project, env: missing })).rejects.toMatchObject({
      ...{ message: expect.stringContaining('/nowhere/braid') as string, cause: { code: 1 } },
    });
  });

  it('end the server on Ctrl-C, which a terminal sends to a whole group', async (context) => {
    skipUnlessInstalled(context);
    const { npx, url, ended } = await start();
    process.kill(-(npx.pid ?? 0), 'SIGINT');
    await ended;
    // npx may end first.
    await vi.waitFor(async () => {
      expect(await listens(url)).toBe(false);
    }, 10_000);
  });

  it('run the example for node:test', async (context) => {
    skipUnlessInstalled(context);
    const blocks = await labelledBlocks('server/docs/guides/testing.md');
    const name = 'orders.test.mjs';
    await writeBlocks(project, new Map([[name, blocks.get(name) ?? '']]));
    const printed = await run(process.execPath, ['--test', name], { cwd: project });
    expect(printed).toMatch(/pass 2\n/);
  });

  it('have the commands of tools', async (context) => {
    skipUnlessInstalled(context);
    for (const name of ['migrate', 'types']) {
      const printed = await run('npx', ['--no-install', 'braiddb', name, '--help'], {
        cwd: project,
      });
      expect(printed).toContain(`Usage: npx braiddb ${name}`);
    }
  });

  it('have a driver for Drizzle', async (context) => {
    skipUnlessInstalled(context);
    const driver = tarballs.find((path) => path.includes('braiddb-drizzle-')) ?? '';
    await run('npm', [...INSTALL, driver, 'drizzle-orm@0.45.4'], { cwd: project });
    const code = `
      import { drizzle } from '@braiddb/drizzle';
      import { connect } from '@braiddb/sdk';
      import { startServer } from '@braiddb/server';
      import { sql } from 'drizzle-orm';
      const server = await startServer();
      const client = await connect(server.url);
      const { rows } = await drizzle(client).transaction((tx) =>
        tx.execute(sql\`SELECT 1::int4 AS one\`),
      );
      console.log(rows[0].one);
      await client.close();
      await server.close();`;
    await writeFile(join(project, 'driver.mjs'), code);
    expect(await run(process.execPath, ['driver.mjs'], { cwd: project })).toBe('1\n');
  }, 120_000);

  it('have transactions for Knex', async (context) => {
    skipUnlessInstalled(context);
    const wrapper = tarballs.find((path) => path.includes('braiddb-knex-')) ?? '';
    await run('npm', [...INSTALL, wrapper, 'knex@3.3.0'], { cwd: project });
    const code = `
      import { transaction } from '@braiddb/knex';
      import { startServer } from '@braiddb/server';
      import knex from 'knex';
      const server = await startServer();
      const db = knex({ client: 'pg', connection: server.url });
      const { rows } = await transaction(db, (trx) => trx.raw('SELECT 1::int4 AS one'));
      console.log(rows[0].one);
      await db.destroy();
      await server.close();`;
    await writeFile(join(project, 'wrapper.mjs'), code);
    expect(await run(process.execPath, ['wrapper.mjs'], { cwd: project })).toBe('1\n');
  }, 120_000);

  it('have a dialect for Kysely', async (context) => {
    skipUnlessInstalled(context);
    const dialect = tarballs.find((path) => path.includes('braiddb-kysely-')) ?? '';
    // The version of the repository, which npm has in its cache.
    await run('npm', [...INSTALL, dialect, 'kysely@0.28.18'], { cwd: project });
    const code = `
      import { BraidDialect, transaction } from '@braiddb/kysely';
      import { connect } from '@braiddb/sdk';
      import { startServer } from '@braiddb/server';
      import { Kysely, sql } from 'kysely';
      const server = await startServer();
      const kysely = new Kysely<object>({ dialect: new BraidDialect({ db: () => connect(server.url) }) });
      const one = await transaction(kysely, (trx) =>
        sql<{ one: number }>\`SELECT 1::int4 AS one\`.execute(trx),
      );
      const sum: number = one.rows.reduce((all, row) => all + row.one, 0);
      console.log(sum, server.url.startsWith('postgresql:'));
      await kysely.destroy();
      await server.close();`;
    await writeFile(join(project, 'dialect.mts'), code);
    const tsc = join(top, 'node_modules/typescript/bin/tsc');
    const flags = '--module nodenext --target es2022 --lib es2024,esnext.disposable --types node';
    const options = [...flags.split(' '), '--strict', '--skipLibCheck', 'dialect.mts'];
    await run(process.execPath, [tsc, ...options], { cwd: project });
    const printed = await run(process.execPath, ['dialect.mjs'], { cwd: project });
    expect(printed).toBe('1 true\n');
  });

  it('have a queue, and its command', async (context) => {
    skipUnlessInstalled(context);
    const queue = tarballs.find((path) => path.includes('braiddb-queue-')) ?? '';
    await run('npm', [...INSTALL, queue], { cwd: project });
    const printed = await run('npx', ['--no-install', 'braiddb-queue', 'sql'], { cwd: project });
    expect(printed).toContain('CREATE TABLE IF NOT EXISTS "braid_queue"."job"');
    const code = `
      import { openQueue } from '@braiddb/queue';
      import { connect } from '@braiddb/sdk';
      import { startServer } from '@braiddb/server';
      const server = await startServer();
      const db = await connect(server.url);
      const queue = openQueue(db, { queues: { mail: {} } });
      await queue.migrate();
      await queue.enqueue('mail', { to: 'ada' });
      await queue.work('mail', ({ payload }) => console.log(payload.to));
      await queue.idle('mail');
      await queue.close();
      await db.close();
      await server.close();`;
    await writeFile(join(project, 'jobs.mjs'), code);
    expect(await run(process.execPath, ['jobs.mjs'], { cwd: project })).toBe('ada\n');
  }, 120_000);

  it('load by require, on a Node that can', async (context) => {
    skipUnlessInstalled(context);
    if (!requiresModules()) context.skip('this Node loads no ES modules by require');
    const code = `const { connect } = require('@braiddb/sdk');
      const { startServer } = require('@braiddb/server');
      console.log(typeof connect, typeof startServer);`;
    await writeFile(join(project, 'required.cjs'), code);
    const printed = await run(process.execPath, ['required.cjs'], { cwd: project });
    expect(printed).toContain('function function');
  });
});
