/** The files in `docker/`, as far as they can be tried without a Docker engine. */

import { access, readFile } from 'node:fs/promises';

import { expect, it } from 'vitest';

const folder = new URL('../docker/', import.meta.url);
const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');
const compose = await read('compose.yaml');

it('compose sets variables that the program reads', async () => {
  const program = await readFile(new URL('../src/main.ts', import.meta.url), 'utf8');
  const [, , environment = ''] =
    /(environment: &iot-environment\n)((?: {4}.*\n)+)/.exec(compose) ?? [];
  const names = [...environment.matchAll(/^ {4}([A-Z_]+):/gm)].map(([, name]) => name);
  expect(names).toEqual(['DATABASE_URL', 'WORKERS', 'KEEP_DAYS']);
  const image = await read('Dockerfile');
  const own = [...(/^ENV (.*)$/m.exec(image)?.[1]?.matchAll(/([A-Z_]+)=/g) ?? [])].map(
    ([, name]) => name,
  );
  for (const name of [...names, ...own]) {
    if (name !== 'NODE_ENV')
      expect(program).toContain(` * | ${name}`.replace(' PORT', ' HOST, PORT'));
  }
});

it('files that are mounted, copied or named exist', async () => {
  const mounted = [...compose.matchAll(/["\s](\.{1,2}\/[^:"\s]+):/g)].map(([, path]) => path ?? '');
  expect(mounted.length).toBeGreaterThan(3);
  for (const path of mounted) await access(new URL(path, folder));
  const image = await read('Dockerfile');
  const copied = [...image.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, all = '']) =>
    all.split(' '),
  );
  const ignored = await read('Dockerfile.dockerignore');
  for (const path of copied) {
    await access(new URL(`../../../${path}`, folder));
    expect(ignored).toContain(`!${path}\n`);
  }
  for (const [, path = ''] of compose.matchAll(/dockerfile: (\S+)/g)) {
    await access(new URL(`../../../${path}`, folder));
  }
});

it('Prometheus asks services that exist, and the board shows metrics that they have', async () => {
  const services = [...compose.matchAll(/^ {2}([a-z0-9]+):$/gm)].map(([, name]) => name);
  const targets = [...(await read('prometheus.yaml')).matchAll(/"(\w+):\d+"/g)].map(
    ([, name]) => name,
  );
  expect(targets).toEqual(['service', 'worker1', 'worker2', 'braid']);
  for (const name of targets) expect(services).toContain(name);
  const service = await readFile(new URL('../src/service.ts', import.meta.url), 'utf8');
  const shown = [...(await read('iot-worker.json')).matchAll(/\biot_[a-z_]+/g)].map(
    ([name]) => name,
  );
  expect(shown.length).toBeGreaterThan(4);
  for (const name of shown) expect(service).toContain(`'${name}'`);
});
