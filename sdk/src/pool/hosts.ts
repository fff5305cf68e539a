/**
 * Several hosts of one database: which one the next connection goes to.
 *
 * ```text
 *  ordered:  a ✗ ─► b            while a is avoided; then a is tried first again
 *  random:   any of those that are not avoided
 *  zone:     the same among the hosts of the zone; others while all of those are avoided
 * ```
 *
 * A host that could not be reached is avoided for a while. If all are avoided, the one that failed
 * first is tried first.
 */

import { OptionError } from '../errors.js';
import type { HostEntry } from '../options/connect.js';
import type { Scheduler } from '../scheduler.js';
import type { ServerInfo } from '../server.js';

/** Milliseconds for which a host that could not be reached is avoided. */
const AVOIDED_MS = 5000;

/** A host and its connection string. */
export interface Host {
  /** `host:port` as it was given; empty for the default. */
  readonly address: string;
  readonly url: string;
  /** The name of its zone; undefined where the options give none. */
  readonly zone: string | undefined;
}

/** How one of several hosts is chosen. */
export interface HostChoice {
  /** Any of those that are there; else the first. */
  readonly isRandom: boolean;
  /** The zone whose hosts come first; undefined where all hosts are alike. */
  readonly zone: string | undefined;
}

/** The hosts of one database, and which of them could not be reached. */
export class HostList {
  readonly hosts: readonly Host[];
  readonly #choice: HostChoice;
  readonly #scheduler: Scheduler;
  /** When a host was not reached, in milliseconds of the scheduler. */
  readonly #failedAt = new Map<Host, number>();

  constructor(hosts: readonly Host[], choice: HostChoice, scheduler: Scheduler) {
    this.hosts = hosts;
    this.#choice = choice;
    this.#scheduler = scheduler;
  }

  /** The host for the next connection. */
  next(): Host {
    const { now, random } = this.#scheduler;
    const { isRandom, zone } = this.#choice;
    const failedAt = (host: Host): number => this.#failedAt.get(host) ?? Number.NEGATIVE_INFINITY;
    const good = this.hosts.filter((host) => failedAt(host) < now() - AVOIDED_MS);
    const near = zone === undefined ? [] : good.filter((host) => host.zone === zone);
    const best = near.length > 0 ? near : good;
    const first = isRandom ? best[Math.floor(random() * best.length)] : best[0];
    const oldest = this.hosts.toSorted((a, b) => failedAt(a) - failedAt(b))[0];
    const host = first ?? oldest;
    if (host === undefined) throw new OptionError('hosts', 'there is none');
    return host;
  }

  /** Notes whether a host was reached. */
  note(host: Host, isReached: boolean): void {
    if (isReached) this.#failedAt.delete(host);
    else this.#failedAt.set(host, this.#scheduler.now());
  }
}

/** The largest number of a port. */
const PORT_MAX = 65_535;

const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s\p{Cc}:,/@[\]]+)(?::\d{1,5})?$/iu;

/** The hosts of a URL, which may name several, and those of the option, each with its own URL. */
export function readHosts(url: string, more: readonly HostEntry[] = []): Host[] {
  const match = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(url);
  if (match === null) {
    throw new OptionError('url', 'must start with postgresql:// or postgres://');
  }
  const [, scheme = '', authority = '', rest = ''] = match;
  const user = authority.slice(0, authority.lastIndexOf('@') + 1);
  const given = authority.slice(user.length);
  // One host may be written in more ways, such as an encoded path of a socket: `pg` reads it.
  if (more.length === 0 && !given.includes(',')) {
    checkUrl(url);
    return [{ address: given, url, zone: undefined }];
  }
  const named = given === '' ? [] : given.split(',');
  const inUrl = named.map((address): HostEntry => ({ address, zone: undefined }));
  return withZones(inUrl, more).map(({ address, zone }) => {
    const port = Number(/:(\d+)$/.exec(address)?.[1] ?? 0);
    if (!HOST.test(address) || port > PORT_MAX) {
      throw new OptionError('hosts', `"${address}" is not a host, or host:port`);
    }
    return { address, url: `${scheme}${user}${address}${rest}`, zone };
  });
}

/** The hosts of the URL and those of the option, which may give the first ones their zones. */
function withZones(inUrl: readonly HostEntry[], more: readonly HostEntry[]): HostEntry[] {
  const zoneOf = ({ address }: HostEntry): string | undefined =>
    more.find((other) => fullAddress(other) === fullAddress({ address }))?.zone;
  const isNew = (entry: HostEntry): boolean =>
    entry.zone === undefined || inUrl.every((one) => fullAddress(one) !== fullAddress(entry));
  return [...inUrl.map((one) => ({ ...one, zone: zoneOf(one) })), ...more.filter(isNew)];
}

/** The port of `pg` where the address has none. */
const PORT = 5432;

function fullAddress({ address }: Pick<HostEntry, 'address'>): string {
  return /:\d+$/.test(address) ? address : `${address}:${PORT}`;
}

/** Refuses what `pg` could not read, before its error shows the password of the URL. */
function checkUrl(url: string): void {
  // A user without a host is a URL for `pg`, though not for Node.
  if (URL.canParse(url.replace('@/', '@host/'))) return;
  throw new OptionError(
    'url',
    'cannot be read; it is like postgresql://user:password@host:port/database, and special ' +
      'characters in names and passwords are written like %40',
  );
}

/** PostgreSQL before this version lacks statements that the SDK sends. */
const POSTGRES_MIN = 10;

/** Refuses a server that is too old. */
export function checkVersion({ kind, version }: ServerInfo): void {
  const major = kind === 'postgresql' ? Number.parseInt(version, 10) : Number.NaN;
  if (!(major < POSTGRES_MIN)) return;
  throw new OptionError('url', `names PostgreSQL ${version}; ${POSTGRES_MIN} or later is needed`);
}
