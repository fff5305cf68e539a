//! Whether a data folder is complete, before and after fjall opens it.

use super::{
    file::{ACCOUNT, Account, write},
    journals,
    record::Commit,
    required,
};
use crate::folder::{Folder, OpenError};
use std::{fs, io};

/// A file of this name in the data folder accepts the loss of commits, once.
const ACCEPT_LOSS: &str = "ACCEPT-LOSS";

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

/// The refusal to start without commits that were durable.
fn loss(folder: &Folder, detail: &str) -> OpenError {
    folder.corrupt(format!(
        "{detail}; restore the folder from a backup, or create an empty file \"{ACCEPT_LOSS}\" \
         in it to start without the commits that cannot be read"
    ))
}
