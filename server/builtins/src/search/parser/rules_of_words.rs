//! The rules of words, of words with hyphens, and of hosts.

use super::class::Class::*;
use super::rule::State as S;
use super::rule::{
    Effect, Rule, State, again, all_found, attempt, back, found, go, keep, keep_found, stay, with,
};
use super::tokens::Token;

static NUM_WORD: &[Rule] = &[
    found(End, Token::NumWord, S::Base),
    stay(Alnum),
    stay(Mark),
    attempt(Is('@'), S::Email),
    attempt(Is('/'), S::FileFirst),
    attempt(Is('.'), S::FileNext),
    attempt(Is('-'), S::HyphenNumFirst),
    found(Any, Token::NumWord, S::Base),
];
static ASCII_WORD: &[Rule] = &[
    found(End, Token::AsciiWord, S::Base),
    stay(AsciiLetter),
    attempt(Is('.'), S::HostFirstDomain),
    attempt(Is('.'), S::FileNext),
    attempt(Is('-'), S::HostFirst),
    attempt(Is('-'), S::HyphenAsciiFirst),
    attempt(Is('_'), S::HostFirst),
    attempt(Is('@'), S::Email),
    attempt(Is(':'), S::ProtocolFirst),
    attempt(Is('/'), S::FileFirst),
    attempt(Digit, S::Host),
    go(Digit, S::NumWord),
    go(Letter, S::Word),
    go(Mark, S::Word),
    found(Any, Token::AsciiWord, S::Base),
];
static WORD: &[Rule] = &[
    found(End, Token::Word, S::Base),
    stay(Letter),
    stay(Mark),
    go(Digit, S::NumWord),
    attempt(Is('-'), S::HyphenFirst),
    found(Any, Token::Word, S::Base),
];

static HOST_FIRST_DOMAIN: &[Rule] =
    &[go(AsciiLetter, S::HostDomainSecond), go(Digit, S::Host), back(Any)];
static HOST_DOMAIN_SECOND: &[Rule] = &[
    go(AsciiLetter, S::HostDomain),
    attempt(Digit, S::Host),
    attempt(Is('-'), S::HostFirst),
    attempt(Is('_'), S::HostFirst),
    attempt(Is('.'), S::HostFirstDomain),
    attempt(Is('@'), S::Email),
    back(Any),
];
static HOST_DOMAIN: &[Rule] = &[
    all_found(End, Token::Host, S::Base),
    stay(AsciiLetter),
    attempt(Digit, S::Host),
    attempt(Is(':'), S::PortFirst),
    attempt(Is('-'), S::HostFirst),
    attempt(Is('_'), S::HostFirst),
    attempt(Is('.'), S::HostFirstDomain),
    attempt(Is('@'), S::Email),
    back(Digit),
    all_found(StopsHost, Token::Host, S::UrlPathStart),
    attempt(Is('/'), S::Url),
    all_found(Any, Token::Host, S::Base),
];
static PORT_FIRST: &[Rule] = &[go(Digit, S::Port), back(Any)];
static PORT: &[Rule] = &[
    all_found(End, Token::Host, S::Base),
    stay(Digit),
    all_found(StopsHost, Token::Host, S::UrlPathStart),
    attempt(Is('/'), S::Url),
    all_found(Any, Token::Host, S::Base),
];
static HOST_FIRST: &[Rule] = &[go(Digit, S::Host), go(AsciiLetter, S::Host), back(Any)];
static HOST: &[Rule] = &[
    stay(Digit),
    stay(AsciiLetter),
    attempt(Is('@'), S::Email),
    attempt(Is('.'), S::HostFirstDomain),
    attempt(Is('-'), S::HostFirst),
    attempt(Is('_'), S::HostFirst),
    back(Any),
];
static EMAIL: &[Rule] = &[back(StopsHost), all_found(Host, Token::Email, S::Base), back(Any)];
static URL_PATH_FIRST: &[Rule] = &[go(UrlChar, S::UrlPath), back(Any)];
static URL_PATH_START: &[Rule] = &[go(Any, S::UrlPath)];
static URL_PATH: &[Rule] =
    &[found(End, Token::UrlPath, S::Base), stay(UrlChar), found(Any, Token::UrlPath, S::Base)];
static URL: &[Rule] =
    &[back(End), with(Effect::BeginUrl, all_found(UrlPath, Token::Url, S::Base)), back(Any)];
static PROTOCOL_FIRST: &[Rule] = &[go(Is('/'), S::ProtocolSecond), back(Any)];
static PROTOCOL_SECOND: &[Rule] = &[go(Is('/'), S::ProtocolEnd), back(Any)];
static PROTOCOL_END: &[Rule] = &[all_found(Any, Token::Protocol, S::Base)];

static HYPHEN_ASCII_FIRST: &[Rule] = &[
    go(AsciiLetter, S::HyphenAscii),
    go(Letter, S::Hyphen),
    go(Digit, S::HyphenDigits),
    back(Any),
];
static HYPHEN_ASCII: &[Rule] = &[
    with(Effect::BeginParts, all_found(End, Token::AsciiHyphenated, S::Parts)),
    stay(AsciiLetter),
    go(Letter, S::Hyphen),
    go(Mark, S::Hyphen),
    go(Digit, S::HyphenNum),
    attempt(Is('-'), S::HyphenAsciiFirst),
    with(Effect::BeginParts, all_found(Any, Token::AsciiHyphenated, S::Parts)),
];
static HYPHEN_FIRST: &[Rule] = &[go(Letter, S::Hyphen), go(Digit, S::HyphenDigits), back(Any)];
static HYPHEN: &[Rule] = &[
    with(Effect::BeginParts, all_found(End, Token::Hyphenated, S::Parts)),
    stay(Letter),
    stay(Mark),
    go(Digit, S::HyphenNum),
    attempt(Is('-'), S::HyphenFirst),
    with(Effect::BeginParts, all_found(Any, Token::Hyphenated, S::Parts)),
];
static HYPHEN_NUM_FIRST: &[Rule] =
    &[go(Letter, S::HyphenNum), go(Digit, S::HyphenDigits), back(Any)];
static HYPHEN_NUM: &[Rule] = &[
    with(Effect::BeginParts, all_found(End, Token::NumHyphenated, S::Parts)),
    stay(Alnum),
    stay(Mark),
    attempt(Is('-'), S::HyphenNumFirst),
    with(Effect::BeginParts, all_found(Any, Token::NumHyphenated, S::Parts)),
];
static HYPHEN_DIGITS: &[Rule] =
    &[stay(Digit), go(Letter, S::HyphenNum), go(Mark, S::HyphenNum), back(Any)];

static PARTS: &[Rule] = &[
    again(End, S::Base),
    go(AsciiLetter, S::AsciiPart),
    go(Letter, S::Part),
    attempt(Digit, S::PartUnsigned),
    attempt(Is('-'), S::PartsHyphen),
    again(Any, S::Base),
];
static PARTS_HYPHEN: &[Rule] = &[
    back(End),
    keep_found(Alnum, Token::Blank, S::Parts),
    keep_found(Mark, Token::Blank, S::Parts),
    back(Any),
];
static PART: &[Rule] = &[
    found(End, Token::Part, S::Base),
    stay(Letter),
    stay(Mark),
    go(Digit, S::NumPart),
    found(Any, Token::Part, S::Parts),
];
static ASCII_PART: &[Rule] = &[
    found(End, Token::AsciiPart, S::Base),
    stay(AsciiLetter),
    go(Letter, S::Part),
    go(Mark, S::Part),
    go(Digit, S::NumPart),
    found(Any, Token::AsciiPart, S::Parts),
];
static NUM_PART: &[Rule] = &[
    found(End, Token::NumPart, S::Base),
    stay(Alnum),
    stay(Mark),
    found(Any, Token::NumPart, S::Parts),
];
static PART_UNSIGNED: &[Rule] =
    &[back(End), stay(Digit), keep(Letter, S::NumPart), keep(Mark, S::NumPart), back(Any)];

/// The rules of a state; none of other states.
pub(super) fn rules(state: State) -> &'static [Rule] {
    match state {
        S::NumWord => NUM_WORD,
        S::AsciiWord => ASCII_WORD,
        S::Word => WORD,
        S::HostFirstDomain => HOST_FIRST_DOMAIN,
        S::HostDomainSecond => HOST_DOMAIN_SECOND,
        S::HostDomain => HOST_DOMAIN,
        S::PortFirst => PORT_FIRST,
        S::Port => PORT,
        S::HostFirst => HOST_FIRST,
        S::Host => HOST,
        S::Email => EMAIL,
        S::UrlPathFirst => URL_PATH_FIRST,
        S::UrlPathStart => URL_PATH_START,
        S::UrlPath => URL_PATH,
        S::Url => URL,
        S::ProtocolFirst => PROTOCOL_FIRST,
        S::ProtocolSecond => PROTOCOL_SECOND,
        S::ProtocolEnd => PROTOCOL_END,
        S::HyphenAsciiFirst => HYPHEN_ASCII_FIRST,
        S::HyphenAscii => HYPHEN_ASCII,
        S::HyphenFirst => HYPHEN_FIRST,
        S::Hyphen => HYPHEN,
        S::HyphenNumFirst => HYPHEN_NUM_FIRST,
        S::HyphenNum => HYPHEN_NUM,
        S::HyphenDigits => HYPHEN_DIGITS,
        S::Parts => PARTS,
        S::PartsHyphen => PARTS_HYPHEN,
        S::Part => PART,
        S::AsciiPart => ASCII_PART,
        S::NumPart => NUM_PART,
        S::PartUnsigned => PART_UNSIGNED,
        _ => &[],
    }
}
