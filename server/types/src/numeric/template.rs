//! `to_char` and `to_number` for numbers: the templates `9`, `0`, `.`, `,`, `D`, `G`, `S`, `MI`,
//! `PL`, `SG`, `PR`, `L`, `V`, `EEEE`, `RN`, `TH` and `FM`.

use super::Numeric;
use super::digits::digit_count;
use super::rounding::round;
use crate::datetime::prefix;
use crate::{Error, Result, SqlState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Nine,
    Zero,
    Point,
    Group,
    Sign,
    Minus,
    Plus,
    SignHere,
    Currency,
    Ordinal { upper: bool },
    Literal(char),
}

#[derive(Default)]
struct Template {
    items: Vec<Item>,
    fill: bool,
    brackets: bool,
    exponent: bool,
    roman: Option<bool>,
    /// Digits that `V` multiplies by.
    shift: Option<u32>,
}

/// Where the number starts and where `S` stood, while the text is built.
const NUMBER_START: char = '\u{2}';
const SIGN: char = '\u{1}';

fn syntax(message: &str) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

/// Takes a word of several letters, in upper or lower case, at the beginning of `rest`; its length.
fn take_word(rest: &str, out: &mut Template) -> Option<usize> {
    const WORDS: [&str; 9] = ["EEEE", "FM", "MI", "PL", "SG", "PR", "RN", "SP", "TH"];
    let word = WORDS.into_iter().find(|word| prefix(rest, word).is_some())?;
    let is_upper = rest.starts_with(word);
    match word {
        "EEEE" => out.exponent = true,
        "FM" => out.fill = false,
        "MI" => out.items.push(Item::Minus),
        "PL" => out.items.push(Item::Plus),
        "SG" => out.items.push(Item::SignHere),
        "PR" => out.brackets = true,
        "RN" => out.roman = Some(is_upper),
        "TH" => out.items.push(Item::Ordinal { upper: is_upper }),
        // `SP` is for numbers in words, which PostgreSQL does not print, either.
        _ => {}
    }
    Some(word.len())
}

fn parse(template: &str) -> Result<Template> {
    let mut out = Template { fill: true, ..Template::default() };
    let mut rest = template;
    let mut point = false;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = take_word(rest, &mut out) {
            rest = &rest[length..];
            continue;
        }
        let mut length = c.len_utf8();
        match c.to_ascii_uppercase() {
            '9' | '0' => {
                if let Some(shift) = &mut out.shift {
                    *shift += 1;
                }
                out.items.push(if c == '9' { Item::Nine } else { Item::Zero });
            }
            '.' | 'D' => {
                if std::mem::replace(&mut point, true) {
                    return Err(syntax("multiple decimal points"));
                }
                if out.shift.is_some() {
                    return Err(syntax("cannot use \"V\" and decimal point together"));
                }
                out.items.push(Item::Point);
            }
            ',' | 'G' => out.items.push(Item::Group),
            'S' => {
                if out.items.contains(&Item::Sign) {
                    return Err(syntax("cannot use \"S\" twice"));
                }
                out.items.push(Item::Sign);
            }
            'L' => out.items.push(Item::Currency),
            'B' | 'C' => {}
            'V' => {
                if point {
                    return Err(syntax("cannot use \"V\" and decimal point together"));
                }
                out.shift = Some(0);
            }
            '"' => length = quoted(rest, &mut out.items),
            // A backslash is special only before a quote.
            '\\' if rest[1..].starts_with('"') => {
                out.items.push(Item::Literal('"'));
                length = 2;
            }
            _ => out.items.push(Item::Literal(c)),
        }
        rest = &rest[length..];
    }
    Ok(out)
}

/// Adds the characters between quotes, where a backslash keeps the next character as it is; the
/// number of bytes that were read.
fn quoted(text: &str, items: &mut Vec<Item>) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return at + 1,
            '\\' => items.push(Item::Literal(chars.next().map_or(c, |(_, next)| next))),
            c => items.push(Item::Literal(c)),
        }
    }
    text.len()
}

fn is_digit(item: &Item) -> bool {
    matches!(item, Item::Nine | Item::Zero)
}

impl Template {
    fn point(&self) -> usize {
        let point = self.items.iter().position(|item| *item == Item::Point);
        point.unwrap_or(self.items.len())
    }

    fn whole_digits(&self) -> usize {
        self.items[..self.point()].iter().filter(|item| is_digit(item)).count()
    }

    fn fraction_digits(&self) -> usize {
        self.items[self.point()..].iter().filter(|item| is_digit(item)).count()
    }
}

/// `to_char(numeric, template)`; 42601 for a template that contradicts itnumber.
pub fn to_char(number: &Numeric, template: &str) -> Result<String> {
    let template = parse(template)?;
    if let Some(upper) = template.roman {
        return roman(number, upper, template.fill);
    }
    if template.exponent {
        return scientific(number, template.fraction_digits());
    }
    let ordinal = template.items.iter().any(|item| matches!(item, Item::Ordinal { .. }));
    if ordinal && !number.is_finite() {
        return Err(Error::new(
            SqlState::InvalidTextRepresentation,
            format!("\"{number}\" is not a number"),
        ));
    }
    let mut value = number.clone();
    if let Some(shift) = template.shift {
        let factor = Numeric::parse(&format!("1e{shift}"))?;
        value = value.mul(&factor)?;
    }
    let rounded = round(&value, template.fraction_digits() as i32)?;
    Ok(template.print(&rounded))
}

fn roman(number: &Numeric, upper: bool, fill: bool) -> Result<String> {
    if !number.is_finite() {
        let what = if number.is_nan() { "NaN" } else { "infinity" };
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("cannot convert {what} to integer"),
        ));
    }
    const STEPS: &[(i64, &str)] = &[
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    match number.to_i64() {
        Some(mut rest @ 1..=3999) => {
            for (step, letters) in STEPS {
                while rest >= *step {
                    text.push_str(letters);
                    rest -= step;
                }
            }
        }
        _ => text = "#".repeat(15),
    }
    let text = if upper { text } else { text.to_lowercase() };
    Ok(if fill { format!("{text:>15}") } else { text })
}

fn scientific(number: &Numeric, digits: usize) -> Result<String> {
    let Some((value, scale)) = number.to_big() else {
        return Ok(format!(" #.{}####", "#".repeat(digits)));
    };
    let exponent = if number.is_zero() { 0 } else { digit_count(&value) - scale - 1 };
    let shown = round(&Numeric::from_big(value, scale + exponent)?, digits as i32)?;
    let space = if number.signum() < 0 { "" } else { " " };
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{space}{shown}e{sign}{:02}", exponent.abs()))
}

impl Template {
    /// The text of a number that is rounded to the template's fraction.
    fn print(&self, value: &Numeric) -> String {
        let text = value.abs().to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let places = self.whole_digits();
        // FM keeps the zero of a number that has nothing else to show.
        let bare_zero = !self.fill && self.last_fraction_digit(fraction) == 0 && places > 0;
        let hide_zero = places == 0 || (self.fraction_digits() > 0 && !bare_zero);
        let whole = if whole == "0" && hide_zero { "" } else { whole };
        let overflow = whole.len() > places;
        // NaN and the infinities have no fraction.
        let word = !value.is_finite() && !overflow;
        let negative = value.signum() < 0;
        let first_digit = places.saturating_sub(whole.len());
        let first_zero = self.items[..self.point()]
            .iter()
            .filter(|item| is_digit(item))
            .position(|item| *item == Item::Zero)
            .unwrap_or(places);
        let start = first_digit.min(first_zero);
        let mut body = String::new();
        let (mut place, mut fraction_at) = (0usize, 0usize);
        let mut after_point = false;
        // Trailing zeros of `9`s go with FM.
        let last_kept = self.last_fraction_digit(fraction);
        for item in &self.items {
            let digit_comes = match item {
                Item::Nine | Item::Zero => after_point || overflow || place >= start,
                Item::Point => true,
                _ => false,
            };
            if digit_comes && !body.contains(NUMBER_START) {
                body.push(NUMBER_START);
            }
            match item {
                Item::Nine | Item::Zero | Item::Point
                    if word && (after_point || *item == Item::Point) =>
                {
                    after_point = true;
                }
                Item::Nine | Item::Zero if after_point => {
                    if self.fill || overflow || fraction_at < last_kept {
                        let digit =
                            fraction.as_bytes().get(fraction_at).map_or('0', |b| char::from(*b));
                        body.push(if overflow { '#' } else { digit });
                    }
                    fraction_at += 1;
                }
                Item::Nine | Item::Zero => {
                    if overflow {
                        body.push('#');
                    } else if place >= first_digit {
                        body.push(char::from(whole.as_bytes()[place - first_digit]));
                    } else if place >= start {
                        body.push('0');
                    } else if self.fill {
                        body.push(' ');
                    }
                    place += 1;
                }
                Item::Point => {
                    after_point = true;
                    if overflow || self.fraction_digits() > 0 {
                        body.push('.');
                    }
                }
                Item::Group if overflow || place > start => body.push(','),
                Item::Group if self.fill => body.push(' '),
                Item::Group => {}
                Item::Sign => body.push(SIGN),
                Item::Minus if negative => body.push('-'),
                Item::Plus if !negative => body.push('+'),
                Item::Minus | Item::Plus if self.fill => body.push(' '),
                Item::Minus | Item::Plus => {}
                Item::SignHere => body.push(if negative { '-' } else { '+' }),
                Item::Currency if self.fill => body.push(' '),
                Item::Currency => {}
                Item::Ordinal { upper } if !negative && !after_point && !overflow => {
                    body.push_str(ordinal(whole, *upper));
                }
                Item::Ordinal { .. } => {}
                Item::Literal(c) => body.push(*c),
            }
        }
        self.with_sign(body, negative)
    }

    /// How many fraction digits FM keeps: up to the last `0` or digit that is not zero.
    fn last_fraction_digit(&self, fraction: &str) -> usize {
        let digits = self.items[self.point()..].iter().filter(|item| is_digit(item));
        let zero = digits.enumerate().filter(|(_, item)| **item == Item::Zero).last();
        zero.map_or(0, |(at, _)| at + 1).max(fraction.trim_end_matches('0').len())
    }

    fn with_sign(&self, body: String, negative: bool) -> String {
        let at_start = |sign: &str| body.replace(NUMBER_START, sign);
        if self.items.contains(&Item::Sign) {
            let sign = if negative { "-" } else { "+" };
            // A leading S stands right before the number.
            return if body.find(SIGN) < body.find(NUMBER_START) {
                at_start(sign).replace(SIGN, "")
            } else {
                at_start("").replace(SIGN, sign)
            };
        }
        if self.brackets {
            let (open, close) = match (negative, self.fill) {
                (true, _) => ("<", ">"),
                (false, true) => (" ", " "),
                (false, false) => ("", ""),
            };
            return format!("{}{close}", at_start(open));
        }
        if self.items.iter().any(|item| matches!(item, Item::Minus | Item::SignHere)) {
            return at_start("");
        }
        at_start(match (negative, self.fill) {
            (true, _) => "-",
            (false, true) => " ",
            (false, false) => "",
        })
    }
}

fn ordinal(digits: &str, upper: bool) -> &'static str {
    let names = if upper { ["TH", "ST", "ND", "RD"] } else { ["th", "st", "nd", "rd"] };
    let tail: u32 = digits[digits.len().saturating_sub(2)..].parse().unwrap_or(0);
    match (tail, tail % 10) {
        (11..=13, _) => names[0],
        (_, last @ 1..=3) => names[last as usize],
        _ => names[0],
    }
}

/// `to_number(text, template)`; 22P02 if no digits are where the template wants them.
pub fn to_number(text: &str, template: &str) -> Result<Numeric> {
    let template = parse(template)?;
    let mut negative = text.contains('-') || (template.brackets && text.contains('<'));
    let mut digits = String::new();
    let (mut whole, mut fraction) = (0, 0);
    let mut point = false;
    for c in text.chars() {
        match c {
            '0'..='9' if point && fraction < template.fraction_digits() => {
                fraction += 1;
                digits.push(c);
            }
            '0'..='9' if !point && whole < template.whole_digits() => {
                whole += 1;
                digits.push(c);
            }
            '.' if !point && template.items.contains(&Item::Point) => {
                point = true;
                digits.push(c);
            }
            _ => {}
        }
    }
    if whole + fraction == 0 {
        negative = false;
        " ".clone_into(&mut digits);
    }
    let value = Numeric::parse(&digits)?;
    let value = if negative { value.neg() } else { value };
    match template.shift {
        Some(shift) => value.div(&Numeric::parse(&format!("1e{shift}"))?),
        None => Ok(value),
    }
}
