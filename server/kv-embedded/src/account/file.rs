//! The file `ACCOUNT`: its content, and how it is written.

use crate::folder::Folder;
use std::io;

/// Its name in the data folder.
pub(super) const ACCOUNT: &str = "ACCOUNT";
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

    pub(super) fn parse(text: &str) -> Option<Account> {
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

/// Writes the account, durably and as a whole.
pub(crate) fn write(folder: &Folder, account: Account) -> io::Result<()> {
    folder.replace(ACCOUNT, &account.text())
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
