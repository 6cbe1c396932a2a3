use super::*;

fn table() -> RuleTable {
    let signals = SignalSet::new([Signal::SendEwma, Signal::RttDiff]).expect("two signals");
    let mut table = RuleTable::single(signals, 8.0, Action::INITIAL);
    assert!(table.split(0, Signal::RttDiff, 2.5));
    table.set_action(1, Action { multiple: 0.5, increment: -7, intersend_ms: 0.25 });
    table
}

/// A message of one double a signal from the first on.
fn doubles(values: &[f64]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        wire::put_double(&mut out, FIRST_SIGNAL + i as u32, value);
    }
    out
}

fn domain(lower: &[f64], upper: &[f64], axes: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    wire::put_message(&mut out, LOWER, &doubles(lower));
    wire::put_message(&mut out, UPPER, &doubles(upper));
    for &axis in axes {
        wire::put_uint(&mut out, AXES, axis);
    }
    out
}

fn leaf(domain: &[u8]) -> Vec<u8> {
    let mut rule = Vec::new();
    wire::put_sint(&mut rule, INCREMENT, 1);
    wire::put_double(&mut rule, MULTIPLE, 1.0);
    wire::put_double(&mut rule, INTERSEND, 3.0);
    wire::put_message(&mut rule, RULE_DOMAIN, domain);
    let mut out = Vec::new();
    wire::put_message(&mut out, DOMAIN, domain);
    wire::put_message(&mut out, RULE, &rule);
    out
}

fn node(domain: &[u8], children: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    wire::put_message(&mut out, DOMAIN, domain);
    for child in children {
        wire::put_message(&mut out, CHILDREN, child);
    }
    out
}

fn error(bytes: &[u8]) -> String {
    read(bytes).expect_err("no table").to_string()
}

#[test]
fn a_table_is_decoded_as_encoded() {
    let bytes = write(&table()).unwrap();
    let (read, layout) = read_with_layout(&bytes).unwrap();
    assert_eq!(read, table());
    assert!(layout.names_axes && layout.settings.is_empty());
    assert_eq!(write_with_layout(&read, &layout), Ok(bytes));
}

#[test]
fn one_rule_has_these_bytes() {
    let signals = SignalSet::new([Signal::AckEwma]).expect("one signal");
    let action = Action { multiple: 1.0, increment: -1, intersend_ms: 3.0 };
    let hex: String = write(&RuleTable::single(signals, 2.0, action))
        .unwrap()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let zero = "b1010000000000000000";
    let two = "b1010000000000000040";
    let domain = format!("5a0a{zero}620a{two}6801");
    let action = "f80101810200000000000 0f03f8902000000000000 0840".replace(' ', "");
    assert_eq!(hex, format!("0a1a{domain}1a34{action}92021a{domain}"));
}

#[test]
fn missing_bounds_leave_the_axis_unbounded() {
    let bytes = leaf(&domain(&[0.0, 0.0, 0.0], &[16384.0; 3], &[]));
    let (table, layout) = read_with_layout(&bytes).unwrap();
    let names: Vec<_> = table.signals().iter().map(Signal::name).collect();
    assert_eq!(names, ["send_ewma", "ack_ewma", "rtt_ratio"]);
    assert_eq!(table.domain().upper[3], f64::INFINITY);
    assert_eq!(write_with_layout(&table, &layout).unwrap(), bytes);
}

#[test]
fn missing_bounds_of_a_child_are_its_parents() {
    let children = [leaf(&domain(&[0.0], &[4.0], &[])), leaf(&domain(&[4.0], &[9.0, 8.0], &[]))];
    let table = read(&node(&domain(&[0.0, 1.0], &[9.0, 8.0], &[]), &children)).unwrap();
    assert_eq!(table.rules()[0].domain.lower[1], 1.0);
    assert_eq!(table.rules()[0].domain.upper[1], 8.0);
    assert_eq!(read(&write(&table).unwrap()), Ok(table));
}

#[test]
fn without_a_box_the_rule_covers_everything() {
    let mut bytes = Vec::new();
    wire::put_message(&mut bytes, RULE, &[]);
    let (table, layout) = read_with_layout(&bytes).unwrap();
    assert_eq!(table.signals(), SignalSet::FIRST_FOUR);
    assert_eq!(*table.domain(), Cuboid::EVERYTHING);
    let nothing = Action { multiple: 0.0, increment: 0, intersend_ms: 0.0 };
    assert_eq!(table.rules()[0].action, nothing, "what proto2 makes of missing numbers");
    assert_eq!(read(&write_with_layout(&table, &layout).unwrap()), Ok(table));
}

#[test]
fn axes_are_named_if_bounds_are_ambiguous() {
    let plain = Layout { names_axes: false, settings: Vec::new() };
    let bytes = write_with_layout(&table(), &plain).unwrap();
    let (read, layout) = read_with_layout(&bytes).unwrap();
    assert_eq!((read, layout.names_axes), (table(), true));
}

#[test]
fn packed_axes_are_read_too() {
    let mut packed = domain(&[0.0, 0.0], &[1.0, 1.0], &[]);
    wire::put_message(&mut packed, AXES, &[0, 1]);
    let named = leaf(&domain(&[0.0, 0.0], &[1.0, 1.0], &[0, 1]));
    assert_eq!(read(&leaf(&packed)), read(&named));
}

#[test]
fn settings_and_unknown_fields_are_kept_behind_the_tree() {
    let layout = Layout { names_axes: true, settings: vec![0x22, 1, 7, 0x88, 0x05, 3] };
    let bytes = write_with_layout(&table(), &layout).unwrap();
    assert_eq!(read_with_layout(&bytes), Ok((table(), layout)));
    assert!(are_settings(&[0x22, 1, 7, 0x88, 0x05, 3]) && are_settings(&[]));
    assert!(!are_settings(&[0x1a, 1, 7]) && !are_settings(&[0x22, 2, 7]));
}

#[test]
fn unknown_fields_in_the_tree_are_skipped() {
    let mut domain = domain(&[0.0], &[1.0], &[]);
    wire::put_uint(&mut domain, 99, 1);
    let mut bytes = leaf(&domain);
    wire::put_double(&mut bytes, 98, 1.0);
    assert_eq!(read(&bytes).unwrap().rules().len(), 1);
}

#[test]
fn errors_name_the_place() {
    assert_eq!(error(&[]), "the file is empty");
    let bytes = write(&table()).unwrap();
    assert_eq!(
        error(&bytes[..bytes.len() - 1]),
        "byte 180, in the root: it ends in the middle of a field; is the file complete?"
    );
    let square = domain(&[0.0, 0.0], &[1.0, 1.0], &[]);
    assert_eq!(error(&node(&square, &[])), "the root has neither a rule nor children");
    let inner = node(&square, &[leaf(&square), node(&square, &[])]);
    assert_eq!(
        error(&node(&square, &[inner])),
        "child 2 of child 1 has neither a rule nor children"
    );
    let mut both = leaf(&square);
    wire::put_message(&mut both, CHILDREN, &leaf(&square));
    assert_eq!(error(&both), "the root has a rule and children, and should have either");
    assert_eq!(
        error(&[0x08, 1]),
        "byte 0, in the root: field 1 is not a message",
        "a number where the box should be"
    );
    assert_eq!(
        error(&leaf(&domain(&[0.0], &[1.0], &[6]))),
        "byte 26, in the root: there is no signal of number 6, only 0 to 5"
    );
    let two = node(&square, &[leaf(&domain(&[0.0], &[1.0], &[0]))]);
    assert_eq!(error(&two), "the box of child 1 has other axes than that of the root");
    let mut moved = Vec::new();
    wire::put_message(&mut moved, DOMAIN, &domain(&[0.0], &[2.0], &[]));
    moved.extend(leaf(&domain(&[0.0], &[1.0], &[])).split_off(26));
    assert_eq!(
        error(&moved),
        "the root stands for box {send_ewma 0..2}, but its rule for {send_ewma 0..1}"
    );
    let hole = node(&domain(&[0.0], &[2.0], &[]), &[leaf(&domain(&[0.0], &[1.0], &[]))]);
    assert_eq!(
        error(&hole),
        "the parts of box {send_ewma 0..2} leave a hole in it: extend one over {send_ewma 1..2}, \
         or add a rule"
    );
}

#[test]
fn trees_too_deep_or_too_wide_are_rejected() {
    let everything = domain(&[0.0], &[1.0], &[]);
    let nested = |levels| (1..levels).fold(leaf(&everything), |n, _| node(&everything, &[n]));
    assert_eq!(read(&nested(MAX_DEPTH)).unwrap().depth(), MAX_DEPTH);
    assert_eq!(read(&nested(MAX_DEPTH + 1)), Err(TableError::TooDeep.into()));
    assert_eq!(read(&nested(5000)), Err(TableError::TooDeep.into()));
    let wide = node(&everything, &vec![leaf(&everything); MAX_RULES + 1]);
    assert_eq!(read(&wide), Err(TableError::TooManyRules.into()));
    assert_eq!(read(&vec![0; MAX_BYTES + 1]), Err(DnaError::TooLarge(MAX_BYTES + 1)));
}
