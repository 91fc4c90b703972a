//! The letters of pictures: DejaVu Sans, carried in the program, so that a picture looks alike on every machine, also
//! on one without fonts.
//!
//! Measuring serves the layout of every picture; outlines serve PNG. SVG names the font and lets the viewer draw it.
//! A character that the font lacks is drawn and measured as the font's box for missing characters.
//!
//! Example: `width("nnz", 10.0, Weight::Regular)` is about 18 units.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The thickness of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As in running text.
    Regular,
    /// As in headings.
    Bold,
}

type Parsed = Option<Face<'static>>;

static REGULAR: LazyLock<Parsed> = LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).ok());
static BOLD: LazyLock<Parsed> = LazyLock::new(|| Face::parse(dejavu::sans::bold(), 0).ok());

fn face(weight: Weight) -> Option<&'static Face<'static>> {
    match weight {
        Weight::Regular => REGULAR.as_ref(),
        Weight::Bold => BOLD.as_ref(),
    }
}

/// The glyphs of a text with the starting place of each, in units, and the end of the text.
fn set(face: &Face<'_>, text: &str, size: f32) -> (Vec<(GlyphId, f32)>, f32) {
    let scale = size / f32::from(face.units_per_em());
    let mut at = 0.0;
    let mut glyphs = Vec::with_capacity(text.len());
    for character in text.chars() {
        let glyph = face.glyph_index(character).unwrap_or_default();
        glyphs.push((glyph, at));
        at += f32::from(face.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
    }
    (glyphs, at)
}

/// The width of a text at a font size.
pub fn width(text: &str, size: f32, weight: Weight) -> f32 {
    face(weight).map_or(0.0, |face| set(face, text, size).1)
}

/// The text, or, where it is wider than `room`, as much of its start and end as fits around an ellipsis.
pub fn fit(text: &str, size: f32, weight: Weight, room: f32) -> String {
    if width(text, size, weight) <= room {
        return text.to_owned();
    }
    // Nothing longer than this fits a picture; it bounds the search below for titles of any length.
    let letters: Vec<char> = text.chars().collect();
    for kept in (1..letters.len().min(400)).rev() {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let shorter: String = letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect();
        if width(&shorter, size, weight) <= room {
            return shorter;
        }
    }
    String::new()
}

/// Gives the outlines of a text to `outlines`, in the font's own units with `y` upwards, each glyph announced by
/// `place`: the factor to the picture's units, and the distance of the glyph from the text's start, to the right.
pub fn outline<B: OutlineBuilder>(
    text: &str,
    size: f32,
    weight: Weight,
    outlines: &mut B,
    mut place: impl FnMut(&mut B, f32, f32),
) {
    let Some(face) = face(weight) else { return };
    let scale = size / f32::from(face.units_per_em());
    for (glyph, at) in set(face, text, size).0 {
        place(outlines, scale, at);
        // A glyph without an outline, such as a space, draws nothing.
        let _ = face.outline_glyph(glyph, outlines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_text_is_wider() {
        let [short, long] = ["nnz", "nnz nnz"].map(|text| width(text, 10.0, Weight::Regular));
        assert!(short > 10.0 && long > 2.0 * short);
        assert!(width("nnz", 10.0, Weight::Bold) > short);
    }

    #[test]
    fn long_text_is_shortened_to_fit() {
        let name = "directory/of/a/matrix/with/a/long/name.mtx".repeat(40);
        let short = fit(&name, 12.0, Weight::Bold, 200.0);
        assert!(short.contains('…') && short.ends_with("mtx"));
        assert!(width(&short, 12.0, Weight::Bold) <= 200.0);
        assert_eq!(fit("a.mtx", 12.0, Weight::Bold, 200.0), "a.mtx");
        assert_eq!(fit("a.mtx", 12.0, Weight::Bold, 0.0), "");
    }
}
