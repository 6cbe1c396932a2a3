//! The lessons: guided scenes, each with a text.

use serde_json::{Value, json};

/// The lessons, in order: the name of each, and its file.
const FILES: [(&str, &str); 6] = [
    ("sawtooth", include_str!("../lessons/sawtooth.toml")),
    ("bufferbloat", include_str!("../lessons/bufferbloat.toml")),
    ("orbit", include_str!("../lessons/orbit.toml")),
    ("competitor", include_str!("../lessons/competitor.toml")),
    ("outside", include_str!("../lessons/outside.toml")),
    ("outage", include_str!("../lessons/outage.toml")),
];

/// A lesson, as its file has it.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lesson {
    pub(crate) title: String,
    /// The fragment of the link to its scene.
    pub(crate) scene: String,
    pub(crate) question: String,
    pub(crate) steps: Vec<Step>,
}

/// A step of a lesson.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The time up to which the scene plays, in seconds.
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// All lessons, as the page reads them.
pub(crate) fn all() -> Value {
    let lessons = FILES.iter().map(|(name, text)| {
        let Lesson { title, scene, question, steps } = read(text);
        json!({ "name": name, "title": title, "scene": scene, "question": question, "steps": steps })
    });
    lessons.collect()
}

fn read(text: &str) -> Lesson {
    toml::from_str(text).expect("shipped lessons are valid: a test reads them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Viewer;

    /// Each lesson's scene plays through all steps, and links in its text lead to scenes.
    #[test]
    fn lessons_can_be_played() {
        for (name, text) in FILES {
            let lesson = read(text);
            let mut viewer = Viewer::default();
            let open = |viewer: &mut Viewer, scene: &str| {
                let answer = viewer.call(&json!({ "command": "open", "scene": scene }).to_string());
                assert!(!answer.contains("\"error\""), "{name}: {scene}: {answer}");
            };
            open(&mut viewer, &lesson.scene);
            let times: Vec<f64> = lesson.steps.iter().map(|step| step.at).collect();
            assert!(times.is_sorted() && times.len() > 2, "{name}: {times:?}");
            for at in times {
                assert!(
                    (viewer.advance(at, 0.01, f64::INFINITY) - at).abs() < 1e-9,
                    "{name}: {at}"
                );
            }
            for step in &lesson.steps {
                for link in step.text.split("](#").skip(1) {
                    let scene = link.split(')').next().expect("it ends");
                    open(&mut Viewer::default(), scene);
                }
            }
        }
    }
}
