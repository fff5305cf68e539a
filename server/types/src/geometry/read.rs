//! The text forms. Braces around points may be left out, and blanks may stand everywhere.

use super::arith::is_zero;
use super::value::{Circle, Corners, Line, Path, Point, Polygon, Segment};
use crate::text::{invalid_syntax, is_blank, parse_f64};
use crate::{Error, Result, SqlState, work};

/// Reads numbers and signs.
struct Reader<'t> {
    /// The name of the type, for errors.
    name: &'static str,
    /// The whole text, for errors.
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn new(name: &'static str, text: &'t str) -> Self {
        let mut reader = Reader { name, text, rest: text };
        reader.blanks();
        reader
    }

    fn wrong(&self) -> Error {
        invalid_syntax(self.name, self.text)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn take(&mut self, sign: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest;
        true
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(self.wrong()) }
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong()) }
    }

    /// A number with the blanks around it.
    fn number(&mut self) -> Result<f64> {
        work::tick()?;
        self.blanks();
        let (number, rest) = self.rest.split_at(number_length(self.rest));
        if number.is_empty() {
            return Err(self.wrong());
        }
        self.rest = rest;
        self.blanks();
        parse_f64(number)
    }

    /// `x,y` or `(x,y)`.
    fn point(&mut self) -> Result<Point> {
        self.blanks();
        let has_braces = self.take('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if has_braces {
            self.expect(')')?;
            self.blanks();
        }
        Ok(Point { x, y })
    }

    /// Takes the brace before several points; false if it belongs to the first one.
    fn outer_brace(&mut self) -> bool {
        let Some(inside) = self.rest.strip_prefix('(') else { return false };
        let inside = inside.trim_start_matches(is_blank);
        let is_outer = inside.starts_with('(') || self.rest.rfind('(') == Some(0);
        if is_outer {
            self.rest = inside;
        }
        is_outer
    }

    /// That many points, and whether they stand in square brackets.
    fn points(&mut self, count: usize, may_be_open: bool) -> Result<(Vec<Point>, bool)> {
        self.blanks();
        let is_open = self.take('[');
        if is_open && !may_be_open {
            return Err(self.wrong());
        }
        let has_brace = is_open || self.outer_brace();
        let mut points = Vec::new();
        for _ in 0..count {
            points.push(self.point()?);
            self.take(',');
        }
        if has_brace {
            let is_square = is_open && self.rest.starts_with(']');
            self.expect(if is_square { ']' } else { ')' })?;
            self.blanks();
        }
        Ok((points, is_open))
    }

    /// How many points the text has, by its commas.
    fn count(&self) -> Result<usize> {
        match self.text.matches(',').count() {
            commas if commas % 2 == 1 => Ok(commas.div_ceil(2)),
            _ => Err(self.wrong()),
        }
    }

    fn two(&mut self, may_be_open: bool) -> Result<(Point, Point)> {
        let (points, _) = self.points(2, may_be_open)?;
        self.end()?;
        match points.as_slice() {
            [first, second] => Ok((*first, *second)),
            _ => Err(self.wrong()),
        }
    }
}

/// The bytes of the number at the beginning of a text.
fn number_length(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['+', '-']));
    let body = text.get(sign..).unwrap_or_default();
    for word in ["infinity", "inf", "nan"] {
        if body.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)) {
            return sign + word.len();
        }
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(body);
    let mut length = whole;
    let mut fraction = 0;
    if let Some(after) = body.get(whole..).and_then(|rest| rest.strip_prefix('.')) {
        fraction = digits(after);
        length += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    let rest = body.get(length..).unwrap_or_default();
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let signed = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(exponent.get(signed..).unwrap_or_default());
        if count > 0 {
            length += 1 + signed + count;
        }
    }
    sign + length
}

pub(super) fn point(text: &str) -> Result<Point> {
    let mut reader = Reader::new("point", text);
    let point = reader.point()?;
    reader.end()?;
    Ok(point)
}

pub(super) fn segment(text: &str) -> Result<Segment> {
    let (first, second) = Reader::new("lseg", text).two(true)?;
    Ok(Segment { first, second })
}

pub(super) fn corners(text: &str) -> Result<Corners> {
    let (one, other) = Reader::new("box", text).two(false)?;
    Ok(Corners::around(one, other))
}

pub(super) fn path(text: &str) -> Result<Path> {
    let mut reader = Reader::new("path", text);
    let count = reader.count()?;
    // The only brace of all is around the numbers, not around the first point.
    let has_brace = reader.rest.rfind('(') == Some(0) && reader.take('(');
    let (points, is_open) = reader.points(count, true)?;
    if has_brace {
        reader.expect(')')?;
        reader.blanks();
    }
    reader.end()?;
    Ok(Path { is_closed: !is_open, points })
}

pub(super) fn polygon(text: &str) -> Result<Polygon> {
    let mut reader = Reader::new("polygon", text);
    let count = reader.count()?;
    let (points, _) = reader.points(count, false)?;
    reader.end()?;
    Ok(Polygon { points })
}

/// `{a,b,c}`, or two points of the line.
pub(super) fn line(text: &str) -> Result<Line> {
    let mut reader = Reader::new("line", text);
    let refused = |why: &str| {
        let message = format!("invalid line specification: {why}");
        Error::new(SqlState::InvalidTextRepresentation, message)
    };
    if reader.take('{') {
        let a = reader.number()?;
        reader.expect(',')?;
        let b = reader.number()?;
        reader.expect(',')?;
        let c = reader.number()?;
        reader.expect('}')?;
        reader.blanks();
        reader.end()?;
        if is_zero(a) && is_zero(b) {
            return Err(refused("A and B cannot both be zero"));
        }
        return Ok(Line { a, b, c });
    }
    let (first, second) = reader.two(true)?;
    if first.is_at(second) {
        return Err(refused("must be two distinct points"));
    }
    Line::through(first, first.slope(second)?)
}

/// `<(x,y),radius>`, `((x,y),radius)`, `(x,y),radius` or `x,y,radius`.
pub(super) fn circle(text: &str) -> Result<Circle> {
    let mut reader = Reader::new("circle", text);
    let mut has_brace = reader.take('<');
    if !has_brace && let Some(inside) = reader.rest.strip_prefix('(') {
        let inside = inside.trim_start_matches(is_blank);
        if inside.starts_with('(') {
            reader.rest = inside;
            has_brace = true;
        }
    }
    let center = reader.point()?;
    reader.take(',');
    let radius = reader.number()?;
    if radius < 0.0 {
        return Err(reader.wrong());
    }
    if has_brace {
        if !reader.take(')') && !reader.take('>') {
            return Err(reader.wrong());
        }
        reader.blanks();
    }
    reader.end()?;
    Ok(Circle { center, radius })
}
