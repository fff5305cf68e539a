//! What a rule of the machine says, and the names of the states.

use super::class::Class;
use super::tokens::Token;

/// What a rule does with places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// Takes the character.
    On,
    /// Returns to the newest remembered place, and to the rule after the one that remembered it.
    Return,
    /// Remembers the place, and takes the character.
    Try,
    /// Takes the character and forgets the newest remembered place.
    Keep,
    /// Takes the character and forgets all remembered places.
    KeepAll,
    /// Goes on in the place that was remembered, but here.
    Join,
    /// Looks at the character again.
    Again,
}

/// What a rule does besides.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    None,
    /// Notes tags of scripts and style sheets.
    Tag,
    /// Reads what was read again, as host and path.
    BeginUrl,
    /// Reads what was read again, as parts of a word.
    BeginParts,
    /// Reads what was read again, as a blank and a version.
    BeginVersion,
}

/// A rule of a state.
pub(super) struct Rule {
    pub(super) class: Class,
    pub(super) action: Move,
    pub(super) next: Option<State>,
    pub(super) token: Option<Token>,
    pub(super) effect: Effect,
}

/// Where the machine is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Base,
    NumWord,
    AsciiWord,
    Word,
    Unsigned,
    SignedFirst,
    Signed,
    Space,
    UDecimalFirst,
    UDecimal,
    DecimalFirst,
    Decimal,
    SignedVersion,
    SignBeforeVersion,
    VersionFirst,
    Version,
    MantissaFirst,
    MantissaSign,
    Mantissa,
    EntityFirst,
    Entity,
    EntityNumberFirst,
    EntityNumber,
    EntityHexFirst,
    EntityHex,
    EntityEnd,
    TagFirst,
    XmlBegin,
    TagCloseFirst,
    TagName,
    TagBeginEnd,
    Tag,
    TagQuote,
    TagQuoteEscape,
    TagDoubleQuote,
    TagDoubleQuoteEscape,
    TagEnd,
    CommentFirst,
    CommentSecond,
    Comment,
    CommentCloseFirst,
    CommentCloseSecond,
    CommentEnd,
    HostFirstDomain,
    HostDomainSecond,
    HostDomain,
    PortFirst,
    Port,
    HostFirst,
    Host,
    Email,
    FileFirst,
    FileTilde,
    PathFirst,
    PathFirstFirst,
    PathSecond,
    File,
    FileNext,
    UrlPathFirst,
    UrlPathStart,
    UrlPath,
    Url,
    ProtocolFirst,
    ProtocolSecond,
    ProtocolEnd,
    HyphenAsciiFirst,
    HyphenAscii,
    HyphenFirst,
    Hyphen,
    HyphenNumFirst,
    HyphenNum,
    HyphenDigits,
    Parts,
    PartsHyphen,
    Part,
    AsciiPart,
    NumPart,
    PartUnsigned,
}

const fn rule(class: Class, action: Move, next: Option<State>, token: Option<Token>) -> Rule {
    Rule { class, action, next, token, effect: Effect::None }
}

/// Takes the character.
pub(super) const fn go(class: Class, next: State) -> Rule {
    rule(class, Move::On, Some(next), None)
}

/// Takes the character in the same state.
pub(super) const fn stay(class: Class) -> Rule {
    rule(class, Move::On, None, None)
}

/// Takes the character as the first one of what may be something longer.
pub(super) const fn attempt(class: Class, next: State) -> Rule {
    rule(class, Move::Try, Some(next), None)
}

/// What was attempted is so.
pub(super) const fn keep(class: Class, next: State) -> Rule {
    rule(class, Move::Keep, Some(next), None)
}

/// What was attempted is not so.
pub(super) const fn back(class: Class) -> Rule {
    rule(class, Move::Return, None, None)
}

/// A token ends before the character.
pub(super) const fn found(class: Class, token: Token, next: State) -> Rule {
    rule(class, Move::On, Some(next), Some(token))
}

/// The same, and what was attempted is so.
pub(super) const fn keep_found(class: Class, token: Token, next: State) -> Rule {
    rule(class, Move::Keep, Some(next), Some(token))
}

/// The same for everything that was attempted.
pub(super) const fn all_found(class: Class, token: Token, next: State) -> Rule {
    rule(class, Move::KeepAll, Some(next), Some(token))
}

/// The rule with an effect.
pub(super) const fn with(effect: Effect, rule: Rule) -> Rule {
    Rule { class: rule.class, action: rule.action, next: rule.next, token: rule.token, effect }
}

/// Looks at the character in another state.
pub(super) const fn again(class: Class, next: State) -> Rule {
    rule(class, Move::Again, Some(next), None)
}

/// Goes on in the place that was remembered.
pub(super) const fn join(class: Class, next: State) -> Rule {
    rule(class, Move::Join, Some(next), None)
}
