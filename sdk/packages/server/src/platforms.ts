/**
 * The platforms, and the package that holds the binary of each. `pack.mjs` makes these packages.
 */

/** What npm compares with the machine before it installs a package. */
export interface Platform {
  readonly os: string;
  readonly cpu: string;
  readonly libc: 'glibc' | 'musl';
  /** What cargo calls it. */
  readonly target: string;
}

/** Every platform that may have a package, by the end of the package's name. */
export const PLATFORMS: Readonly<Record<string, Platform>> = {
  'linux-x64-gnu': {
    ...{ os: 'linux', cpu: 'x64', libc: 'glibc' },
    target: 'x86_64-unknown-linux-gnu',
  },
  'linux-arm64-gnu': {
    ...{ os: 'linux', cpu: 'arm64', libc: 'glibc' },
    target: 'aarch64-unknown-linux-gnu',
  },
  'linux-x64-musl': {
    ...{ os: 'linux', cpu: 'x64', libc: 'musl' },
    target: 'x86_64-unknown-linux-musl',
  },
  'linux-arm64-musl': {
    ...{ os: 'linux', cpu: 'arm64', libc: 'musl' },
    target: 'aarch64-unknown-linux-musl',
  },
};

/** The name of the package with the binary of a platform. */
export function packageOf(platform: string): string {
  return `@braiddb/server-${platform}`;
}

/** The platform of this machine, for example `linux-x64-gnu` or `darwin-arm64`. */
export function thisPlatform(): string {
  const machine = `${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return machine;
  return `${machine}-${usesGlibc() ? 'gnu' : 'musl'}`;
}

/** Node knows the version of glibc where it runs on one. */
function usesGlibc(): boolean {
  // Newer versions of Node than that of the types can leave the network out, whose names cost time.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  try {
    const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
    return header?.glibcVersionRuntime !== undefined;
  } finally {
    if (excludeNetwork !== undefined) report.excludeNetwork = excludeNetwork;
  }
}
