//! Objects and their pages in the store.

use braid_catalog::{Id, LargeObject};
use braid_codec::key::system_key;
use braid_kv::{ScanRequest, Span};
use braid_types::{Error, Result, SqlState, work};

use crate::ExecContext;

/// Bytes of a page, as in PostgreSQL.
const PAGE_BYTES: u64 = 2048;
/// The most bytes of an object, as in PostgreSQL.
pub(super) const SIZE_MAX: u64 = i32::MAX as u64 * PAGE_BYTES;
/// The first byte of each value.
const VERSION: u8 = 1;
const OWNER: u8 = 0;
const PAGE: u8 = 1;

/// The objects of the statement's database.
fn database_prefix(cx: &ExecContext) -> Vec<u8> {
    let mut key = system_key("large_object/");
    key.extend_from_slice(&cx.path.database.to_be_bytes());
    key
}

fn part(cx: &ExecContext, object: u32, part: u8) -> Vec<u8> {
    let mut key = database_prefix(cx);
    key.extend_from_slice(&object.to_be_bytes());
    key.push(part);
    key
}

fn page_key(cx: &ExecContext, object: u32, page: u64) -> Vec<u8> {
    let mut key = part(cx, object, PAGE);
    // No object has more pages.
    key.extend_from_slice(&u32::try_from(page).unwrap_or(u32::MAX).to_be_bytes());
    key
}

/// The number of the page with that key.
fn number_of(key: &[u8]) -> Result<u64> {
    let number = key.last_chunk::<4>().ok_or_else(damaged)?;
    Ok(u64::from(u32::from_be_bytes(*number)))
}

fn damaged() -> Error {
    Error::internal("a page of a large object is damaged")
}

/// What follows the version of a value.
fn content(value: &[u8]) -> Result<&[u8]> {
    value.strip_prefix(&[VERSION]).ok_or_else(damaged)
}

fn versioned(content: &[u8]) -> Vec<u8> {
    [&[VERSION], content].concat()
}

/// All objects of the database.
pub async fn all_objects(cx: &ExecContext) -> Result<Vec<LargeObject>> {
    let prefix = database_prefix(cx);
    let place = prefix.len();
    let mut found = Vec::new();
    let mut start = prefix.clone();
    let end = Span::prefix(prefix).end;
    // Pages are passed over: each scan begins behind those of the object before.
    loop {
        let request = ScanRequest::new(Span::new(start, end.clone())).limit_rows(1);
        let batch = first(cx, request).await?;
        let Some((key, value)) = batch.iter().next() else { return Ok(found) };
        let object = key.get(place..place + 4).and_then(|bytes| bytes.first_chunk::<4>());
        let object = u32::from_be_bytes(*object.ok_or_else(damaged)?);
        if key.get(place + 4) == Some(&OWNER) {
            found.push(object_in(object, value)?);
        }
        start = Span::prefix(part(cx, object, PAGE)).end.to_vec();
    }
}

/// The first entries of a scan that sees what this statement has written.
async fn first(cx: &ExecContext, request: ScanRequest) -> Result<braid_kv::ScanBatch> {
    let mut scanner = cx.txn.scanner(cx.seq.after(), request);
    loop {
        let batch = scanner.next_batch().await.map_err(|error| cx.kv_error(error))?;
        match batch {
            None => return Ok(braid_kv::ScanBatch::default()),
            Some(batch) if !batch.is_empty() => return Ok(batch),
            Some(_) => {}
        }
    }
}

fn object_in(object: u32, value: &[u8]) -> Result<LargeObject> {
    let (owner, stored) = content(value)?.split_first_chunk::<4>().ok_or_else(damaged)?;
    LargeObject::from_stored(object, Id::from_be_bytes(*owner), stored).ok_or_else(damaged)
}

/// What is known of an object; `None` if there is no such object.
pub async fn large_object(cx: &ExecContext, object: u32) -> Result<Option<LargeObject>> {
    let key = part(cx, object, OWNER);
    let value = cx.txn.get(cx.seq.after(), &key).await.map_err(|error| cx.kv_error(error))?;
    value.map(|value| object_in(object, &value)).transpose()
}

/// Changes owner, privileges and comment of an object.
pub fn put_large_object(cx: &ExecContext, object: &LargeObject) -> Result<()> {
    let value = versioned(&[&object.owner.to_be_bytes()[..], &object.stored()?].concat());
    let key = part(cx, object.id, OWNER);
    cx.txn.put(cx.seq, key, value).map_err(|error| cx.kv_error(error))
}

/// Makes an object; 23505 if there is one of that number.
pub(super) async fn create(cx: &ExecContext, object: u32, owner: Id) -> Result<()> {
    if large_object(cx, object).await?.is_some() {
        let index = "pg_largeobject_metadata_oid_index";
        let message = format!("duplicate key value violates unique constraint \"{index}\"");
        return Err(Error::new(SqlState::UniqueViolation, message)
            .detail(format!("Key (oid)=({object}) already exists.")));
    }
    let value = versioned(&owner.to_be_bytes());
    let key = part(cx, object, OWNER);
    cx.txn.put_new(cx.seq, key, value).map_err(|error| cx.kv_error(error))
}

/// Removes an object with its pages.
pub async fn unlink(cx: &ExecContext, object: u32) -> Result<()> {
    remove_pages(cx, object, 0).await?;
    cx.txn.delete(cx.seq, part(cx, object, OWNER)).map_err(|error| cx.kv_error(error))
}

/// Removes the pages from that number on.
async fn remove_pages(cx: &ExecContext, object: u32, from: u64) -> Result<()> {
    let end = Span::prefix(part(cx, object, PAGE)).end;
    let span = Span::new(page_key(cx, object, from), end);
    let mut scanner = cx.txn.scanner(cx.seq.after(), ScanRequest::new(span).keys_only());
    while let Some(batch) = scanner.next_batch().await.map_err(|error| cx.kv_error(error))? {
        cx.check_interrupts().await?;
        for (key, _) in batch.iter() {
            cx.txn.delete(cx.seq, key).map_err(|error| cx.kv_error(error))?;
        }
    }
    Ok(())
}

/// Where an object ends.
pub(super) async fn size(cx: &ExecContext, object: u32) -> Result<u64> {
    let span = Span::prefix(part(cx, object, PAGE));
    let batch = first(cx, ScanRequest::new(span).reverse(true).limit_rows(1)).await?;
    match batch.iter().next() {
        None => Ok(0),
        Some((key, value)) => Ok(number_of(key)? * PAGE_BYTES + content(value)?.len() as u64),
    }
}

/// At most that many bytes from a place on.
pub(super) async fn read(
    cx: &ExecContext,
    object: u32,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>> {
    let end = offset.saturating_add(length).min(SIZE_MAX);
    let mut out = Vec::new();
    if end <= offset {
        return Ok(out);
    }
    let (first, last) = (offset / PAGE_BYTES, (end - 1) / PAGE_BYTES);
    let span = Span::new(page_key(cx, object, first), page_key(cx, object, last + 1));
    let mut scanner = cx.txn.scanner(cx.seq.after(), ScanRequest::new(span));
    while let Some(batch) = scanner.next_batch().await.map_err(|error| cx.kv_error(error))? {
        cx.check_interrupts().await?;
        for (key, value) in batch.iter() {
            let start = number_of(key)? * PAGE_BYTES;
            let page = content(value)?;
            let from = offset.max(start) - start;
            let to = (end - start).min(page.len() as u64);
            let Some(piece) = page.get(from as usize..to as usize) else { continue };
            let place = (start + from - offset) as usize;
            work::afford(place)?;
            // A hole before the page is full of zeros.
            out.resize(place, 0);
            out.extend_from_slice(piece);
        }
    }
    // What is missing may be a hole before a later page.
    if (out.len() as u64) < end - offset {
        let end = end.min(size(cx, object).await?);
        let length = end.saturating_sub(offset) as usize;
        work::afford(length)?;
        out.resize(length.max(out.len()), 0);
    }
    Ok(out)
}

/// A page as it is; empty if it is not there.
async fn page(cx: &ExecContext, object: u32, number: u64) -> Result<Vec<u8>> {
    let key = page_key(cx, object, number);
    let value = cx.txn.get(cx.seq.after(), &key).await.map_err(|error| cx.kv_error(error))?;
    value.map_or(Ok(Vec::new()), |value| Ok(content(&value)?.to_vec()))
}

fn put_page(cx: &ExecContext, object: u32, number: u64, page: &[u8]) -> Result<()> {
    let key = page_key(cx, object, number);
    cx.txn.put(cx.seq, key, versioned(page)).map_err(|error| cx.kv_error(error))
}

/// Writes bytes at a place. 22023 beyond the largest object.
pub(super) async fn write(cx: &ExecContext, object: u32, offset: u64, bytes: &[u8]) -> Result<()> {
    if offset.saturating_add(bytes.len() as u64) > SIZE_MAX {
        let message = format!("invalid large object write request size: {}", bytes.len());
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        cx.check_interrupts().await?;
        let (number, from) = (at / PAGE_BYTES, (at % PAGE_BYTES) as usize);
        let (piece, left) = rest.split_at(rest.len().min(PAGE_BYTES as usize - from));
        if piece.len() == PAGE_BYTES as usize {
            put_page(cx, object, number, piece)?;
        } else {
            let mut page = page(cx, object, number).await?;
            let tail = page.split_off(page.len().min(from + piece.len()));
            page.resize(from, 0);
            page.extend_from_slice(piece);
            page.extend_from_slice(&tail);
            put_page(cx, object, number, &page)?;
        }
        (at, rest) = (at + piece.len() as u64, left);
    }
    Ok(())
}

/// Makes an object end at a place.
pub(super) async fn truncate(cx: &ExecContext, object: u32, length: u64) -> Result<()> {
    let is_longer = size(cx, object).await? < length;
    let (number, kept) = (length / PAGE_BYTES, (length % PAGE_BYTES) as usize);
    if kept == 0 && !is_longer {
        return remove_pages(cx, object, number).await;
    }
    remove_pages(cx, object, number + 1).await?;
    let mut page = page(cx, object, number).await?;
    page.resize(kept, 0);
    put_page(cx, object, number, &page)
}
