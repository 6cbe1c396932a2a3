//! Traces: any bytes are read or refused, and what is read survives being written and can be walked.

use exm_trace::{Opportunities, Trace};
use exm_units::{Instant, Span};
use std::sync::Arc;

/// Runs the target on `bytes`.
pub fn run(bytes: &[u8]) {
    let Ok(trace) = Trace::parse(bytes, "fuzzed") else { return };
    let written = trace.to_text();
    let again = Trace::parse(written.as_bytes(), "written").expect("what was written is read");
    assert_eq!(again, trace);
    assert_eq!(again.to_text(), written);
    let trace = Arc::new(trace);
    let mut cursor = Opportunities::new(Arc::clone(&trace));
    let (mut now, mut passed) = (Instant::ZERO, 0);
    for _ in 0..trace.times().len().min(100) * 2 + 2 {
        let next = cursor.take();
        assert!(next >= now);
        passed += 1;
        assert!(trace.count_before(next) < passed);
        assert!(trace.count_before(next + Span::from_nanos(1)) >= passed);
        now = next;
    }
    let later = now + trace.period() * 3;
    let next = cursor.seek(later);
    assert!(next >= later && next <= later + trace.period());
}
