//! [`AnyController`]: every kind of controller that the simulator can use in a sender.

use exm_cc::{
    Abc, Ack, Aimd, Bbr, Bbr1, Compound, Congestion, Controller, Copa, Cubic, Dctcp, Decision,
    DynController, Failure, Gcc, Ledbat, LedbatPlusPlus, Metrics, Nada, Needs, Parameters, Prague,
    Reno, Scream, Sent, SlowStart, Start, Vegas, Verus, Vivace, Xcp,
};
use exm_remy::RemyCc;
use exm_units::{Bytes, Instant};

macro_rules! controllers {
    ($($(#[doc = $doc:literal])* $variant:ident($type:ty) { $($name:literal => $new:expr),* },)*) => {
        /// Any controller. To add one, add its line to the list at the end of this file.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyController {
            $($(#[doc = $doc])* $variant($type),)*
        }

        $(impl From<$type> for AnyController {
            fn from(controller: $type) -> AnyController {
                AnyController::$variant(controller)
            }
        })*

        impl AnyController {
            /// The names of the controllers that need no file.
            pub const NAMES: &'static [&'static str] = &[$($($name,)*)*];

            /// What each kind of controller is: the names of its controllers, if it has any, and a line in
            /// Markdown.
            pub const DESCRIPTIONS: &'static [(&'static [&'static str], &'static str)] =
                &[$((&[$($name),*], concat!($($doc),*)),)*];

            /// The parameters of the controller.
            pub fn tunable(&self) -> &dyn Parameters {
                match self { $(AnyController::$variant(controller) => controller,)* }
            }

            /// The parameters of the controller, to be set before its first flow.
            pub fn tunable_mut(&mut self) -> &mut dyn Parameters {
                match self { $(AnyController::$variant(controller) => controller,)* }
            }

            /// The controller called `name`; none if there is no such controller.
            pub fn named(name: &str) -> Option<AnyController> {
                match name {
                    $($($name => Some(AnyController::$variant($new)),)*)*
                    _ => None,
                }
            }
        }

        impl Controller for AnyController {
            #[inline]
            fn on_start(&mut self, start: &Start) -> Decision {
                match self {
                    $(AnyController::$variant(controller) => controller.on_start(start),)*
                }
            }

            #[inline]
            fn on_ack(&mut self, ack: &Ack) -> Decision {
                match self { $(AnyController::$variant(controller) => controller.on_ack(ack),)* }
            }

            fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
                match self {
                    $(AnyController::$variant(controller) => controller.on_congestion(congestion),)*
                }
            }

            fn on_tick(&mut self, now: Instant) -> Decision {
                match self { $(AnyController::$variant(controller) => controller.on_tick(now),)* }
            }

            #[inline]
            fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
                match self { $(AnyController::$variant(controller) => controller.on_sent(sent),)* }
            }

            fn on_mtu(&mut self, mtu: Bytes) {
                match self { $(AnyController::$variant(controller) => controller.on_mtu(mtu),)* }
            }

            fn metrics(&self) -> Metrics {
                match self { $(AnyController::$variant(controller) => controller.metrics(),)* }
            }

            fn failure(&self) -> Option<Failure> {
                match self { $(AnyController::$variant(controller) => controller.failure(),)* }
            }

            fn fingerprint(&self) -> Option<u64> {
                match self { $(AnyController::$variant(controller) => controller.fingerprint(),)* }
            }

            fn needs(&self) -> Needs {
                match self { $(AnyController::$variant(controller) => controller.needs(),)* }
            }

            fn seed(&mut self, seed: u64) {
                match self { $(AnyController::$variant(controller) => controller.seed(seed),)* }
            }
        }
    };
}

impl AnyController {
    /// Whether its sender keeps a retransmission timer. Controllers designed by people rely on one;
    /// a RemyCC does not have one.
    pub const fn keeps_timer(&self) -> bool {
        !matches!(self, AnyController::Remy(_))
    }

    /// A controller of your own.
    ///
    /// ```
    /// use exm_cc::{Ack, Congestion, Controller, Decision, Start};
    /// use exm_sim::controllers::AnyController;
    /// use exm_units::{Instant, Packets, Span};
    ///
    /// /// Keeps five packets in flight, whatever happens.
    /// #[derive(Clone)]
    /// struct Five;
    ///
    /// impl Five {
    ///     fn decision() -> Decision {
    ///         Decision { cwnd: Packets::new(5), intersend: Span::ZERO, wake_at: None }
    ///     }
    /// }
    ///
    /// impl Controller for Five {
    ///     fn on_start(&mut self, _: &Start) -> Decision {
    ///         Five::decision()
    ///     }
    ///     fn on_ack(&mut self, _: &Ack) -> Decision {
    ///         Five::decision()
    ///     }
    ///     fn on_congestion(&mut self, _: &Congestion) -> Decision {
    ///         Five::decision()
    ///     }
    ///     fn on_tick(&mut self, _: Instant) -> Decision {
    ///         Five::decision()
    ///     }
    /// }
    ///
    /// let controller = AnyController::own(Five);
    /// assert!(controller.keeps_timer());
    /// ```
    ///
    /// `examples/own_controller.rs` is a whole simulation with one.
    pub fn own(controller: impl Controller + Send + Sync + 'static) -> AnyController {
        AnyController::Own(Box::new(controller))
    }

    /// The controller that [`AnyController::own`] was given, if it is one of type `C`: for a program that changes its
    /// own controller while a simulation runs, by [`Simulation::controller_mut`](crate::engine::Simulation::controller_mut).
    pub fn own_mut<C: 'static>(&mut self) -> Option<&mut C> {
        match self {
            AnyController::Own(controller) => (**controller).as_any_mut().downcast_mut(),
            _ => None,
        }
    }

    /// The same controller with its random choices drawn from `seed`.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> AnyController {
        self.seed(seed);
        self
    }

    /// The RemyCC, if it is one, mutably.
    pub const fn as_remy_mut(&mut self) -> Option<&mut RemyCc> {
        match self {
            AnyController::Remy(remy) => Some(remy),
            _ => None,
        }
    }

    /// The RemyCC, if it is one: for recording its memory and rule.
    pub const fn as_remy(&self) -> Option<&RemyCc> {
        match self {
            AnyController::Remy(remy) => Some(remy),
            _ => None,
        }
    }
}

controllers! {
    /// A RemyCC: a rule table.
    Remy(RemyCc) {},
    /// The papers' additive increase, multiplicative decrease: half of the window at a loss.
    Aimd(Aimd) { "aimd" => Aimd::new() },
    /// TCP NewReno (RFC 6582): one packet more a round trip, half of the window at a loss.
    Reno(Reno) {
        "reno" => Reno::new(),
        "reno-hystart++" => Reno::new().with_slow_start(SlowStart::HyStartPlusPlus)
    },
    /// TCP Cubic (RFC 9438); also with HyStart as in Linux, with HyStart++, or with plain slow start.
    Cubic(Cubic) {
        "cubic" => Cubic::new(),
        "cubic-linux" => Cubic::linux(),
        "cubic-hystart++" => Cubic::new().with_slow_start(SlowStart::HyStartPlusPlus),
        "cubic-slow-start" => Cubic::new().with_slow_start(SlowStart::Plain)
    },
    /// TCP Vegas: keeps a few packets in the queue, judging by the RTT.
    Vegas(Vegas) { "vegas" => Vegas::new() },
    /// Compound TCP: a window for losses plus one for delay, as in older Windows.
    Compound(Compound) { "compound" => Compound::new() },
    /// Data Center TCP (RFC 8257): backs off by the share of marked packets.
    Dctcp(Dctcp) { "dctcp" => Dctcp::new() },
    /// LEDBAT (RFC 6817): yields to others, for background transfers; also with libutp's slow start.
    Ledbat(Ledbat) {
        "ledbat" => Ledbat::new(),
        "ledbat-slow-start" => Ledbat::new().with_slow_start()
    },
    /// LEDBAT++: for background transfers that also share with their own kind.
    LedbatPlusPlus(LedbatPlusPlus) { "ledbat++" => LedbatPlusPlus::new() },
    /// Copa: keeps about two packets in the queue, and competes where others fill it; also always in its default mode.
    Copa(Box<Copa>) { "copa" => Box::default(), "copa-default" => Box::new(Copa::new().without_competition()) },
    /// TCP Prague: for L4S, cuts its window by the share of marked packets; also as it falls back to Reno without accurate feedback.
    Prague(Prague) {
        "prague" => Prague::new(),
        "prague-without-accecn" => Prague::new().without_accurate_feedback()
    },
    /// PCC Vivace: a rate that climbs the gradient of a utility; also as Proteus's scavenger, which yields to others.
    Vivace(Box<Vivace>) {
        "vivace" => Box::default(),
        "proteus-scavenger" => Box::new(Vivace::new().scavenger())
    },
    /// Verus: a window read from a learned profile of delays, for cellular links.
    Verus(Box<Verus>) { "verus" => Box::default() },
    /// Google Congestion Control, for real-time media: the traffic `video`.
    Gcc(Box<Gcc>) { "gcc" => Box::default() },
    /// NADA (RFC 8698), for real-time media: the traffic `video`.
    Nada(Box<Nada>) { "nada" => Box::default() },
    /// SCReAM, version 2, for real-time media: the traffic `video`; for L4S, and without.
    Scream(Box<Scream>) {
        "scream" => Box::default(),
        "scream-classic" => Box::new(Scream::new().classic())
    },
    /// XCP: its routers tell it its rate, and it needs the queue xcp.
    Xcp(Xcp) { "xcp" => Xcp::new() },
    /// ABC: its routers tell it by each packet to accelerate or to brake, and it needs the queue abc; without, it is Cubic.
    Abc(Box<Abc>) { "abc" => Box::default() },
    /// BBR, version 1, as in Linux: models the path's bandwidth and RTT.
    Bbr1(Box<Bbr1>) { "bbr1" => Box::default() },
    /// BBR, version 3: models the path's bandwidth and RTT, and responds to losses; also version 2, which responds to marks.
    Bbr(Box<Bbr>) { "bbr" => Box::default(), "bbr2" => Box::new(Bbr::default().version_2()) },
    /// A user's own controller: [`AnyController::own`].
    Own(Box<dyn DynController>) {},
}
