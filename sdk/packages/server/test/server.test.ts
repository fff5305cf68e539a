/** `startServer`: what it starts, what it cleans up, and how it fails. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { connect } from '@braiddb/sdk';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { ServerOptionError, ServerStartError, ServerStopError, startServer } from '../src/index.js';
import { isAlive, withBinary } from './binary.js';

withBinary('startServer', (binary) => {
  let scratch = '';
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'braiddb-server-test-'));
  });
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  /** A program that takes the place of the server. */
  async function program(name: string, text: string): Promise<string> {
    const path = join(scratch, name);
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return path;
  }

  it('starts servers side by side, and cleans up after them', async () => {
    const lines: string[] = [];
    const options = { binary, onLog: (line: string) => lines.push(line) };
    const [first, second] = await Promise.all([startServer(options), startServer({ binary })]);
    expect(first.url).not.toBe(second.url);
    for (const server of [first, second]) {
      expect((await fetch(`${server.httpUrl}/health/ready`)).status).toBe(200);
      expect(server.isRunning && existsSync(server.data)).toBe(true);
      const db = await connect(server.url);
      expect(await db.one`SELECT 1::int4 AS a`).toEqual({ a: 1 });
      await db.close();
    }
    await Promise.all([first.close(), second.close()]);
    await first.close();
    expect([first, second].some(({ data, pid }) => existsSync(data) || isAlive(pid))).toBe(false);
    expect(first.isRunning).toBe(false);
    expect(lines.length).toBeGreaterThan(0);
  });

  it('keeps a data folder that it was given', async () => {
    const data = join(scratch, 'kept');
    for (const expected of [[], [{ id: 1 }]]) {
      await using server = await startServer({ binary, data, args: ['--cache-mib', '16'] });
      await using db = await connect(server.url);
      await db.script('CREATE TABLE IF NOT EXISTS kept (id INT4 PRIMARY KEY)');
      expect((await db.query`SELECT id FROM kept`).rows).toEqual(expected);
      await db.run`UPSERT INTO kept VALUES (1)`;
    }
    expect(existsSync(data)).toBe(true);
  });

  it('does not hand settings of this process on to the server', async () => {
    vi.stubEnv('BRAID_STORE', 'tikv://127.0.0.1:1');
    const server = await startServer({ binary });
    vi.unstubAllEnvs();
    await server.close();
  });

  it('reports the last log lines of a server that ends', async () => {
    const failing = startServer({ binary, args: ['--cache-mib', 'many'] });
    const error: unknown = await failing.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ServerStartError);
    expect(error).toMatchObject({ reason: 'exited', exit: { code: 2, signal: null } });
    expect(String(error)).toContain("invalid value 'many'");
    const missing = startServer({ binary: join(scratch, 'nothing') });
    await expect(missing).rejects.toMatchObject({ reason: 'spawn' });
  });

  it('gives up on a server that is never ready, and leaves nothing', async () => {
    vi.stubEnv('TMPDIR', scratch);
    const slow = await program('slow', 'echo $$ >&2; exec sleep 60');
    const failing = startServer({ binary: slow, startTimeoutMs: 300 });
    const error = (await failing.catch((caught: unknown) => caught)) as ServerStartError;
    expect(error).toBeInstanceOf(ServerStartError);
    expect(error.reason).toBe('timeout');
    expect(error.message).toContain('startTimeoutMs, 300 ms');
    expect(isAlive(Number(error.log[0]))).toBe(false);
    vi.unstubAllEnvs();
    const left = (await readdir(scratch)).filter((name) => name.startsWith('braiddb-'));
    expect(left).toEqual([]);
  });

  it('stops a start that is aborted', async () => {
    const slow = await program('slow2', 'exec sleep 60');
    const reason = new Error('not any more');
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort(reason);
    }, 100);
    await expect(startServer({ binary: slow, signal: abort.signal })).rejects.toBe(reason);
    await expect(startServer({ binary: slow, signal: abort.signal })).rejects.toBe(reason);
  });

  it('reports a server that died, or that does not stop', async () => {
    const server = await startServer({ binary });
    process.kill(server.pid, 'SIGKILL');
    await vi.waitFor(() => {
      expect(server.isRunning).toBe(false);
    });
    await expect(server.close()).rejects.toBeInstanceOf(ServerStopError);
    expect(existsSync(server.data)).toBe(false);

    const stuck = await startServer({ binary, stopTimeoutMs: 200 });
    process.kill(stuck.pid, 'SIGSTOP');
    await expect(stuck.close()).rejects.toThrow('stopTimeoutMs, 200 ms');
    expect(isAlive(stuck.pid)).toBe(false);
  });

  it('refuses options that it does not know or that are out of range', async () => {
    const wrong = [
      { ports: 1 },
      { port: 70_000 },
      { startTimeoutMs: 0 },
      { args: 'x' },
      { data: '' },
    ];
    for (const options of wrong) {
      await expect(startServer({ binary, ...options } as never)).rejects.toBeInstanceOf(
        ServerOptionError,
      );
    }
  });

  // The built package: a process of its own cannot import the sources.
  const built = fileURLToPath(new URL('../dist/index.js', import.meta.url));
  const script = `
    const { startServer } = await import(${JSON.stringify(built)});
    const { pid, data } = await startServer({ binary: ${JSON.stringify(binary)} });
    console.log(JSON.stringify({ pid, data }));`;
  const ways = [
    ['is killed', 'setInterval(() => {}, 1000);', 'SIGKILL'],
    ['is terminated', 'setInterval(() => {}, 1000);', 'SIGTERM'],
    ['ends without close', '', undefined],
  ] as const;
  it.skipIf(!existsSync(built)).each(ways)('ends with a process that %s', async (...way) => {
    const [, rest, signal] = way;
    const args = ['--input-type=module', '-e', `${script}\n${rest}`];
    const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => parent.once('exit', resolve));
    const lines = createInterface({ input: parent.stdout });
    const line = await new Promise<string>((resolve) => lines.once('line', resolve));
    const { pid, data } = JSON.parse(line) as { pid: number; data: string };
    expect(data).not.toBe('');
    if (signal !== undefined) parent.kill(signal);
    await ended;
    await vi.waitFor(
      () => {
        expect({ alive: isAlive(pid), folder: existsSync(data) }).toEqual({
          ...{ alive: false, folder: false },
        });
      },
      { timeout: 10_000 },
    );
  });
});
