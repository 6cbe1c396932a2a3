//! Delivery-opportunity traces: when a link of varying rate could deliver a packet.
//!
//! Cellular links are recorded and replayed as lists of *delivery opportunities*, each a moment at
//! which [`OPPORTUNITY`] bytes could cross (Winstein, Sivaraman & Balakrishnan, NSDI 2013,
//! section 4.2). A [`Trace`] is such a list, which repeats for ever; [`Opportunities`] walks along
//! it; [`Cox`] makes one up. Accounting by the byte is the link's (`exm_link::TraceServer`).

mod cox;
mod file;
mod opportunities;
mod trace;

pub use cox::{Cox, CoxError};
pub use file::{MAX_FILE, TraceError};
pub use opportunities::Opportunities;
pub use trace::{MAX_TIME, OPPORTUNITY, Summary, Trace};
