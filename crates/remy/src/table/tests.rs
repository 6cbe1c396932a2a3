use super::*;

const ACTION: Action = Action { multiple: 0.5, increment: 3, intersend_ms: 0.25 };

fn signals(wanted: &[Signal]) -> SignalSet {
    SignalSet::new(wanted.iter().copied()).expect("at least one signal")
}

fn square() -> SignalSet {
    signals(&[Signal::SendEwma, Signal::RttRatio])
}

/// A box on the axes of [`square`].
fn area(send: std::ops::Range<f64>, ratio: std::ops::Range<f64>) -> Cuboid {
    let mut domain = Cuboid::EVERYTHING;
    (domain.lower[0], domain.upper[0]) = (send.start, send.end);
    (domain.lower[2], domain.upper[2]) = (ratio.start, ratio.end);
    domain
}

/// A table of `boxes`, which should partition the square from 0 to 10.
fn parts(boxes: &[Cuboid]) -> Result<RuleTable, TableError> {
    let rules = boxes.iter().map(|&domain| Rule { domain, action: ACTION }).collect();
    let children = (0..boxes.len()).map(Node::Leaf).collect();
    let root = Node::Split { domain: area(0.0..10.0, 0.0..10.0), children };
    RuleTable::new(square(), rules, root)
}

fn memory(send: f64, ratio: f64) -> Point {
    [send, 7.0, ratio, 0.0, -3.0, f64::INFINITY, 1.0, 0.0, -1.0]
}

#[test]
fn a_single_rule_holds_everything() {
    let table = RuleTable::single(square(), 10.0, ACTION);
    assert_eq!(table.find(&memory(-5.0, 1e9)), 0);
    assert_eq!(table.depth(), 1);
    assert_eq!(RuleTable::new(square(), table.rules().to_vec(), Node::Leaf(0)), Ok(table));
}

#[test]
fn a_split_keeps_the_lower_half_and_adds_the_upper() {
    let mut table = RuleTable::single(square(), 10.0, ACTION);
    assert!(table.split(0, Signal::SendEwma, 4.0));
    assert!(table.split(0, Signal::RttRatio, 2.0));
    assert!(table.split(1, Signal::SendEwma, 6.0));
    assert_eq!(table.rules()[0].domain, area(0.0..4.0, 0.0..2.0));
    assert_eq!(table.rules()[1].domain, area(4.0..6.0, 0.0..10.0));
    assert_eq!(table.rules()[2].domain, area(0.0..4.0, 2.0..10.0));
    assert_eq!(table.rules()[3].domain, area(6.0..10.0, 0.0..10.0));
    assert_eq!(table.depth(), 3);
    assert!(table.rules().iter().all(|rule| rule.action == ACTION));
    let again = RuleTable::new(square(), table.rules().to_vec(), table.root().clone());
    assert_eq!(again, Ok(table));
}

#[test]
fn a_split_outside_the_box_or_the_signals_changes_nothing() {
    let mut table = RuleTable::single(square(), 10.0, ACTION);
    let before = table.clone();
    for at in [-1.0, 11.0, f64::NAN, f64::INFINITY] {
        assert!(!table.split(0, Signal::SendEwma, at), "at {at}");
    }
    assert!(!table.split(0, Signal::AckEwma, 5.0));
    assert_eq!(table, before);
}

#[test]
fn a_split_at_the_edge_makes_an_empty_part() {
    for (at, whole) in [(0.0, 1), (10.0, 0)] {
        let mut table = RuleTable::single(square(), 10.0, ACTION);
        assert!(table.split(0, Signal::SendEwma, at));
        assert!(table.rules()[1 - whole].domain.is_empty(square()));
        assert_eq!(table.find(&memory(0.0, 0.0)), whole);
        assert!(RuleTable::new(square(), table.rules().to_vec(), table.root().clone()).is_ok());
    }
}

#[test]
fn splits_stop_at_the_deepest_tree() {
    let mut table = RuleTable::single(square(), 1.0, ACTION);
    let mut at = 1.0;
    let splits = (0..100).filter(|_| {
        at /= 2.0;
        table.split(0, Signal::SendEwma, at)
    });
    assert_eq!(splits.count(), MAX_DEPTH - 1);
    assert_eq!(table.depth(), MAX_DEPTH);
    assert_eq!(table.validate(), Ok(()));
}

#[test]
fn splits_stop_at_the_most_rules() {
    let mut table = RuleTable::single(square(), 16_384.0, ACTION);
    while table.rules().len() < MAX_RULES {
        for index in 0..table.rules().len().min(MAX_RULES - table.rules().len()) {
            let Cuboid { lower, upper } = table.rules()[index].domain;
            assert!(table.split(index, Signal::SendEwma, f64::midpoint(lower[0], upper[0])));
        }
    }
    assert!(!table.split(0, Signal::RttRatio, 1.0));
    assert_eq!(table.validate(), Ok(()));
}

#[test]
fn boxes_are_half_open_and_the_domain_is_clamped_to() {
    let table = parts(&[area(0.0..4.0, 0.0..10.0), area(4.0..10.0, 0.0..10.0)]).unwrap();
    assert_eq!(table.find(&memory(4.0_f64.next_down(), 1.0)), 0);
    assert_eq!(table.find(&memory(4.0, 1.0)), 1);
    assert_eq!(table.find(&memory(10.0, 10.0)), 1);
    assert_eq!(table.find(&memory(1e300, -1e300)), 1);
    assert_eq!(table.find(&memory(-0.0, 1e300)), 0);
}

#[test]
fn empty_boxes_are_allowed_anywhere_and_never_found() {
    let boxes = [area(4.0..4.0, 0.0..10.0), area(0.0..10.0, 0.0..10.0), area(90.0..99.0, 3.0..3.0)];
    let table = parts(&boxes).unwrap();
    assert_eq!(table.find(&memory(4.0, 3.0)), 1);
}

#[test]
fn an_empty_box_may_be_split_into_empty_boxes() {
    let boxes = [area(0.0..10.0, 0.0..10.0), area(5.0..5.0, 0.0..1.0), area(5.0..5.0, 1.0..2.0)];
    let rules = boxes.map(|domain| Rule { domain, action: ACTION }).to_vec();
    let empty = Node::Split {
        domain: area(5.0..5.0, 0.0..2.0),
        children: vec![Node::Leaf(1), Node::Leaf(2)],
    };
    let root = Node::Split { domain: boxes[0], children: vec![empty, Node::Leaf(0)] };
    let table = RuleTable::new(square(), rules, root).unwrap();
    assert_eq!(table.find(&memory(5.0, 1.0)), 0);
}

#[test]
fn a_table_of_only_empty_boxes_is_rejected() {
    let rule = Rule { domain: area(1.0..1.0, 0.0..1.0), action: ACTION };
    assert_eq!(RuleTable::new(square(), vec![rule], Node::Leaf(0)), Err(TableError::Empty));
    assert_eq!(RuleTable::new(square(), vec![], Node::Leaf(0)), Err(TableError::Empty));
}

#[test]
fn a_hole_is_refused_and_named() {
    let boxes = [area(0.0..4.0, 0.0..10.0), area(4.0..10.0, 0.0..5.0), area(4.0..9.0, 5.0..10.0)];
    let error = parts(&boxes).unwrap_err();
    let missing = Box::new(area(9.0..10.0, 5.0..10.0));
    assert_eq!(error, TableError::Hole { domain: Box::new(area(0.0..10.0, 0.0..10.0)), missing });
    assert_eq!(
        error.to_string(),
        "the parts of box {send_ewma 0..10, rtt_ratio 0..10} leave a hole in it: extend one over \
         {send_ewma 9..10, rtt_ratio 5..10}, or add a rule"
    );
}

#[test]
fn a_hole_in_the_middle_is_found() {
    let boxes = [
        area(0.0..10.0, 0.0..4.0),
        area(0.0..10.0, 6.0..10.0),
        area(0.0..4.0, 4.0..6.0),
        area(6.0..10.0, 4.0..6.0),
    ];
    let Err(TableError::Hole { missing, .. }) = parts(&boxes) else { panic!("no hole found") };
    assert_eq!(*missing, area(4.0..6.0, 4.0..6.0));
}

#[test]
fn an_overlap_is_refused_and_named() {
    let boxes = [area(0.0..6.0, 0.0..10.0), area(5.0..10.0, 0.0..10.0)];
    let error = parts(&boxes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "boxes {send_ewma 0..6, rtt_ratio 0..10} and {send_ewma 5..10, rtt_ratio 0..10} overlap: \
         shrink one of them"
    );
}

#[test]
fn a_part_outside_its_parent_is_refused_and_named() {
    let boxes = [area(0.0..6.0, 0.0..10.0), area(6.0..11.0, 0.0..10.0)];
    let error = parts(&boxes).unwrap_err();
    assert!(matches!(error, TableError::Outside { .. }), "{error}");
}

#[test]
fn every_rule_must_stand_in_the_tree_once() {
    let rule = Rule { domain: area(0.0..10.0, 0.0..10.0), action: ACTION };
    let dangling = |rules: Vec<Rule>, root| RuleTable::new(square(), rules, root).unwrap_err();
    assert_eq!(dangling(vec![rule], Node::Leaf(1)), TableError::Dangling(1));
    assert_eq!(dangling(vec![rule, rule], Node::Leaf(0)), TableError::Dangling(1));
    let twice = Node::Split { domain: rule.domain, children: vec![Node::Leaf(0), Node::Leaf(0)] };
    assert_eq!(dangling(vec![rule], twice), TableError::Dangling(0));
}

#[test]
fn impossible_numbers_are_refused() {
    let with = |domain, action| {
        RuleTable::new(square(), vec![Rule { domain, action }], Node::Leaf(0)).unwrap_err()
    };
    let whole = area(0.0..10.0, 0.0..10.0);
    for multiple in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = with(whole, Action { multiple, ..ACTION });
        assert!(matches!(error, TableError::BadAction { .. }), "{error}");
    }
    for intersend_ms in [f64::NAN, f64::INFINITY, -0.1] {
        let error = with(whole, Action { intersend_ms, ..ACTION });
        assert!(matches!(error, TableError::BadAction { .. }), "{error}");
    }
    for send in [f64::NAN..1.0, 0.0..f64::NAN, 2.0..1.0] {
        let error = with(area(send, 0.0..1.0), ACTION);
        assert!(matches!(error, TableError::BadBounds { signal: Signal::SendEwma, .. }), "{error}");
    }
    let mut unused = whole;
    unused.upper[1] = 5.0;
    let error = with(unused, ACTION);
    assert!(matches!(error, TableError::UnusedSignal { signal: Signal::AckEwma, .. }), "{error}");
}

#[test]
fn trees_too_deep_are_refused() {
    let rule = Rule { domain: area(0.0..10.0, 0.0..10.0), action: ACTION };
    let nested = |levels| {
        (1..levels).fold(Node::Leaf(0), |node, _| Node::Split {
            domain: rule.domain,
            children: vec![node],
        })
    };
    assert!(RuleTable::new(square(), vec![rule], nested(MAX_DEPTH)).is_ok());
    let too_deep = RuleTable::new(square(), vec![rule], nested(MAX_DEPTH + 1));
    assert_eq!(too_deep, Err(TableError::TooDeep));
    let many = vec![rule; MAX_RULES + 1];
    assert_eq!(RuleTable::new(square(), many, Node::Leaf(0)), Err(TableError::TooManyRules));
}

#[test]
fn cuboids_split_and_intersect() {
    let [below, above] = area(0.0..4.0, 1.0..2.0).split(Signal::SendEwma, 1.0);
    assert_eq!(below, area(0.0..1.0, 1.0..2.0));
    assert_eq!(above, area(1.0..4.0, 1.0..2.0));
    assert!(!below.overlaps(&above, square()));
    assert!(below.intersection(&above).is_empty(square()));
    let shared = area(0.0..3.0, 0.0..9.0).intersection(&area(2.0..4.0, 1.0..2.0));
    assert_eq!(shared, area(2.0..3.0, 1.0..2.0));
    assert_eq!(Cuboid::EVERYTHING.to_string(), "{everything}");
}
