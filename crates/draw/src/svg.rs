//! Drawings as SVG 1.1: shapes as paths, text as text, so that it can be searched and edited.
//!
//! Few cells become vector squares, one path a color; many become a small indexed PNG inside the file, drawn with hard
//! edges. On exit the text is well-formed XML: everything that comes from outside is escaped, and characters that XML
//! does not have are replaced.
//!
//! `<svg ...><title>a.mtx</title><rect .../><path d="M10 10L90 10" .../><text ...>nnz</text></svg>`

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::color::Color;
use crate::drawing::{Anchor, Cells, Drawing, Item, Path, Segment, Text};
use crate::font::Weight;
use crate::raster;

// Writing to a `String` cannot fail, so the results of `write!` carry nothing.

/// The most cells that are drawn as vector squares.
const VECTOR_CELLS: usize = 10_000;

/// Fonts like the one that the layout measured come first.
const FONTS: &str = "DejaVu Sans, Verdana, Bitstream Vera Sans, sans-serif";

impl Drawing {
    /// The drawing as SVG.
    pub fn to_svg(&self) -> String {
        let (width, height) = (Number(self.width), Number(self.height));
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        for item in &self.items {
            match item {
                Item::Path(path) => write_path(&mut svg, path),
                Item::Text(text) => write_text(&mut svg, text),
                Item::Cells(cells) if cells.painted().count() <= VECTOR_CELLS => write_squares(&mut svg, cells),
                Item::Cells(cells) => write_image(&mut svg, cells),
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A length, with at most two decimals.
struct Number(f32);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.2}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

fn point(svg: &mut String, letter: &str, [x, y]: [f32; 2]) {
    let _ = write!(svg, "{letter}{} {}", Number(x), Number(y));
}

fn write_path(svg: &mut String, path: &Path) {
    svg.push_str("<path d=\"");
    for &segment in &path.segments {
        match segment {
            Segment::Move(to) => point(svg, "M", to),
            Segment::Line(to) => point(svg, "L", to),
            Segment::Cubic(first, second, to) => {
                point(svg, "C", first);
                point(svg, " ", second);
                point(svg, " ", to);
            }
            Segment::Close => svg.push('Z'),
        }
    }
    let _ = write!(svg, "\" fill=\"{}\"", path.fill.map_or("none".to_owned(), Color::hex));
    if let Some(stroke) = path.stroke {
        let _ = write!(svg, " stroke=\"{}\" stroke-width=\"{}\"", stroke.color.hex(), Number(stroke.width));
        if stroke.round {
            svg.push_str(" stroke-linejoin=\"round\"");
        }
        if let Some([dash, gap]) = stroke.dashes {
            let _ = write!(svg, " stroke-dasharray=\"{} {}\"", Number(dash), Number(gap));
        }
    }
    svg.push_str("/>\n");
}

fn write_text(svg: &mut String, text: &Text) {
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (Number(text.at[0]), Number(text.at[1]));
    let place = match text.turn {
        0.0 => format!("x=\"{x}\" y=\"{y}\""),
        turn => format!("transform=\"translate({x} {y}) rotate({})\"", Number(turn)),
    };
    let weight = if text.weight == Weight::Bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text {place} font-size=\"{}\"{weight} text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
        Number(text.size),
        text.color.hex(),
        escape(&text.content)
    );
}

/// One path for each color, of one square for each cell.
fn write_squares(svg: &mut String, cells: &Cells) {
    let mut painted: Vec<(Color, usize, usize)> =
        cells.painted().map(|(row, column, color)| (color, row, column)).collect();
    painted.sort_by_key(|&(color, row, column)| (color.rgb, row, column));
    let [width, height] = cells.cell.map(|side| side * (1.0 - cells.gap));
    for group in painted.chunk_by(|one, next| one.0 == next.0) {
        svg.push_str("<path shape-rendering=\"crispEdges\" d=\"");
        for &(_, row, column) in group {
            let x = cells.at[0] + (column as f32 + cells.gap / 2.0) * cells.cell[0];
            let y = cells.at[1] + (row as f32 + cells.gap / 2.0) * cells.cell[1];
            let (width, height) = (Number(width), Number(height));
            let _ = write!(svg, "M{} {}h{width}v{height}h-{width}z", Number(x), Number(y));
        }
        let color = group.first().map_or(Color::INK, |first| first.0);
        let _ = writeln!(svg, "\" fill=\"{}\"/>", color.hex());
    }
}

/// A picture of a pixel a cell, stretched.
fn write_image(svg: &mut String, cells: &Cells) {
    // Cells that fill memory cannot be encoded; the frame around them still tells their place.
    let Ok(bytes) = raster::indexed(cells) else { return };
    let _ = writeln!(
        svg,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,{}\"/>",
        Number(cells.at[0]),
        Number(cells.at[1]),
        Number(cells.cell[0] * cells.columns as f32),
        Number(cells.cell[1] * cells.rows() as f32),
        STANDARD.encode(bytes)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_title_gives_well_formed_xml() {
        let mut drawing = Drawing::new(100.0, 50.0, "a<b>&\"c\"\u{1}\u{ffff}.mtx");
        drawing.add(Text::new([1.5, 20.25], Anchor::Middle, 9.0, "]]> <&> '\u{0}").upwards());
        drawing.add(Path::circle([5.0, 5.0], 3.0, Color::INK));
        let svg = drawing.to_svg();
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        let named = |name: &str| document.descendants().find(|node| node.has_tag_name(name)).expect("an element");
        assert_eq!(named("title").text(), Some("a<b>&\"c\"\u{fffd}\u{fffd}.mtx"));
        assert_eq!(named("text").text(), Some("]]> <&> '\u{fffd}"));
        assert!(named("path").attribute("d").is_some_and(|d| d.starts_with("M8 5C8 6.66")));
    }

    #[test]
    fn cells_become_squares_or_an_image() {
        for (cells, image) in [(VECTOR_CELLS, false), (VECTOR_CELLS + 100, true)] {
            let mut drawing = Drawing::new(100.0, 50.0, "");
            let (levels, palette) = (vec![1; cells], vec![Color::INK]);
            drawing.add(Cells { at: [0.0; 2], cell: [1.0; 2], gap: 0.0, columns: 100, levels, palette });
            let svg = drawing.to_svg();
            roxmltree::Document::parse(&svg).expect("well-formed");
            assert_eq!(svg.contains("data:image/png;base64,"), image);
            assert_eq!(svg.matches("h1v1h-1z").count(), if image { 0 } else { cells });
        }
    }

    #[test]
    fn lengths_are_short() {
        let text = |length: f32| Number(length).to_string();
        assert_eq!([text(100.0), text(0.5), text(0.126), text(-20.0)], ["100", "0.5", "0.13", "-20"]);
    }
}
