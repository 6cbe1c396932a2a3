//! [`Factory`]: what a QUIC stack makes the controllers of its paths with.

use crate::sender::{Acked, Sender, Unsupported};
use exm_cc::Controller;
use std::time::Instant;

/// Gives each path of a QUIC stack a controller of its own: a clone of one that has not begun.
///
/// It implements the `ControllerFactory` of each stack whose feature is enabled. The stack's `congestion_state`, as an
/// `Any`, is a [`Sender`] of the same controller.
#[derive(Clone, Debug)]
pub struct Factory<C> {
    controller: C,
}

impl<C: Controller> Factory<C> {
    /// Paths follow clones of `controller`.
    ///
    /// # Errors
    ///
    /// If `controller` needs what QUIC stacks do not tell.
    pub fn new(controller: C) -> Result<Factory<C>, Unsupported> {
        Unsupported::check(controller.needs())?;
        Ok(Factory { controller })
    }

    #[cfg(any(feature = "quinn", feature = "noq"))]
    pub(crate) fn path(&self, now: Instant, mtu: u16) -> Path<C> {
        Path { sender: Sender::begin(self.controller.clone(), now, mtu), batch: None }
    }
}

/// The sender of one path, and what of an ACK frame was told so far: stacks tell it packet by packet.
#[cfg(any(feature = "quinn", feature = "noq"))]
#[derive(Clone, Debug)]
pub(crate) struct Path<C> {
    pub(crate) sender: Sender<C>,
    batch: Option<Acked>,
}

#[cfg(any(feature = "quinn", feature = "noq"))]
impl<C: Controller> Path<C> {
    pub(crate) fn acked(&mut self, sent: Instant, bytes: u64) {
        let none = Acked { sent, bytes: 0, in_flight: 0, app_limited: false };
        let batch = self.batch.get_or_insert(none);
        batch.sent = batch.sent.max(sent);
        batch.bytes += bytes;
    }

    pub(crate) fn end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        if let Some(batch) = self.batch.take() {
            self.sender.on_acked(now, Acked { in_flight, app_limited, ..batch });
        }
    }
}
