//! [`Flow`]: a download of another program, through the same queue.

use crate::way::{Cargo, Way};
use exm_cc::{Controller, Cubic};
use exm_tcp::{Acknowledgement, Arrival, Receiver, Segment, Sender, Settings};
use exm_units::Instant;

/// A TCP connection with Cubic, from server to client, that always has data.
pub(crate) struct Flow {
    sender: Sender,
    cubic: Cubic,
    receiver: Receiver,
}

impl Flow {
    pub(crate) fn new(now: Instant) -> Flow {
        let mut cubic = Cubic::linux();
        let mut sender = Sender::new(Settings::default(), cubic.needs());
        sender.start(now, Default::default(), &mut cubic);
        Flow { sender, cubic, receiver: Receiver::new(None) }
    }

    /// Segments that arrived in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.in_order()
    }

    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        (segment, sent_at): (Segment, Instant),
        up: &mut Way,
    ) {
        let arrival = Arrival { segment, sent_at, marked: false, feedback: None };
        if let Some(ack) = self.receiver.receive(now, &arrival) {
            up.send(now, Cargo::Ack(ack));
        }
    }

    pub(crate) fn acknowledge(&mut self, now: Instant, ack: &Acknowledgement) {
        self.sender.on_ack(now, ack, &mut self.cubic);
    }

    pub(crate) fn transmit(&mut self, now: Instant, down: &mut Way) {
        if self.sender.deadline() <= now {
            self.sender.on_timer(now, &mut self.cubic);
        }
        while self.sender.next_send(now) <= now {
            let segment = self.sender.send(now, &mut self.cubic);
            down.send(now, Cargo::Segment(segment, now));
        }
    }
}
