//! Transfers over both stacks, in real time, over a link in this program.

#[path = "../examples/common/mod.rs"]
mod common;
#[cfg(feature = "noq")]
#[path = "../examples/common/noq.rs"]
mod noq_transfer;
#[cfg(feature = "quinn")]
#[path = "../examples/common/quinn.rs"]
mod quinn_transfer;

use common::{Job, Link, Report, Result, controller};
use exm_cc::Controller;
use exm_quic::{Factory, Unsupported};
use exm_remy::{Action, RemyCc, RuleTable, SignalSet};
use exm_sim::controllers::AnyController;
use std::future::Future;
use std::time::Duration;

/// A short one, so that little data says much.
const LINK: Link =
    Link { mbps: 10.0, delay: Duration::from_millis(25), queue: Duration::from_millis(200) };

fn run(transfer: impl Future<Output = Result<Report>>) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(Duration::from_secs(60), transfer).await };
    runtime.block_on(limited).expect("it ends within a minute").expect("it succeeds")
}

fn job(name: &str, bytes: usize) -> Job {
    Job { controller: controller(name).unwrap(), bytes }
}

/// A table of one rule.
fn always(window: i32, intersend_ms: f64) -> AnyController {
    let action = Action { multiple: 0.0, increment: window, intersend_ms };
    RemyCc::new(&RuleTable::single(SignalSet::FIRST_FOUR, 1000.0, action)).into()
}

/// Of a window of 10 datagrams of about 1400 bytes over an RTT of 50 ms: 2.3 Mbps.
fn assert_windowed(report: &Report) {
    assert!((1.7..2.5).contains(&report.goodput()), "{} Mbps", report.goodput());
    assert_eq!(report.lost, 0);
}

#[cfg(feature = "quinn")]
#[test]
fn quinn_sends_what_the_window_of_a_table_allows() {
    let job = Job { controller: always(10, 0.0), bytes: 500_000 };
    let report = run(quinn_transfer::run(job, LINK));
    assert_windowed(&report);
}

#[cfg(feature = "noq")]
#[test]
fn noq_sends_what_the_window_of_a_table_allows() {
    let job = Job { controller: always(10, 0.0), bytes: 500_000 };
    let report = run(noq_transfer::run(job, LINK));
    assert_windowed(&report);
}

/// A datagram of about 1400 bytes each 4 ms: 2.8 Mbps, of a window that would fill the link.
#[cfg(feature = "noq")]
#[test]
fn noq_paces_as_the_table_says() {
    let job = Job { controller: always(100, 4.0), bytes: 700_000 };
    let report = run(noq_transfer::run(job, LINK));
    assert!((2.1..3.0).contains(&report.goodput()), "{} Mbps", report.goodput());
    assert_eq!(report.lost, 0);
}

#[cfg(feature = "noq")]
#[test]
fn a_shipped_table_fills_the_link_and_recovers_from_losses() {
    let short = Link { queue: Duration::from_millis(15), ..LINK };
    let report = run(noq_transfer::run(job("general-delta0.1", 2_000_000), short));
    assert!(report.goodput() > 3.0, "{} Mbps", report.goodput());
}

#[cfg(feature = "quinn")]
#[test]
fn a_table_that_overruns_its_queue_keeps_the_link_busy() {
    let short = Link { queue: Duration::from_millis(30), ..LINK };
    let report =
        run(quinn_transfer::run(Job { controller: always(120, 0.0), bytes: 2_000_000 }, short));
    assert!(report.goodput() > 4.0, "{} Mbps, {} lost", report.goodput(), report.lost);
    assert!(report.lost > 0);
}

#[test]
fn controllers_designed_by_people_run_as_well() {
    #[cfg(feature = "quinn")]
    assert!(run(quinn_transfer::run(job("cubic", 1_000_000), LINK)).goodput() > 3.0);
    #[cfg(feature = "noq")]
    assert!(run(noq_transfer::run(job("reno", 1_000_000), LINK)).goodput() > 3.0);
}

#[test]
fn a_controller_that_asks_too_much_is_refused() {
    let refused = |name| Factory::new(controller(name).unwrap()).unwrap_err();
    assert_eq!(refused("bbr"), Unsupported::Delivery);
    assert_eq!(refused("dctcp"), Unsupported::Marks);
    assert_eq!(refused("xcp"), Unsupported::Feedback);
    assert!(controller("sprout").unwrap_err().to_string().contains("arrive"));
    for name in exm_design::shipped::TABLES {
        let controller = controller(name.0).unwrap();
        let needs = controller.needs();
        assert_eq!(Factory::new(controller).is_ok(), !needs.delivery && !needs.marks, "{}", name.0);
    }
}
