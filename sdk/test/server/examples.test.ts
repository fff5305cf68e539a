/**
 * Runs the examples in the comments of the sources and in both READMEs, as they are printed.
 */

import { readdir, rm } from 'node:fs/promises';

import { afterAll, expect, it } from 'vitest';

import { blocks, runProgram, scratch } from '../documents.js';
import { onEachServer } from '../targets.js';

const all = await readdir(new URL('../../src/', import.meta.url), { recursive: true });
const sources = all.filter((name) => name.endsWith('.ts')).map((name) => `src/${name}`);
const files = [...sources, 'README.md', '../README.md'];
const examples = (await Promise.all(files.map((file) => blocks(file, 'ts')))).flat();

afterAll(() => rm(scratch, { recursive: true, force: true }));

onEachServer('the examples', ({ url }) => {
  it('are there', () => {
    expect(examples.length).toBeGreaterThan(10);
  });
  it.each(examples)('$title', async ({ code }) => {
    await runProgram(code, url);
  });
});
