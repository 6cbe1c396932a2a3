//! Traces as CSV tables: of opportunity times, or of rates.
//!
//! A table has a header line with the names of its columns, then a line per row, separated by
//! commas. The time of a row is in the column `time_s`, `time_ms`, `time_us` or `time_ns`. If there
//! is a column `rate_bps`, `rate_kbps` or `rate_mbps`, it holds the rate from that time until the
//! next row's; without one, each row is an opportunity. Other columns are ignored.

use super::decimal::{parse_decimal, write_decimal};
use super::lines::Lines;
use super::{MAX_OPPORTUNITIES, Times, TraceError, load, shown};
use crate::{MAX_TIME, OPPORTUNITY, Trace};
use exm_units::{Instant, Rate, Span};
use std::fmt::Write as _;
use std::io::BufRead;
use std::path::Path;

/// The origin of the times in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Zero: times are used as they are.
    #[default]
    Zero,
    /// The first of them, as for times of day.
    First,
}

/// The columns named by the header of a table.
struct Columns {
    /// The index of the time column, and its decimals to nanoseconds.
    time: (usize, u32),
    /// The index of the rate column, and its unit in bits a second.
    rate: Option<(usize, f64)>,
}

const TIMES: [(&str, u32); 4] = [("time_s", 9), ("time_ms", 6), ("time_us", 3), ("time_ns", 0)];
const RATES: [(&str, f64); 3] = [("rate_bps", 1.0), ("rate_kbps", 1e3), ("rate_mbps", 1e6)];

/// The maximum rate, in bits a second.
const MAX_RATE: f64 = 1e12;

impl Trace {
    /// Reads the table in `file`: of times, or of rates. A trace of rates ends with an opportunity,
    /// so that it repeats with the period of the table; the last row lasts as long as the one
    /// before it.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is not such a table.
    pub fn load_csv(file: &Path, origin: Origin) -> Result<Trace, TraceError> {
        load(file, |reader, name| Trace::read_csv(reader, name, origin))
    }

    /// As [`Trace::load_csv`], but from `reader`, which errors call `file`.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is not such a table.
    pub fn read_csv(reader: impl BufRead, file: &str, origin: Origin) -> Result<Trace, TraceError> {
        let mut lines = Lines::new(reader, file);
        let Some((line, header)) = lines.next()? else {
            return Err(TraceError::Empty { file: file.to_owned() });
        };
        let table = |line, problem| TraceError::Table { file: file.to_owned(), line, problem };
        let columns = Columns::new(header).map_err(|problem| table(line, problem))?;
        let mut times = Times::new(file);
        let mut fluid = Fluid::default();
        let mut first = None;
        while let Some((line, text)) = lines.next()? {
            let row = columns.row(text).map_err(|problem| table(line, problem))?;
            let zero = *first.get_or_insert(if origin == Origin::First { row.nanos } else { 0 });
            // A time before the first is reported below.
            let time = Instant::from_nanos(row.nanos.saturating_sub(zero));
            if time > MAX_TIME {
                let problem = "the time is more than 31 years from the start of the trace: count \
                               times from the first of them";
                return Err(table(line, problem.to_owned()));
            }
            let place = || format!("line {line}");
            match row.rate {
                None => times.push(time, place)?,
                Some(rate) => fluid.row(time, rate, &mut times, &place)?,
            }
        }
        if columns.rate.is_some() {
            fluid.finish(&mut times)?;
        }
        times.finish()
    }

    /// The table of this trace's opportunities: `time_ms`.
    pub fn to_csv(&self) -> String {
        format!("time_ms\n{}", self.to_text())
    }

    /// The table of what this trace offers in each `window`: `time_s,rate_mbps`. An incomplete last
    /// window is left out; if `window` is zero there are no rows.
    pub fn rates_to_csv(&self, window: Span) -> String {
        let mut text = "time_s,rate_mbps\n".to_owned();
        let end = Instant::ZERO + self.period();
        for (index, rate) in (0..).zip(self.rates(Instant::ZERO, end, window)) {
            write_decimal(&mut text, (window * index).as_nanos(), 9);
            writeln!(text, ",{}", rate.as_bps() as f64 / 1e6).expect("writing to memory succeeds");
        }
        text
    }
}

/// A line of a table.
struct Row {
    nanos: u64,
    rate: Option<Rate>,
}

impl Columns {
    fn new(header: &[u8]) -> Result<Columns, String> {
        let names: Vec<&[u8]> = cells(header).collect();
        let place = |name: &str| names.iter().position(|known| *known == name.as_bytes());
        let time = TIMES.iter().find_map(|&(name, unit)| Some((place(name)?, unit)));
        let rate = RATES.iter().find_map(|&(name, unit)| Some((place(name)?, unit)));
        let time = time.ok_or_else(|| {
            format!(
                "\"{}\" names no column of times with its unit: the first line says what stands \
                 below it, such as time_ms, or time_s,rate_mbps",
                shown(header)
            )
        })?;
        Ok(Columns { time, rate })
    }

    fn row(&self, text: &[u8]) -> Result<Row, String> {
        let cell = |index: usize| cells(text).nth(index).unwrap_or_default();
        let (index, decimals) = self.time;
        let nanos = parse_decimal(cell(index), decimals).ok_or_else(|| {
            let (name, text) = (name_of(&TIMES, &decimals), shown(cell(index)));
            format!("\"{text}\" is no {name}: give a number from 0 up, exact to the nanosecond")
        })?;
        let rate = self.rate.map(|(index, unit)| {
            let text = std::str::from_utf8(cell(index)).ok();
            let bps = text.and_then(|text| text.parse::<f64>().ok()).map(|rate| rate * unit);
            let sound = bps.filter(|bps| (0.0..=MAX_RATE).contains(bps)).ok_or_else(|| {
                let (name, text) = (name_of(&RATES, &unit), shown(cell(index)));
                format!("\"{text}\" is no {name}: give a number from 0 up, at most 1 Tbps")
            });
            sound.map(|bps| Rate::from_bps(bps.round() as u64))
        });
        Ok(Row { nanos, rate: rate.transpose()? })
    }
}

fn name_of<U: PartialEq>(known: &[(&'static str, U)], unit: &U) -> &'static str {
    known.iter().find(|(_, known)| known == unit).map_or("number", |&(name, _)| name)
}

/// The cells of a row, without surrounding quotes and spaces.
fn cells(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    row.split(|&byte| byte == b',').map(|cell| {
        let cell = cell.trim_ascii();
        cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell)
    })
}

/// A fluid flow at given rates, divided into opportunities.
#[derive(Default)]
struct Fluid {
    /// The last row, and how long the one before it lasted.
    last: Option<(Instant, Rate)>,
    step: Span,
    /// The data accumulated since the last opportunity, in bits times 10^9.
    flowed: u128,
}

/// The data of one opportunity, in bits times 10^9.
const CARRIED: u128 = OPPORTUNITY.get() as u128 * 8_000_000_000;

impl Fluid {
    /// From `time` on the rate is `rate`.
    fn row(
        &mut self,
        time: Instant,
        rate: Rate,
        times: &mut Times<'_>,
        place: &impl Fn() -> String,
    ) -> Result<(), TraceError> {
        if let Some((start, _)) = self.last {
            if time <= start {
                let (before, after) = (super::millis(start), super::millis(time));
                let file = times.file.to_owned();
                return Err(TraceError::Backwards { file, place: place(), before, after });
            }
            self.step = time - start;
            self.flow(time, times, place)?;
        }
        self.last = Some((time, rate));
        Ok(())
    }

    /// The last row lasts until `end`.
    fn flow(
        &mut self,
        end: Instant,
        times: &mut Times<'_>,
        place: &impl Fn() -> String,
    ) -> Result<(), TraceError> {
        let Some((start, rate)) = self.last else { return Ok(()) };
        let per_nano = u128::from(rate.as_bps());
        let length = u128::from((end - start).as_nanos());
        let all = (self.flowed + per_nano * length) / CARRIED;
        if all > (MAX_OPPORTUNITIES - times.times.len()) as u128 {
            return Err(TraceError::TooMany { file: times.file.to_owned(), place: place() });
        }
        for index in 1..=all {
            let after = (CARRIED * index - self.flowed).div_ceil(per_nano.max(1));
            let after = u64::try_from(after.min(length)).unwrap_or(u64::MAX);
            times.push(start + Span::from_nanos(after), place)?;
        }
        self.flowed = self.flowed + per_nano * length - CARRIED * all;
        Ok(())
    }

    /// The last row lasts as long as the one before it.
    fn finish(mut self, times: &mut Times<'_>) -> Result<(), TraceError> {
        let Some((start, _)) = self.last else { return Ok(()) };
        let place = || "last line".to_owned();
        if self.step.is_zero() {
            let problem =
                "a single rate does not say how long it lasts: give a second row".to_owned();
            return Err(TraceError::Table { file: times.file.to_owned(), line: 2, problem });
        }
        let end = start.saturating_add(self.step).min(MAX_TIME);
        self.flow(end, times, &place)?;
        if times.times.last() != Some(&end) {
            times.push(end, place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, origin: Origin) -> Result<Trace, TraceError> {
        Trace::read_csv(text.as_bytes(), "t.csv", origin)
    }

    #[test]
    fn tables_of_times() {
        let trace = |text: &str| read(text, Origin::Zero).expect("a trace").to_text();
        assert_eq!(trace("time_ms\n0\n1.5\n2\n"), "0\n1.5\n2\n");
        assert_eq!(trace("# what\nbytes,\"time_s\"\n1500, 0.001\r\n40,2\n"), "1\n2000\n");
        assert_eq!(trace("time_us,x\n17,\n"), "0.017\n");
        let day = "time_s\n1700000000.25\n1700000000.25\n1700000001.5\n";
        assert_eq!(read(day, Origin::First).expect("a trace").to_text(), "0\n0\n1250\n");
        assert!(read(day, Origin::Zero).unwrap_err().to_string().contains("31 years"));
    }

    #[test]
    fn tables_of_rates() {
        // 12 Mbps is an opportunity per millisecond; accumulated data is kept when the rate
        // changes.
        let table = "time_s,rate_mbps\n0,12\n0.0025,0\n0.005,24\n0.0075,6\n";
        let trace = read(table, Origin::Zero).expect("a trace");
        assert_eq!(trace.to_text(), "1\n2\n5.25\n5.75\n6.25\n6.75\n7.25\n8.5\n10\n");
        let quiet = read("rate_kbps,time_ms\n0,0\n0,10\n", Origin::Zero).expect("a trace");
        assert_eq!(quiet.to_text(), "20\n");
        assert_eq!(
            trace.rates_to_csv(Span::from_millis(5)),
            "time_s,rate_mbps\n0,4.8\n0.005,14.4\n"
        );
        assert_eq!(trace.to_csv(), format!("time_ms\n{}", trace.to_text()));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| read(text, Origin::Zero).expect_err(text).to_string();
        for (text, part) in [
            ("", "the trace t.csv is empty"),
            ("time_ms\n", "the trace t.csv is empty"),
            ("1\n2\n", "t.csv, line 1: \"1\" names no column of times with its unit"),
            ("time,rate\n1,2\n", "line 1: \"time,rate\" names no column"),
            ("time_ms\n1\n-2\n", "line 3: \"-2\" is no time_ms: give a number from 0 up"),
            ("time_ns\n1.5\n", "line 2: \"1.5\" is no time_ns"),
            ("time_s\n5\n4\n", "line 3: time goes backwards from 5000 ms to 4000 ms"),
            ("time_s,rate_bps\n1,2\n1,2\n", "line 3: time goes backwards"),
            ("time_s,rate_mbps\n1\n", "line 2: \"\" is no rate_mbps: give a number from 0 up"),
            ("time_s,rate_mbps\n1,nan\n", "line 2: \"nan\" is no rate_mbps"),
            ("time_s,rate_mbps\n1,1e9\n", "line 2: \"1e9\" is no rate_mbps"),
            ("time_s,rate_mbps\n1,1\n", "line 2: a single rate does not say how long it lasts"),
            ("time_s,rate_mbps\n0,1e6\n2,1\n", "line 3: the trace has more than 100000000 opp"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }

    proptest! {
        /// The number of opportunities matches the data, plus the one at the end.
        #[test]
        fn rates_are_kept(rows in prop::collection::vec((1u64..3_000_000, 0u64..100_000), 2..20)) {
            let (mut text, mut now, mut flowed) = ("time_us,rate_kbps\n".to_owned(), 0, 0u128);
            for (index, &(step, rate)) in rows.iter().enumerate() {
                text += &format!("{now},{rate}\n");
                let step = if index + 1 == rows.len() { rows[index - 1].0 } else { step };
                now += step;
                flowed += u128::from(rate) * u128::from(step);
            }
            let trace = read(&text, Origin::Zero).expect("a trace");
            prop_assert_eq!(trace.period(), Span::from_micros(now));
            // A kilobit per second is a bit per millisecond: 12 000 000 of these are 1500 bytes.
            let exact = (flowed / 12_000_000) as usize;
            let count = trace.times().len();
            prop_assert!(count == exact || count == exact + 1, "{count} {exact}");
        }

        #[test]
        fn any_text_is_read_or_rejected(text in "(time_m?s)?(,rate_bps)?\n([0-9.,\n-]){0,60}") {
            let _ = read(&text, Origin::First);
        }
    }
}
