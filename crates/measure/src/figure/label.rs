//! Texts beside what they name: how wide they are, and where they cover nothing.

use crate::svg::{Anchor, Frame};

/// The widths of the letters from space to tilde in hundredths of the font's size: those of the
/// font that PNGs are drawn with, a little wider than what browsers take for Helvetica.
const WIDTHS: [u8; 95] = [
    25, 26, 40, 64, 57, 83, 73, 22, 29, 29, 55, 57, 26, 32, 26, 37, 57, 57, 57, 57, 57, 57, 57, 57,
    57, 57, 26, 26, 57, 57, 57, 43, 89, 63, 64, 63, 72, 55, 51, 72, 74, 33, 27, 61, 52, 90, 75, 78,
    60, 78, 62, 54, 55, 73, 60, 93, 58, 56, 57, 32, 37, 32, 57, 44, 58, 56, 61, 47, 61, 56, 34, 61,
    61, 25, 25, 53, 25, 93, 61, 60, 61, 61, 41, 47, 36, 61, 50, 78, 52, 50, 47, 37, 55, 37, 57,
];
/// How much wider bold letters are.
pub(super) const BOLD: f64 = 1.08;
/// The size of labels.
pub(super) const SIZE: f64 = 13.0;

/// About how wide `text` is at this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let letter = |letter: char| {
        let known = (letter as usize).checked_sub(32).and_then(|index| WIDTHS.get(index));
        f64::from(known.copied().unwrap_or(65))
    };
    text.chars().map(letter).sum::<f64>() * size / 100.0
}

/// `text` in lines of at most `most` width, broken at spaces.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What labels keep clear of.
pub(super) struct Obstacles {
    /// Where all labels must lie.
    pub(super) frame: Frame,
    /// What must not be covered.
    pub(super) boxes: Vec<Frame>,
    /// Lines as points close together: covering one of them is a fault.
    pub(super) points: Vec<(f64, f64)>,
}

/// A label that has found its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    /// Where its baseline begins or ends.
    pub(super) at: (f64, f64),
    pub(super) anchor: Anchor,
    cover: Frame,
    cost: f64,
}

impl Placed {
    /// From where to where a line leads from what it names to a label that had to go further.
    pub(super) fn leader(&self, (x, y): (f64, f64)) -> Option<[(f64, f64); 2]> {
        let Frame { left, right, top, bottom } = self.cover;
        let end = (x.clamp(left, right), y.clamp(top, bottom));
        let (dx, dy) = (end.0 - x, end.1 - y);
        let length = libm::hypot(dx, dy);
        let from = |distance: f64| (x + dx / length * distance, y + dy / length * distance);
        (length > 22.0).then(|| [from(9.0), end])
    }
}

/// Places for labels of these middles and texts, so that none covers another or an obstacle as far
/// as that can be: each takes the best place near its middle, and all get two more chances once
/// the others have places.
pub(super) fn place(labels: &[((f64, f64), &str)], obstacles: &Obstacles) -> Vec<Placed> {
    let mut placed: Vec<Option<Placed>> = vec![None; labels.len()];
    for _ in 0..3 {
        for (index, &(middle, text)) in labels.iter().enumerate() {
            let others = placed.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<Frame> = others.filter_map(|(_, p)| Some((*p)?.cover)).collect();
            let places = candidates(middle, width(text, SIZE) * BOLD);
            let costed =
                places.map(|place| Placed { cost: cost(&place, &others, obstacles), ..place });
            // The first of equals: the nearest.
            placed[index] =
                costed.reduce(|best, next| if next.cost < best.cost { next } else { best });
        }
    }
    placed.into_iter().map(|placed| placed.expect("there are candidates")).collect()
}

/// Places around a point, the nearest and best read first.
fn candidates((x, y): (f64, f64), width: f64) -> impl Iterator<Item = Placed> {
    let rings = [10.0, 18.0, 28.0, 42.0, 60.0, 84.0];
    let turns = [
        (1.0, -0.35),
        (-1.0, -0.35),
        (0.7, -1.0),
        (-0.7, -1.0),
        (0.7, 1.0),
        (-0.7, 1.0),
        (0.0, -1.0),
        (0.0, 1.0),
        (1.0, 0.35),
        (-1.0, 0.35),
    ];
    rings.into_iter().flat_map(move |ring| {
        turns.into_iter().map(move |(dx, dy)| {
            let (anchor, left) = match dx {
                0.0 => (Anchor::Middle, x - width / 2.0),
                0.0.. => (Anchor::Start, x + dx * ring),
                _ => (Anchor::End, x + dx * ring - width),
            };
            // The middle of the letters is above their baseline.
            let baseline = y + dy * ring + 0.35 * SIZE;
            let (top, bottom) = (baseline - 0.8 * SIZE, baseline + 0.25 * SIZE);
            let cover = Frame { left, right: left + width, top, bottom };
            Placed { at: (x + dx * ring, baseline), anchor, cover, cost: ring }
        })
    })
}

fn cost(place: &Placed, others: &[Frame], obstacles: &Obstacles) -> f64 {
    let cover = &place.cover;
    let area = cover.width() * cover.height();
    let outside = area - cover.overlap(&obstacles.frame.grown(-3.0));
    let hidden = others.iter().chain(&obstacles.boxes).map(|other| cover.grown(1.5).overlap(other));
    let crossed =
        obstacles.points.iter().filter(|&&point| cover.grown(2.0).contains(point)).count();
    place.cost + 100.0 * outside + 20.0 * hidden.sum::<f64>() + 6.0 * crossed.min(20) as f64
}

/// The heights at which labels beside these heights stand, each at least `gap` below the one
/// before it in height and all between `top` and `bottom` as far as they fit, moved no further
/// than needed: neighbours that touch share the way.
pub(super) fn spread(heights: &[f64], gap: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    /// Labels that touch: the first of them in order, how many, and where the first stands.
    struct Run {
        first: usize,
        count: usize,
        start: f64,
        wanted: f64,
    }
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    let mut runs: Vec<Run> = Vec::new();
    for (first, &index) in order.iter().enumerate() {
        let mut run = Run { first, count: 1, start: heights[index], wanted: heights[index] };
        loop {
            let length = gap * (run.count - 1) as f64;
            run.start = run.wanted.min(bottom - length).max(top);
            match runs.pop_if(|last| last.start + gap * last.count as f64 > run.start) {
                None => break,
                Some(last) => {
                    let (ours, theirs) = (run.count as f64, last.count as f64);
                    // Where each would have the first of them all, on average.
                    let ours_first = run.wanted - gap * theirs;
                    run.wanted = (last.wanted * theirs + ours_first * ours) / (ours + theirs);
                    run.count += last.count;
                    run.first = last.first;
                }
            }
        }
        runs.push(run);
    }
    let mut places = vec![0.0; heights.len()];
    for run in runs {
        for offset in 0..run.count {
            places[order[run.first + offset]] = run.start + gap * offset as f64;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: Frame = Frame { left: 0.0, right: 700.0, top: 0.0, bottom: 400.0 };

    #[test]
    fn labels_of_one_point_stand_apart() {
        let labels = vec![((300.0, 200.0), "NewReno"); 8];
        let around = Frame { left: 295.0, right: 305.0, top: 195.0, bottom: 205.0 };
        let obstacles = Obstacles { frame: FRAME, boxes: vec![around], points: vec![] };
        let placed = place(&labels, &obstacles);
        for (index, one) in placed.iter().enumerate() {
            assert_eq!(one.cover.overlap(&around), 0.0, "{one:?}");
            assert!(placed[..index].iter().all(|other| one.cover.overlap(&other.cover) == 0.0));
        }
        assert_eq!(placed[0].leader((300.0, 200.0)), None);
    }

    #[test]
    fn labels_at_the_edge_stay_inside() {
        let obstacles = Obstacles { frame: FRAME, boxes: vec![], points: vec![] };
        for corner in FRAME.corners() {
            let placed = place(&[(corner, "Cubic over sfqCoDel")], &obstacles);
            let cover = placed[0].cover;
            assert!(FRAME.contains((cover.left, cover.top)), "{cover:?}");
            assert!(FRAME.contains((cover.right, cover.bottom)), "{cover:?}");
        }
    }

    #[test]
    fn long_titles_are_broken() {
        let lines = wrapped("one two three four", 10.0, width("one two ", 10.0));
        assert_eq!(lines, ["one two", "three", "four"]);
        assert!(wrapped("", 10.0, 5.0).is_empty());
    }

    #[test]
    fn close_labels_share_the_way() {
        assert_eq!(spread(&[100.0, 200.0], 10.0, (0.0, 300.0)), [100.0, 200.0]);
        assert_eq!(spread(&[104.0, 100.0], 10.0, (0.0, 300.0)), [107.0, 97.0]);
        assert_eq!(spread(&[298.0, 299.0], 10.0, (0.0, 300.0)), [290.0, 300.0]);
    }

    proptest! {
        #[test]
        fn spread_labels_never_touch(heights in prop::collection::vec(0.0..300.0, 0..20)) {
            let places = spread(&heights, 12.0, (0.0, 300.0));
            let mut sorted = places.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|w| w[1] - w[0] > 12.0 - 1e-9), "{:?}", sorted);
            prop_assert!(sorted.iter().all(|&y| (-1e-9..=300.0 + 1e-9).contains(&y)));
        }
    }
}
