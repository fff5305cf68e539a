//! The command line. Every option is also an environment variable, `BRAID_` and its name.

use std::path::PathBuf;
use std::time::Duration;

use braid_http::OtlpEndpoint;
use braid_kv_tikv::TikvAddress;
use clap::{Args, Parser, Subcommand};

use crate::memory;

/// BraidDB: a PostgreSQL-compatible, serializable SQL database.
#[derive(Debug, Parser)]
#[command(name = "braid", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server; an empty data folder becomes a new database
    Start(Box<Start>),
    /// Read all data of a stopped server and look for damage; status 1 and a list if there is any
    Check(Check),
    /// Print the version
    Version,
}

/// Options of `braid check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Data folder of a server that is not running
    #[arg(long, env = "BRAID_DATA", value_name = "DIR", default_value = "./braid-data")]
    pub data: PathBuf,

    /// What to log on stderr
    #[arg(long, env = "BRAID_LOG", value_name = "FILTER", default_value = "warn")]
    pub log: String,
}

/// Options of `braid start`.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Data folder; made if it does not exist
    #[arg(long, env = "BRAID_DATA", value_name = "DIR", default_value = "./braid-data")]
    pub data: PathBuf,

    /// Where the data is: embedded (in the data folder), or a TiKV cluster such as
    /// tikv://pd1:2379,pd2:2379?prefix=braid/; with &ca=FILE&cert=FILE&key=FILE by TLS
    #[arg(long, env = "BRAID_STORE", value_name = "STORE", default_value = "embedded",
        value_parser = parse_store)]
    pub store: StoreChoice,

    /// Address for SQL clients; port 0 picks a free one
    #[arg(long, env = "BRAID_LISTEN", value_name = "HOST:PORT", default_value = "127.0.0.1:26257")]
    pub listen: String,

    /// Address for /health and /metrics; port 0 picks a free one
    #[arg(long, env = "BRAID_HTTP", value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub http: String,

    /// Certificate chain in PEM; clients may then use TLS
    #[arg(long, env = "BRAID_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM
    #[arg(long, env = "BRAID_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Allow clients from other machines without TLS, and users without a password from anywhere
    #[arg(long, env = "BRAID_INSECURE")]
    pub insecure: bool,

    /// The most client sessions at a time; more are refused with 53300
    #[arg(long, env = "BRAID_MAX_CONNECTIONS", value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_connections: u32,

    /// The most prepared transactions at a time; 0: PREPARE TRANSACTION is refused
    #[arg(long, env = "BRAID_MAX_PREPARED_TRANSACTIONS", value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(0..=262_143))]
    pub max_prepared_transactions: u32,

    /// The largest protocol message accepted, in bytes
    #[arg(long, env = "BRAID_MAX_MESSAGE_BYTES", value_name = "BYTES", default_value_t = 67_108_864,
        value_parser = clap::value_parser!(u32).range(1024..=1_073_741_824))]
    pub max_message_bytes: u32,

    /// How long a client may take to prove who it is
    #[arg(long, env = "BRAID_AUTHENTICATION_TIMEOUT", value_name = "TIME", default_value = "60s",
        value_parser = parse_duration)]
    pub authentication_timeout: Duration,

    /// How long running statements may go on after SIGTERM
    #[arg(long, env = "BRAID_SHUTDOWN_TIMEOUT", value_name = "TIME", default_value = "10s",
        value_parser = parse_duration)]
    pub shutdown_timeout: Duration,

    /// Memory for blocks read from disk, in MiB [default: a sixteenth of --memory-limit, at least
    /// 128]
    #[arg(long, env = "BRAID_CACHE_MIB", value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub cache_mib: Option<u32>,

    /// Memory for what long scans have read, in MiB; 0 keeps nothing [default: a quarter of
    /// --memory-limit, at least 256]
    #[arg(long, env = "BRAID_RANGE_CACHE_MIB", value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(0..=1_048_576))]
    pub range_cache_mib: Option<u32>,

    /// The most row locks held at once, by all transactions together; one more is 53200
    #[arg(long, env = "BRAID_LOCKS_MAX", value_name = "N", default_value_t = 2_000_000,
        value_parser = clap::value_parser!(u32).range(1000..=1_000_000_000))]
    pub locks_max: u32,

    /// Memory that all statements together may use, such as 4GB; 0: no limit [default: half of the
    /// machine's]
    #[arg(long, env = "BRAID_MEMORY_LIMIT", value_name = "SIZE", value_parser = memory::parse_size)]
    pub memory_limit: Option<u64>,

    /// Folder for temporary files of statements that need more memory than they may use [default:
    /// tmp in the data folder; over TiKV braid in the system's temporary folder]
    #[arg(long, env = "BRAID_TEMP_FOLDER", value_name = "DIR")]
    pub temp_folder: Option<PathBuf>,

    /// Notifications that may wait for one session that does not read them, such as 64MB; then the
    /// session is ended
    #[arg(long, env = "BRAID_NOTIFY_QUEUE", value_name = "SIZE", default_value = "64MB",
        value_parser = memory::parse_size)]
    pub notify_queue: u64,

    /// How often notifications of other gateways are looked for, over TiKV
    #[arg(long, env = "BRAID_NOTIFY_POLL_INTERVAL", value_name = "TIME", default_value = "100ms",
        value_parser = parse_duration)]
    pub notify_poll_interval: Duration,

    /// How often tables that have changed much are looked for and analyzed; 0s: never
    #[arg(long, env = "BRAID_ANALYZE_INTERVAL", value_name = "TIME", default_value = "10s",
        value_parser = parse_duration)]
    pub analyze_interval: Duration,

    /// Log statements that take at least this long, such as 500ms; 0ms: all [default: none]
    #[arg(long, env = "BRAID_LOG_MIN_DURATION", value_name = "TIME", value_parser = parse_duration)]
    pub log_min_duration: Option<Duration>,

    /// Collector of traces, by OTLP over HTTP, such as http://127.0.0.1:4318 [default: none]
    #[arg(long, env = "BRAID_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<OtlpEndpoint>,

    /// Bench aid: wait this long at every round trip, as a remote store would make us
    #[arg(long, env = "BRAID_SIMULATE_RTT", value_name = "TIME", value_parser = parse_duration)]
    pub simulate_rtt: Option<Duration>,

    /// What to log on stderr: error, warn, info, debug, trace, or targets: info,braid_wire=debug
    #[arg(long, env = "BRAID_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// In the data folder.
    Embedded,
    /// In a TiKV cluster.
    Tikv(TikvAddress),
}

fn parse_store(text: &str) -> Result<StoreChoice, String> {
    match text {
        "embedded" => Ok(StoreChoice::Embedded),
        _ if text.starts_with("tikv://") => {
            TikvAddress::parse(text).map(StoreChoice::Tikv).map_err(|error| error.to_string())
        }
        _ => Err("expected embedded or tikv://HOST:PORT,…".to_owned()),
    }
}

/// `20ms`, `1.5s`, `2min`; a plain number is milliseconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit = match text[end..].trim() {
        "us" => 1e-6,
        "ms" | "" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        other => return Err(format!("unknown unit \"{other}\"; use us, ms, s or min")),
    };
    let number: f64 = text[..end].parse().map_err(|_| "expected a time such as 20ms".to_owned())?;
    let seconds = number * unit;
    if seconds > 86_400.0 {
        return Err("at most one day".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("7"), Ok(Duration::from_millis(7)));
        for text in ["", "ms", "1 parsec", "-1s", "1e9min"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_options_are_refused() {
        assert!(Cli::try_parse_from(["braid", "start", "--nope"]).is_err());
        assert!(Cli::try_parse_from(["braid", "start", "--tls-cert", "x"]).is_err());
        assert!(Cli::try_parse_from(["braid", "start", "--max-connections", "0"]).is_err());
        assert!(Cli::try_parse_from(["braid", "start", "--store", "disk"]).is_err());
        assert!(Cli::try_parse_from(["braid", "start", "--store", "tikv://pd"]).is_err());
        assert!(Cli::try_parse_from(["braid", "start", "--store", "tikv://pd:2379"]).is_ok());
        assert!(Cli::try_parse_from(["braid"]).is_err());
    }
}
