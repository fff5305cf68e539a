//! Compares what is stored with what the workers were told.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::{Client, SimpleQueryMessage};

use super::load::{ACCOUNTS, Load, OPENING_BALANCE};

/// An error says what is lost, half there, or there though it never committed. Transactions whose
/// outcome was unknown are looked up, and from then on must stay as they were found.
pub(super) async fn check(client: &Client, load: &mut Load) -> Result<(), String> {
    let ledger = rows(client, "SELECT worker, seq, leg, account, amount FROM ledger").await?;
    let mut moved: BTreeMap<i64, i64> = BTreeMap::new();
    let mut entries: BTreeMap<i64, i64> = BTreeMap::new();
    let mut transfers: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    for row in &ledger {
        let [worker, seq, _, account, amount] = row[..] else { return Err("columns".to_owned()) };
        *moved.entry(account).or_default() += amount;
        *entries.entry(account).or_default() += 1;
        transfers.entry((worker, seq)).or_default().push(amount);
    }
    for (transfer, amounts) in &transfers {
        if amounts.len() != 2 || amounts.iter().sum::<i64>() != 0 {
            return Err(format!("transfer {transfer:?} is half there: {amounts:?}"));
        }
    }
    check_workers(load, &transfers)?;
    check_accounts(client, &moved, &entries).await
}

fn check_workers(
    load: &mut Load,
    transfers: &BTreeMap<(i64, i64), Vec<i64>>,
) -> Result<(), String> {
    for (number, worker) in load.workers.iter_mut().enumerate() {
        let range = (number as i64, i64::MIN)..=(number as i64, i64::MAX);
        let found: BTreeSet<i32> = transfers.range(range).map(|(key, _)| key.1 as i32).collect();
        let lost: Vec<&i32> = worker.committed.difference(&found).collect();
        if !lost.is_empty() {
            return Err(format!("worker {number}: acknowledged and lost: {lost:?}"));
        }
        if let Some(unknown) = worker.unknown.take()
            && found.contains(&unknown)
        {
            worker.committed.insert(unknown);
        }
        let never: Vec<&i32> = found.difference(&worker.committed).collect();
        if !never.is_empty() {
            return Err(format!("worker {number}: never committed and there: {never:?}"));
        }
    }
    Ok(())
}

async fn check_accounts(
    client: &Client,
    moved: &BTreeMap<i64, i64>,
    entries: &BTreeMap<i64, i64>,
) -> Result<(), String> {
    let accounts = rows(client, "SELECT id, balance FROM account").await?;
    if accounts.len() != ACCOUNTS as usize {
        return Err(format!("{} accounts instead of {ACCOUNTS}", accounts.len()));
    }
    for row in &accounts {
        let [id, balance] = row[..] else { return Err("columns".to_owned()) };
        let wanted = OPENING_BALANCE + moved.get(&id).copied().unwrap_or(0);
        if balance != wanted {
            return Err(format!("account {id} has {balance}, the ledger says {wanted}"));
        }
        let indexed = format!("SELECT count(*) FROM ledger WHERE account = {id}");
        let indexed = rows(client, &indexed).await?[0][0];
        let wanted = entries.get(&id).copied().unwrap_or(0);
        if indexed != wanted {
            return Err(format!("the index has {indexed} of account {id}, the table {wanted}"));
        }
    }
    Ok(())
}

async fn rows(client: &Client, sql: &str) -> Result<Vec<Vec<i64>>, String> {
    let messages = client.simple_query(sql).await.map_err(|error| format!("{sql}: {error:?}"))?;
    let mut rows = Vec::new();
    for message in messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let number = |at| {
            let text = row.get(at).unwrap_or("NULL");
            text.parse::<i64>().map_err(|_| format!("{sql}: {text} is not a number"))
        };
        rows.push((0..row.len()).map(number).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(rows)
}
