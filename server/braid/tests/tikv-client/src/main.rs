//! Checks BraidDB's data in TiKV by a client that is not ours, the `tikv-client` crate.
//!
//! ```text
//!  tokio-postgres ──▶ braid ──▶ TiKV stand-in or a real cluster ◀── tikv-client
//! ```
//!
//! Each check prints a line. The program ends with `N passed, N failed`, and with 1 if one failed.
//! Rows carry a marker of text, which their values in TiKV contain as it is. So the program needs
//! no decoder of BraidDB's format.
//!
//! | variable | meaning |
//! |---|---|
//! | `BRAID_BINARY` | the server; `target/release/braid` unless set |
//! | `TIKV_STANDIN` | the stand-in; `target/debug/tikv-standin` unless set |
//! | `TIKV_SPLIT` | the program that splits regions; `target/debug/tikv-split` unless set |
//! | `TIKV_PD` | a PD member of a real cluster, instead of the stand-in |

mod checks;
mod cluster;
mod process;

use std::process::ExitCode;

use cluster::Cluster;

#[tokio::main]
async fn main() -> ExitCode {
    let mut cluster = match Cluster::start().await {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("FAILED to start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (mut passed, mut failed) = (0, 0);
    for name in checks::ALL {
        match checks::run(name, &mut cluster).await {
            Ok(()) => {
                passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                failed += 1;
                println!("FAILED {name}: {error}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
