//! The line under a heading that tells the colors of unique entries and of those that follow from them.
//!
//! ```text
//! [purple] 10 unique   [orange] 6 derived from them
//! ```

use lacunar_draw::{Anchor, Color, Drawing, Path, Text, Weight, font};

use super::derived::Derived;
use super::panel::Tone;

/// The height of the letters, and the side of a colored square.
const SIZE: f32 = 9.0;
/// The space behind a square, and behind a text.
const GAPS: [f32; 2] = [4.0, 14.0];

/// Colors with their meanings.
pub struct Legend {
    entries: Vec<(Color, String)>,
}

impl Legend {
    /// The meaning of the colors of entries.
    pub fn of(derived: &Derived) -> Legend {
        let colors = [Tone::Entries, Tone::Derived].map(|tone| tone.color(1.0));
        Legend { entries: colors.into_iter().zip(derived.captions.clone()).collect() }
    }

    /// The length of the line.
    pub fn width(&self) -> f32 {
        let entry = |(_, text): &(Color, String)| SIZE + GAPS[0] + font::width(text, SIZE, Weight::Regular);
        self.entries.iter().map(entry).sum::<f32>() + GAPS[1] * self.entries.len().saturating_sub(1) as f32
    }

    /// Paints the line, whose base line begins at a point.
    pub fn paint(&self, drawing: &mut Drawing, [mut x, y]: [f32; 2]) {
        for (color, text) in &self.entries {
            drawing.add(Path::rectangle([x, y - SIZE * 0.85], [SIZE, SIZE], *color));
            x += SIZE + GAPS[0];
            drawing.add(Text::new([x, y], Anchor::Start, SIZE, text.clone()));
            x += font::width(text, SIZE, Weight::Regular) + GAPS[1];
        }
    }
}
