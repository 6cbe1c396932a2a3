//! Pictures in the format that a file's name asks for.

use crate::outputs::is_stdout;
use crate::shell::Failure;
use std::path::Path;

/// So many pixels are a unit of a picture.
const PIXELS: f32 = 2.0;

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Svg,
    Png,
    Pdf,
}

impl Format {
    /// That of a picture written to `output`, the value of `option`, by the end of its name; SVG to the
    /// standard output.
    pub(crate) fn of(output: &Path, option: &str) -> Result<Format, Failure> {
        if is_stdout(output) {
            return Ok(Format::Svg);
        }
        match output.extension().and_then(|end| end.to_str()) {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            Some("pdf") => Ok(Format::Pdf),
            _ => {
                let problem = "end its name in .svg, .png or .pdf";
                Err(Failure::invalid_value(&output.display().to_string(), option, problem))
            }
        }
    }

    /// The picture `svg` as the bytes of its file.
    pub(crate) fn encode(self, svg: String) -> Result<Vec<u8>, Failure> {
        Ok(match self {
            Format::Svg => svg.into_bytes(),
            Format::Png => exm_measure::png(&svg, PIXELS)?,
            Format::Pdf => exm_measure::pdf(&svg)?,
        })
    }
}
