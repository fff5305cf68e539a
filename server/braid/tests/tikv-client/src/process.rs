//! A child process whose first lines say where it listens. It is killed when it is dropped.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::cluster::Result;

/// A server that has printed nothing after this time does not start.
const START_MAX: Duration = Duration::from_secs(60);

/// A running program.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program, and returns what follows `mark` in the first line that begins with it.
    pub async fn start(program: &str, args: &[&str], mark: &str) -> Result<(Process, String)> {
        let mut command = Command::new(program);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let output = child.stdout.take().ok_or("the program has no output")?;
        let mut lines = BufReader::new(output).lines();
        let found = tokio::time::timeout(START_MAX, async {
            while let Some(line) = lines.next_line().await? {
                if let Some(rest) = line.strip_prefix(mark) {
                    return Ok(rest.trim().to_owned());
                }
            }
            Err(std::io::Error::other("the program ended"))
        })
        .await;
        let text = found.map_err(|_| format!("{program} printed nothing in time"))??;
        // The pipe is read until its end, so that the program never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok((Process { child }, text))
    }

    /// Kills the program with SIGKILL, and waits until it is gone.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await?;
        Ok(())
    }
}
