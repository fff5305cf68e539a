/**
 * Runs the examples in the comments of the sources and in both READMEs, as they are printed.
 */

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { afterAll, expect, it } from 'vitest';

import { onEachServer } from '../targets.js';

const sdk = new URL('../../', import.meta.url);
const scratch = new URL('test/.examples/', sdk);
const PRINTED_URL = 'postgresql://root@127.0.0.1:26257/defaultdb';

interface Example {
  readonly title: string;
  readonly code: string;
}

/** Every ```ts block of a file; the stars of comments are taken off. */
function blocks(file: string, text: string): Example[] {
  const found = text.matchAll(/^([ \t]*\*? ?)```ts\n([\s\S]*?)^[ \t]*\*? ?```$/gm);
  return [...found].map((match) => {
    const code = (match[2] ?? '').replace(/^[ \t]*\* ?/gm, '');
    const line = text.slice(0, match.index).split('\n').length;
    return { title: `${file}:${line}`, code };
  });
}

async function allExamples(): Promise<Example[]> {
  const all = await readdir(new URL('src/', sdk), { recursive: true });
  const sources = all.filter((name) => name.endsWith('.ts')).map((name) => `src/${name}`);
  const files = [...sources, 'README.md', '../README.md'];
  const texts = files.map(async (file) => blocks(file, await readFile(new URL(file, sdk), 'utf8')));
  return (await Promise.all(texts)).flat();
}

const examples = await allExamples();
let count = 0;

async function runExample(code: string, url: string): Promise<void> {
  await mkdir(scratch, { recursive: true });
  const file = new URL(`example-${process.pid}-${++count}.ts`, scratch);
  const checked = code
    .replaceAll(PRINTED_URL, url)
    .replaceAll('console.assert(', 'assert(')
    .replaceAll('console.log(', 'void (');
  await writeFile(file, `import assert from 'node:assert/strict';\n${checked}\nvoid assert;\n`);
  await import(/* @vite-ignore */ pathToFileURL(fileURLToPath(file)).href);
}

afterAll(() => rm(scratch, { recursive: true, force: true }));

onEachServer('the examples', ({ url }) => {
  it('are there', () => {
    expect(examples.length).toBeGreaterThan(10);
  });
  it.each(examples)('$title', async ({ code }) => {
    await runExample(code, url);
  });
});
