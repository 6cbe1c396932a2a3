//! Figures as PNG.
//!
//! Text is drawn in an embedded font, Noto Sans, and never in one of the system's: a figure is the
//! same on a machine without fonts.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb};
use std::sync::Arc;

/// The maximum width and height of an image, in pixels.
const LARGEST: f32 = 20_000.0;

/// Why a figure has no PNG.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The text is not SVG.
    #[error("cannot draw the figure as PNG: it is no SVG that can be read")]
    Svg(#[source] usvg::Error),
    /// The image would have no pixels, or too many.
    #[error("cannot draw the figure as PNG: {width} x {height} pixels is no size for a picture")]
    Size {
        /// Its width.
        width: f32,
        /// Its height.
        height: f32,
    },
    /// The image could not be encoded as PNG.
    #[error("cannot write the figure as PNG: {0}")]
    Encoding(String),
}

/// The figure `svg` as a PNG file, each of its units `scale` pixels wide.
///
/// # Errors
/// It is not SVG, or the image is larger than 20 000 pixels in either direction.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let tree = tree(svg).map_err(PngError::Svg)?;
    let (width, height) =
        ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    let is_drawn = |length: f32| (1.0..=LARGEST).contains(&length);
    let pixels = (is_drawn(width) && is_drawn(height))
        .then(|| Pixmap::new(width as u32, height as u32))
        .flatten();
    let mut pixels = pixels.ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

/// Renders `svg`, with its text in the embedded font.
pub(crate) fn tree(svg: &str) -> Result<Tree, usvg::Error> {
    let options =
        Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts()), ..Options::default() };
    Tree::from_str(svg, &options)
}

const FAMILY: &str = "Noto Sans";

fn fonts() -> fontdb::Database {
    let mut fonts = fontdb::Database::new();
    for face in [notosans::REGULAR_TTF, notosans::BOLD_TTF, notosans::ITALIC_TTF] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(face)));
    }
    fonts.set_sans_serif_family(FAMILY);
    fonts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(body: &str) -> Vec<u8> {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" \
             font-family=\"Helvetica, Arial, sans-serif\">{body}</svg>"
        );
        png(&svg, 2.0).expect("a picture")
    }

    fn size(png: &[u8]) -> (u32, u32) {
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four"));
        (number(16), number(20))
    }

    #[test]
    fn text_is_drawn_without_fonts_of_the_system() {
        let text = |style: &str| drawn(&format!("<text y=\"15\" {style}>Remy ±1 σ</text>"));
        let kinds =
            [drawn(""), text(""), text("font-weight=\"bold\""), text("font-style=\"italic\"")];
        for (index, one) in kinds.iter().enumerate() {
            assert_eq!(size(one), (120, 40));
            assert!(kinds[..index].iter().all(|other| other != one), "{index}");
        }
        assert_eq!(kinds[1], text(""));
    }

    #[test]
    fn invalid_figures_are_reported() {
        let text = |svg: &str, scale: f32| png(svg, scale).expect_err("none").to_string();
        assert!(text("hello", 1.0).contains("no SVG"));
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>";
        assert!(text(svg, 1e6).contains("9000000 x 9000000 pixels"));
        assert!(text(svg, f32::NAN).contains("no size"));
    }
}
