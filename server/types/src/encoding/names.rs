//! The names and numbers of encodings.

use encoding_rs as tables;

/// Where the characters of an encoding are listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tables {
    /// The encoding of stored text.
    Utf8,
    /// Bytes without a meaning: nothing is converted.
    Ascii,
    /// The first 256 characters of Unicode.
    Latin1,
    /// Tables of the `encoding_rs` crate.
    Listed(&'static tables::Encoding),
    /// A Windows code page of single bytes, in which the crate also lists control characters.
    CodePage(&'static tables::Encoding),
    /// PostgreSQL has it, and this server does not.
    Missing,
}

/// An encoding that PostgreSQL has a name for.
#[derive(Debug, PartialEq)]
pub struct Encoding {
    /// PostgreSQL's name.
    pub name: &'static str,
    /// Other names, in lower case, without punctuation, with blanks between them.
    aliases: &'static str,
    /// How it is converted.
    pub tables: Tables,
}

const fn encoding(name: &'static str, aliases: &'static str, tables: Tables) -> Encoding {
    Encoding { name, aliases, tables }
}

/// All of them. The place is PostgreSQL's number.
static ENCODINGS: [Encoding; 42] = [
    encoding("SQL_ASCII", "", Tables::Ascii),
    encoding("EUC_JP", "", Tables::Listed(tables::EUC_JP)),
    encoding("EUC_CN", "", Tables::Missing),
    encoding("EUC_KR", "", Tables::Missing),
    encoding("EUC_TW", "", Tables::Missing),
    encoding("EUC_JIS_2004", "", Tables::Missing),
    encoding("UTF8", "unicode", Tables::Utf8),
    encoding("MULE_INTERNAL", "", Tables::Missing),
    encoding("LATIN1", "iso88591", Tables::Latin1),
    encoding("LATIN2", "iso88592", Tables::Listed(tables::ISO_8859_2)),
    encoding("LATIN3", "iso88593", Tables::Listed(tables::ISO_8859_3)),
    encoding("LATIN4", "iso88594", Tables::Listed(tables::ISO_8859_4)),
    encoding("LATIN5", "iso88599", Tables::Missing),
    encoding("LATIN6", "iso885910", Tables::Listed(tables::ISO_8859_10)),
    encoding("LATIN7", "iso885913", Tables::Listed(tables::ISO_8859_13)),
    encoding("LATIN8", "iso885914", Tables::Listed(tables::ISO_8859_14)),
    encoding("LATIN9", "iso885915", Tables::Listed(tables::ISO_8859_15)),
    encoding("LATIN10", "iso885916", Tables::Listed(tables::ISO_8859_16)),
    encoding("WIN1256", "windows1256", Tables::CodePage(tables::WINDOWS_1256)),
    encoding(
        "WIN1258",
        "windows1258 abc tcvn tcvn5712 vscii",
        Tables::CodePage(tables::WINDOWS_1258),
    ),
    encoding("WIN866", "windows866 alt", Tables::Listed(tables::IBM866)),
    encoding("WIN874", "windows874", Tables::CodePage(tables::WINDOWS_874)),
    encoding("KOI8R", "koi8", Tables::Listed(tables::KOI8_R)),
    encoding("WIN1251", "windows1251 win", Tables::CodePage(tables::WINDOWS_1251)),
    encoding("WIN1252", "windows1252", Tables::CodePage(tables::WINDOWS_1252)),
    encoding("ISO_8859_5", "", Tables::Listed(tables::ISO_8859_5)),
    encoding("ISO_8859_6", "", Tables::Listed(tables::ISO_8859_6)),
    encoding("ISO_8859_7", "", Tables::Listed(tables::ISO_8859_7)),
    encoding("ISO_8859_8", "", Tables::Listed(tables::ISO_8859_8)),
    encoding("WIN1250", "windows1250", Tables::CodePage(tables::WINDOWS_1250)),
    encoding("WIN1253", "windows1253", Tables::CodePage(tables::WINDOWS_1253)),
    encoding("WIN1254", "windows1254", Tables::CodePage(tables::WINDOWS_1254)),
    encoding("WIN1255", "windows1255", Tables::CodePage(tables::WINDOWS_1255)),
    encoding("WIN1257", "windows1257", Tables::CodePage(tables::WINDOWS_1257)),
    encoding("KOI8U", "", Tables::Missing),
    encoding("SJIS", "mskanji shiftjis win932 windows932", Tables::Listed(tables::SHIFT_JIS)),
    encoding("BIG5", "win950 windows950", Tables::Listed(tables::BIG5)),
    encoding("GBK", "win936 windows936", Tables::Listed(tables::GBK)),
    encoding("UHC", "win949 windows949", Tables::Listed(tables::EUC_KR)),
    encoding("GB18030", "", Tables::Listed(tables::GB18030)),
    encoding("JOHAB", "", Tables::Missing),
    encoding("SHIFT_JIS_2004", "", Tables::Missing),
];

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

impl Encoding {
    /// The encoding of stored text.
    pub fn utf8() -> &'static Encoding {
        &ENCODINGS[6]
    }

    /// The encoding of that name, in any spelling that PostgreSQL reads.
    pub fn named(name: &str) -> Option<&'static Encoding> {
        let wanted = plain(name);
        ENCODINGS
            .iter()
            .find(|found| {
                plain(found.name) == wanted || found.aliases.split(' ').any(|name| name == wanted)
            })
            .filter(|_| !wanted.is_empty())
    }

    /// The encoding with PostgreSQL's number.
    pub fn numbered(number: i64) -> Option<&'static Encoding> {
        ENCODINGS.get(usize::try_from(number).ok()?)
    }

    /// PostgreSQL's number; -1 if it has none.
    pub fn number(&self) -> i64 {
        let place = ENCODINGS.iter().position(|known| known.name == self.name);
        place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1)
    }

    /// Whether text has to be converted.
    pub fn converts(&self) -> bool {
        !matches!(self.tables, Tables::Utf8 | Tables::Ascii | Tables::Missing)
    }
}
