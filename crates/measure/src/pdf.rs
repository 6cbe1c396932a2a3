//! Figures as PDF: lines stay vector graphics, and text is drawn as outlines of the font used for PNG.
//! The same figure gives the same bytes.

use crate::png::tree;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref};
use resvg::tiny_skia::{Path as Outline, PathSegment, Point};
use resvg::usvg::{
    self, Fill, FillRule, Group, LineCap, LineJoin, Node, Paint, PaintOrder, Path, Stroke,
    Transform, Tree,
};

/// Why a figure has no PDF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PdfError {
    /// The text is not SVG.
    #[error("cannot draw the figure as PDF: it is no SVG that can be read")]
    Svg(#[source] usvg::Error),
    /// It has an element that figures do not use.
    #[error("cannot draw the figure as PDF: it has {0}, which is not converted")]
    Unsupported(&'static str),
}

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);

/// zlib's level of compression.
const LEVEL: u8 = 6;

/// The figure `svg` as a PDF file: a page as large as the figure, where each of its units is a point.
///
/// # Errors
/// It is not SVG, or has images, gradients, patterns, masks, filters or groups with an opacity.
pub fn pdf(svg: &str) -> Result<Vec<u8>, PdfError> {
    let tree = tree(svg).map_err(PdfError::Svg)?;
    let mut drawing = Drawing { content: Content::new(), opacities: Vec::new() };
    // The origin of a PDF is at the bottom.
    drawing.content.transform([1.0, 0.0, 0.0, -1.0, 0.0, tree.size().height()]);
    drawing.group(tree.root())?;
    Ok(drawing.page(&tree))
}

/// What is drawn so far.
struct Drawing {
    content: Content,
    /// The opacities of strokes and fills that occur, in order.
    opacities: Vec<f32>,
}

impl Drawing {
    fn page(self, tree: &Tree) -> Vec<u8> {
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        let mut page = pdf.page(PAGE);
        page.parent(PAGES).contents(CONTENT);
        page.media_box(Rect::new(0.0, 0.0, tree.size().width(), tree.size().height()));
        let mut resources = page.resources();
        let mut states = resources.ext_g_states();
        for (number, &opacity) in self.opacities.iter().enumerate() {
            let mut state = states
                .insert(Name(name(number).as_bytes()))
                .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
            state.stroking_alpha(opacity).non_stroking_alpha(opacity);
        }
        states.finish();
        resources.finish();
        page.finish();
        let content = miniz_oxide::deflate::compress_to_vec_zlib(&self.content.finish(), LEVEL);
        pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
        pdf.finish()
    }

    fn group(&mut self, group: &Group) -> Result<(), PdfError> {
        if group.opacity().get() < 1.0 {
            return Err(PdfError::Unsupported("a group that is translucent as a whole"));
        }
        if group.mask().is_some() || !group.filters().is_empty() {
            return Err(PdfError::Unsupported("a mask or a filter"));
        }
        self.content.save_state();
        self.transform(group.transform());
        if let Some(clip) = group.clip_path() {
            self.clip(clip.root(), clip.transform());
        }
        for node in group.children() {
            match node {
                Node::Group(group) => self.group(group)?,
                Node::Path(path) if path.is_visible() => self.path(path)?,
                Node::Path(_) => {}
                Node::Text(text) => self.group(text.flattened())?,
                Node::Image(_) => return Err(PdfError::Unsupported("a picture")),
            }
        }
        self.content.restore_state();
        Ok(())
    }

    fn transform(&mut self, by: Transform) {
        if !by.is_identity() {
            self.content.transform([by.sx, by.ky, by.kx, by.sy, by.tx, by.ty]);
        }
    }

    /// Clips the following drawing to the outlines in `group`.
    fn clip(&mut self, group: &Group, transform: Transform) {
        for node in group.children() {
            if let Node::Path(path) = node {
                let transform = transform.pre_concat(path.abs_transform());
                if let Some(outline) = path.data().clone().transform(transform) {
                    self.outline(&outline);
                }
            }
        }
        self.content.clip_nonzero().end_path();
    }

    fn path(&mut self, path: &Path) -> Result<(), PdfError> {
        let fill_first = path.paint_order() == PaintOrder::FillAndStroke;
        for fills in [fill_first, !fill_first] {
            if let Some(fill) = path.fill().filter(|_| fills) {
                self.fill(path.data(), fill)?;
            }
            if let Some(stroke) = path.stroke().filter(|_| !fills) {
                self.stroke(path.data(), stroke)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, outline: &Outline, fill: &Fill) -> Result<(), PdfError> {
        let [red, green, blue] = colour(fill.paint())?;
        self.opacity(fill.opacity().get());
        self.content.set_fill_rgb(red, green, blue);
        self.outline(outline);
        match fill.rule() {
            FillRule::NonZero => self.content.fill_nonzero(),
            FillRule::EvenOdd => self.content.fill_even_odd(),
        };
        Ok(())
    }

    fn stroke(&mut self, outline: &Outline, stroke: &Stroke) -> Result<(), PdfError> {
        let [red, green, blue] = colour(stroke.paint())?;
        self.opacity(stroke.opacity().get());
        self.content.set_stroke_rgb(red, green, blue);
        self.content.set_line_width(stroke.width().get());
        self.content.set_miter_limit(stroke.miterlimit().get());
        self.content.set_line_cap(match stroke.linecap() {
            LineCap::Butt => LineCapStyle::ButtCap,
            LineCap::Round => LineCapStyle::RoundCap,
            LineCap::Square => LineCapStyle::ProjectingSquareCap,
        });
        self.content.set_line_join(match stroke.linejoin() {
            LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
            LineJoin::Round => LineJoinStyle::RoundJoin,
            LineJoin::Bevel => LineJoinStyle::BevelJoin,
        });
        let dashes = stroke.dasharray().unwrap_or_default().iter().copied();
        self.content.set_dash_pattern(dashes, stroke.dashoffset());
        self.outline(outline);
        self.content.stroke();
        Ok(())
    }

    /// Sets the opacity of the following drawing.
    fn opacity(&mut self, opacity: f32) {
        let known = self.opacities.iter().position(|&known| known == opacity);
        let number = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        self.content.set_parameters(Name(name(number).as_bytes()));
    }

    fn outline(&mut self, outline: &Outline) {
        let mut last = Point::zero();
        for segment in outline.segments() {
            match segment {
                PathSegment::MoveTo(p) => self.content.move_to(p.x, p.y),
                PathSegment::LineTo(p) => self.content.line_to(p.x, p.y),
                PathSegment::CubicTo(a, b, p) => {
                    self.content.cubic_to(a.x, a.y, b.x, b.y, p.x, p.y)
                }
                // PDF has no quadratic curves: two thirds of the way to the control point.
                PathSegment::QuadTo(c, p) => {
                    let towards = |from: Point| {
                        let c = c - from;
                        Point::from_xy(from.x + c.x * 2.0 / 3.0, from.y + c.y * 2.0 / 3.0)
                    };
                    let (a, b) = (towards(last), towards(p));
                    self.content.cubic_to(a.x, a.y, b.x, b.y, p.x, p.y)
                }
                PathSegment::Close => self.content.close_path(),
            };
            if let PathSegment::MoveTo(p)
            | PathSegment::LineTo(p)
            | PathSegment::QuadTo(_, p)
            | PathSegment::CubicTo(_, _, p) = segment
            {
                last = p;
            }
        }
    }
}

/// The name of the graphics state of an opacity.
fn name(number: usize) -> String {
    format!("o{number}")
}

fn colour(paint: &Paint) -> Result<[f32; 3], PdfError> {
    match paint {
        Paint::Color(colour) => {
            Ok([colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0))
        }
        _ => Err(PdfError::Unsupported("a gradient or a pattern")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(body: &str) -> String {
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\">{body}</svg>")
    }

    /// The drawing operators on the page of `file`.
    fn content(file: &[u8]) -> String {
        let find = |what: &[u8], from: usize| {
            from + file[from..].windows(what.len()).position(|part| part == what).expect("a stream")
        };
        let start = find(b"stream\n", 0) + b"stream\n".len();
        let end = find(b"\nendstream", start);
        let drawn = miniz_oxide::inflate::decompress_to_vec_zlib(&file[start..end]);
        String::from_utf8(drawn.expect("a compressed stream")).expect("operators are ASCII")
    }

    #[test]
    fn a_figure_is_a_page_of_its_size_and_always_the_same() {
        let svg = figure(
            "<rect width=\"30\" height=\"10\" fill=\"#ff0000\" fill-opacity=\"0.5\"/>\
             <polyline points=\"0,0 9,9\" stroke=\"black\" stroke-dasharray=\"2 1\" fill=\"none\"/>\
             <text y=\"15\">Remy \u{b1}1</text>",
        );
        let file = pdf(&svg).expect("a page");
        assert!(file.starts_with(b"%PDF-1."));
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains("/MediaBox [0 0 60 20]"), "{text}");
        let drawn = content(&file);
        let wanted = ["1 0 0 rg", "[2 1] 0 d", "0 0 m\n9 9 l\nS", " c\n", "1 0 0 -1 0 20 cm"];
        for wanted in wanted {
            assert!(drawn.contains(wanted), "{wanted} is not in {drawn}");
        }
        assert!((0..20).all(|_| pdf(&svg).expect("a page") == file));
    }

    #[test]
    fn nothing_is_drawn_outside_of_a_clip() {
        let file = pdf(&figure(
            "<svg x=\"10\" width=\"20\" height=\"10\" overflow=\"hidden\">\
             <circle r=\"40\"/></svg>",
        ));
        let drawn = content(&file.expect("a page"));
        assert!(drawn.contains("W\nn"), "{drawn}");
    }

    #[test]
    fn invalid_figures_are_reported() {
        for text in ["hello", "", "<svg"] {
            let error = pdf(text).expect_err(text).to_string();
            assert!(error.contains("as PDF: it is no SVG"), "{error}");
        }
        let group = figure("<g opacity=\"0.5\"><rect width=\"9\" height=\"9\"/></g>");
        let error = pdf(&group).expect_err("a translucent group").to_string();
        assert!(error.contains("translucent as a whole"), "{error}");
    }
}
