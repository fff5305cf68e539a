//! COPY, in either direction.

use braid_sql::ast::{Copy, CopyDirection};
use braid_types::Result;

use crate::client::Client;
use crate::protocol::copy::ends::check_may_use_files;
use crate::protocol::copy::input::copy_in;
use crate::protocol::copy::output::copy_out;
use crate::session::Session;
use crate::statement::prepared::Prepared;

/// `COPY`, in either direction; the tag.
pub(crate) async fn run_copy(
    session: &mut Session,
    copy: &Copy,
    outer: &Prepared,
    client: &mut dyn Client,
) -> Result<String> {
    session.replay.blocked = true;
    let reads = copy.direction == CopyDirection::FromStdin;
    if copy.file.is_some() {
        check_may_use_files(session, reads).await?;
    }
    let rows = match copy.direction {
        CopyDirection::FromStdin => copy_in(session, copy, outer, client).await?,
        CopyDirection::ToStdout => copy_out(session, copy, outer, client).await?,
    };
    Ok(format!("COPY {rows}"))
}
