use super::*;
use exm_cc::Reno;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Clock};

const MTU: u64 = 1200;

/// A time of the stack's clock, which has no other beginning.
#[expect(clippy::disallowed_methods, reason = "only differences of it matter")]
fn any_time() -> Clock {
    Clock::now()
}

/// A controller of a constant window that notes what it hears.
#[derive(Clone)]
struct Constant {
    window: u64,
    intersend: Span,
    needs: Needs,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Constant {
    fn of(window: u64) -> Constant {
        Constant { window, intersend: Span::ZERO, needs: Needs::default(), heard: Arc::default() }
    }

    fn note(&self, what: String) -> Decision {
        self.heard.lock().unwrap().push(what);
        Decision {
            cwnd: Packets::new(self.window),
            intersend: self.intersend,
            wake_at: Some(Instant::ZERO + Span::from_millis(500)),
        }
    }

    /// What it heard since the last call.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

impl Controller for Constant {
    fn on_start(&mut self, _: &Start) -> Decision {
        self.note("start".into())
    }
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let gap = ack.largest_acked.map_or(0, |largest| ack.sequence - largest);
        self.note(format!("{} acked, {gap} further, after {}", ack.acked.get(), ack.rtt()))
    }
    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.note(format!("{:?}", congestion.kind))
    }
    fn on_tick(&mut self, _: Instant) -> Decision {
        self.note("tick".into())
    }
    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        Some(self.note(format!("sent {}", sent.sequence)))
    }
    fn needs(&self) -> Needs {
        self.needs
    }
}

/// A path that began a while ago.
struct Trial {
    constant: Constant,
    sender: Sender<Constant>,
    began: Clock,
}

impl Trial {
    fn of(constant: Constant) -> Trial {
        let began = any_time();
        let sender = Sender::new(constant.clone(), began, MTU as u16).unwrap();
        constant.heard();
        Trial { constant, sender, began }
    }

    fn at(&self, millis: u64) -> Clock {
        self.began + Duration::from_millis(millis)
    }

    fn send(&mut self, millis: u64, packets: u64) {
        (0..packets).for_each(|_| self.sender.on_sent(self.at(millis), MTU));
    }

    fn ack(&mut self, millis: u64, sent: u64, packets: u64, left: u64) {
        let acked = Acked {
            sent: self.at(sent),
            bytes: packets * MTU,
            in_flight: left * MTU,
            app_limited: false,
        };
        self.sender.on_acked(self.at(millis), acked);
    }

    fn lose(&mut self, millis: u64, sent: u64, packets: u64, persistent: bool) {
        let lost = Lost { sent: self.at(sent), bytes: packets * MTU, persistent };
        self.sender.on_lost(self.at(millis), lost);
    }

    fn window(&self) -> u64 {
        self.sender.window() / MTU
    }
}

#[test]
fn a_controller_hears_of_each_ack_and_of_the_packets_before_it() {
    let mut trial = Trial::of(Constant::of(20));
    trial.send(0, 20);
    trial.ack(50, 0, 2, 18);
    trial.ack(60, 0, 3, 15);
    trial.lose(60, 0, 2, false);
    trial.ack(70, 0, 1, 12);
    let heard = [
        "2 acked, 0 further, after 50 ms",
        "3 acked, 3 further, after 60 ms",
        "Lost",
        "1 acked, 3 further, after 70 ms",
    ];
    assert_eq!(trial.constant.heard(), heard);
}

#[test]
fn small_datagrams_count_once_they_make_a_whole_one() {
    let mut trial = Trial::of(Constant::of(20));
    let mut told = |bytes: &[u64]| {
        for &bytes in bytes {
            let (now, sent) = (trial.at(50), trial.at(0));
            trial.sender.on_acked(now, Acked { sent, bytes, in_flight: 0, app_limited: false });
        }
        trial.constant.heard().len()
    };
    assert_eq!(told(&[100, 100, 100]), 0);
    assert_eq!(told(&[300]), 1, "600 bytes round up");
    assert_eq!(told(&[600]), 0, "which were counted");
    assert_eq!(told(&[1190; 50]), 50);
    assert_eq!(told(&[0]), 0);
}

#[test]
fn packets_are_conserved_until_the_loss_is_repaired() {
    let mut trial = Trial::of(Constant::of(20));
    trial.send(0, 20);
    trial.ack(50, 0, 2, 18);
    assert_eq!(trial.window(), 20);
    trial.lose(50, 0, 10, false);
    assert_eq!(trial.window(), 10, "8 are in flight, and 2 arrived");
    trial.send(51, 2);
    trial.ack(60, 0, 4, 6);
    assert_eq!(trial.window(), 10, "one leaves for each that arrives");
    trial.lose(60, 0, 3, false);
    assert_eq!(trial.window(), 7);
    assert_eq!(
        trial.constant.heard().iter().filter(|heard| *heard == "Lost").count(),
        1,
        "one a round trip"
    );
    trial.send(61, 4);
    trial.ack(101, 51, 2, 5);
    assert_eq!(trial.window(), 9, "repaired: it grows by what arrives");
    trial.ack(111, 61, 4, 7);
    assert_eq!(trial.window(), 13);
    trial.ack(130, 80, 7, 7);
    assert_eq!(trial.window(), 20, "until it is the controller's");
    trial.lose(140, 120, 1, true);
    assert_eq!(trial.constant.heard().last().unwrap(), "Timeout");
}

#[test]
fn a_window_never_falls_below_a_datagram() {
    let mut trial = Trial::of(Constant::of(0));
    assert_eq!(trial.window(), 1);
    trial.send(0, 1);
    trial.lose(500, 0, 1, true);
    assert_eq!(trial.window(), 1);
}

#[test]
fn a_controller_that_recovers_by_itself_is_left_alone() {
    let mut constant = Constant::of(20);
    constant.needs.own_recovery = true;
    let mut trial = Trial::of(constant);
    trial.send(0, 20);
    trial.lose(50, 0, 10, false);
    assert_eq!(trial.window(), 20);
}

#[test]
fn a_loss_that_was_none_restores_the_window() {
    let mut trial = Trial::of(Constant::of(20));
    trial.send(0, 20);
    trial.lose(50, 0, 10, false);
    trial.sender.on_spurious_loss();
    assert_eq!(trial.window(), 20);
    assert_eq!(trial.constant.heard(), ["Lost", "Spurious"]);
}

#[test]
fn a_pause_starts_anew_or_is_told() {
    let mut constant = Constant::of(4);
    constant.needs.restart = true;
    for (constant, what) in [(constant, "start"), (Constant::of(4), "Idle")] {
        let mut trial = Trial::of(constant);
        trial.send(0, 1);
        trial.ack(50, 0, 1, 0);
        trial.send(299, 1);
        trial.ack(349, 299, 1, 0);
        assert_eq!(trial.constant.heard().len(), 2, "a short one is none");
        trial.send(1000, 2);
        assert_eq!(trial.constant.heard(), ["tick", what]);
    }
}

#[test]
fn a_controller_hears_of_marks_sends_and_ticks_where_it_asks() {
    let mut constant = Constant::of(4);
    constant.needs.sent = true;
    let mut trial = Trial::of(constant);
    trial.send(0, 2);
    let (now, sent) = (trial.at(600), trial.at(0));
    trial.sender.on_marked(now, sent);
    assert_eq!(trial.constant.heard(), ["sent 0", "sent 1", "tick", "Marked"]);
}

#[test]
fn a_pace_is_a_datagram_in_the_time_between_two() {
    let mut constant = Constant::of(4);
    assert_eq!(Trial::of(constant.clone()).sender.pacing_rate(), None);
    constant.intersend = Span::from_millis(2);
    let mut trial = Trial::of(constant);
    assert_eq!(trial.sender.pacing_rate(), Some(600_000));
    trial.sender.on_mtu(1400);
    assert_eq!(trial.sender.pacing_rate(), Some(700_000));
    assert_eq!(trial.sender.window(), 4 * 1400);
    trial.constant.intersend = Span::from_nanos(u64::MAX);
    assert!(Trial::of(trial.constant).sender.pacing_rate().unwrap() > 0);
}

#[test]
fn the_initial_window_stays_what_it_was() {
    let began = any_time();
    let mut sender = Sender::new(Reno::new(), began, MTU as u16).unwrap();
    sender.on_sent(began, MTU);
    let acked = Acked { sent: began, bytes: MTU, in_flight: 0, app_limited: false };
    sender.on_acked(began + Duration::from_millis(20), acked);
    assert_eq!((sender.window(), sender.initial_window()), (11 * MTU, 10 * MTU));
}
