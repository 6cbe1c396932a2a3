//! Trying.
use exm_emulator::*;
use exm_link::{Limit, Service};
use exm_os::*;
use exm_units::*;
use std::process::Command;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let rate: Rate = args[1].parse().unwrap();
    let delay: Span = args[2].parse().unwrap();
    let limit: u64 = args[3].parse().unwrap();
    let service = match std::env::var("TRACE") {
        Ok(t) => Service::Trace(std::sync::Arc::new(exm_trace::Trace::load(t.as_ref()).unwrap())),
        _ => Service::Fixed(rate),
    };
    let path = PathSpec {
        propagation: Propagation::Fixed(delay),
        limit: if limit > 0 { Limit::Packets(Packets::new(limit)) } else { Limit::Unlimited },
        ..PathSpec::new(service)
    };
    let mut setup = Setup::new(path.clone(), path);
    let us = |name, default: u64| {
        Span::from_micros(std::env::var(name).map_or(default, |t| t.parse().unwrap()))
    };
    setup.timing = Timing {
        spin: us("SPIN", 0),
        gather: us("GATHER", 30),
        urgent: std::env::var("CALM").is_err(),
    };
    let ends = Ends::new(World::Namespace).unwrap();
    let sh = |script: &str| {
        let mut c = Command::new("sh");
        c.args(["-c", script]);
        c
    };
    let confined = |network| Confined { network: Some(network), resolv_conf: None, identity: None };
    let ((), report) = emulate(&setup, ends.ports(), [Box::new(()), Box::new(())], |_| {
        let _peer = confined(&ends.world.namespace).run(sh(&args[5])).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let mut run = confined(&ends.inside.namespace).run(sh(&args[4])).unwrap();
        run.wait().unwrap();
    })
    .unwrap();
    for (i, a) in report.accounts.iter().enumerate() {
        println!(
            "{i}: arrived {:?} delivered {:?} lost {:?} maxq {:?} late p50 {} p99 {} p99.9 {} max {} p95 {:?} inside {}",
            a.arrived,
            a.delivered,
            a.lost_in_all(),
            a.max_queue,
            a.lateness.quantile(0.5),
            a.lateness.quantile(0.99),
            a.lateness.quantile(0.999),
            a.lateness.max(),
            a.scores(report.end).delay_95,
            report.inside[i]
        );
    }
    println!("missed {:?}", ends.missed().unwrap());
    let u = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = u.split_whitespace().collect();
    println!("cpu user {} sys {} of {}", f[13], f[14], report.end);
}
