/** The examples of the documents of this package, as they are printed. */

import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { blocks, runProgram, scratch } from '../../../test/documents.js';
import { withBinary } from './binary.js';
import { labelledBlocks, top, writeBlocks } from './labelled.js';
import { jestProgram, run } from './run.js';

const entries = await readdir(new URL('../src/', import.meta.url), { recursive: true });
const sources = entries.filter((name) => name.endsWith('.ts'));
const files = [
  ...sources.map((name) => `packages/server/src/${name}`),
  'packages/server/README.md',
];
const examples = (await Promise.all(files.map((file) => blocks(file, 'ts')))).flat();
const jest = jestProgram();
const isBuilt = existsSync(join(top, 'sdk/packages/server/dist/index.js'));

withBinary('the documents', (binary) => {
  const project = join(top, 'sdk/packages/server/test/.vitest-example');
  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
    await rm(project, { recursive: true, force: true });
  });

  it('have examples', () => {
    expect(examples.length).toBeGreaterThan(3);
  });
  it.each(examples)('$title', ({ code }) => runProgram(code, ''));

  // It imports the built packages, as a project of a user does.
  it.skipIf(!isBuilt)('run the example for vitest', async () => {
    const found = await labelledBlocks('server/docs/guides/testing.md');
    const isVitest = (name: string): boolean => name.endsWith('.ts');
    await writeBlocks(project, new Map([...found].filter(([name]) => isVitest(name))));
    const vitest = join(top, 'node_modules/vitest/vitest.mjs');
    const printed = await run(process.execPath, [vitest, 'run', '--root', project], {
      ...{ cwd: top, env: { BRAIDDB_BINARY: binary, NO_COLOR: '1' } },
    });
    expect(printed).toMatch(/Tests +2 passed/);
  });

  // The repository does not install jest.
  it.skipIf(!isBuilt || jest === undefined)('run the example for jest', async () => {
    const found = await labelledBlocks('server/docs/guides/testing.md');
    const names = ['jest.config.mjs', 'test/start.mjs', 'test/stop.mjs', 'test/orders.test.mjs'];
    const folder = join(project, 'jest');
    await writeBlocks(folder, new Map(names.map((name) => [name, found.get(name) ?? ''])));
    const printed = await run(process.execPath, [jest ?? '', '--rootDir', folder], {
      cwd: folder,
      env: { BRAIDDB_BINARY: binary, NODE_OPTIONS: '--experimental-vm-modules' },
    });
    expect(printed).toMatch(/Tests: +2 passed/);
  });
});
