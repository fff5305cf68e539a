/** The examples in the comments and in the README, as they are printed. */

import { readdir, rm } from 'node:fs/promises';

import { afterAll, expect, it } from 'vitest';

import { blocks, runProgram, scratch } from '../../../test/documents.js';
import { onEachServer } from '../../../test/targets.js';

const sources = await readdir(new URL('../src/', import.meta.url));
const files = [
  ...sources.map((name) => `packages/typeorm/src/${name}`),
  'packages/typeorm/README.md',
];
const examples = (await Promise.all(files.map((file) => blocks(file, 'ts')))).flat();

afterAll(() => rm(scratch, { recursive: true, force: true }));

onEachServer('the documents', ({ url }) => {
  it('have examples', () => {
    expect(examples.length).toBeGreaterThan(1);
  });
  it.each(examples)('$title', ({ code }) => runProgram(code, url));
});
