use super::*;
use crate::Model;
use exm_units::Packets;
use std::collections::BTreeSet;

fn model(network: &str) -> Model {
    let text = format!("[network]\n{network}\n[traffic]\non = \"exp 5 s\"\noff = \"exp 5 s\"\n");
    Model::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn general() -> Model {
    model("rate = \"10..20 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"\nloss = \"0..1 %\"")
}

#[test]
fn specimens_are_what_they_always_were() {
    let specimens = general().specimens(1, 0, 2);
    let drawn: Vec<_> = specimens
        .iter()
        .map(|specimen| (specimen.dumbbell(), specimen.seed))
        .map(|(network, seed)| {
            (network.rate.as_bps(), network.delays[0].as_nanos(), network.delays.len(), seed)
        })
        .collect();
    let expected = [
        (18_855_528, 104_371_523, 5, 17_686_834_309_301_131_030),
        (12_446_311, 186_072_699, 14, 1_885_100_864_924_155_177),
    ];
    assert_eq!(drawn, expected);
}

#[test]
fn a_block_covers_every_part_of_every_range_once() {
    let part = |value: f64, low: f64, high: f64| ((value - low) / (high - low) * 64.0) as usize;
    let specimens = general().specimens(7, 3, 64);
    let covered = |of: &dyn Fn(&Dumbbell) -> usize| -> BTreeSet<usize> {
        specimens.iter().map(|specimen| of(specimen.dumbbell()).min(63)).collect()
    };
    let all: BTreeSet<usize> = (0..64).collect();
    assert_eq!(covered(&|network| part(network.rate.as_mbps(), 10.0, 20.0)), all);
    assert_eq!(covered(&|network| part(network.delays[0].as_millis_f64(), 100.0, 200.0)), all);
    assert_eq!(covered(&|network| part(network.loss.get(), 0.0, 0.01)), all);
    for senders in 1..=16 {
        let count = specimens.iter().filter(|s| s.dumbbell().delays.len() == senders).count();
        assert_eq!(count, 4, "{senders} senders");
    }
    let seeds: BTreeSet<u64> = specimens.iter().map(|specimen| specimen.seed).collect();
    assert_eq!(seeds.len(), 64);
}

#[test]
fn a_logarithmic_range_has_as_many_below_its_geometric_mean() {
    let model = model("rate = \"log 1..100 Mbps\"\nrtt = \"1 ms\"\nsenders = \"log 1..63\"");
    let specimens = model.specimens(1, 0, 600);
    let slow = specimens.iter().filter(|s| s.dumbbell().rate.as_mbps() < 10.0).count();
    assert_eq!(slow, 300);
    // With both ends whole, each of 1, 2..3, 4..7, ... is equally likely.
    let few = specimens.iter().filter(|s| (2..4).contains(&s.dumbbell().delays.len())).count();
    assert!((99..=101).contains(&few), "{few}");
}

#[test]
fn quantities_are_drawn_independently() {
    let specimens = general().specimens(5, 0, 4000);
    let rates: Vec<f64> = specimens.iter().map(|s| s.dumbbell().rate.as_mbps()).collect();
    let rtts: Vec<f64> = specimens.iter().map(|s| s.dumbbell().delays[0].as_millis_f64()).collect();
    let senders: Vec<f64> = specimens.iter().map(|s| s.dumbbell().delays.len() as f64).collect();
    for (a, b) in [(&rates, &rtts), (&rates, &senders), (&rtts, &senders)] {
        assert!(correlation(a, b).abs() < 0.05, "{}", correlation(a, b));
    }
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    product(a, ma, b, mb) / (product(a, ma, a, ma) * product(b, mb, b, mb)).sqrt()
}

#[test]
fn a_draw_depends_on_seed_and_block_and_on_nothing_else() {
    let model = general();
    let drawn = model.specimens(1, 5, 8);
    model.specimens(1, 4, 8);
    assert_eq!(model.specimens(1, 5, 8), drawn);
    assert_ne!(model.specimens(1, 6, 8), drawn);
    assert_ne!(model.specimens(2, 5, 8), drawn);
    assert!(model.specimens(1, 5, 0).is_empty());
    // The random draws of a specimen do not depend on how many there are, nor one quantity on the
    // range of another.
    let seeds = |specimens: &[Specimen]| specimens.iter().map(|s| s.seed).collect::<Vec<_>>();
    assert_eq!(seeds(&model.specimens(1, 5, 3)), seeds(&drawn)[..3]);
    let faster = self::model(
        "rate = \"50..90 Mbps\"\nrtt = \"100..200 ms\"\nsenders = \"1..16\"\nloss = \"0..1 %\"",
    );
    for (specimen, other) in drawn.iter().zip(faster.specimens(1, 5, 8)) {
        assert_eq!(specimen.dumbbell().delays, other.dumbbell().delays);
        assert_eq!(specimen.dumbbell().loss, other.dumbbell().loss);
    }
}

#[test]
fn a_grid_goes_through_every_combination_in_turn() {
    let model = model(
        "rate = [\"10 Mbps\", \"20 Mbps\"]\nrtt = [\"100 ms\", \"200 ms\"]\n\
         senders = [1, 6, 11, 16]\ndraw = \"grid\"",
    );
    assert_eq!(model.grid_size(), Some(16));
    let drawn = |specimen: &Specimen| {
        let Dumbbell { rate, delays, .. } = specimen.dumbbell();
        (rate.as_mbps() as u64, delays[0].as_millis_f64() as u64, delays.len())
    };
    let whole = model.specimens(1, 0, 16);
    let whole_drawn: Vec<_> = whole.iter().map(drawn).collect();
    assert_eq!(
        whole_drawn[..5],
        [(10, 100, 1), (10, 100, 6), (10, 100, 11), (10, 100, 16), (10, 200, 1)]
    );
    assert_eq!(whole_drawn.iter().collect::<BTreeSet<_>>().len(), 16);
    let next = model.specimens(1, 1, 16);
    assert_eq!(next.iter().map(drawn).collect::<Vec<_>>(), whole_drawn);
    assert!(next.iter().zip(&whole).all(|(a, b)| a.seed != b.seed));
    // Longer blocks begin again.
    assert_eq!(drawn(&model.specimens(1, 0, 17)[16]), whole_drawn[0]);
    // Shorter ones have every value as often.
    for block in [0, 1, u64::MAX] {
        let part: Vec<_> = model.specimens(1, block, 4).iter().map(drawn).collect();
        let with =
            |is: &dyn Fn(&(u64, u64, usize)) -> bool| part.iter().filter(|&one| is(one)).count();
        assert_eq!((with(&|one| one.0 == 10), with(&|one| one.1 == 100)), (2, 2), "{part:?}");
        assert!([1, 6, 11, 16].iter().all(|&n| with(&|one| one.2 == n) == 1), "{part:?}");
    }
}

#[test]
fn a_buffer_in_products_is_that_of_the_network_drawn() {
    let lines = "rate = \"15 Mbps\"\nrtt = [\"150 ms\"]\nsenders = 2\n";
    let buffer = |text: &str| {
        model(&format!("{lines}buffer = \"{text}\"")).specimens(1, 0, 1)[0].dumbbell().buffer
    };
    assert_eq!(buffer("1 BDP"), Some(Packets::new(188)), "187.5, rounded up");
    assert_eq!(buffer("0.001 BDP"), Some(Packets::new(1)));
    assert_eq!(buffer("250 kB"), Some(Packets::new(166)));
    assert_eq!(buffer("unlimited"), None);
}
