//! Who and where: users, databases, settings, the server itself; and what `exec` carries out.

use std::sync::LazyLock;
use std::time::SystemTime;

use braid_types::encoding::Encoding;
use braid_types::net::Inet;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::{Advisory, Call, Special};

/// What `version()` answers; drivers read the number after the first word.
const VERSION: &str = concat!("PostgreSQL 15.0 (BraidDB ", env!("CARGO_PKG_VERSION"), ")");

/// Seconds from 1970 to 2000.
const SECONDS_1970_TO_2000: i64 = 946_684_800;

/// Microseconds since 2000 by the system's clock.
pub fn clock_micros() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = since_1970.map_or(0, |elapsed| elapsed.as_micros() as i64);
    micros - SECONDS_1970_TO_2000 * 1_000_000
}

/// When this process first asked, which is when its first statement was bound.
static STARTED: LazyLock<i64> = LazyLock::new(clock_micros);

fn name_array(names: Vec<String>) -> Datum {
    Datum::array(SqlType::Name, names.into_iter().map(Datum::text).collect())
}

fn current_schema(call: &Call<'_>) -> Result<Datum> {
    let path = call.env.search_path(false);
    Ok(path.into_iter().next().map_or(Datum::Null, Datum::text))
}

fn current_setting(call: &Call<'_>) -> Result<Datum> {
    let name = call.text(0)?;
    match call.env.setting(&name.to_lowercase()) {
        Some(value) => text(value),
        None if call.args.len() > 1 && call.bool(1)? => Ok(Datum::Null),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

fn encoding_name(call: &Call<'_>) -> Result<Datum> {
    text(Encoding::numbered(call.int(0)?).map_or("", |found| found.name))
}

fn encoding_number(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(Encoding::named(call.text(0)?).map_or(-1, Encoding::number)))
}

fn client_encoding(call: &Call<'_>) -> Result<Datum> {
    text(call.env.setting("client_encoding").unwrap_or_else(|| "UTF8".to_owned()))
}

fn port(port: Option<u16>) -> Datum {
    port.map_or(Datum::Null, |port| Datum::Int(port.into()))
}

pub(super) fn register(registry: &mut Registry) {
    LazyLock::force(&STARTED);
    registry.add("version() -> text stable", |_| text(VERSION));
    registry.add("current_database|current_catalog() -> name stable", |c| text(c.env.database()));
    registry.add("current_user|current_role|user|getpgusername() -> name stable", |c| {
        text(c.env.current_user())
    });
    registry.add("session_user|system_user() -> name stable", |c| text(c.env.session_user()));
    registry.add("current_schema() -> name stable", current_schema);
    registry.add("current_schemas(bool) -> name[] stable", |c| {
        Ok(name_array(c.env.search_path(c.bool(0)?)))
    });
    registry.add("current_setting(text) -> text stable", current_setting);
    registry.add("current_setting(text, bool) -> text stable", current_setting);
    registry.add("pg_backend_pid() -> int4 stable", |c| Ok(Datum::Int(c.env.backend_pid().into())));
    registry.add("pg_client_encoding() -> name stable", client_encoding);
    registry.add("getdatabaseencoding() -> name stable", |_| text("UTF8"));
    registry.add("pg_encoding_to_char(int4) -> name stable", encoding_name);
    registry.add("pg_char_to_encoding(name) -> int4 stable", encoding_number);
    registry.add("pg_encoding_max_length(int4) -> int4", |_| Ok(Datum::Int(4)));
    registry.add("pg_is_in_recovery|pg_jit_available() -> bool stable", |_| Ok(Datum::Bool(false)));
    registry.add("pg_postmaster_start_time|pg_conf_load_time() -> timestamptz stable", |_| {
        Ok(Datum::Timestamptz(*STARTED))
    });
    registry.add("inet_client_addr() -> inet stable", |c| {
        let found = c.env.client_addr();
        let parsed = found.and_then(|addr| Inet::parse(&SqlType::Inet, &addr).ok());
        Ok(parsed.map_or(Datum::Null, |inet| inet.to_datum()))
    });
    registry.add("inet_server_addr() -> inet stable", |c| {
        let found = c.env.server_addr().map(|addr| addr.ip().to_string());
        let parsed = found.and_then(|addr| Inet::parse(&SqlType::Inet, &addr).ok());
        Ok(parsed.map_or(Datum::Null, |inet| inet.to_datum()))
    });
    registry.add("inet_client_port() -> int4 stable", |c| Ok(port(c.env.client_port())));
    registry.add("inet_server_port() -> int4 stable", |c| {
        Ok(port(c.env.server_addr().map(|addr| addr.port())))
    });
    registry.add("pg_notification_queue_usage() -> float8 volatile", |c| {
        Ok(Datum::Float(c.env.notification_queue_usage()))
    });
    registry.add("pg_my_temp_schema() -> oid stable", |c| {
        let own = c.env.lookup().schema_oid("pg_temp");
        Ok(Datum::Int(own.map_or(0, i64::from)))
    });
    // The schemas of other sessions cannot be seen.
    registry.add("pg_is_other_temp_schema(oid) -> bool stable", |_| Ok(Datum::Bool(false)));
    register_specials(registry);
}

fn register_advisory(registry: &mut Registry) {
    let take = |shared, in_transaction, no_wait| Advisory::Take { shared, in_transaction, no_wait };
    let functions = [
        ("pg_advisory_lock(int8) -> void volatile", take(false, false, false)),
        ("pg_advisory_lock(int4, int4) -> void volatile", take(false, false, false)),
        ("pg_advisory_lock_shared(int8) -> void volatile", take(true, false, false)),
        ("pg_advisory_lock_shared(int4, int4) -> void volatile", take(true, false, false)),
        ("pg_advisory_xact_lock(int8) -> void volatile", take(false, true, false)),
        ("pg_advisory_xact_lock(int4, int4) -> void volatile", take(false, true, false)),
        ("pg_advisory_xact_lock_shared(int8) -> void volatile", take(true, true, false)),
        ("pg_advisory_xact_lock_shared(int4, int4) -> void volatile", take(true, true, false)),
        ("pg_try_advisory_lock(int8) -> bool volatile", take(false, false, true)),
        ("pg_try_advisory_lock(int4, int4) -> bool volatile", take(false, false, true)),
        ("pg_try_advisory_lock_shared(int8) -> bool volatile", take(true, false, true)),
        ("pg_try_advisory_lock_shared(int4, int4) -> bool volatile", take(true, false, true)),
        ("pg_try_advisory_xact_lock(int8) -> bool volatile", take(false, true, true)),
        ("pg_try_advisory_xact_lock(int4, int4) -> bool volatile", take(false, true, true)),
        ("pg_try_advisory_xact_lock_shared(int8) -> bool volatile", take(true, true, true)),
        ("pg_try_advisory_xact_lock_shared(int4, int4) -> bool volatile", take(true, true, true)),
        ("pg_advisory_unlock(int8) -> bool volatile", Advisory::Release { shared: false }),
        ("pg_advisory_unlock(int4, int4) -> bool volatile", Advisory::Release { shared: false }),
        ("pg_advisory_unlock_shared(int8) -> bool volatile", Advisory::Release { shared: true }),
        (
            "pg_advisory_unlock_shared(int4, int4) -> bool volatile",
            Advisory::Release { shared: true },
        ),
        ("pg_advisory_unlock_all() -> void volatile", Advisory::ReleaseAll),
    ];
    for (signature, advisory) in functions {
        registry.special(signature, Special::Advisory(advisory));
    }
}

fn register_specials(registry: &mut Registry) {
    register_advisory(registry);
    registry.special("pg_current_wal_lsn() -> pg_lsn volatile", Special::CommitNumber);
    registry.special("pg_current_wal_insert_lsn() -> pg_lsn volatile", Special::CommitNumber);
    registry.special("pg_current_wal_flush_lsn() -> pg_lsn volatile", Special::CommitNumber);
    registry.special("pg_notify(text, text) -> void volatile lax", Special::Notify);
    registry.special("pg_trigger_depth() -> int4 stable", Special::TriggerDepth);
    registry.special("pg_blocking_pids(int4) -> int4[] volatile", Special::BlockingPids);
    registry.special("nextval(regclass) -> int8 volatile", Special::Nextval);
    registry.special("currval(regclass) -> int8 volatile", Special::Currval);
    registry.special("setval(regclass, int8) -> int8 volatile", Special::Setval);
    registry.special("setval(regclass, int8, bool) -> int8 volatile", Special::Setval);
    registry.special("lastval() -> int8 volatile", Special::Lastval);
    registry
        .special("pg_sequence_last_value(regclass) -> int8 volatile", Special::SequenceLastValue);
    registry.special("braid_sequence_state(regclass) -> int8[] volatile", Special::SequenceState);
    registry.special("pg_sleep(float8) -> void volatile", Special::Sleep);
    registry.special("pg_sleep_for(interval) -> void volatile", Special::Sleep);
    registry.special("pg_sleep_until(timestamptz) -> void volatile", Special::Sleep);
    registry.special("set_config(text, text, bool) -> text volatile lax", Special::SetConfig);
    registry.special("pg_export_snapshot() -> text volatile", Special::ExportSnapshot);
    registry.special("pg_cancel_backend(int4) -> bool volatile", Special::CancelBackend);
    registry.special("pg_terminate_backend(int4) -> bool volatile", Special::TerminateBackend);
    registry
        .special("pg_terminate_backend(int4, int8) -> bool volatile", Special::TerminateBackend);
    registry.special("braid_commit_status(uuid) -> text volatile", Special::CommitStatus);
}
