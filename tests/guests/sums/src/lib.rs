//! A guest that knows nothing of this host: it exports plain typed functions of a package of its own. Its functions
//! become tools by the manifest that whoever loads it puts beside it, or in.
#![cfg(target_arch = "wasm32")]

mod bindings {
    #![allow(missing_docs, unsafe_code, reason = "generated")]
    wit_bindgen::generate!({ path: "wit", world: "acme:sums/sums", generate_all });

    use super::Sums;
    export!(Sums);
}

use bindings::exports::acme::sums::kinds::{Colour, Figure, Guest as Kinds, Marks, No, Point};
use std::hint::black_box;

/// Most points whose middle is found.
const POINTS_MAX: usize = 3;

struct Sums;

impl bindings::Guest for Sums {
    fn words(text: String) -> u32 {
        u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX)
    }

    fn forget(_: Option<String>) {}

    fn fail(text: String) -> Result<(), String> {
        Err(text)
    }

    fn spin() {
        let mut turns = 0_u64;
        loop {
            turns = black_box(turns).wrapping_add(1);
        }
    }
}

impl Kinds for Sums {
    fn middle(points: Vec<Point>) -> Result<Point, No> {
        if points.len() > POINTS_MAX {
            return Err(No::TooMany(u32::try_from(points.len()).unwrap_or(u32::MAX)));
        }
        let sum = |of: fn(&Point) -> i32| points.iter().map(of).sum::<i32>();
        let count = i32::try_from(points.len()).unwrap_or(i32::MAX);
        let middle = |of| sum(of).checked_div(count).ok_or(No::Empty);
        let label = points.first().and_then(|point| point.label.clone());
        Ok(Point { x: middle(|point| point.x)?, y: middle(|point| point.y)?, label })
    }

    fn same(
        figure: Figure,
        colour: Colour,
        marks: Marks,
        letter: char,
        large: u64,
        small: i8,
        part: f32,
        raw: Vec<u8>,
        perhaps: Option<Option<u8>>,
        outcome: Result<String, u8>,
    ) -> (Figure, Colour, Marks, char, u64, i8, f32, Vec<u8>, Option<Option<u8>>, Result<String, u8>) {
        (figure, colour, marks, letter, large, small, part, raw, perhaps, outcome)
    }

    fn divide(by: f64, number: f64) -> f64 {
        number / by
    }
}
