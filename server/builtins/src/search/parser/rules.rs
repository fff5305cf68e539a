//! The states of the machine and their rules. The first rule whose class fits counts.

use super::class::Class::*;
use super::rule::State as S;
use super::rule::{
    Effect, Rule, State, again, all_found, attempt, back, found, go, join, keep, keep_found, stay,
    with,
};
use super::rules_of_words as words;
use super::tokens::Token;

static BASE: &[Rule] = &[
    attempt(Is('<'), S::TagFirst),
    go(Ignored, S::Space),
    go(AsciiLetter, S::AsciiWord),
    go(Letter, S::Word),
    go(Digit, S::Unsigned),
    attempt(Is('-'), S::SignedFirst),
    attempt(Is('+'), S::SignedFirst),
    attempt(Is('&'), S::EntityFirst),
    attempt(Is('~'), S::FileTilde),
    attempt(Is('/'), S::FileFirst),
    attempt(Is('.'), S::PathFirstFirst),
    go(Any, S::Space),
];
static SPACE: &[Rule] = &[
    found(End, Token::Blank, S::Base),
    found(Is('<'), Token::Blank, S::Base),
    stay(Ignored),
    found(Is('-'), Token::Blank, S::Base),
    found(Is('+'), Token::Blank, S::Base),
    found(Is('&'), Token::Blank, S::Base),
    found(Is('/'), Token::Blank, S::Base),
    stay(NotAlnum),
    found(Any, Token::Blank, S::Base),
];

static UNSIGNED: &[Rule] = &[
    found(End, Token::Unsigned, S::Base),
    stay(Digit),
    attempt(Is('.'), S::HostFirstDomain),
    attempt(Is('.'), S::UDecimalFirst),
    attempt(Is('e'), S::MantissaFirst),
    attempt(Is('E'), S::MantissaFirst),
    attempt(Is('-'), S::HostFirst),
    attempt(Is('_'), S::HostFirst),
    attempt(Is('@'), S::Email),
    attempt(AsciiLetter, S::Host),
    go(Letter, S::NumWord),
    go(Mark, S::NumWord),
    attempt(Is('/'), S::FileFirst),
    found(Any, Token::Unsigned, S::Base),
];
static SIGNED_FIRST: &[Rule] = &[keep(Digit, S::Signed), back(Any)];
static SIGNED: &[Rule] = &[
    found(End, Token::Signed, S::Base),
    stay(Digit),
    attempt(Is('.'), S::DecimalFirst),
    attempt(Is('e'), S::MantissaFirst),
    attempt(Is('E'), S::MantissaFirst),
    found(Any, Token::Signed, S::Base),
];
static UDECIMAL_FIRST: &[Rule] = &[keep(Digit, S::UDecimal), back(Any)];
static UDECIMAL: &[Rule] = &[
    found(End, Token::Decimal, S::Base),
    stay(Digit),
    attempt(Is('.'), S::VersionFirst),
    attempt(Is('e'), S::MantissaFirst),
    attempt(Is('E'), S::MantissaFirst),
    found(Any, Token::Decimal, S::Base),
];
static DECIMAL_FIRST: &[Rule] = &[keep(Digit, S::Decimal), back(Any)];
static DECIMAL: &[Rule] = &[
    found(End, Token::Decimal, S::Base),
    stay(Digit),
    attempt(Is('.'), S::SignedVersion),
    attempt(Is('e'), S::MantissaFirst),
    attempt(Is('E'), S::MantissaFirst),
    found(Any, Token::Decimal, S::Base),
];
static SIGNED_VERSION: &[Rule] =
    &[with(Effect::BeginVersion, again(Digit, S::SignBeforeVersion)), back(Any)];
static SIGN_BEFORE_VERSION: &[Rule] = &[
    all_found(End, Token::Blank, S::Unsigned),
    all_found(Digit, Token::Blank, S::Unsigned),
    stay(Any),
];
static VERSION_FIRST: &[Rule] = &[keep(Digit, S::Version), back(Any)];
static VERSION: &[Rule] = &[
    found(End, Token::Version, S::Base),
    stay(Digit),
    attempt(Is('.'), S::VersionFirst),
    found(Any, Token::Version, S::Base),
];
static MANTISSA_FIRST: &[Rule] = &[
    keep(Digit, S::Mantissa),
    go(Is('+'), S::MantissaSign),
    go(Is('-'), S::MantissaSign),
    back(Any),
];
static MANTISSA_SIGN: &[Rule] = &[keep(Digit, S::Mantissa), back(Any)];
static MANTISSA: &[Rule] =
    &[found(End, Token::Scientific, S::Base), stay(Digit), found(Any, Token::Scientific, S::Base)];

static ENTITY_FIRST: &[Rule] = &[
    go(Is('#'), S::EntityNumberFirst),
    go(AsciiLetter, S::Entity),
    go(Is(':'), S::Entity),
    go(Is('_'), S::Entity),
    back(Any),
];
static ENTITY: &[Rule] = &[
    stay(Alnum),
    stay(Is(':')),
    stay(Is('_')),
    stay(Is('.')),
    stay(Is('-')),
    go(Is(';'), S::EntityEnd),
    back(Any),
];
static ENTITY_NUMBER_FIRST: &[Rule] = &[
    go(Is('x'), S::EntityHexFirst),
    go(Is('X'), S::EntityHexFirst),
    go(Digit, S::EntityNumber),
    back(Any),
];
static ENTITY_NUMBER: &[Rule] = &[stay(Digit), go(Is(';'), S::EntityEnd), back(Any)];
static ENTITY_HEX_FIRST: &[Rule] = &[go(HexDigit, S::EntityHex), back(Any)];
static ENTITY_HEX: &[Rule] = &[stay(HexDigit), go(Is(';'), S::EntityEnd), back(Any)];
static ENTITY_END: &[Rule] = &[keep_found(Any, Token::Entity, S::Base)];

static TAG_FIRST: &[Rule] = &[
    attempt(Is('/'), S::TagCloseFirst),
    attempt(Is('!'), S::CommentFirst),
    attempt(Is('?'), S::XmlBegin),
    attempt(AsciiLetter, S::TagName),
    attempt(Is(':'), S::TagName),
    attempt(Is('_'), S::TagName),
    back(Any),
];
static XML_BEGIN: &[Rule] = &[go(Is('x'), S::Tag), back(Any)];
static TAG_CLOSE_FIRST: &[Rule] = &[go(AsciiLetter, S::TagName), back(Any)];
static TAG_NAME: &[Rule] = &[
    go(Is('/'), S::TagBeginEnd),
    with(Effect::Tag, go(Is('>'), S::TagEnd)),
    with(Effect::Tag, go(Blank, S::Tag)),
    stay(Alnum),
    stay(Is(':')),
    stay(Is('_')),
    stay(Is('.')),
    stay(Is('-')),
    back(Any),
];
static TAG_BEGIN_END: &[Rule] = &[go(Is('>'), S::TagEnd), back(Any)];
static TAG: &[Rule] = &[
    with(Effect::Tag, go(Is('>'), S::TagEnd)),
    go(Is('\''), S::TagQuote),
    go(Is('"'), S::TagDoubleQuote),
    stay(AsciiLetter),
    stay(Digit),
    stay(Is('=')),
    stay(Is('-')),
    stay(Is('_')),
    stay(Is('#')),
    stay(Is('/')),
    stay(Is(':')),
    stay(Is('.')),
    stay(Is('&')),
    stay(Is('?')),
    stay(Is('%')),
    stay(Is('~')),
    with(Effect::Tag, stay(Blank)),
    back(Any),
];
static TAG_QUOTE: &[Rule] =
    &[back(End), attempt(Is('\\'), S::TagQuoteEscape), go(Is('\''), S::Tag), stay(Any)];
static TAG_QUOTE_ESCAPE: &[Rule] = &[back(End), join(Any, S::TagQuote)];
static TAG_DOUBLE_QUOTE: &[Rule] =
    &[back(End), attempt(Is('\\'), S::TagDoubleQuoteEscape), go(Is('"'), S::Tag), stay(Any)];
static TAG_DOUBLE_QUOTE_ESCAPE: &[Rule] = &[back(End), join(Any, S::TagDoubleQuote)];
static TAG_END: &[Rule] = &[all_found(Any, Token::Tag, S::Base)];
static COMMENT_FIRST: &[Rule] =
    &[go(Is('-'), S::CommentSecond), go(Is('D'), S::Tag), go(Is('d'), S::Tag), back(Any)];
static COMMENT_SECOND: &[Rule] = &[go(Is('-'), S::Comment), back(Any)];
static COMMENT: &[Rule] = &[back(End), go(Is('-'), S::CommentCloseFirst), stay(Any)];
static COMMENT_CLOSE_FIRST: &[Rule] =
    &[back(End), go(Is('-'), S::CommentCloseSecond), go(Any, S::Comment)];
static COMMENT_CLOSE_SECOND: &[Rule] =
    &[back(End), stay(Is('-')), go(Is('>'), S::CommentEnd), go(Any, S::Comment)];
static COMMENT_END: &[Rule] = &[all_found(Any, Token::Tag, S::Base)];

static FILE_FIRST: &[Rule] = &[
    go(AsciiLetter, S::File),
    go(Digit, S::File),
    go(Is('.'), S::PathFirst),
    go(Is('_'), S::File),
    back(Any),
];
static FILE_TILDE: &[Rule] = &[
    go(AsciiLetter, S::File),
    go(Digit, S::File),
    go(Is('_'), S::File),
    go(Is('/'), S::FileFirst),
    back(Any),
];
static PATH_FIRST: &[Rule] = &[
    go(AsciiLetter, S::File),
    go(Digit, S::File),
    go(Is('_'), S::File),
    go(Is('.'), S::PathSecond),
    go(Is('/'), S::FileFirst),
    back(Any),
];
static PATH_FIRST_FIRST: &[Rule] =
    &[go(Is('.'), S::PathSecond), go(Is('/'), S::FileFirst), back(Any)];
static PATH_SECOND: &[Rule] = &[
    keep_found(End, Token::File, S::Base),
    attempt(Is('/'), S::FileFirst),
    keep_found(Is('/'), Token::File, S::Base),
    keep_found(Blank, Token::File, S::Base),
    back(Any),
];
static FILE: &[Rule] = &[
    keep_found(End, Token::File, S::Base),
    stay(AsciiLetter),
    stay(Digit),
    attempt(Is('.'), S::FileNext),
    stay(Is('_')),
    stay(Is('-')),
    attempt(Is('/'), S::FileFirst),
    keep_found(Any, Token::File, S::Base),
];
static FILE_NEXT: &[Rule] =
    &[keep(AsciiLetter, S::File), keep(Digit, S::File), keep(Is('_'), S::File), back(Any)];

/// The rules of a state.
pub(super) fn rules(state: State) -> &'static [Rule] {
    match state {
        S::Base => BASE,
        S::Space => SPACE,
        S::Unsigned => UNSIGNED,
        S::SignedFirst => SIGNED_FIRST,
        S::Signed => SIGNED,
        S::UDecimalFirst => UDECIMAL_FIRST,
        S::UDecimal => UDECIMAL,
        S::DecimalFirst => DECIMAL_FIRST,
        S::Decimal => DECIMAL,
        S::SignedVersion => SIGNED_VERSION,
        S::SignBeforeVersion => SIGN_BEFORE_VERSION,
        S::VersionFirst => VERSION_FIRST,
        S::Version => VERSION,
        S::MantissaFirst => MANTISSA_FIRST,
        S::MantissaSign => MANTISSA_SIGN,
        S::Mantissa => MANTISSA,
        S::EntityFirst => ENTITY_FIRST,
        S::Entity => ENTITY,
        S::EntityNumberFirst => ENTITY_NUMBER_FIRST,
        S::EntityNumber => ENTITY_NUMBER,
        S::EntityHexFirst => ENTITY_HEX_FIRST,
        S::EntityHex => ENTITY_HEX,
        S::EntityEnd => ENTITY_END,
        S::TagFirst => TAG_FIRST,
        S::XmlBegin => XML_BEGIN,
        S::TagCloseFirst => TAG_CLOSE_FIRST,
        S::TagName => TAG_NAME,
        S::TagBeginEnd => TAG_BEGIN_END,
        S::Tag => TAG,
        S::TagQuote => TAG_QUOTE,
        S::TagQuoteEscape => TAG_QUOTE_ESCAPE,
        S::TagDoubleQuote => TAG_DOUBLE_QUOTE,
        S::TagDoubleQuoteEscape => TAG_DOUBLE_QUOTE_ESCAPE,
        S::TagEnd => TAG_END,
        S::CommentFirst => COMMENT_FIRST,
        S::CommentSecond => COMMENT_SECOND,
        S::Comment => COMMENT,
        S::CommentCloseFirst => COMMENT_CLOSE_FIRST,
        S::CommentCloseSecond => COMMENT_CLOSE_SECOND,
        S::CommentEnd => COMMENT_END,
        S::FileFirst => FILE_FIRST,
        S::FileTilde => FILE_TILDE,
        S::PathFirst => PATH_FIRST,
        S::PathFirstFirst => PATH_FIRST_FIRST,
        S::PathSecond => PATH_SECOND,
        S::File => FILE,
        S::FileNext => FILE_NEXT,
        _ => words::rules(state),
    }
}
