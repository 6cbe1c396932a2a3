//! Figures as PDF: lines stay lines and text stays text, in the font that PNGs are drawn in. The page
//! is the same in every run; the objects of its file are not always in the same order, because the
//! library that writes it keeps them in hash maps.

use crate::png::tree;
use resvg::usvg;
use svg2pdf::{ConversionError, ConversionOptions, PageOptions, to_pdf};

/// Why a figure has no PDF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdfError {
    /// The text is no SVG.
    #[error("cannot draw the figure as PDF: it is no SVG that can be read")]
    Svg(#[source] usvg::Error),
    /// It has something in it that has no place in a PDF.
    #[error("cannot draw the figure as PDF: {0}")]
    Conversion(ConversionError),
}

/// The file of a figure of this `svg` as PDF, a page as large as the figure, each of its units a point.
///
/// # Errors
/// If it is no SVG, or has what cannot be converted.
pub fn pdf(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = tree(svg).map_err(PdfError::Svg)?;
    to_pdf(&tree, ConversionOptions::default(), PageOptions { dpi: 72.0 })
        .map_err(PdfError::Conversion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_page_of_its_size() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\">\
                   <text y=\"15\">Remy \u{b1}1</text></svg>";
        let file = pdf(svg).expect("a page");
        assert!(file.starts_with(b"%PDF-1."));
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains("/MediaBox [0 0 60 20]"), "{text}");
        assert!(text.contains("NotoSans"), "the font is in it: {text}");
    }

    #[test]
    fn what_is_no_figure_says_so() {
        for text in ["hello", "", "<svg"] {
            let error = pdf(text).expect_err(text).to_string();
            assert!(error.contains("as PDF: it is no SVG"), "{error}");
        }
    }
}
