//! The page that graphs stand on: a title above, and margins around.
//!
//! ```text
//! Page::under("y(i) = A(i,j) * x(j)", 120.0)    a title longer than the graph makes the page wider: inner 141, top 46
//! ```

use lacunar_draw::{Anchor, Drawing, Text, Weight, font};

const MARGIN: f32 = 18.0;
const TITLE_SIZE: f32 = 14.0;
/// A title does not make a page wider than this, but is shortened.
const WIDEST_TITLE: f32 = 600.0;

/// The page of a graph.
pub(super) struct Page<'a> {
    title: &'a str,
    /// The width between the margins.
    pub inner: f32,
    /// The height at which the graph begins, below the title.
    pub top: f32,
}

impl<'a> Page<'a> {
    /// The page of a graph that is so wide.
    pub fn under(title: &'a str, width: f32) -> Page<'a> {
        let heading = font::width(title, TITLE_SIZE, Weight::Bold).min(WIDEST_TITLE);
        let top = MARGIN + if title.is_empty() { 0.0 } else { TITLE_SIZE + 14.0 };
        Page { title, inner: width.max(heading), top }
    }

    /// The distance from the left edge to a part that is so wide, in the middle of the page.
    pub fn left(&self, width: f32) -> f32 {
        MARGIN + (self.inner - width) / 2.0
    }

    /// The page with its title, and nothing between the margins down to `bottom`.
    pub fn drawing(&self, bottom: f32) -> Drawing {
        let mut drawing = Drawing::new(self.inner + 2.0 * MARGIN, bottom + MARGIN, self.title);
        let shown = font::fit(self.title, TITLE_SIZE, Weight::Bold, self.inner);
        let middle = [MARGIN + self.inner / 2.0, MARGIN + TITLE_SIZE];
        drawing.add(Text::new(middle, Anchor::Middle, TITLE_SIZE, shown).bold());
        drawing
    }
}

/// Left, top, right and bottom of every text of a drawing.
#[cfg(test)]
pub(super) fn boxes(drawing: &Drawing) -> Vec<[f32; 4]> {
    let text = |item: &lacunar_draw::Item| match item {
        lacunar_draw::Item::Text(text) => Some(text.clone()),
        _ => None,
    };
    let corners = |text: Text| {
        let left = text.at[0] - text.lead();
        [left, text.at[1] - text.size * 0.8, left + text.length(), text.at[1] + text.size * 0.2]
    };
    drawing.items.iter().filter_map(text).map(corners).collect()
}
