//! The forms of a value: its literal, its bytes in the protocol, its text.

use super::read;
use super::value::{Circle, Corners, Line, Path, Point, Polygon, Segment, Shape};
use super::write::Writer;
use crate::Result;

/// The bytes of a literal; 22P02 if it is none.
pub(crate) fn parse(shape: Shape, text: &str) -> Result<Vec<u8>> {
    Ok(match shape {
        Shape::Point => read::point(text)?.to_bytes(),
        Shape::Segment => read::segment(text)?.to_bytes(),
        Shape::Path => read::path(text)?.to_bytes(),
        Shape::Corners => read::corners(text)?.to_bytes(),
        Shape::Polygon => read::polygon(text)?.to_bytes(),
        Shape::Line => read::line(text)?.to_bytes(),
        Shape::Circle => read::circle(text)?.to_bytes(),
    })
}

/// The bytes of a value in the binary format of the protocol; `None` if they are malformed.
pub(crate) fn decode(shape: Shape, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(match shape {
        Shape::Point => Point::from_bytes(bytes).map(|value| value.to_bytes()),
        Shape::Segment => Segment::from_bytes(bytes).map(|value| value.to_bytes()),
        Shape::Path => Path::received(bytes)?.map(|value| value.to_bytes()),
        // The corners may come in any order.
        Shape::Corners => Corners::from_bytes(bytes)
            .map(|value| Corners::around(value.high, value.low).to_bytes()),
        Shape::Polygon => Polygon::received(bytes)?.map(|value| value.to_bytes()),
        Shape::Line => Line::received(bytes)?.map(|value| value.to_bytes()),
        Shape::Circle => Circle::received(bytes)?.map(|value| value.to_bytes()),
    })
}

/// Appends the text form; nothing for bytes that are no value of the type.
pub(crate) fn format(shape: Shape, bytes: &[u8], extra_digits: i32, out: &mut Vec<u8>) {
    let mut writer = Writer { extra_digits, out };
    let written = match shape {
        Shape::Point => Point::from_bytes(bytes).map(|value| writer.point(value)),
        Shape::Segment => Segment::from_bytes(bytes)
            .map(|value| writer.points(&[value.first, value.second], "[", "]")),
        Shape::Path => Path::from_bytes(bytes).map(|path| {
            let (open, close) = if path.is_closed { ("(", ")") } else { ("[", "]") };
            writer.points(&path.points, open, close);
        }),
        Shape::Corners => {
            Corners::from_bytes(bytes).map(|value| writer.points(&[value.high, value.low], "", ""))
        }
        Shape::Polygon => {
            Polygon::from_bytes(bytes).map(|value| writer.points(&value.points, "(", ")"))
        }
        Shape::Line => Line::from_bytes(bytes).map(|line| {
            writer.text("{");
            writer.numbers(&[line.a, line.b, line.c]);
            writer.text("}");
        }),
        Shape::Circle => Circle::from_bytes(bytes).map(|circle| {
            writer.text("<");
            writer.point(circle.center);
            writer.text(",");
            writer.numbers(&[circle.radius]);
            writer.text(">");
        }),
    };
    debug_assert!(written.is_some(), "a geometric datum holds something else");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(shape: Shape, text: &str) -> String {
        let mut out = Vec::new();
        format(shape, &parse(shape, text).unwrap(), 1, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn literals_print_as_in_postgresql() {
        for (shape, text, expected) in [
            (Shape::Point, " ( 1 , 2.5e1 ) ", "(1,25)"),
            (Shape::Point, "-0,nan", "(-0,NaN)"),
            (Shape::Segment, "1,2,3,4", "[(1,2),(3,4)]"),
            (Shape::Corners, "((1,4),(3,2))", "(3,4),(1,2)"),
            (Shape::Path, "[(1,2),(3,4)]", "[(1,2),(3,4)]"),
            (Shape::Path, "(1,2,3,4)", "((1,2),(3,4))"),
            (Shape::Polygon, "((0,0))", "((0,0))"),
            (Shape::Line, "{1,-1,0}", "{1,-1,0}"),
            (Shape::Line, "[(0,0),(2,4)]", "{2,-1,0}"),
            (Shape::Circle, "((1,2),3)", "<(1,2),3>"),
            (Shape::Circle, "1,2,3", "<(1,2),3>"),
        ] {
            assert_eq!(printed(shape, text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (shape, text) in [
            (Shape::Point, "(1,2"),
            (Shape::Point, "1"),
            (Shape::Point, "(1,2) 3"),
            (Shape::Segment, "[(1,2),(3,4)"),
            (Shape::Corners, "[(1,2),(3,4)]"),
            (Shape::Path, "[]"),
            (Shape::Path, "(1,2),(3,4)x"),
            (Shape::Polygon, "(1,2,3)"),
            (Shape::Line, "{0,0,1}"),
            (Shape::Line, "(1,1),(1,1)"),
            (Shape::Circle, "<(1,2),-3>"),
            (Shape::Circle, "(1,2),3>"),
        ] {
            assert!(parse(shape, text).is_err(), "{text}");
        }
    }
}
