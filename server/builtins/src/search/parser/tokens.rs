//! The kinds of tokens.

/// The kind of a token, by PostgreSQL's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Token {
    AsciiWord = 1,
    Word = 2,
    NumWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    Scientific = 7,
    Version = 8,
    NumPart = 9,
    Part = 10,
    AsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumHyphenated = 15,
    AsciiHyphenated = 16,
    Hyphenated = 17,
    UrlPath = 18,
    File = 19,
    Decimal = 20,
    Signed = 21,
    Unsigned = 22,
    Entity = 23,
}

/// Every kind with its name and a description.
pub(crate) const TOKENS: [(Token, &str, &str); 23] = [
    (Token::AsciiWord, "asciiword", "Word, all ASCII"),
    (Token::Word, "word", "Word, all letters"),
    (Token::NumWord, "numword", "Word, letters and digits"),
    (Token::Email, "email", "Email address"),
    (Token::Url, "url", "URL"),
    (Token::Host, "host", "Host"),
    (Token::Scientific, "sfloat", "Scientific notation"),
    (Token::Version, "version", "Version number"),
    (Token::NumPart, "hword_numpart", "Hyphenated word part, letters and digits"),
    (Token::Part, "hword_part", "Hyphenated word part, all letters"),
    (Token::AsciiPart, "hword_asciipart", "Hyphenated word part, all ASCII"),
    (Token::Blank, "blank", "Space symbols"),
    (Token::Tag, "tag", "XML tag"),
    (Token::Protocol, "protocol", "Protocol head"),
    (Token::NumHyphenated, "numhword", "Hyphenated word, letters and digits"),
    (Token::AsciiHyphenated, "asciihword", "Hyphenated word, all ASCII"),
    (Token::Hyphenated, "hword", "Hyphenated word, all letters"),
    (Token::UrlPath, "url_path", "URL path"),
    (Token::File, "file", "File or path name"),
    (Token::Decimal, "float", "Decimal notation"),
    (Token::Signed, "int", "Signed integer"),
    (Token::Unsigned, "uint", "Unsigned integer"),
    (Token::Entity, "entity", "XML entity"),
];
