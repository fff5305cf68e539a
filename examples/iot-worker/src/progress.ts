/**
 * One line on the terminal that shows how far things are; one line a second where there is none.
 */

const INTERVAL_MS = 250;
const PLAIN_INTERVAL_MS = 1000;

/** Shows what `text` returns until the returned function is called, which shows it once more. */
export function showProgress(text: () => string): () => void {
  const { stdout } = process;
  const write = (): void => {
    stdout.write(stdout.isTTY ? `\r\u001b[K  ${text()}` : `  ${text()}\n`);
  };
  const timer = setInterval(write, stdout.isTTY ? INTERVAL_MS : PLAIN_INTERVAL_MS);
  timer.unref();
  let shown = false;
  return () => {
    if (shown) return;
    shown = true;
    clearInterval(timer);
    write();
    if (stdout.isTTY) stdout.write('\n');
  };
}

/** A whole number with separators: 26,277. */
export function readable(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
