//! How much memory the machine has, and sizes on the command line.

use std::fs;

/// The limit where the machine does not say how much memory it has.
const FALLBACK_BYTES: u64 = 4 << 30;

/// The default of `--memory-limit`: half of the machine's memory, or of the control group's limit
/// (a container's) if that is less.
pub(crate) fn default_limit_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_bytes(&text));
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    machine.into_iter().chain(group).min().map_or(FALLBACK_BYTES, |bytes| bytes / 2)
}

/// The defaults of the caches' sizes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheSizes {
    /// `--cache-mib`: blocks read from disk.
    pub block_bytes: u64,
    /// `--range-cache-mib`: what long scans have read. It saves most of a scan's time.
    pub range_bytes: u64,
}

impl CacheSizes {
    /// For a `--memory-limit` in bytes; without one, or with 0, for its default.
    pub(crate) fn of_limit(limit: Option<u64>) -> Self {
        let limit = limit.filter(|limit| *limit > 0).unwrap_or_else(default_limit_bytes);
        Self { block_bytes: (limit / 16).max(128 << 20), range_bytes: (limit / 4).max(256 << 20) }
    }
}

/// `MemTotal` of `/proc/meminfo`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// `512MB`, `1.5GB`; units are powers of 1024, a plain number is bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let shift = match text[end..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "KB" | "KIB" => 10,
        "MB" | "MIB" => 20,
        "GB" | "GIB" => 30,
        "TB" | "TIB" => 40,
        other => return Err(format!("unknown unit \"{other}\"; use kB, MB, GB or TB")),
    };
    let number: f64 = text[..end].parse().map_err(|_| "expected a size such as 4GB".to_owned())?;
    let bytes = number * (1u64 << shift) as f64;
    if bytes >= (1u64 << 60) as f64 {
        return Err("at most 1048576 TB".to_owned());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("4GB"), Ok(4 << 30));
        assert_eq!(parse_size("1.5 MiB"), Ok(3 << 19));
        assert_eq!(parse_size("0"), Ok(0));
        for text in ["", "GB", "-1GB", "1 XB", "1e30", "99999999TB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn caches_grow_with_the_memory_limit() {
        let sizes = |limit| {
            let sizes = CacheSizes::of_limit(Some(limit));
            (sizes.block_bytes >> 20, sizes.range_bytes >> 20)
        };
        assert_eq!(sizes(512 << 20), (128, 256), "the least");
        assert_eq!(sizes(1 << 30), (128, 256));
        assert_eq!(sizes(16 << 30), (1024, 4096));
        assert_eq!(CacheSizes::of_limit(Some(0)), CacheSizes::of_limit(None));
    }

    #[test]
    fn the_machine_says_how_much_memory_it_has() {
        assert_eq!(total_bytes("MemTotal:       1024 kB\nMemFree: 3 kB\n"), Some(1 << 20));
        assert_eq!(total_bytes("MemFree: 3 kB\n"), None);
        assert!(default_limit_bytes() > 0);
    }
}
