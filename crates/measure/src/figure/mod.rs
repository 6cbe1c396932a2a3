//! The figures of the papers, from numbers to the text of an SVG file.
//!
//! | figure | as in |
//! |---|---|
//! | [`ThroughputDelay`] | SIGCOMM 2013, figures 4-9; the thesis, 3-4 to 3-9 |
//! | [`Sequence`] | the thesis, 3-6 |
//! | [`Sweep`] | SIGCOMM 2013, figure 11 |
//! | [`Bars`] | the thesis, 3-10 |
//! | [`Series`] | queues and windows over time |
//! | [`Density`] | the thesis, 2-4 |
//! | [`Distribution`] | distributions, and their tails on logarithmic axes |
//! | [`RuleMap`] | a rule table by two of its signals |
//!
//! Each has a title, a description for screen readers, and an `svg` method. A [`Plot`] is also drawn in a
//! [narrow form](Form::Narrow) for phones, and gives its numbers as CSV. The same numbers give the same bytes. Whatever colour distinguishes, shapes, dashes, hatching and labels distinguish as well,
//! so a figure may be printed in black; text stays text; a point shows its values as a tooltip.

mod axis;
mod bars;
mod density;
mod distribution;
mod form;
mod label;
mod lines;
mod panel;
mod rule_map;
mod sequence;
mod series;
mod style;
mod sweep;
mod throughput_delay;

pub use axis::Scale;
pub use bars::{Bar, BarGroup, BarScheme, Bars, Reference};
pub use density::Density;
pub use distribution::{Distribution, Sample};
pub use form::{Form, Plot};
pub use lines::{Curve, Event};
pub use rule_map::{Colours, RuleBox, RuleMap};
pub use sequence::Sequence;
pub use series::{Series, SeriesPanel};
pub use style::{Style, Styles};
pub use sweep::{Band, BandPoint, DesignRange, Sweep};
pub use throughput_delay::{Run, Scheme, Spread, ThroughputDelay};
