//! Scenes: any text is read or refused, is written as it was read, and a short scene plays the same however it is stepped.

use exm_ratatouille::{Lane, Player, Scene};
use exm_units::{Instant, Span};

/// Whole pairs and pieces of pairs, since random bytes are no scenes.
const PAIRS: [&str; 14] = [
    "&link=5Mbps",
    "&rtt=2ms",
    "&flows=2",
    "&buffer=1 BDP",
    "&on=exp 1 ms",
    "&off=1ms",
    "&cc=cubic,reno",
    "&cc=bbr",
    "&change=1ms,rate,1Mbps",
    "&change=2ms,flows,3",
    "&change=0.5ms,queue,codel",
    "&change=3ms,delay,1ms",
    "&change=1ms,cc.0.1,vegas",
    "&change=2ms,on,1 ms",
];
const PIECES: [&str; 40] = [
    "&",
    "=",
    ",",
    ".",
    "link",
    "rtt",
    "buffer",
    "queue",
    "loss",
    "flows",
    "cc",
    "seed",
    "until",
    "change",
    "scenario",
    "toml",
    "trace",
    "on",
    "off",
    "speed",
    "rate",
    "delay",
    "0",
    "1",
    "2",
    "9",
    "5Mbps",
    "1ms",
    "20ms",
    "1 BDP",
    "codel",
    "sfq-codel",
    "cubic",
    "bbr",
    "sprout",
    "dumbbell",
    "lte",
    "always",
    "exp 1 ms",
    "%25",
];
/// The most pairs or pieces of an input.
const MOST: usize = 12;

/// Runs the target on `bytes`: those after the first are text, or choose pairs or pieces.
pub fn run(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let chosen = |from: &[&'static str]| -> String {
        rest.iter().take(MOST).map(|byte| from[usize::from(*byte) % from.len()]).collect()
    };
    let text = match first % 3 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => chosen(&PAIRS),
        _ => chosen(&PIECES),
    };
    let Ok(mut scene) = text.parse::<Scene>() else { return };
    assert_eq!(scene.to_string().parse().as_ref(), Ok(&scene), "{text}");
    scene.until = Some(scene.until.unwrap_or(Span::MAX).min(Span::from_millis(5)));
    let load = || |_: &str, _: &std::path::Path| Err("no tables here".to_owned());
    let Ok(mut whole) = Player::new(&scene, &mut load()) else { return };
    if whole.lanes().iter().any(|lane| lane.simulation().network().flows().len() > 20) {
        return;
    }
    let mut stepped = whole.clone();
    whole.run_until(whole.end());
    for _ in 0..20 {
        stepped.step();
    }
    stepped.seek(Instant::ZERO + Span::from_millis(1));
    stepped.run_until(stepped.end());
    let measured = |player: &Player| player.lanes().iter().map(Lane::report).collect::<Vec<_>>();
    assert!(measured(&whole) == measured(&stepped), "{text}");
}
