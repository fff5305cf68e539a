//! Splits the keys with a prefix into regions with as many keys each, on a real cluster or on the
//! stand-in, and prints how many regions have such keys: for benches, which would have to wait for
//! a table to grow.

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use braid_testkit::tikv::admin::Admin;

const USAGE: &str = "usage: tikv-split host:port-of-PD prefix-in-hexadecimal parts";

/// PD that has not heard of a region for so long will not hear of it.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((admin, prefix, parts)) = understand(&args) else {
        let _ = writeln!(stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    let mut keys = Vec::new();
    for region in admin.regions(&prefix) {
        keys.extend(admin.keys(&prefix, &region));
    }
    if keys.len() < parts {
        let _ = writeln!(stderr(), "{} keys cannot become {parts} regions", keys.len());
        return ExitCode::FAILURE;
    }
    for part in 1..parts {
        admin.split_at(&keys[keys.len() * part / parts]);
    }
    // PD hears of new regions a little later.
    let deadline = Instant::now() + PATIENCE;
    while admin.regions(&prefix).len() < parts && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
    match writeln!(stdout(), "{}", admin.regions(&prefix).len()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn understand(args: &[String]) -> Option<(Admin, Vec<u8>, usize)> {
    let [pd, prefix, parts] = args else { return None };
    let digits = |at| prefix.get(at..at + 2);
    let bytes = (0..prefix.len()).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(digits(at)?, 16).ok());
    let (prefix, parts) = (bytes.collect::<Option<Vec<u8>>>()?, parts.parse().ok()?);
    Some((Admin::connect(pd), prefix, parts))
}
