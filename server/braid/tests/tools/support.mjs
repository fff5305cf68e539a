// What the programs of all tools share: where the database is, and how a step prints its results.
//
// A program is a list of steps. A step prints `== name`, then its lines. A step that throws prints
// the error and the program goes on, so that one run shows everything that differs.

/** The database of this run; each program has an empty one of its own. */
export const url = process.env.DATABASE_URL;

/** The parts of the address, for tools that do not take a URL. */
export function connection() {
  const parts = new URL(url);
  return {
    host: parts.hostname,
    port: Number(parts.port),
    user: decodeURIComponent(parts.username),
    password: decodeURIComponent(parts.password) || undefined,
    database: parts.pathname.slice(1),
  };
}

/** Prints one line: texts as they are, everything else as JSON. */
export function say(...values) {
  const text = values.map((value) => (typeof value === 'string' ? value : json(value)));
  process.stdout.write(`${text.join(' ')}\n`);
}

/** Prints each row as a line of JSON. */
export function rows(list) {
  for (const row of list) say(json(row));
  say(`(${list.length} rows)`);
}

/** Prints the rows in the order of their texts, for lists that a tool reads without ORDER BY. */
export function sorted(list) {
  const lines = list.map((row) => json(row));
  for (const line of lines.sort()) say(line);
  say(`(${list.length} rows)`);
}

/** Runs one step. An error becomes a line of the output. */
export async function step(name, run) {
  say(`== ${name}`);
  try {
    await run();
  } catch (error) {
    say(`error ${describe(error)}`);
  }
}

/** Expects that `run` fails, and prints how. */
export async function fails(run) {
  try {
    await run();
    say('no error, although one was expected');
  } catch (error) {
    say(`fails with ${describe(error)}`);
  }
}

function json(value) {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
}

// Tools wrap the server's error: the SQLSTATE is in one of the errors below.
function describe(error) {
  for (let inner = error; inner; inner = below(inner)) {
    if (/^[0-9A-Z]{5}$/.test(inner.code ?? '') && inner.severity !== undefined) {
      const constraint = inner.constraint ?? inner.constraint_name;
      const message = inner.message.replaceAll(/\s*\n\s*/g, ' / ');
      return `${inner.code} ${message}${constraint ? ` [${constraint}]` : ''}`;
    }
  }
  return `${error.name}: ${String(error.message).split('\n')[0]}`;
}

function below(error) {
  return error.cause ?? error.original ?? error.parent ?? error.driverError ?? error.nativeError;
}
