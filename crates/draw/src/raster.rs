//! Drawings as PNG: painted with anti-aliased shapes and letters on a white pixel map.
//!
//! The caller says how many pixels a unit of the drawing is. Cells of whole pixels are painted without anti-aliasing, so that their
//! edges stay sharp.
//!
//! Example: a drawing of 100 x 50 units becomes at a scale of 2 a PNG of 200 x 100 pixels, 8 bits a channel.

use std::io;

use png::{BitDepth, ColorType, Compression, Encoder};
use thiserror::Error;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Rect, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use crate::color::Color;
use crate::drawing::{Cells, Drawing, Item, Path, Segment, Stroke, Text};
use crate::font;

/// The longest side of a picture, in pixels, which bounds the memory of one file.
const LONGEST: u32 = 20_000;

/// The reason why there is no PNG.
#[derive(Debug, Error)]
pub enum PngError {
    /// A side is too long or zero.
    #[error("a picture of {0} x {1} pixels cannot be drawn")]
    Size(u32, u32),
    /// The encoder failed.
    #[error("the picture cannot be encoded: {0}")]
    Encode(#[from] png::EncodingError),
}

impl Drawing {
    /// The width and the height of the drawing as PNG with `scale` pixels to a unit.
    pub fn pixels(&self, scale: f32) -> [u32; 2] {
        [self.width, self.height].map(|side| (side * scale).ceil() as u32)
    }

    /// The drawing as PNG, with `scale` pixels to a unit.
    ///
    /// # Errors
    /// A side has no pixel or too many.
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, PngError> {
        let [width, height] = self.pixels(scale);
        let refused = PngError::Size(width, height);
        if width > LONGEST || height > LONGEST {
            return Err(refused);
        }
        let mut pixels = Pixmap::new(width, height).ok_or(refused)?;
        pixels.fill(tiny_skia::Color::WHITE);
        let mut canvas = Canvas { pixels, scale };
        for item in &self.items {
            match item {
                Item::Path(path) => canvas.path(path),
                Item::Text(text) => canvas.text(text),
                Item::Cells(cells) => canvas.cells(cells),
            }
        }
        let opaque = canvas.pixels.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]);
        let opaque: Vec<u8> = opaque.collect();
        let mut bytes = Vec::new();
        let mut encoder = encoder(&mut bytes, width, height, ColorType::Rgb);
        let inch = 0.0254;
        let per_meter = (96.0 * scale / inch) as u32;
        encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit: png::Unit::Meter }));
        finish(encoder, &opaque)?;
        Ok(bytes)
    }
}

/// Cells as a PNG of a pixel a cell, with a palette; empty cells are transparent.
pub fn indexed(cells: &Cells) -> Result<Vec<u8>, PngError> {
    let [width, height] = [cells.columns, cells.rows()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut palette = vec![255; 3];
    palette.extend(cells.palette.iter().take(255).flat_map(|color| color.rgb));
    let mut bytes = Vec::new();
    let mut encoder = encoder(&mut bytes, width, height, ColorType::Indexed);
    encoder.set_palette(palette);
    encoder.set_trns(vec![0]);
    // A last row that is not full is left out, as it is of `rows`.
    let whole = cells.levels.len() - cells.levels.len() % cells.columns.max(1);
    finish(encoder, &cells.levels[..whole])?;
    Ok(bytes)
}

fn encoder(bytes: &mut Vec<u8>, width: u32, height: u32, color: ColorType) -> Encoder<'static, &mut Vec<u8>> {
    let mut encoder = Encoder::new(bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    encoder
}

fn finish<W: io::Write>(encoder: Encoder<'_, W>, pixels: &[u8]) -> Result<(), PngError> {
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

fn paint(color: Color) -> Paint<'static> {
    let [red, green, blue] = color.rgb;
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

/// The surface that is painted on.
struct Canvas {
    pixels: Pixmap,
    /// Pixels to a unit.
    scale: f32,
}

impl Canvas {
    fn whole(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn path(&mut self, path: &Path) {
        let mut outline = PathBuilder::new();
        for &segment in &path.segments {
            match segment {
                Segment::Move([x, y]) => outline.move_to(x, y),
                Segment::Line([x, y]) => outline.line_to(x, y),
                Segment::Cubic([ax, ay], [bx, by], [x, y]) => outline.cubic_to(ax, ay, bx, by, x, y),
                Segment::Close => outline.close(),
            }
        }
        let Some(outline) = outline.finish() else { return };
        if let Some(color) = path.fill {
            self.pixels.fill_path(&outline, &paint(color), FillRule::Winding, self.whole(), None);
        }
        if let Some(stroke) = path.stroke {
            self.pixels.stroke_path(&outline, &paint(stroke.color), &pen(stroke), self.whole(), None);
        }
    }

    fn text(&mut self, text: &Text) {
        let mut letters = Letters { outline: PathBuilder::new(), scale: 1.0, at: 0.0 };
        let lead = text.lead();
        font::outline(&text.content, text.size, text.weight, &mut letters, |letters, scale, at| {
            letters.scale = scale;
            letters.at = at - lead;
        });
        let Some(outline) = letters.outline.finish() else { return };
        let turn = if text.turn == 0.0 { Transform::identity() } else { Transform::from_rotate(text.turn) };
        let place = turn.post_translate(text.at[0], text.at[1]).post_concat(self.whole());
        self.pixels.fill_path(&outline, &paint(text.color), FillRule::Winding, place, None);
    }

    fn cells(&mut self, cells: &Cells) {
        let corner = cells.at.map(|place| (place * self.scale).round());
        let sides = cells.cell.map(|side| side * self.scale);
        // Both edges are rounded, so that cells that touch have no seam whatever their size.
        let edge = |axis: usize, cells: f32| corner[axis] + (cells * sides[axis]).round();
        for (row, column, color) in cells.painted() {
            let (row, column) = (row as f32, column as f32);
            let gap = cells.gap / 2.0;
            let (left, top) = (edge(0, column + gap), edge(1, row + gap));
            let (right, bottom) = (edge(0, column + 1.0 - gap), edge(1, row + 1.0 - gap));
            if let Some(square) = Rect::from_ltrb(left, top, right, bottom) {
                let paint = Paint { anti_alias: false, ..paint(color) };
                self.pixels.fill_rect(square, &paint, Transform::identity(), None);
            }
        }
    }
}

fn pen(stroke: Stroke) -> tiny_skia::Stroke {
    let dash = stroke.dashes.and_then(|dashes| StrokeDash::new(dashes.to_vec(), 0.0));
    tiny_skia::Stroke {
        width: stroke.width,
        dash,
        line_cap: LineCap::Butt,
        line_join: if stroke.round { LineJoin::Round } else { LineJoin::Miter },
        ..Default::default()
    }
}

/// Moves the outlines of glyphs to where they stand along the base line.
struct Letters {
    outline: PathBuilder,
    scale: f32,
    at: f32,
}

impl Letters {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.outline.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.outline.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.outline.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.outline.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.outline.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Anchor;

    fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a small picture")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        (info.width, info.height, pixels)
    }

    #[test]
    fn shapes_text_and_cells_leave_ink() {
        let mut drawing = Drawing::new(40.0, 20.0, "");
        let palette = vec![Color { rgb: [200, 0, 0] }];
        drawing.add(Cells {
            at: [2.0, 2.0],
            cell: [3.0, 3.0],
            gap: 0.0,
            columns: 2,
            levels: vec![1, 0, 0, 1],
            palette,
        });
        drawing.add(Path::circle([35.0, 15.0], 4.0, Color { rgb: [0, 0, 200] }));
        drawing.add(Text::new([12.0, 14.0], Anchor::Start, 12.0, "nz"));
        let (width, height, pixels) = decoded(&drawing.to_png(2.0).expect("a picture"));
        assert_eq!((width, height), (80, 40));
        let pixel = |x: usize, y: usize| &pixels[(y * 80 + x) * 3..][..3];
        assert_eq!([pixel(5, 5), pixel(11, 5), pixel(11, 11)], [[200, 0, 0], [255, 255, 255], [200, 0, 0]]);
        assert_eq!(pixel(70, 30), [0, 0, 200]);
        let letters = (24..60).flat_map(|x| (0..40).map(move |y| (x, y)));
        assert!(letters.filter(|&(x, y)| pixel(x, y)[0] < 100).count() > 40);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(matches!(Drawing::new(0.0, 10.0, "").to_png(2.0), Err(PngError::Size(0, 20))));
        assert!(matches!(Drawing::new(1e30, 10.0, "").to_png(2.0), Err(PngError::Size(..))));
    }
}
