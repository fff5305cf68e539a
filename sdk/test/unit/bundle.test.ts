/**
 * The size of the SDK in a bundle, compressed, without `pg`. Two sizes are counted: what a program
 * loads when it starts, and all of it, with the parts that are loaded when they are used.
 *
 * | part that is loaded when it is used | by |
 * |---|---|
 * | the pool, its hosts, the checks of options, the questions to the server | `connect` |
 * | `stream`, `copyFrom`, `copyTo`, `listen`, `reserve` | their first call |
 * | the description of a table and its statements | the first batcher |
 */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

/** What is loaded at the start, at most. */
const INITIAL_BYTES_MAX = 30_000;
/** Everything in one file, at most. */
const TOTAL_BYTES_MAX = 41_000;

/** What this test uses of esbuild, which comes with VitePress. */
interface Esbuild {
  readonly build: (options: object) => Promise<{ outputFiles: { contents: Uint8Array }[] }>;
}
interface Resolving {
  readonly onResolve: (
    filter: { filter: RegExp },
    resolve: (from: { kind: string; path: string }) => object | undefined,
  ) => void;
}

const fromVitePress = createRequire(import.meta.resolve('vitepress'));
const { build } = fromVitePress('esbuild') as Esbuild;

/** The size of a bundle of all exports, compressed. */
async function sizeOf(plugins: readonly object[]): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../src/index.ts', import.meta.url))],
    ...{ bundle: true, minify: true, write: false },
    ...{ format: 'esm', platform: 'node', external: ['pg'] },
    plugins,
  });
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
}

it(`loads below ${INITIAL_BYTES_MAX} bytes at the start, and the rest when it is used`, async () => {
  const lazy = new Set<string>();
  const keepLazy = ({ onResolve }: Resolving): void => {
    onResolve({ filter: /^\./ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import') return undefined;
      lazy.add(path);
      return { path, external: true };
    });
  };
  const bytes = await sizeOf([{ name: 'keep-lazy', setup: keepLazy }]);
  expect(bytes).toBeLessThan(INITIAL_BYTES_MAX);
  expect(lazy.size).toBeGreaterThan(3);
});

it(`is below ${TOTAL_BYTES_MAX} bytes as a whole, in one file`, async () => {
  expect(await sizeOf([])).toBeLessThan(TOTAL_BYTES_MAX);
});
