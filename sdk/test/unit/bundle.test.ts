/** The size of the SDK in a bundle, without `pg`: what a program loads when it starts. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

const GZIP_BYTES_MAX = 30_000;

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

it(`is below ${GZIP_BYTES_MAX} bytes, compressed, and loads the rest when it is used`, async () => {
  const lazy = new Set<string>();
  const keepLazy = ({ onResolve }: Resolving): void => {
    onResolve({ filter: /^\./ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import') return undefined;
      lazy.add(path);
      return { path, external: true };
    });
  };
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../src/index.ts', import.meta.url))],
    ...{ bundle: true, minify: true, write: false },
    ...{ format: 'esm', platform: 'node', external: ['pg'] },
    plugins: [{ name: 'keep-lazy', setup: keepLazy }],
  });
  const [entry] = outputFiles;
  expect(gzipSync(entry?.contents ?? '', { level: 9 }).length).toBeLessThan(GZIP_BYTES_MAX);
  expect(lazy.size).toBeGreaterThan(3);
});
