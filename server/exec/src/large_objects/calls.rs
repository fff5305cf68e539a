//! The functions of large objects.

use std::hash::{BuildHasher, RandomState};

use braid_builtins::LargeObjectCall as Call;
use braid_catalog::{Id, LargeObject, Object};
use braid_types::{Datum, Error, Result, SqlState};

use super::descriptors::{Descriptor, Descriptors};
use super::pages::{self, SIZE_MAX};
use crate::ExecContext;

/// `INV_READ` and `INV_WRITE` of PostgreSQL.
const READ: i64 = 0x40000;
const WRITE: i64 = 0x20000;
/// Users' objects have numbers from here on.
const FIRST_OBJECT: u32 = 16_384;
/// The most bytes that one call returns.
const RESULT_BYTES_MAX: u64 = 0x3fff_ffff;

/// The arguments of a call.
struct Args<'a>(&'a [Datum]);

impl Args<'_> {
    fn int(&self, place: usize) -> Result<i64> {
        let found = self.0.get(place).and_then(Datum::as_int);
        found.ok_or_else(|| Error::internal("an argument of a large object is missing"))
    }

    fn object(&self) -> Result<u32> {
        Ok(u32::try_from(self.int(0)?).unwrap_or(0))
    }

    fn descriptor(&self) -> Result<i32> {
        Ok(i32::try_from(self.int(0)?).unwrap_or(-1))
    }

    fn bytes(&self, place: usize) -> Result<&[u8]> {
        let found = self.0.get(place).and_then(Datum::as_bytes);
        found.ok_or_else(|| Error::internal("the bytes of a large object are missing"))
    }
}

/// Carries out a function; none of its arguments is NULL.
pub(crate) async fn call(cx: &ExecContext, call: Call, args: &[Datum]) -> Result<Datum> {
    let args = Args(args);
    if changes(call) && cx.services.is_read_only() {
        let message = format!("cannot execute {}() in a read-only transaction", name(call));
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    match call {
        Call::Create => create(cx, args.object()?).await,
        // The argument says how PostgreSQL once opened the object.
        Call::Creat => create(cx, 0).await,
        Call::Unlink => {
            let object = args.object()?;
            let found = find(cx, object).await?;
            cx.catalog.privileges().check_owner(user(cx), Object::LargeObject(&found))?;
            pages::unlink(cx, object).await?;
            Ok(Datum::Int(1))
        }
        Call::FromBytes => {
            let object = create(cx, args.object()?).await?;
            let number = object.as_int().and_then(|number| u32::try_from(number).ok());
            pages::write(cx, number.unwrap_or(0), 0, args.bytes(1)?).await?;
            Ok(object)
        }
        Call::Get => get(cx, &args).await,
        Call::Put => {
            let object = args.object()?;
            check(cx, object, "UPDATE").await?;
            let offset = u64::try_from(args.int(1)?).map_err(|_| bad_seek(args.int(1)))?;
            pages::write(cx, object, offset, args.bytes(2)?).await?;
            Ok(Datum::text(""))
        }
        Call::Open => open(cx, &args).await,
        Call::Close => {
            let mut all = Descriptors::of(cx);
            all.close(args.descriptor()?)?;
            all.keep(cx);
            Ok(Datum::Int(0))
        }
        Call::Read => read(cx, &args).await,
        Call::Write => write(cx, &args).await,
        Call::Seek { is_wide } => seek(cx, &args, is_wide).await,
        Call::Tell { is_wide } => {
            let number = args.descriptor()?;
            position(number, Descriptors::of(cx).get(number)?.offset, (is_wide, "lo_tell"))
        }
        Call::Truncate => truncate(cx, &args).await,
    }
}

/// Whether a function changes an object.
fn changes(call: Call) -> bool {
    !matches!(
        call,
        Call::Get | Call::Open | Call::Close | Call::Read | Call::Seek { .. } | Call::Tell { .. }
    )
}

fn name(call: Call) -> &'static str {
    match call {
        Call::Create => "lo_create",
        Call::Creat => "lo_creat",
        Call::Unlink => "lo_unlink",
        Call::FromBytes => "lo_from_bytea",
        Call::Get => "lo_get",
        Call::Put => "lo_put",
        Call::Open => "lo_open",
        Call::Close => "lo_close",
        Call::Read => "loread",
        Call::Write => "lowrite",
        Call::Seek { .. } => "lo_lseek",
        Call::Tell { .. } => "lo_tell",
        Call::Truncate => "lo_truncate",
    }
}

fn user(cx: &ExecContext) -> Id {
    cx.catalog.names().role(cx.env.current_user()).map_or(0, |role| role.id)
}

/// Makes an object of that number; 0 chooses one.
async fn create(cx: &ExecContext, wanted: u32) -> Result<Datum> {
    let mut object = wanted;
    while object == 0 {
        let random = RandomState::new().hash_one(cx.env.transaction_micros());
        let candidate = FIRST_OBJECT + (random as u32 & 0x7fff_ffff) / 2;
        if pages::large_object(cx, candidate).await?.is_none() {
            object = candidate;
        }
    }
    pages::create(cx, object, user(cx)).await?;
    Ok(Datum::Int(object.into()))
}

/// The object of that number; 42704 if there is none.
async fn find(cx: &ExecContext, object: u32) -> Result<LargeObject> {
    pages::large_object(cx, object).await?.ok_or_else(|| {
        let message = format!("large object {object} does not exist");
        Error::new(SqlState::UndefinedObject, message)
    })
}

/// 42704 if there is no such object, 42501 without a privilege on it.
async fn check(cx: &ExecContext, object: u32, privilege: &str) -> Result<()> {
    let found = find(cx, object).await?;
    cx.catalog.privileges().check(user(cx), Object::LargeObject(&found), privilege)
}

async fn open(cx: &ExecContext, args: &Args<'_>) -> Result<Datum> {
    let (object, flags) = (args.object()?, args.int(1)?);
    if flags & (READ | WRITE) == 0 {
        let message = format!("invalid flags for opening a large object: {flags}");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let may_write = flags & WRITE != 0;
    if may_write && cx.services.is_read_only() {
        let message = "cannot execute lo_open(INV_WRITE) in a read-only transaction";
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    check(cx, object, "SELECT").await?;
    if may_write {
        check(cx, object, "UPDATE").await?;
    }
    let mut all = Descriptors::of(cx);
    let number = all.open(Descriptor { object, may_write, offset: 0 });
    all.keep(cx);
    Ok(Datum::Int(number.into()))
}

async fn get(cx: &ExecContext, args: &Args<'_>) -> Result<Datum> {
    let object = args.object()?;
    check(cx, object, "SELECT").await?;
    let (offset, length) = match args.0 {
        [_] => (0, pages::size(cx, object).await?),
        _ => {
            let length = u64::try_from(args.int(2)?).map_err(|_| {
                let message = "requested length cannot be negative";
                Error::new(SqlState::InvalidParameterValue, message)
            })?;
            (u64::try_from(args.int(1)?).map_err(|_| bad_seek(args.int(1)))?, length)
        }
    };
    let size = pages::size(cx, object).await?;
    let length = length.min(size.saturating_sub(offset));
    if length > RESULT_BYTES_MAX {
        let message = "large object read request is too large";
        return Err(Error::new(SqlState::ProgramLimitExceeded, message));
    }
    Ok(Datum::bytes(pages::read(cx, object, offset, length).await?))
}

async fn read(cx: &ExecContext, args: &Args<'_>) -> Result<Datum> {
    let number = args.descriptor()?;
    let mut all = Descriptors::of(cx);
    let descriptor = all.get(number)?;
    let length = u64::try_from(args.int(1)?).unwrap_or(0).min(RESULT_BYTES_MAX);
    let bytes = pages::read(cx, descriptor.object, descriptor.offset, length).await?;
    all.move_to(number, descriptor.offset + bytes.len() as u64);
    all.keep(cx);
    Ok(Datum::bytes(bytes))
}

/// The descriptor, if it may write; 55000 if it may not.
fn writable(all: &Descriptors, number: i32) -> Result<Descriptor> {
    let descriptor = all.get(number)?;
    if descriptor.may_write {
        return Ok(descriptor);
    }
    let message = format!("large object descriptor {number} was not opened for writing");
    Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message))
}

async fn write(cx: &ExecContext, args: &Args<'_>) -> Result<Datum> {
    let (number, bytes) = (args.descriptor()?, args.bytes(1)?);
    let mut all = Descriptors::of(cx);
    let descriptor = writable(&all, number)?;
    pages::write(cx, descriptor.object, descriptor.offset, bytes).await?;
    all.move_to(number, descriptor.offset + bytes.len() as u64);
    all.keep(cx);
    Ok(Datum::Int(bytes.len() as i64))
}

async fn seek(cx: &ExecContext, args: &Args<'_>, is_wide: bool) -> Result<Datum> {
    let (number, by, whence) = (args.descriptor()?, args.int(1)?, args.int(2)?);
    let mut all = Descriptors::of(cx);
    let descriptor = all.get(number)?;
    let base = match whence {
        0 => 0,
        1 => descriptor.offset,
        2 => pages::size(cx, descriptor.object).await?,
        _ => {
            let message = format!("invalid whence setting: {whence}");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    };
    let to = base.cast_signed().saturating_add(by);
    let target = u64::try_from(to).ok().filter(|target| *target <= SIZE_MAX);
    let target = target.ok_or_else(|| bad_seek(Ok(to)))?;
    all.move_to(number, target);
    let answer = position(number, target, (is_wide, "lo_lseek"))?;
    all.keep(cx);
    Ok(answer)
}

fn bad_seek(target: Result<i64>) -> Error {
    let target = target.unwrap_or_default();
    let message = format!("invalid large object seek target: {target}");
    Error::new(SqlState::InvalidParameterValue, message)
}

/// A position as a result; 22003 if it does not fit into an `integer`.
fn position(number: i32, offset: u64, (is_wide, name): (bool, &str)) -> Result<Datum> {
    let offset = offset.cast_signed();
    if !is_wide && i32::try_from(offset).is_err() {
        let message = format!("{name} result out of range for large-object descriptor {number}");
        return Err(Error::new(SqlState::NumericValueOutOfRange, message));
    }
    Ok(Datum::Int(offset))
}

async fn truncate(cx: &ExecContext, args: &Args<'_>) -> Result<Datum> {
    let (number, length) = (args.descriptor()?, args.int(1)?);
    let descriptor = writable(&Descriptors::of(cx), number)?;
    let wanted = u64::try_from(length).ok().filter(|length| *length <= SIZE_MAX);
    let wanted = wanted.ok_or_else(|| {
        let message = format!("invalid large object truncation target: {length}");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    pages::truncate(cx, descriptor.object, wanted).await?;
    Ok(Datum::Int(0))
}
