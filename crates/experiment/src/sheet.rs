//! [`Sheet`]: results as rows and columns, a row for each flow, or each link, of each run.

use crate::case::Case;
use crate::completions::{merged, percentile};
use crate::plan::Plan;
use crate::results::Results;
use crate::rows::{FlowRow, LinkRow};
use crate::store::Rows;
use exm_store::{Cell, Column, Format, Header, RowWriter};
use std::io;

/// Rows and columns.
pub(crate) struct Sheet<'a> {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Box<dyn Iterator<Item = Vec<Cell<'a>>> + 'a>,
}

impl Sheet<'_> {
    /// The sheet as the bytes of a file of the results `results`.
    pub(crate) fn written(self, format: Format, results: &Results) -> io::Result<Vec<u8>> {
        let origin = origin(results);
        let header = Header { schema: "results", columns: &self.columns, origin: &origin };
        let mut writer = RowWriter::new(format, Vec::new(), &header)?;
        for row in self.rows {
            writer.row(&row)?;
        }
        writer.finish()
    }
}

/// The origin of a table of values: names and values.
fn origin(results: &Results) -> [(&'static str, String); 4] {
    let Results { command, hash, seed, program, .. } = results;
    [
        ("command", command.clone()),
        ("configuration", hash.clone()),
        ("seed", seed.to_string()),
        ("version", program.clone()),
    ]
}

/// The columns that identify the run of a row.
const FIRST: [Column; 5] = [
    Column::text("variant"),
    Column::text("point"),
    Column::text("scheme"),
    Column::whole("run"),
    Column::whole("seed"),
];

const FLOW: [Column; 32] = [
    Column::whole("flow"),
    Column::text("group"),
    Column::real("on_s"),
    Column::real("throughput_mbps"),
    Column::real("share"),
    Column::real("queueing_ms"),
    Column::real("queueing_50_ms"),
    Column::real("queueing_95_ms"),
    Column::real("rtt_ms"),
    Column::real("rtt_ratio"),
    Column::whole("sent"),
    Column::whole("retransmitted"),
    Column::whole("timeouts"),
    Column::whole("delivered"),
    Column::whole("lost"),
    Column::whole("completed"),
    Column::real("completion_ms"),
    Column::real("median_completion_ms"),
    Column::real("p95_completion_ms"),
    Column::real("p99_completion_ms"),
    Column::whole("starts"),
    Column::whole("settled"),
    Column::real("convergence_s"),
    Column::real("received_mbps"),
    Column::real("capacity_mbps"),
    Column::real("delay_95_ms"),
    Column::real("omniscient_95_ms"),
    Column::real("queued_within_100ms_percent"),
    Column::real("video_mbps"),
    Column::real("frame_delay_95_ms"),
    Column::real("frames_shown_percent"),
    Column::real("frozen_percent"),
];

const LINK: [Column; 8] = [
    Column::text("link"),
    Column::real("utilisation"),
    Column::real("mean_queue"),
    Column::whole("max_queue"),
    Column::whole("transmitted"),
    Column::whole("dropped"),
    Column::whole("marked"),
    Column::whole("lost"),
];

/// A row for each flow of each run.
pub(crate) fn flows<'a>(plan: &'a Plan, rows: &'a Rows) -> Sheet<'a> {
    let rows = rows.iter().flat_map(move |(&(case, run), row)| {
        let case = &plan.cases[case];
        let flows = row.flows.iter().enumerate();
        flows.map(move |(index, flow)| {
            let group = Cell::Text(&case.scenario.flows[flow.group].name);
            let mut cells = first_cells(plan, case, run, row.seed).to_vec();
            cells.extend([Cell::Whole(index as u64), group]);
            cells.extend(flow_cells(flow));
            cells
        })
    });
    Sheet { columns: FIRST.into_iter().chain(FLOW).collect(), rows: Box::new(rows) }
}

fn flow_cells(flow: &FlowRow) -> [Cell<'static>; 30] {
    let times = merged([flow.completions.as_slice()].into_iter());
    let convergence = flow.convergence;
    let received = flow.end_to_end.as_ref();
    let video = flow.video.as_ref();
    [
        Cell::Real(flow.on_s),
        Cell::from(flow.throughput_mbps),
        Cell::from(flow.share),
        Cell::from(flow.queueing_ms),
        Cell::from(flow.queueing_50_ms),
        Cell::from(flow.queueing_95_ms),
        Cell::from(flow.rtt_ms),
        Cell::from(flow.rtt_ratio),
        Cell::Whole(flow.sent),
        Cell::Whole(flow.retransmitted),
        Cell::Whole(flow.timeouts),
        Cell::Whole(flow.delivered),
        Cell::Whole(flow.lost),
        Cell::Whole(flow.completed),
        Cell::from(flow.completion_ms),
        Cell::from(percentile(&times, 0.5)),
        Cell::from(percentile(&times, 0.95)),
        Cell::from(percentile(&times, 0.99)),
        Cell::from(convergence.map(|c| c.starts)),
        Cell::from(convergence.map(|c| c.settled)),
        Cell::from(convergence.and_then(|c| c.longest_s)),
        Cell::from(received.map(|row| row.received_mbps)),
        Cell::from(received.and_then(|row| row.capacity_mbps)),
        Cell::from(received.and_then(|row| row.delay_95_ms)),
        Cell::from(received.and_then(|row| row.omniscient_95_ms)),
        Cell::from(received.and_then(|row| row.queued_within)),
        Cell::from(video.map(|row| row.shown_mbps)),
        Cell::from(video.and_then(|row| row.delay_95_ms)),
        Cell::from(video.map(|row| row.frames_shown)),
        Cell::from(video.map(|row| row.frozen)),
    ]
}

/// A row for each link of each run.
pub(crate) fn links<'a>(plan: &'a Plan, rows: &'a Rows) -> Sheet<'a> {
    let rows = rows.iter().flat_map(move |(&(case, run), row)| {
        let case = &plan.cases[case];
        row.links.iter().zip(&case.scenario.links).map(move |(link, spec)| {
            let mut cells = first_cells(plan, case, run, row.seed).to_vec();
            cells.push(Cell::Text(&spec.name));
            cells.extend(link_cells(link));
            cells
        })
    });
    Sheet { columns: FIRST.into_iter().chain(LINK).collect(), rows: Box::new(rows) }
}

fn link_cells(link: &LinkRow) -> [Cell<'static>; 7] {
    [
        Cell::Real(link.utilisation),
        Cell::Real(link.mean_queue),
        Cell::Whole(link.max_queue),
        Cell::Whole(link.transmitted),
        Cell::Whole(link.dropped),
        Cell::Whole(link.marked),
        Cell::Whole(link.lost),
    ]
}

fn first_cells<'a>(plan: &'a Plan, case: &Case, run: u64, seed: u64) -> [Cell<'a>; 5] {
    let experiment = &plan.experiment;
    let points = experiment.sweep.as_ref().map(|sweep| &sweep.points);
    [
        Cell::Text(&experiment.variants[case.variant].name),
        Cell::Text(points.map_or("", |points| &points[case.point].label)),
        Cell::Text(&experiment.schemes[case.scheme].name),
        Cell::Whole(run),
        Cell::Whole(seed),
    ]
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use crate::plan::{Options, Plan};
    use crate::{Experiment, Results, RunRow};
    use exm_store::Format;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::path::Path;

    const FILE: &str = r#"
        duration = "2 s"
        [dumbbell]
        rate = "10 Mbps"
        rtt = "20 ms"
        senders = 2
        controller = "scheme"
        traffic = { on = "exp 100 kB", off = "exp 0.2 s" }
        [experiment]
        columns = ["median_completion"]
        [[experiment.scheme]]
        name = "Reno, plain"
        controller = "reno"
    "#;

    /// A cell as in the CSV file.
    fn cell_text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) if text.contains(',') => format!("\"{text}\""),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn parquet_has_the_same_rows_as_csv() {
        let experiment = Experiment::parse(FILE, "a.toml", Path::new("")).expect("is valid");
        let plan = Plan::new(experiment, &Options::default(), &mut |name, _| Err(name.to_owned()));
        let plan = plan.expect("is valid");
        let rows = (0..3).map(|run| {
            ((0, run), RunRow::made(&plan.cases[0], plan.seed_of(run), plan.asked).unwrap())
        });
        let rows = rows.collect();
        let results = Results::new(&plan, &rows, "exm experiment run a.toml".to_owned());
        let written = |format: Format| {
            super::flows(&plan, &rows)
                .written(format, &results)
                .expect("writing to memory succeeds")
        };
        let text = String::from_utf8(written(Format::Csv)).expect("is text");
        let bytes = written(Format::Parquet);
        assert_eq!(bytes, written(Format::Parquet));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("is Parquet");
        let metadata = reader.metadata().file_metadata();
        let entries = metadata.key_value_metadata().expect("the origin");
        assert!(entries.iter().any(|entry| entry.value.as_deref() == Some(&*results.command)));
        let names: Vec<&str> =
            metadata.schema().get_fields().iter().map(|field| field.name()).collect();
        let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
        assert_eq!(lines.next(), Some(names.join(",").as_str()));
        let rows = reader.get_row_iter(None).expect("rows").map(|row| {
            let row = row.expect("a row");
            row.get_column_iter().map(|(_, field)| cell_text(field)).collect::<Vec<_>>().join(",")
        });
        assert_eq!(rows.collect::<Vec<_>>(), lines.collect::<Vec<_>>());
        assert!(text.contains("\"Reno, plain\""), "{text}");
    }
}
