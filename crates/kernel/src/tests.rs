//! The same script of ACKs through the floating-point runtime, the one in integers, the code in C, and the program in
//! the kernel.

use crate::c_code;
use crate::error::KernelError;
use crate::image::Image;
use crate::loader::{LICENCE, map_of_tables, table_map};
use crate::object::Object;
use exm_cc::{Ack, Controller, Start};
use exm_os::{BpfMap, BpfMapSpec, BpfProgram, BpfProgramSpec, Btf};
use exm_remy::RemyCc;
use exm_remy::fixed::{FixedRemyCc, FixedTable};
use exm_table::TableFile;
use exm_units::Instant;
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// ACKs that the test follows, over all tables.
const EVENTS: usize = 1_000_000;
/// `BPF_PROG_TYPE_SYSCALL`.
const PROGRAM_SYSCALL: u32 = 31;
/// The most events of a script in the kernel (`EVENTS` of `bpf/script.bpf.c`).
const KERNEL_EVENTS: usize = 65536;

/// An ACK, in nanoseconds.
#[derive(Clone, Copy)]
struct Event {
    sent: i64,
    received: i64,
    rtt: u64,
    gap: u32,
}

/// What a runtime does after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    rule: u32,
    window: u32,
    intersend: u64,
}

/// ACKs of a network that changes its rate, its RTT and its losses every hundred of them.
fn script(count: usize, seed: u64) -> Vec<Event> {
    let mut state = seed;
    let mut below = move |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    };
    let (mut sent, mut received) = (0, 0);
    let (mut interval, mut rtt, mut loss) = (1, 1, 0);
    (0..count)
        .map(|number| {
            if number % 100 == 0 {
                interval = 1000 << below(17);
                rtt = 1_000_000 << below(9);
                loss = below(3) * below(10);
            }
            sent += below(2 * interval);
            received = (received + below(2 * interval)).max(sent + rtt / 2 + below(rtt));
            let gap = if below(100) < loss { 1 + below(5) } else { 1 };
            Event {
                sent: sent as i64,
                received: received as i64,
                rtt: received - sent,
                gap: gap as u32,
            }
        })
        .collect()
}

/// The tables that the project ships, and those that were published, which run in integers.
fn tables() -> Vec<(PathBuf, TableFile)> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../design/remyccs");
    let folders = [Some(shipped), exm_testing::reference("remycc")];
    let mut paths: Vec<PathBuf> = folders
        .into_iter()
        .flatten()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder of tables"))
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "dna"))
        .collect();
    paths.sort();
    let load = |path: PathBuf| {
        let file = TableFile::load(&path).unwrap_or_else(|error| panic!("{error}"));
        (path, file)
    };
    let all = paths.into_iter().map(load);
    all.filter(|(_, file)| !file.table.signals().iter().any(exm_remy::Signal::is_extended))
        .collect()
}

fn floating(file: &TableFile, script: &[Event]) -> Vec<Outcome> {
    let mut controller = RemyCc::new(&file.table);
    controller.on_start(&Start::new(Instant::ZERO));
    let mut sequence = 0;
    let follow = |event: &Event| {
        let at = |nanos: i64| Instant::from_nanos(nanos as u64);
        let mut ack = Ack::new(sequence + u64::from(event.gap), at(event.sent), at(event.received));
        ack.largest_acked = Some(sequence);
        sequence += u64::from(event.gap);
        let decision = controller.on_ack(&ack);
        Outcome {
            rule: controller.rule() as u32,
            window: decision.cwnd.get() as u32,
            intersend: decision.intersend.as_nanos(),
        }
    };
    script.iter().map(follow).collect()
}

fn integers(table: &FixedTable, script: &[Event]) -> Vec<Outcome> {
    let mut sender = FixedRemyCc::new(table);
    let follow = |event: &Event| {
        sender.on_ack(event.sent, event.received, event.rtt, event.gap);
        Outcome {
            rule: sender.rule() as u32,
            window: sender.window(),
            intersend: sender.intersend_ns(),
        }
    };
    script.iter().map(follow).collect()
}

/// The outcomes in `bytes`, of `size` each, by where rule, window and pace are in them.
fn outcomes(bytes: &[u8], size: usize, [rule, window, intersend]: [usize; 3]) -> Vec<Outcome> {
    let word = |record: &[u8], at: usize| {
        u32::from_ne_bytes(record[at..at + 4].try_into().expect("four bytes"))
    };
    let outcome = |record: &[u8]| Outcome {
        rule: word(record, rule),
        window: word(record, window),
        intersend: u64::from_ne_bytes(record[intersend..intersend + 8].try_into().expect("eight")),
    };
    bytes.chunks_exact(size).map(outcome).collect()
}

const MAIN: &str = r#"
#include "table.h"
#include <stdio.h>
struct event { int64_t sent, received; uint64_t rtt; uint32_t gap, unused; };
struct outcome { uint64_t intersend; uint32_t rule, window; };
int main(void)
{
    struct remy_sender flow;
    struct event event;
    table_begin(&flow);
    while (fread(&event, sizeof(event), 1, stdin) == 1) {
        struct outcome outcome;
        outcome.intersend = table_on_ack(&flow, event.sent, event.received, event.rtt, event.gap);
        outcome.rule = flow.rule;
        outcome.window = flow.window;
        fwrite(&outcome, sizeof(outcome), 1, stdout);
    }
    return 0;
}
"#;

/// Compiles the C code of `table` and has it follow `script`; nothing without a compiler.
fn in_c(table: &FixedTable, script: &[Event]) -> Option<Vec<Outcome>> {
    let folder = exm_testing::Folder::new("kernel-c");
    let code = c_code(table, "table", "a test */ of notes").expect("shipped tables fit");
    fs::write(folder.0.join("table.h"), code).expect("a file");
    fs::write(folder.0.join("main.c"), MAIN).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", "main", "main.c"]);
    let compiled = compiler.current_dir(&folder.0).status().ok()?;
    assert!(compiled.success(), "the C code of a table compiles without a warning");
    let mut running = Command::new(folder.0.join("main"));
    let mut running =
        running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut input = running.stdin.take().expect("piped");
    let bytes: Vec<u8> = script
        .iter()
        .flat_map(|event| {
            let mut bytes = [event.sent.to_ne_bytes(), event.received.to_ne_bytes()].concat();
            bytes.extend(event.rtt.to_ne_bytes());
            bytes.extend(u64::from(event.gap).to_le_bytes());
            bytes
        })
        .collect();
    let writing = std::thread::spawn(move || input.write_all(&bytes));
    let output = running.wait_with_output().expect("its output");
    writing.join().expect("no panic").expect("it reads all");
    Some(outcomes(&output.stdout, 16, [8, 12, 0]))
}

/// The functions of the congestion control in the kernel, which follow scripts.
struct InKernel {
    object: Object,
    btf: Btf,
    events: BpfMap,
}

impl InKernel {
    const EVENT: usize = 48;

    /// Nothing where it is not allowed.
    fn new() -> Option<InKernel> {
        let object = Object::read(include_bytes!("../bpf/script.bpf.o")).expect("an object");
        let btf = match Btf::load(&object.types) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            loaded => loaded.expect("the kernel takes the types"),
        };
        let spec = BpfMapSpec {
            kind: 2,
            key_size: 4,
            value_size: (InKernel::EVENT * KERNEL_EVENTS) as u32,
            max_entries: 1,
            ..BpfMapSpec::default()
        };
        Some(InKernel { object, btf, events: BpfMap::create(&spec).expect("a map") })
    }

    fn program(&self, table: &FixedTable) -> Result<BpfProgram, KernelError> {
        let tables = map_of_tables(&table_map(&Image::new(table, "a test")?)?)?;
        let code = self.object.code("syscall").expect("a program");
        let instructions = code.with_maps(|name| {
            let map = if name == "events" { &self.events } else { &tables };
            map.as_fd().as_raw_fd()
        });
        let spec = BpfProgramSpec {
            kind: PROGRAM_SYSCALL,
            attach: 0,
            attach_btf_id: 0,
            instructions: &instructions,
            licence: LICENCE,
            name: "script",
            btf: &self.btf,
            functions: &code.functions,
            relocations: &code.relocations,
            sleepable: true,
        };
        BpfProgram::load(&spec).map_err(crate::error::system("loading a script"))
    }

    fn follow(&self, table: &FixedTable, script: &[Event]) -> Vec<Outcome> {
        let program = self.program(table).unwrap_or_else(|error| panic!("{error}"));
        // The sender, then how many events follow, and whether the flow begins.
        let mut context = [0; 80];
        let mut all = Vec::new();
        for (part, events) in script.chunks(KERNEL_EVENTS).enumerate() {
            let mut value: Vec<u8> = events.iter().flat_map(event_bytes).collect();
            value.resize(InKernel::EVENT * KERNEL_EVENTS, 0);
            self.events.set(&[0; 4], &value).expect("it fits");
            context[72..76].copy_from_slice(&(events.len() as u32).to_ne_bytes());
            context[76..].copy_from_slice(&u32::from(part == 0).to_ne_bytes());
            assert_eq!(program.run(&mut context).expect("it runs"), 0);
            let value =
                &self.events.get(&[0; 4]).expect("events")[..InKernel::EVENT * events.len()];
            all.extend(outcomes(value, InKernel::EVENT, [40, 36, 24]));
        }
        all
    }
}

fn event_bytes(event: &Event) -> [u8; InKernel::EVENT] {
    let mut bytes = [0; InKernel::EVENT];
    bytes[..8].copy_from_slice(&event.sent.to_ne_bytes());
    bytes[8..16].copy_from_slice(&event.received.to_ne_bytes());
    bytes[16..24].copy_from_slice(&event.rtt.to_ne_bytes());
    bytes[32..36].copy_from_slice(&event.gap.to_ne_bytes());
    bytes
}

/// Has each runtime follow `events` ACKs of each table.
fn compare(tables: &[(PathBuf, TableFile)], events: usize) {
    let kernel = InKernel::new();
    let mut without_compiler = false;
    for (number, (path, file)) in tables.iter().enumerate() {
        let table = FixedTable::new(&file.table, exm_remy::MAX_WINDOW).expect("Remy's signals");
        let script = script(events, number as u64);
        let reference = floating(file, &script);
        let same = |which: &str, other: Vec<Outcome>| {
            assert_eq!(reference.len(), other.len(), "{which} {}", path.display());
            let first = reference.iter().zip(&other).position(|(one, other)| one != other);
            if let Some(at) = first {
                let (one, other) = (reference[at], other[at]);
                panic!("{which} {}: at ACK {at} {other:?}, not {one:?}", path.display());
            }
        };
        same("integers", integers(&table, &script));
        if let Some(kernel) = &kernel {
            same("kernel", kernel.follow(&table, &script));
        }
        match in_c(&table, &script) {
            Some(outcomes) => same("C", outcomes),
            None => without_compiler = true,
        }
    }
    if kernel.is_none() {
        exm_testing::skip("BPF is not allowed: not compared with the program in the kernel");
    }
    if without_compiler {
        exm_testing::skip("no cc: not compared with the code in C");
    }
}

#[test]
fn four_runtimes_follow_the_same_rules_to_the_same_windows() {
    let tables = tables();
    compare(&tables, EVENTS.div_ceil(tables.len()));
}

/// The same at length, in minutes: `cargo test -p exm-kernel --release -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn four_runtimes_agree_on_a_million_acks_of_each_table() {
    compare(&tables(), EVENTS);
}
