//! The files that are written.

use super::*;
use crate::engine::Limited;
use exm_testing::Folder;
use exm_units::{Instant, Packets, Span};

const BOTH: SeriesSpec =
    SeriesSpec { pace: Pace::Every(Span::from_millis(10)), flows: true, links: true };

fn origin() -> Origin {
    Origin { command: "exm simulate a.toml".into(), seed: 7, version: "0.1.0".into() }
}

fn flow_sample() -> FlowSample {
    FlowSample {
        at: Instant::from_nanos(1_500_000_000),
        flow: 2,
        on: true,
        cwnd: Packets::new(10),
        intersend: Span::from_micros(250),
        in_flight: Packets::new(9),
        limited: Limited::Pace,
        delivered: 42,
        rtt: None,
        received: None,
        metrics: exm_cc::Metrics::NONE,
        signals: Some([1.0, 2.0, 1.5, 3.0, 4.0, 5.0, 0.5, 0.25, 6.0]),
        rule: Some(17),
    }
}

fn link_sample() -> LinkSample {
    let at = Instant::from_nanos(1);
    LinkSample { at, link: 0, packets: 3, bytes: 4500, busy: true }
}

fn record(folder: &Folder, format: Format) -> Vec<PathBuf> {
    let stem = folder.0.join("run");
    let mut recorder = Recorder::create(&BOTH, &stem, format, &origin()).expect("can create");
    recorder.flow(&flow_sample());
    recorder.link(&link_sample());
    recorder.finish().expect("can write")
}

#[test]
fn csv_begins_with_its_origin() {
    let folder = Folder::new("csv");
    let paths = record(&folder, Format::Csv);
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("can read");
    let origin = "# command: exm simulate a.toml\n# seed: 7\n# version: 0.1.0\n";
    assert_eq!(
        read(&paths[0]),
        format!(
            "{origin}time_s,flow,on,cwnd,intersend_ms,in_flight,delivered,rtt_ms,send_ewma,ack_ewma,\
             rtt_ratio,slow_ack_ewma,rtt_diff,queueing_delay,ecn,loss,receive_rate,rule\n\
             1.5,2,1,10,0.25,9,42,,1,2,1.5,3,4,5,0.5,0.25,6,17\n"
        )
    );
    assert_eq!(
        read(&paths[1]),
        format!("{origin}time_s,link,queue_packets,queue_bytes,busy\n0.000000001,0,3,4500,1\n")
    );
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["run.flows.csv", "run.links.csv"]);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "nothing preliminary is left");
}

#[test]
fn a_recorder_dropped_unfinished_leaves_nothing() {
    let folder = Folder::new("dropped");
    let stem = folder.0.join("run");
    let recorder = Recorder::create(&BOTH, &stem, Format::Csv, &origin()).expect("can create");
    let preliminary = recorder.preliminary_paths();
    assert!(preliminary.len() == 2 && preliminary.iter().all(|path| path.exists()));
    drop(recorder);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    let paths = Recorder::paths(&BOTH, &folder.0.join("run"), Format::Csv);
    assert_eq!(paths, record(&folder, Format::Csv));
}

#[test]
fn the_error_names_a_file_that_cannot_be_created() {
    let stem = Path::new("/no/such/folder/run");
    let error = Recorder::create(&BOTH, stem, Format::Csv, &origin()).err().expect("an error");
    assert!(error.to_string().contains("/no/such/folder/run.flows.csv"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_same_rows_as_csv() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let folder = Folder::new("parquet");
    let paths = record(&folder, Format::Parquet);
    let reader = SerializedFileReader::new(File::open(&paths[0]).unwrap()).expect("is Parquet");
    let entries = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(entries.iter().any(|e| e.key == "seed" && e.value.as_deref() == Some("7")));
    let rows: Vec<String> =
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows.len(), 1);
    for part in ["time_s: 1.5", "flow: 2", "rtt_ms: null", "rtt_ratio: 1.5", "rule: 17"] {
        assert!(rows[0].contains(part), "{part} not in {}", rows[0]);
    }
}
