//! The compiled part of the Python package `tcpexmachina`: simulations, scores and designs without the GIL, and
//! controllers that are written in Python. What notebooks show of them is in the package's Python files.

mod columns;
mod controller;
mod designer;
mod error;
mod events;
mod learn;
mod names;
mod picture;
mod policy;
mod report;
mod round;
mod scenario;
mod study;
mod table;
mod trace;
mod work;

use pyo3::prelude::*;

/// The compiled part of `tcpexmachina`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::designer::{Designer, Step};
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::events::{Ack, Congestion, Start};
    #[pymodule_export]
    use crate::learn::{Environment, Vector};
    #[pymodule_export]
    use crate::picture::{series_svg, throughput_delay_svg};
    #[pymodule_export]
    use crate::policy::Policy;
    #[pymodule_export]
    use crate::round::evaluate;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::study::{check_table, compare, falsify_controller, score_contenders};
    #[pymodule_export]
    use crate::table::{Model, Rule, Table};
    #[pymodule_export]
    use crate::trace::Trace;
}
