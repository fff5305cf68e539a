// The languages of the programs: how each is made ready, and how a program of it is started.
//
//   file      the file that makes a folder a tool of this runtime
//   programs  what has to be on the PATH
//   packages  packages of Debian that continuous integration installs if a program is absent
//   tooOld    resolves to a sentence if the installed version is too old: that is always a skip
//   prepare   runs once before the first tool of the runtime; resolves to what is missing, if anything
//   command   the command line that runs a tool's program in its folder
//   env       variables that the program gets besides those of run.mjs
//
// `copy` is the copy of tests/tools in the scratch folder: a runtime builds and installs there only.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { aptInstall, onPath, prepareWith, run, strict } from './process.mjs';

const node = {
  name: 'Node',
  file: 'program.mjs',
  programs: ['node'],
  packages: [],
  // The harness itself needs the packages of npm: run.mjs has installed them.
  prepare: async () => undefined,
  command: () => ['node', 'program.mjs'],
  env: () => ({}),
};

const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];

const python = {
  name: 'Python',
  file: 'program.py',
  programs: [],
  packages: ['python3', 'python3-venv'],
  prepare: (copy) =>
    prepareWith(
      [
        ['python3', '-m', 'venv', 'venv'],
        ['venv/bin/python', ...pip, '-r', 'requirements.txt'],
      ],
      { cwd: copy },
    ),
  command: (copy) => [join(copy, 'venv/bin/python'), 'program.py'],
  // Finds support.py.
  env: (copy) => ({ PYTHONPATH: copy }),
};

/** The first version of Go that fetches the version which go.mod asks for. */
const GO_MINOR_MIN = 21;

const go = {
  name: 'Go',
  file: 'program.go',
  programs: ['go'],
  packages: ['golang-go'],
  tooOld: async () => {
    const { output } = await run('go', ['version']);
    const [version, minor] = /go1\.(\d+)\S*/.exec(output) ?? [];
    return minor < GO_MINOR_MIN ? `${version} is older than go1.${GO_MINOR_MIN}` : undefined;
  },
  prepare: (copy) => prepareWith([['go', 'build', '-o', 'bin/', './...']], { cwd: copy }),
  command: (copy, tool) => [join(copy, 'bin', tool)],
  env: () => ({}),
};

/** The sources in `copy` and its folders, by their paths in it. */
const javaFiles = (copy) =>
  readdirSync(copy, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(copy, entry.name)).map((file) => join(entry.name, file))
        : [entry.name],
    )
    .filter((file) => file.endsWith('.java'));

const maven = ['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'];

const java = {
  name: 'Java',
  file: 'Program.java',
  programs: ['javac', 'mvn'],
  packages: ['openjdk-17-jdk-headless', 'maven'],
  prepare: (copy) => {
    const compile = ['javac', '-proc:none', '-cp', 'jars/*', '-d', 'classes', ...javaFiles(copy)];
    return prepareWith([maven, compile], { cwd: copy });
  },
  command: (copy, tool) => [
    'java',
    '-cp',
    [join(copy, 'classes'), join(copy, 'jars', '*')].join(':'),
    `${tool}.Program`,
  ],
  env: () => ({}),
};

const rust = {
  name: 'Rust',
  file: 'program.rs',
  programs: ['cargo'],
  packages: ['cargo'],
  prepare: (copy) =>
    prepareWith([['cargo', 'build', '--locked', '--quiet', '--target-dir', 'target']], {
      cwd: copy,
    }),
  command: (copy, tool) => [join(copy, 'target/debug', tool)],
  env: () => ({}),
};

const runtimes = [node, python, go, java, rust];
const prepared = new Map();

/** The runtime of a tool's folder, which holds these files; undefined if it is no tool. */
export function runtimeOf(files) {
  return runtimes.find(({ file }) => files.includes(file));
}

/** Resolves to what hinders the runtime, and whether its tools are skipped for it. */
async function ready(runtime, copy) {
  if (runtime.programs.length === 0 || !onPath(runtime.programs)) {
    await aptInstall(runtime.packages);
  }
  if (!onPath(runtime.programs)) {
    return { text: `${runtime.programs.join(' or ')} is absent`, skip: !strict };
  }
  const old = await runtime.tooOld?.();
  const text = old ?? (await runtime.prepare(copy));
  return text && { text, skip: old !== undefined || !strict };
}

/** Makes a runtime ready, once; resolves to what hinders it, if anything. */
export function prepare(runtime, copy) {
  if (!prepared.has(runtime)) {
    prepared.set(runtime, ready(runtime, copy));
  }
  return prepared.get(runtime);
}
