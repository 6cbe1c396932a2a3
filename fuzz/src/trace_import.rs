//! Tables and captures: any bytes are read as a trace or refused, and what is read survives being
//! written.

use exm_trace::{Import, Origin, Statistics, Trace};
use exm_units::Span;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let [kind, bytes @ ..] = bytes else { return };
    let read = match kind % 4 {
        0 => Trace::read_csv(bytes, "fuzzed", Origin::Zero),
        1 => Trace::read_csv(bytes, "fuzzed", Origin::First),
        2 => Trace::read_pcap(bytes, "fuzzed"),
        _ => Trace::import_from(bytes, "fuzzed", &Import::default()).map(|imported| imported.trace),
    };
    let Ok(trace) = read else { return };
    if trace.times().len() > 10_000 {
        return;
    }
    let table = trace.to_csv();
    let again = Trace::read_csv(table.as_bytes(), "written", Origin::Zero);
    assert_eq!(again.expect("what was written is read"), trace);
    let whole = trace.in_whole_millis();
    assert_eq!(whole.times().len(), trace.times().len());
    if trace.period() < Span::from_secs(1000) {
        Statistics::of(&trace, Span::from_secs(1));
    }
}
