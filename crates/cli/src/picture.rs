//! `lacunar plot`: a picture of the places of the entries of the tensor in a file, of the entries that follow from others by a structure,
//! and of the padding that a format stores besides.

use lacunar::{Category, Diagnostic};
use lacunar_base::Span;
use lacunar_runtime::io::{self, Data};

use crate::args::PlotArgs;
use crate::convert;
use crate::failure::Failure;
use crate::output;
use crate::plot::{Derived, PlotOptions, SCALE, Slices, Stored, spy};

/// Draws a file. For an array, the places that are not zero are drawn.
///
/// # Errors
/// The file can't be read, the picture can't be drawn or written.
pub fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let vector = match args.output.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => true,
        Some("png") => false,
        _ => {
            let name = args.output.display().to_string();
            let diagnostic = Diagnostic::error("E1015", format!("{name} names no kind of picture"))
                .label(Span::new(0, name.len()), "ends neither in .png nor in .svg")
                .hint("write, for example, `-o spy.png`");
            return Err(Failure::text(&name, "-o", diagnostic));
        }
    };
    output::check_file(&args.output.display().to_string(), &args.output)?;
    let coo = convert::list_of(convert::read(&args.file, args.files)?)?;
    let stored = match &args.format {
        Some(format) => Some(Stored::of(convert::stored(Data::Coordinate(coo.clone()), format)?.tensor)?),
        None => None,
    };
    let file = args.file.display().to_string();
    let derived = args.structure.as_ref().map(|value| Derived::of(&coo, value, &file)).transpose()?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let options = PlotOptions {
        title: args.title.clone().unwrap_or_else(|| name.into_owned()),
        max_pixels: args.pixels,
        mode: args.mode,
        slices: if args.at.is_empty() { Slices::Runs(args.runs) } else { Slices::At(args.at.clone()) },
    };
    let wrong = |message: String| Failure::plain(Diagnostic::error("E1016", message));
    let drawing = spy(&coo, stored.as_ref(), derived.as_ref(), &options).map_err(|error| wrong(error.to_string()))?;
    let picture = match vector {
        true => drawing.to_svg().into_bytes(),
        false => drawing.to_png(SCALE).map_err(|error| wrong(error.to_string()))?,
    };
    io::replace(&args.output, &picture).map_err(|error| {
        let diagnostic = Diagnostic::error("E1014", format!("cannot write {}: {error}", args.output.display()));
        Failure::plain(diagnostic.category(Category::File))
    })
}
