//! Tables and captures: any bytes are read as a trace or refused, and what is read survives being
//! written.

use exm_trace::{Origin, Statistics, Trace};
use exm_units::Span;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let [kind, bytes @ ..] = bytes else { return };
    let read = match kind % 3 {
        0 => Trace::read_csv(bytes, "fuzzed", Origin::Zero),
        1 => Trace::read_csv(bytes, "fuzzed", Origin::First),
        _ => Trace::read_pcap(bytes, "fuzzed"),
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
