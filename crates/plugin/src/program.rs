//! [`Program`]: a controller that is a program of its own, asked over pipes in lines of JSON.
//!
//! A program is not sandboxed: it can do what its user can. It is slow as well, but its results are the same.

mod process;

use crate::decide::{self, STOPPED};
use crate::failures::Failures;
use exm_cc::{Ack, Congestion, Controller, Decision, Failure, Metrics, Needs, Sent, Start};
use exm_units::{Bytes, Fnv1a, Instant};
use process::Process;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The version of the protocol, which the first line names.
const PROTOCOL: u32 = 1;

/// Why a program cannot be a controller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no command.
    #[error("there is no program: give a command, such as program:python3 mine.py")]
    NoCommand,
    /// It cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// It did not answer the greeting as a controller does.
    #[error("{command} {problem}")]
    Greeting {
        /// The command.
        command: String,
        /// What was wrong.
        problem: String,
    },
}

/// A command that starts a controller. Copies share it; each flow starts a process of its own.
#[derive(Clone, Debug)]
pub struct Program(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The program and its arguments.
    words: Vec<String>,
    command: String,
    needs: Needs,
    /// The hash of the command, and of the files that it names.
    print: Fnv1a,
    failures: Failures,
}

impl Program {
    /// The program that `command` starts, whose words are separated by spaces. It is started once, to ask what it
    /// needs.
    ///
    /// # Errors
    /// [`ProgramError`] if it cannot be started or does not answer.
    pub fn new(command: &str) -> Result<Program, ProgramError> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(ProgramError::NoCommand);
        }
        let command = words.join(" ");
        let mut print = Fnv1a::of(&command);
        words.iter().filter_map(|word| std::fs::read(word).ok()).for_each(|file| print.add(&file));
        let (needs, failures) = (Needs::default(), Failures::default());
        let mut shared = Shared { words, command, needs, print, failures };
        let (_, needs) = shared.greet(0)?;
        shared.needs = needs;
        Ok(Program(Arc::new(shared)))
    }

    /// A controller that is this program. Each of its flows' senders starts a process.
    pub fn controller(&self) -> ProgramController {
        ProgramController {
            program: Arc::clone(&self.0),
            seed: 0,
            process: None,
            cwnd: 0,
            failure: None,
        }
    }

    /// The earliest failure of its controllers so far, in any simulation of this process.
    pub fn failure(&self) -> Option<Failure> {
        self.0.failures.first()
    }
}

impl Shared {
    /// Starts a process, and asks what it needs.
    fn greet(&self, seed: u64) -> Result<(Process, Needs), ProgramError> {
        let command = || self.command.clone();
        let mut process = Process::start(&self.words)
            .map_err(|source| ProgramError::Start { command: command(), source })?;
        let problem = |problem| ProgramError::Greeting { command: command(), problem };
        let line = line(&Event::Hello { protocol: PROTOCOL, seed });
        let reply = process.ask(&line).map_err(problem)?;
        let hello: Hello = serde_json::from_str(&reply).map_err(|error| {
            problem(format!(
                "answered {reply:?} to the first line: {error}: answer {{\"needs\":[]}}"
            ))
        })?;
        let mut needs = Needs::default();
        for need in &hello.needs {
            match need.as_str() {
                "own_recovery" => needs.own_recovery = true,
                "delivery" => needs.delivery = true,
                "sent" => needs.sent = true,
                "marks" => needs.marks = true,
                "feedback" => needs.feedback = true,
                "restart" => needs.restart = true,
                other => {
                    return Err(problem(format!(
                        "needs {other:?}: there are own_recovery, delivery, sent, marks, feedback and restart"
                    )));
                }
            }
        }
        Ok((process, needs))
    }
}

/// The answer to the greeting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    #[serde(default)]
    needs: Vec<String>,
}

/// The answer to an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    cwnd: u64,
    #[serde(default)]
    intersend: u64,
    #[serde(default)]
    wake_at: Option<u64>,
}

/// What a program is told: times in nanoseconds, sizes in bytes, windows in packets.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Hello {
        protocol: u32,
        seed: u64,
    },
    Start {
        now: u64,
        initial_window: u64,
        rtt: Option<u64>,
        mtu: u64,
    },
    Ack {
        now: u64,
        sent_at: u64,
        received_at: Option<u64>,
        sequence: u64,
        largest_acked: Option<u64>,
        acked: u64,
        acked_bytes: u64,
        marked: u64,
        in_flight: u64,
        in_flight_bytes: u64,
        stale: bool,
        recovering: bool,
        app_limited: bool,
        feedback: Option<f64>,
        delivery: Option<Delivered>,
    },
    Congestion {
        now: u64,
        kind: &'static str,
        sent_at: u64,
        packets: u64,
        bytes: u64,
        in_flight: u64,
        in_flight_bytes: u64,
    },
    Tick {
        now: u64,
    },
    Sent {
        now: u64,
        sequence: u64,
        bytes: u64,
        in_flight: u64,
        in_flight_bytes: u64,
        retransmission: bool,
    },
    Mtu {
        mtu: u64,
    },
}

#[derive(Serialize)]
struct Delivered {
    total: u64,
    total_at_send: u64,
    interval: u64,
    app_limited: bool,
    lost: u64,
    lost_at_send: u64,
    in_flight_at_send: u64,
}

impl From<&Ack> for Event {
    fn from(ack: &Ack) -> Event {
        Event::Ack {
            now: ack.now.as_nanos(),
            sent_at: ack.sent_at.as_nanos(),
            received_at: ack.received_at.map(Instant::as_nanos),
            sequence: ack.sequence,
            largest_acked: ack.largest_acked,
            acked: ack.acked.get(),
            acked_bytes: ack.acked_bytes.get(),
            marked: ack.marked.get(),
            in_flight: ack.in_flight.get(),
            in_flight_bytes: ack.in_flight_bytes.get(),
            stale: ack.stale,
            recovering: ack.recovering,
            app_limited: ack.app_limited,
            feedback: ack.feedback,
            delivery: ack.delivery.map(|delivery| Delivered {
                total: delivery.total,
                total_at_send: delivery.total_at_send,
                interval: delivery.interval.as_nanos(),
                app_limited: delivery.app_limited,
                lost: delivery.lost,
                lost_at_send: delivery.lost_at_send,
                in_flight_at_send: delivery.in_flight_at_send.get(),
            }),
        }
    }
}

impl From<&Congestion> for Event {
    fn from(congestion: &Congestion) -> Event {
        Event::Congestion {
            now: congestion.now.as_nanos(),
            kind: congestion.kind.name(),
            sent_at: congestion.sent_at.as_nanos(),
            packets: congestion.packets.get(),
            bytes: congestion.bytes.get(),
            in_flight: congestion.in_flight.get(),
            in_flight_bytes: congestion.in_flight_bytes.get(),
        }
    }
}

fn line(event: &Event) -> String {
    let mut line = serde_json::to_string(event).expect("it has neither maps nor infinite numbers");
    line.push('\n');
    line
}

/// A controller that is a program. It has a process of its own from its first flow on. A copy of it has a process of
/// its own as well, so one that has begun cannot be copied: the copy fails.
pub struct ProgramController {
    program: Arc<Shared>,
    seed: u64,
    process: Option<Process>,
    cwnd: u64,
    failure: Option<Box<Failure>>,
}

impl ProgramController {
    fn ask(&mut self, now: Instant, event: &Event) -> Decision {
        if self.failure.is_some() {
            return STOPPED;
        }
        match self.answer(event) {
            Ok(decision) => {
                self.cwnd = decision.cwnd.get();
                decision
            }
            Err(what) => self.fail(now, &what),
        }
    }

    fn answer(&mut self, event: &Event) -> Result<Decision, String> {
        let process = match &mut self.process {
            Some(process) => process,
            none => {
                let (process, _) =
                    self.program.greet(self.seed).map_err(|error| error.to_string())?;
                none.insert(process)
            }
        };
        let command = &self.program.command;
        let reply = process.ask(&line(event)).map_err(|what| format!("{command} {what}"))?;
        let answer: Answer = serde_json::from_str(&reply).map_err(|error| {
            format!(
                "{command} answered {reply:?}: {error}: answer a line such as {{\"cwnd\":10,\"intersend\":0}}"
            )
        })?;
        decide::decision(answer.cwnd, answer.intersend, answer.wake_at.unwrap_or(crate::abi::NONE))
            .map_err(|what| format!("{command} {what}"))
    }

    #[cold]
    fn fail(&mut self, at: Instant, what: &str) -> Decision {
        let failure = Failure { at, what: format!("{what},") };
        self.program.failures.note(&failure);
        (self.process, self.cwnd, self.failure) = (None, 0, Some(Box::new(failure)));
        STOPPED
    }
}

impl Clone for ProgramController {
    fn clone(&self) -> ProgramController {
        let mut copy = Program(Arc::clone(&self.program)).controller();
        (copy.seed, copy.failure) = (self.seed, self.failure.clone());
        if self.process.is_some() {
            let command = &self.program.command;
            copy.fail(
                Instant::ZERO,
                &format!("{command} is a program, whose state cannot be copied"),
            );
        }
        copy
    }
}

impl fmt::Debug for ProgramController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_struct("ProgramController");
        tuple.field("command", &self.program.command).field("seed", &self.seed);
        tuple.field("cwnd", &self.cwnd).finish_non_exhaustive()
    }
}

impl Controller for ProgramController {
    fn on_start(&mut self, start: &Start) -> Decision {
        let event = Event::Start {
            now: start.now.as_nanos(),
            initial_window: start.initial_window.get(),
            rtt: start.rtt.map(exm_units::Span::as_nanos),
            mtu: start.mtu.get(),
        };
        self.ask(start.now, &event)
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.ask(ack.now, &ack.into())
    }

    fn on_congestion(&mut self, congestion: &Congestion) -> Decision {
        self.ask(congestion.now, &congestion.into())
    }

    fn on_tick(&mut self, now: Instant) -> Decision {
        self.ask(now, &Event::Tick { now: now.as_nanos() })
    }

    fn on_sent(&mut self, sent: &Sent) -> Option<Decision> {
        let event = Event::Sent {
            now: sent.now.as_nanos(),
            sequence: sent.sequence,
            bytes: sent.bytes.get(),
            in_flight: sent.in_flight.get(),
            in_flight_bytes: sent.in_flight_bytes.get(),
            retransmission: sent.retransmission,
        };
        Some(self.ask(sent.now, &event))
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        if self.process.is_some() {
            self.ask(Instant::ZERO, &Event::Mtu { mtu: mtu.get() });
        }
    }

    fn metrics(&self) -> Metrics {
        Metrics::new(self.cwnd as f64)
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.as_deref().cloned()
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.program.print.get())
    }

    fn needs(&self) -> Needs {
        self.program.needs
    }

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}
