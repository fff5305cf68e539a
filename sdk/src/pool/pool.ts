/**
 * The pool that the SDK makes: hosts, passwords, TLS, and how long a connection lives.
 */

import pg from 'pg';

import { ignore } from '../abort.js';
import type { ClientClass } from '../connection/driver.js';
import { isServerMessage, placeOf, recordingParameters, wireOf } from '../connection/driver.js';
import type { ConnectTrace } from '../diagnostics.js';
import { connects, traced } from '../diagnostics.js';
import { fromConnect, isTransient, OptionError } from '../errors.js';
import type { Settings } from '../options/connect.js';
import type { Host } from './hosts.js';
import { HostList, readHosts } from './hosts.js';

/** The part of `lifetimeMs` by which connections differ, so that they do not all end together. */
const LIFETIME_JITTER = 0.1;

/** A pool, and how many hosts it knows. */
export interface MadePool {
  readonly pool: pg.Pool;
  readonly hostCount: number;
}

/** Makes a pool; opens no connection yet. */
export function makePool(url: string, settings: Settings): MadePool {
  const { scheduler, hosts: more, loadBalance, zone, tls } = settings;
  const choice = { isRandom: loadBalance === 'random', zone };
  const hosts = new HostList(readHosts(url, more), choice, scheduler);
  if (tls !== undefined && /[?&]ssl/.test(url)) {
    throw new OptionError('tls', 'not together with sslmode and the like in the URL');
  }
  const config: pg.PoolConfig = {
    max: settings.connectionsMax,
    idleTimeoutMillis: settings.idleTimeoutMs,
    fallback_application_name: settings.applicationName,
    keepAlive: true,
    ...(tls === undefined ? {} : { ssl: tls }),
    Client: clientClass(hosts, settings),
  };
  const pool = new pg.Pool(config);
  limitLifetime(pool, settings);
  // Without a listener the loss of an unused connection would end the process.
  pool.on('error', settings.onConnectionLost ?? ignore);
  return { pool, hostCount: hosts.hosts.length };
}

/** Gives each connection a time of its own; the pool asks for it once it is connected. */
function limitLifetime(pool: pg.Pool, { lifetimeMs, scheduler }: Settings): void {
  Object.defineProperty(pool.options, 'maxLifetimeSeconds', {
    get: () => (lifetimeMs * (1 - LIFETIME_JITTER * scheduler.random())) / 1000,
  });
}

/** What the pool is told about a connection, as `pg` declares it. */
type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** Clients that choose their host when they are made, and note whether they have reached it. */
function clientClass(hosts: HostList, settings: Settings): ClientClass {
  const { password } = settings;
  const connectTimeoutMs = Math.min(settings.connectTimeoutMs, settings.acquireTimeoutMs);
  return class HostClient extends recordingParameters(pg.Client) {
    readonly #host: Host;
    #isTaken = false;

    constructor(config?: string | pg.ClientConfig) {
      const host = hosts.next();
      super({
        ...(typeof config === 'object' ? config : {}),
        connectionString: host.url,
        connectionTimeoutMillis: connectTimeoutMs,
      });
      this.#host = host;
      wireOf(this).once('connect', () => (this.#isTaken = true));
      // Set here, because a URL without a password would count as an empty one.
      if (password !== undefined) Object.assign(this, { password });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: (error: never, client: never) => void): unknown {
      const connected = this.#connect();
      if (callback === undefined) return connected;
      connected.then(
        () => {
          callback(null as never, this as never);
        },
        (error: unknown) => {
          callback(error as never, undefined as never);
        },
      );
      return undefined;
    }

    async #connect(): Promise<this> {
      try {
        const makeTrace = (): ConnectTrace => placeOf(this);
        await traced(connects, makeTrace, () => super.connect());
        hosts.note(this.#host, true);
        return this;
      } catch (error) {
        // A server that refuses a password would refuse it again, wherever it runs.
        const isReached = isServerMessage(error) && !isTransient(fromConnect(error));
        hosts.note(this.#host, isReached);
        if (isTimeout(error)) throw timedOut(this.#host, connectTimeoutMs, this.#isTaken);
        if (isStrange(error)) throw strangeServer(this.#host, error);
        throw withAdvice(this.#host, error);
      }
    }
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout expired';
}

function timedOut(host: Host, ms: number, isTaken: boolean): Error {
  const why = isTaken ? ': it took the connection and did not answer; is it a database?' : '';
  const message = `no connection to ${nameOf(host)} within ${ms} ms (connectTimeoutMs)${why}`;
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' });
}

/** What `pg` says of a peer that ends the connection or answers in another protocol. */
const STRANGE =
  /^(Connection terminated unexpectedly|received invalid response|There was an error establishing an SSL)/;

function isStrange(error: unknown): error is Error {
  return error instanceof Error && !isServerMessage(error) && STRANGE.test(error.message);
}

function strangeServer(host: Host, cause: Error): Error {
  const message = `${nameOf(host)} does not answer as a database: ${cause.message}; is it another service, or is it starting?`;
  return new Error(message, { cause });
}

/** What to do about each fault of the operating system, by its name. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: is the server running, and are host and port right?',
  ENOTFOUND: 'no such host: is its name right?',
  EAI_AGAIN: 'the name of the host could not be looked up: is there a network and a DNS server?',
  EHOSTUNREACH: 'no way to the host: are its address and the firewall right?',
  ENETUNREACH: 'no way to the host: are its address and the network right?',
  ECONNRESET: 'the connection was cut: is it a database, and is it starting or stopping?',
  ENOENT: 'no such socket: is the server running, and is its folder right?',
  EACCES: 'the operating system does not allow it: may this user use the socket?',
};

/** The error with the host that it is about, and what to do; other errors as they are. */
function withAdvice(host: Host, error: unknown): unknown {
  // Several addresses were tried (localhost is two): Node reports them together, without a message.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = (first ?? {}) as { code?: unknown };
  const advice = typeof code === 'string' ? ADVICE[code] : undefined;
  if (advice === undefined || !(first instanceof Error)) return error;
  const message = `no connection to ${nameOf(host)} (${first.message}): ${advice}`;
  return Object.assign(new Error(message, { cause: error }), { code });
}

function nameOf({ address }: Host): string {
  return address === '' ? 'the server' : address;
}
