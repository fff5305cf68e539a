//! Lookups of keys at one timestamp.

use crate::{
    cluster::{Cluster, RequestOptions},
    gc::check_age,
    locks::{LockResolver, unexpected},
};
use braid_kv::{Key, Result, Value};
use braid_tikv_proto::kvrpcpb::{BatchGetRequest, GetRequest, KeyError, LockInfo};
use std::{collections::HashMap, sync::Arc};

/// The lock of an error, or the error itself.
pub(crate) fn lock_of(error: &KeyError) -> Result<LockInfo> {
    error.locked.clone().ok_or_else(|| unexpected("a read", error))
}

/// The value of one key at `ts`.
pub(crate) async fn get(
    cluster: &Arc<Cluster>,
    key: &[u8],
    ts: u64,
    mut resolver: LockResolver,
) -> Result<Option<Value>> {
    loop {
        match get_once(cluster, key, ts, resolver.options()).await? {
            Err(error) => resolver.resolve(cluster, &[lock_of(&error)?]).await?,
            Ok(value) => {
                check_age(cluster, ts).await?;
                return Ok(value);
            }
        }
    }
}

/// One request for the value of a key at `ts`, or what the store has against it.
async fn get_once(
    cluster: &Arc<Cluster>,
    key: &[u8],
    ts: u64,
    options: &RequestOptions,
) -> Result<std::result::Result<Option<Value>, KeyError>> {
    let make = |_: &_| GetRequest {
        key: Value::copy_from_slice(key),
        version: ts,
        ..GetRequest::default()
    };
    let answer = cluster.at_key(key, options, make).await?;
    Ok(match answer.error {
        Some(error) => Err(error),
        None => Ok((!answer.not_found).then_some(answer.value)),
    })
}

/// The newest value of one key, without asking PD for a timestamp.
///
/// The read is at the newest timestamp that this gateway knows. The store refuses it if the key
/// has a prewritten lock or a newer version; then a timestamp of PD is needed after all. So what
/// the read returns is the newest value, and two things hold as for a read at a timestamp of PD:
///
/// - A commit in two phases that has proved its reads already is not passed over. Somebody may have
///   changed what it has read, and been answered before this read began.
/// - A commit whose timestamp the store chooses afterwards is above every commit that this gateway
///   has acknowledged before.
/// - The timestamp is at most one above what PD has given: no transaction that begins after the
///   answer gets an older one.
///
/// Without them the order of transactions could differ from the order of their answers. The second
/// one does not include what other gateways have acknowledged meanwhile.
pub(super) async fn get_newest(cluster: &Arc<Cluster>, key: &[u8]) -> Result<Option<Value>> {
    let known = cluster.tso.newest();
    if known > 0 {
        let options = RequestOptions { refuses_locks: true, ..RequestOptions::default() };
        match get_once(cluster, key, known, &options).await? {
            Ok(value) => return Ok(value),
            Err(error) if error.conflict.is_some() || error.locked.is_some() => {}
            Err(error) => return Err(unexpected("a read", &error)),
        }
    }
    let ts = cluster.tso.now().await?;
    get(cluster, key, ts, LockResolver::new(cluster, ts, 0)).await
}

/// The values of those keys that exist at `ts`, one request for each region.
pub(crate) async fn multi_get(
    cluster: &Arc<Cluster>,
    mut keys: Vec<Key>,
    ts: u64,
    mut resolver: LockResolver,
) -> Result<HashMap<Key, Value>> {
    keys.sort_unstable();
    keys.dedup();
    let mut found = HashMap::with_capacity(keys.len());
    while !keys.is_empty() {
        let make = |keys: &[Key]| BatchGetRequest {
            keys: keys.iter().map(|key| key.clone().into()).collect(),
            version: ts,
            ..BatchGetRequest::default()
        };
        let asked = std::mem::take(&mut keys);
        let answers = cluster.at_all(asked, resolver.options(), make).await;
        let mut locks = Vec::new();
        for (asked, answer) in answers? {
            let errors = answer.pairs.iter().filter_map(|pair| pair.error.as_ref());
            let met: Vec<LockInfo> =
                answer.error.iter().chain(errors).map(lock_of).collect::<Result<_>>()?;
            if met.is_empty() {
                found.extend(answer.pairs.into_iter().map(|p| (p.key.to_vec(), p.value)));
            } else {
                keys.extend(asked);
                locks.extend(met);
            }
        }
        if !locks.is_empty() {
            keys.sort_unstable();
            resolver.resolve(cluster, &locks).await?;
        }
    }
    check_age(cluster, ts).await?;
    Ok(found)
}
