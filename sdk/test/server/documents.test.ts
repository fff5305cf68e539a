/** Runs the examples of the documentation on BraidDB. */

import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';

import pg from 'pg';
import { afterAll, describe, expect, inject, it } from 'vitest';

import { ruleOf } from '../../src/sqlstates.js';
import { blocks, runProgram, runSteps, scratch, session, statements } from '../documents.js';
import { freshName } from '../targets.js';

const docs = await readdir(new URL('../../../server/docs/', import.meta.url), { recursive: true });
const pages = docs.filter((name) => name.endsWith('.md') && !name.includes('.site'));
const files = ['../README.md', 'README.md', ...pages.map((name) => `../server/docs/${name}`)];
const url = inject('braidUrl');

/** The programs, and the statements of each file in their order. */
const programs = await Promise.all(pages.map((name) => blocks(`../server/docs/${name}`, 'ts')));
const scripts = await Promise.all(
  files.map(async (file) => {
    const sql = (await blocks(file, 'sql')).map((one) => ({ ...one, steps: statements(one.code) }));
    const typed = (await blocks(file, 'console')).map((one) => ({
      ...one,
      steps: session(one.code),
    }));
    const line = ({ title }: { title: string }): number => Number(title.split(':').at(-1));
    return { file, examples: [...sql, ...typed].toSorted((a, b) => line(a) - line(b)) };
  }),
);

const page = (name: string): Promise<string> =>
  readFile(new URL(`../../../server/docs/${name}`, import.meta.url), 'utf8');

/** The cells of all tables of a page, without backticks. */
async function rows(name: string): Promise<string[][]> {
  const lines = (await page(name)).split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .replaceAll('`', '')
      .split('|')
      .slice(1, -1)
      .map((c) => c.trim()),
  );
}

async function ask(server: string, text: string): Promise<string[][]> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  const result = await client.query<string[]>({ text, rowMode: 'array' });
  await client.end();
  return result.rows;
}

describe.skipIf(url === undefined)('the documentation', () => {
  const server = url ?? '';
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  it('has examples', () => {
    expect(scripts.flatMap(({ examples }) => examples).length).toBeGreaterThan(20);
  });

  it.each(programs.flat())('$title', async ({ code }) => {
    await runProgram(code, server);
  });

  it('lists every setting that does something, with its default', async () => {
    const idle = /has no effect|What monitoring asks/;
    const known = (await ask(server, 'SHOW ALL')).filter(([, , text = '']) => !idle.test(text));
    const own = ['application_name', 'role', 'session_authorization'];
    const value = ([name = '', text = '']: string[]): [string, string] => [
      name,
      own.includes(name) ? '' : text,
    ];
    const listed = (await rows('reference/settings.md')).map(value);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(known.map(value)));
  });

  it('lists every flag of the server, with its variable and default', async () => {
    const binary = inject('braidBinary') ?? 'braid';
    const { stdout } = await promisify(execFile)(binary, ['start', '--help']);
    const flag = /^ {6}(--[\w-]+).*\[env: (\w+)=/gm;
    const known = [...stdout.matchAll(flag)].map(([, name = '', variable = '']) => [
      name,
      variable,
    ]);
    const listed = await rows('operations/flags.md');
    expect(listed.map((cells) => cells.slice(0, 2))).toEqual(known);
    for (const [name = '', , initial = ''] of listed) {
      const help = stdout.split('\n').find((line) => line.startsWith(`      ${name} `)) ?? name;
      const found = /\[default: ([^\]]*)\]/.exec(help)?.[1] ?? '';
      expect(initial === 'off' ? '' : initial, name).toBe(found);
    }
  });

  it('says what the SDK does about each SQLSTATE', async () => {
    const listed = (await rows('reference/errors.md')).filter((cells) => cells.length === 5);
    expect(listed.length).toBeGreaterThan(100);
    for (const [state = '', , , , does = ''] of listed) {
      const { fails, again } = ruleOf(state);
      const repeats = does.includes('runs the transaction again');
      expect({ state, repeats }).toEqual({ state, repeats: again !== 'no' });
      expect({ state, keeps: does.includes('locks') }).toEqual({
        state,
        keeps: again === 'savepoint',
      });
      expect({ state, asks: does.includes('token') }).toEqual({ state, asks: fails === 'outcome' });
      expect({ state, constraint: does.includes('ConstraintError') }).toEqual({
        state,
        constraint: state.startsWith('23'),
      });
    }
  });

  it('has alert rules about metrics that exist', async () => {
    const listed = await rows('reference/metrics.md');
    const known = new Set(listed.map(([name = '']) => name.replace(/\{.*/, '')));
    const text = await page('operations/monitoring.md');
    const rules = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    const used = [...rules.matchAll(/\b(?:braid|sql)_\w+/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    expect(used.length).toBeGreaterThan(8);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  // A page is one session in a database of its own.
  it.each(scripts.filter(({ examples }) => examples.length > 0))('$file', async ({ examples }) => {
    const name = freshName('docs');
    const admin = new pg.Client({ connectionString: server });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    const own = new URL(server);
    own.pathname = name;
    const client = new pg.Client({ connectionString: own.href });
    await client.connect();
    try {
      for (const { title, steps } of examples) {
        await runSteps(client, steps).catch((error: unknown) => {
          throw new Error(`${title}: ${(error as Error).message}`, { cause: error });
        });
      }
    } finally {
      await client.end();
      await admin.query(`DROP DATABASE ${name}`);
      for (const role of ['shop', 'reader', 'report']) {
        await admin.query(`DROP ROLE IF EXISTS ${role}`);
      }
      await admin.end();
    }
  });
});
