//! C code of a table, for stacks of their own.

use crate::image::{TooLarge, check};
use exm_remy::fixed::{FixedAction, FixedCut, FixedTable};
use std::fmt::{self, Write};

/// The runtime, which the program in the kernel uses too.
const RUNTIME: &str = include_str!("../bpf/remy.h");

/// A header in C for `table`: the table, and functions that follow it, whose names begin with `name`. It takes C99
/// and depends on nothing. Each line of `notes` is put at its head as a comment.
///
/// # Errors
/// [`TooLarge`] if its lookups would be bounded before they end.
///
/// # Panics
/// If `name` is not an identifier of C.
pub fn c_code(table: &FixedTable, name: &str, notes: &str) -> Result<String, TooLarge> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain);
    assert!(is_name, "{name:?} is not an identifier of C");
    check(table)?;
    let mut code = String::new();
    write(&mut code, table, name, notes).expect("a string takes all");
    Ok(code)
}

fn write(out: &mut String, table: &FixedTable, name: &str, notes: &str) -> fmt::Result {
    let upper = name.to_uppercase();
    let (cuts, actions) = (table.cuts(), table.actions());
    head(out, name, notes)?;
    writeln!(out, "#ifndef {upper}_H\n#define {upper}_H\n")?;
    // An array of C holds one element or more.
    writeln!(
        out,
        "#define REMY_CUTS {}\n#define REMY_RULES {}\n",
        cuts.len().max(1),
        actions.len()
    )?;
    out.push_str(RUNTIME);
    writeln!(out, "\nstatic const struct remy_table {name}_table = {{")?;
    writeln!(
        out,
        "\t{}, {}, {}, {},",
        table.root(),
        table.max_window(),
        cuts.len(),
        actions.len()
    )?;
    writeln!(out, "\t{{")?;
    for FixedCut { bound, axis, next: [below, above] } in cuts {
        writeln!(out, "\t\t{{ {bound}LL, {{ {below}, {above} }}, {axis}, 0 }},")?;
    }
    if cuts.is_empty() {
        writeln!(out, "\t\t{{ 0, {{ -1, -1 }}, 0, 0 }},")?;
    }
    writeln!(out, "\t}},\n\t{{")?;
    for FixedAction { high, low, shift, increment, intersend_ns } in actions {
        writeln!(out, "\t\t{{ {high}u, {low}u, {shift}u, {increment}, {intersend_ns}ULL }},")?;
    }
    writeln!(out, "\t}},\n}};\n")?;
    functions(out, name)?;
    writeln!(out, "\n#endif")
}

fn head(out: &mut String, name: &str, notes: &str) -> fmt::Result {
    for line in notes.lines() {
        // No note may end the comment.
        writeln!(out, "/* {} */", line.replace("*/", "* /"))?;
    }
    writeln!(
        out,
        "\n/* struct remy_sender flow;\n \
         *\n \
         * {name}_begin(&flow);                            a flow begins: flow.window is its first window\n \
         * pace = {name}_on_ack(&flow, sent, now, rtt, 1);  on each ACK: flow.window and the pace, both in force\n \
         *                                                 until the next; the last number is 1, and 1 more for\n \
         *                                                 each packet lost before this one\n \
         *\n \
         * Windows are in packets, times in nanoseconds. While packets are lost, a stack should let no more leave\n \
         * than arrive, whatever the window. */\n"
    )
}

fn functions(out: &mut String, name: &str) -> fmt::Result {
    writeln!(
        out,
        "/* Begins a flow, and returns its minimum time between packets. */\n\
         static inline uint64_t {name}_begin(struct remy_sender *flow)\n\
         {{\n\
         \tstruct remy_sender fresh = {{ {{ 0, 0, 0, 0, 0, 0, 0, 0 }}, 0, 0 }};\n\n\
         \t*flow = fresh;\n\
         \treturn remy_apply(&{name}_table, flow);\n\
         }}\n\n\
         /* Follows an ACK of a packet sent at `sent` that came at `received`, and returns the minimum time between\n \
         * packets. */\n\
         static inline uint64_t {name}_on_ack(struct remy_sender *flow, int64_t sent, int64_t received, uint64_t rtt,\n\
         \t\t\t\t     uint32_t gap)\n\
         {{\n\
         \tremy_remember(&flow->memory, sent, received, rtt, gap);\n\
         \treturn remy_apply(&{name}_table, flow);\n\
         }}"
    )
}
