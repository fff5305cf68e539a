//! Writes numbers and points as text.

use super::value::Point;
use crate::text::format_f64;

/// Appends numbers and points.
pub(super) struct Writer<'o> {
    pub(super) extra_digits: i32,
    pub(super) out: &'o mut Vec<u8>,
}

impl Writer<'_> {
    pub(super) fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn numbers(&mut self, numbers: &[f64]) {
        for (at, number) in numbers.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            format_f64(*number, self.extra_digits, self.out);
        }
    }

    pub(super) fn point(&mut self, point: Point) {
        self.text("(");
        self.numbers(&[point.x, point.y]);
        self.text(")");
    }

    pub(super) fn points(&mut self, points: &[Point], open: &str, close: &str) {
        self.text(open);
        for (at, point) in points.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.point(*point);
        }
        self.text(close);
    }
}
