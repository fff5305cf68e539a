//! The TiKV stand-in as a process, for scripts and benches: prints `tikv://…` and runs until
//! it is killed. Everything is in memory.

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;
use std::time::Duration;

use braid_testkit::tikv::{Config, Plan, TikvStandIn};

const USAGE: &str = "\
usage: tikv-standin [option value]...
  --pd-ports 2379,…  ports of the PD members (default: one, on a free port)
  --stores 3         stores
  --split key        a border between regions; may be given several times
  --latency-ms 0     of a request to a store, there and back
  --pd-latency-ms 0  of a request to PD
  --plan none        what goes wrong by itself: none, daily or rough
  --seed 1           of what goes wrong";

fn main() -> ExitCode {
    let mut config = Config::default();
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args.next().unwrap_or_default();
        if apply(&mut config, &option, &value).is_none() {
            let _ = writeln!(stderr(), "{option} {value}: not understood\n{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    let cluster = TikvStandIn::start(config);
    if writeln!(stdout(), "{}", cluster.store_url()).is_err() {
        return ExitCode::FAILURE;
    }
    loop {
        std::thread::park();
    }
}

fn apply(config: &mut Config, option: &str, value: &str) -> Option<()> {
    let millis = || value.parse().map(Duration::from_millis).ok();
    match option {
        "--pd-ports" => {
            config.pd_ports = value.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        }
        "--stores" => config.stores = value.parse().ok()?,
        "--split" => config.splits.push(value.as_bytes().to_vec()),
        "--latency-ms" => config.delays.latency = millis()?,
        "--pd-latency-ms" => config.delays.pd_latency = millis()?,
        "--plan" => config.plan = Plan::named(value)?,
        "--seed" => config.seed = value.parse().ok()?,
        _ => return None,
    }
    Some(())
}
