//! Our own account of what the data folder must hold, so that damage is a refusal and never a
//! database that looks empty or has lost its last commits.
//!
//! ```text
//!   each batch   meta "commit"  →  its last commit, and the last one of the commit batch before it
//!   ACCOUNT      the last durable commit, the newest journal, whether the last stop was clean
//!   start        files ─ journals, read by themselves ─ ACCOUNT ─ only then fjall opens the folder
//! ```
//!
//! fjall ends a journal at the first record that it cannot read and cuts off the rest. After a
//! crash that is right: a commit that was on its way may be torn. It is wrong if a commit after
//! the tear was written after a sync. Commits form a chain, and each is written after the sync of
//! the one before it. So a second commit after the tear, or a gap in the chain, proves a loss.
//!
//! What must always hold:
//! - Nothing in the folder is changed before all this has been looked at.
//! - `ACCOUNT` never names a commit that has not been synced. It is written at the start, at a
//!   clean stop, and by the cleaner now and then: no commit waits for it. What was committed since
//!   is proved by the journals alone.
//! - A folder of a version that wrote no account is taken as it is; from then on it has one.

mod journals;
mod record;
mod required;

use crate::folder::{Folder, OpenError};
pub(crate) use record::{COMMIT, Commit, decode_commit, encode_commit};
use std::{fs, io};

const ACCOUNT: &str = "ACCOUNT";
/// A file of this name in the data folder accepts the loss of commits, once.
const ACCEPT_LOSS: &str = "ACCEPT-LOSS";
const MAGIC: &str = "BraidDB account";

/// What the file `ACCOUNT` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// The number of a durable commit; 0 before the first one.
    pub(crate) commit: u64,
    /// The number of the newest journal.
    pub(crate) journal: u64,
    /// Nothing was committed after it.
    pub(crate) is_clean: bool,
}

impl Account {
    fn text(self) -> String {
        let stop = if self.is_clean { "clean" } else { "none" };
        let Account { commit, journal, .. } = self;
        let body = format!("{MAGIC}\ncommit {commit}\njournal {journal}\nstop {stop}\n");
        format!("{body}check {:016x}\n", xxhash_rust::xxh3::xxh3_64(body.as_bytes()))
    }

    fn parse(text: &str) -> Option<Account> {
        let mut lines = text.lines().skip(1);
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let account = Account {
            commit: field("commit")?.parse().ok()?,
            journal: field("journal")?.parse().ok()?,
            is_clean: field("stop")? == "clean",
        };
        (account.text() == text).then_some(account)
    }
}

/// What was found before fjall has opened the folder.
pub(crate) struct Inspected {
    account: Option<Account>,
    newest_journal: u64,
    accepts_loss: bool,
}

/// Looks at the files of a database that is there. Changes nothing.
pub(crate) fn inspect(folder: &Folder) -> Result<Inspected, OpenError> {
    let io = |source| OpenError::Io { path: folder.path().to_owned(), source };
    required::check(folder)?;
    let accepts_loss = folder.path().join(ACCEPT_LOSS).exists();
    let account = match fs::read_to_string(folder.path().join(ACCOUNT)) {
        Ok(text) => match Account::parse(&text) {
            None if !accepts_loss => {
                return Err(loss(folder, "the file \"ACCOUNT\" cannot be read"));
            }
            account => account,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(error)),
    };
    let found = journals::read(&folder.store()).map_err(io)?;
    if let Some(damage) = found.damage
        && !accepts_loss
    {
        return Err(loss(folder, &damage));
    }
    let inspected = Inspected { account, newest_journal: found.newest, accepts_loss };
    if let Some(account) = account
        && found.newest < account.journal
        && !accepts_loss
    {
        let Account { journal, .. } = account;
        return Err(loss(folder, &format!("the journal \"store/{journal}.jnl\" is missing")));
    }
    if let Some(account) = account
        && account.is_clean
        && found.is_torn
        && !accepts_loss
    {
        let detail = "the newest journal is torn, but the last stop was clean";
        return Err(loss(folder, detail));
    }
    if account.is_some_and(|account| !account.is_clean) {
        tracing::info!("the last stop was not clean: the journals have been read back");
    }
    // Before fjall cuts off what it cannot read. Without commits in the journals: afterwards.
    if let Some(last) = found.last {
        inspected.check_commit(folder, last.number)?;
    }
    Ok(inspected)
}

impl Inspected {
    /// Compares the last commit that the store has with what the account says.
    pub(crate) fn check(&self, folder: &Folder, last: Option<Commit>) -> Result<(), OpenError> {
        if self.account.is_none() && last.is_some() && !self.accepts_loss {
            return Err(loss(folder, "the file \"ACCOUNT\" is missing"));
        }
        self.check_commit(folder, last.map_or(0, |last| last.number))
    }

    fn check_commit(&self, folder: &Folder, last: u64) -> Result<(), OpenError> {
        let Some(account) = self.account else { return Ok(()) };
        if last >= account.commit || self.accepts_loss {
            return Ok(());
        }
        let known = account.commit;
        let detail = format!("it ends at commit {last}, but commit {known} was durable");
        Err(loss(folder, &detail))
    }

    /// The account to go on with; an accepted loss counts once.
    pub(crate) fn resume(&self, folder: &Folder, last: Option<Commit>) -> Result<(), OpenError> {
        let commit = last.map_or(0, |last| last.number);
        let account = Account { commit, journal: self.newest_journal, is_clean: false };
        let written = write(folder, account).and_then(|()| {
            if self.accepts_loss {
                tracing::warn!(commit, "ACCEPT-LOSS: starting with the commits that are left");
                fs::remove_file(folder.path().join(ACCEPT_LOSS))?;
            }
            Ok(())
        });
        written.map_err(|source| OpenError::Io { path: folder.path().to_owned(), source })
    }
}

/// Writes the account, durably and as a whole.
pub(crate) fn write(folder: &Folder, account: Account) -> io::Result<()> {
    folder.replace(ACCOUNT, &account.text())
}

/// The number of the newest journal of fjall's.
pub(crate) fn newest_journal(folder: &Folder) -> io::Result<u64> {
    Ok(journals::list(&folder.store())?.last().copied().unwrap_or(0))
}

/// The refusal to start without commits that were durable.
fn loss(folder: &Folder, detail: &str) -> OpenError {
    folder.corrupt(format!(
        "{detail}; restore the folder from a backup, or create an empty file \"{ACCEPT_LOSS}\" \
         in it to start without the commits that cannot be read"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_back_or_refused() {
        let account = Account { commit: 7_000_000_000, journal: 12, is_clean: true };
        let text = account.text();
        assert_eq!(Account::parse(&text), Some(account));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(Account::parse(&String::from_utf8_lossy(&bytes)), None, "byte {at}");
            assert_eq!(Account::parse(&text[..at]), None, "cut at {at}");
        }
    }
}
