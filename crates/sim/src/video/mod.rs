//! [`Video`]: the traffic of a live video encoder that follows its transport's rate.
//!
//! The model is the statistical one of RFC 8593, section 5, of a live encoder: frames at about equal intervals, of sizes that
//! miss the requested rate at random, and a request that takes effect only some time later. Key frames recur here at a
//! fixed interval instead of at changes of the rate. What is requested is the rate that the transport offers: see
//! [`Video`].

mod encoder;
mod frames;

pub(crate) use encoder::{Encoder, Offer};
pub use frames::VideoReport;

use exm_link::{Parameters, parameter_pairs};
use exm_units::{Rate, Span};
use std::fmt;
use std::str::FromStr;

/// The settings of a model of a live video encoder, whose frames are all that its sender has to send.
///
/// The encoder is asked for the rate that its transport offers: what a controller for media asks for; by Sprout's forecast, what
/// will be delivered within 100 ms with its confidence; and otherwise the lower of the window over the last RTT and the
/// pacing rate.
///
/// As text it is `video` and, after a space, the settings that differ from the defaults:
///
/// ```
/// use exm_sim::video::Video;
///
/// let video: Video = "video max=4Mbps, reaction=50 ms".parse()?;
/// assert_eq!(video.to_string(), "video max=4Mbps,reaction=50ms");
/// let error = "video speed=3".parse::<Video>().unwrap_err().to_string();
/// assert!(error.contains("no setting \"speed\""));
/// # Ok::<(), exm_sim::video::VideoError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Frames a second.
    pub fps: f64,
    /// The least rate of payload that it can encode (RFC 8593: 150 kbps)...
    pub min: Rate,
    /// ... and the greatest (1.5 Mbps).
    pub max: Rate,
    /// The time until a requested rate takes effect, and another is requested (RFC 8593: 200 ms).
    pub reaction: Span,
    /// The scale of the Laplace distribution by which frame sizes miss the rate, relative to it (RFC 8593: 0.15).
    pub error: f64,
    /// The same of the intervals between frames, relative to these (RFC 8593: 0.15).
    pub jitter: f64,
    /// The time between key frames; at zero there is one at the start alone.
    pub key: Span,
    /// The size of a key frame in usual ones (RFC 8593: 13.5 kB instead of 4.17 kB, 3.2). The seven frames after it are
    /// smaller, so that the rate is kept.
    pub key_size: f64,
    /// A frame is left out while what waits at the sender takes longer than this at the offered rate.
    pub most_waiting: Span,
}

impl Default for Video {
    fn default() -> Video {
        Video {
            fps: 30.0,
            min: Rate::from_bps(150_000),
            max: Rate::from_bps(1_500_000),
            reaction: Span::from_millis(200),
            error: 0.15,
            jitter: 0.15,
            key: Span::ZERO,
            key_size: 3.2,
            most_waiting: Span::from_millis(200),
        }
    }
}

/// Why a text describes no video.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VideoError {
    /// It does not begin with `video`.
    #[error("\"{0}\" is no video: write \"video\", or \"video max=4Mbps,reaction=100ms\"")]
    NotVideo(String),
    /// A word where a setting and its value should stand.
    #[error("\"{0}\" after video has no value: settings are written NAME=VALUE, such as max=4Mbps")]
    NoValue(String),
    /// There is no setting of this name.
    #[error("video has no setting \"{name}\": it has {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The settings that it has.
        known: String,
    },
    /// A setting that is given twice.
    #[error("video has {0} twice: give it once")]
    Twice(String),
    /// A value that the setting cannot have.
    #[error("video cannot have {name} = {value}: {problem}")]
    BadValue {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
        /// What it should be.
        problem: String,
    },
}

impl Video {
    /// Checks that it can be encoded.
    ///
    /// # Errors
    /// [`VideoError::BadValue`] of a setting that is out of range.
    pub fn check(&self) -> Result<(), VideoError> {
        let bad = |name: &str, value: String, problem: &str| {
            let (name, problem) = (name.to_owned(), problem.to_owned());
            Err(VideoError::BadValue { name, value, problem })
        };
        if !(1.0..=1000.0).contains(&self.fps) {
            return bad("fps", self.fps.to_string(), "give 1 to 1000 frames a second");
        }
        if self.min.as_bps() == 0 || self.min > self.max {
            return bad("min", self.min.to_string(), "give a rate above zero, at most max");
        }
        for (name, value) in [("error", self.error), ("jitter", self.jitter)] {
            if !(0.0..=1.0).contains(&value) {
                return bad(name, value.to_string(), "give 0 to 1");
            }
        }
        if !(1.0..=7.0).contains(&self.key_size) {
            return bad("key_size", self.key_size.to_string(), "give 1 to 7 usual frames");
        }
        if self.key > Span::ZERO && self.key.as_secs_f64() < 8.0 / self.fps {
            return bad(
                "key",
                self.key.to_string(),
                "give the time of at least eight frames, or 0s",
            );
        }
        if self.reaction > Span::from_secs(60) || self.most_waiting > Span::from_secs(60) {
            let longest = self.reaction.max(self.most_waiting).to_string();
            return bad("reaction and most_waiting", longest, "give at most 60 s");
        }
        Ok(())
    }
}

/// The value that a text states, or what it should be.
fn read<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl Parameters for Video {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let text = |value: &dyn fmt::Display| value.to_string().replace(' ', "");
        vec![
            ("fps", text(&self.fps)),
            ("min", text(&self.min)),
            ("max", text(&self.max)),
            ("reaction", text(&self.reaction)),
            ("error", text(&self.error)),
            ("jitter", text(&self.jitter)),
            ("key", text(&self.key)),
            ("key_size", text(&self.key_size)),
            ("most_waiting", text(&self.most_waiting)),
        ]
    }

    fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        Some(match name {
            "fps" => read(value).map(|value| self.fps = value),
            "min" => read(value).map(|value| self.min = value),
            "max" => read(value).map(|value| self.max = value),
            "reaction" => read(value).map(|value| self.reaction = value),
            "error" => read(value).map(|value| self.error = value),
            "jitter" => read(value).map(|value| self.jitter = value),
            "key" => read(value).map(|value| self.key = value),
            "key_size" => read(value).map(|value| self.key_size = value),
            "most_waiting" => read(value).map(|value| self.most_waiting = value),
            _ => return None,
        })
    }
}

impl FromStr for Video {
    type Err = VideoError;

    fn from_str(text: &str) -> Result<Video, VideoError> {
        let text = text.trim();
        let (name, settings) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if name != "video" {
            return Err(VideoError::NotVideo(text.to_owned()));
        }
        let mut video = Video::default();
        let pairs =
            parameter_pairs(settings).map_err(|word| VideoError::NoValue(word.to_owned()))?;
        for (index, (name, value)) in pairs.iter().enumerate() {
            let name = (*name).to_owned();
            if pairs[..index].iter().any(|(earlier, _)| *earlier == name) {
                return Err(VideoError::Twice(name));
            }
            match video.set(&name, value) {
                Some(Ok(())) => {}
                Some(Err(problem)) => {
                    return Err(VideoError::BadValue { name, value: value.clone(), problem });
                }
                None => {
                    let known: Vec<&str> =
                        video.parameters().iter().map(|(name, _)| *name).collect();
                    return Err(VideoError::Unknown { name, known: known.join(", ") });
                }
            }
        }
        video.check()?;
        Ok(video)
    }
}

/// As it is parsed: the settings that are not as usual.
impl fmt::Display for Video {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("video")?;
        let usual = Video::default().parameters();
        let own = self.parameters();
        let changed = own.iter().filter(|setting| !usual.contains(setting));
        for (number, (name, value)) in changed.enumerate() {
            write!(f, "{}{name}={value}", if number == 0 { ' ' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_is_parsed() {
        for text in ["video", "video fps=25,max=4Mbps,error=0", "video key=10s,key_size=4"] {
            assert_eq!(text.parse::<Video>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("vide", "\"vide\" is no video"),
            ("video max", "\"max\" after video has no value"),
            ("video speed=3", "video has no setting \"speed\": it has fps, min, max, reaction,"),
            ("video max=1Mbps,max=2Mbps", "video has max twice"),
            ("video max=1", "video cannot have max = 1: \"1\" is not a rate"),
            ("video min=2Mbps", "video cannot have min = 2 Mbps: give a rate above zero"),
            ("video fps=0", "video cannot have fps = 0: give 1 to 1000"),
            ("video error=nan", "video cannot have error = NaN: give 0 to 1"),
            ("video key=10ms", "video cannot have key = 10 ms: give the time of at least"),
        ] {
            let error = text.parse::<Video>().expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
