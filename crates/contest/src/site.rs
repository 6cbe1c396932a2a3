//! [`Site`]: a contest in the browser: its board, and an interface to submit.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the board, which refreshes itself |
//! | `GET /figure.svg` | all attempts, throughput against self-inflicted delay |
//! | `GET /board.json` | the board as JSON |
//! | `POST /submit?file=NAME` | with `Authorization: Bearer TOKEN`: the body is a submission; the answer is its score |
//!
//! A participant submits one at a time, and so often a minute as [`Site::ATTEMPTS_A_MINUTE`]; as many submissions are
//! scored at once as the machine has cores, and the others wait.

use crate::board::{Board, Row};
use crate::error::ContestError;
use crate::http::{Request, Response};
use crate::rules::Contest;
use crate::store::Attempt;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A contest that is shown and submitted to over HTTP.
#[derive(Debug)]
pub struct Site {
    contest: Contest,
    /// The hosts that requests may name: a foreign page whose name was made to resolve to this machine must not read it.
    hosts: [String; 2],
    baselines: Vec<Row>,
    state: Mutex<State>,
    /// Notified when a submission has been scored.
    scored: Condvar,
    cores: usize,
}

#[derive(Debug, Default)]
struct State {
    /// When each participant submitted in the last minute, ms.
    recent: BTreeMap<String, Vec<u64>>,
    /// Whose submission is being scored or waits for it.
    busy: BTreeSet<String>,
    /// How many are being scored.
    scoring: usize,
    /// The board of all attempts that are stored; none after a new one.
    board: Option<Board>,
}

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap}\
th:nth-child(2),td:nth-child(2){text-align:left}tbody tr:nth-child(odd){background:#8881}.baseline{font-style:italic}\
img{background:#fff;border-radius:8px;height:auto;max-width:100%}";

const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; frame-ancestors 'none'";

impl Site {
    /// Submissions a minute of one participant.
    pub const ATTEMPTS_A_MINUTE: usize = 10;

    /// The site of `contest` on the loopback address and `port`. What an interruption left unscored is scored.
    ///
    /// # Errors
    /// As [`Contest::board`].
    pub fn new(contest: Contest, port: u16) -> Result<Site, ContestError> {
        let board = contest.board()?;
        let baselines = board.rows.iter().filter(|row| row.baseline).cloned().collect();
        let state = State { board: Some(board), ..State::default() };
        Ok(Site {
            contest,
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            baselines,
            state: Mutex::new(state),
            scored: Condvar::new(),
            cores: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        })
    }

    /// The answer to `request`, which arrived at `now_ms`, milliseconds since 1970. It may take as long as a submission
    /// waits and runs.
    pub fn answer(&self, request: &Request, now_ms: u64) -> Response {
        if !self.hosts.contains(&request.host) {
            return Response::error(403, "this is the page of another host");
        }
        match (request.method.as_str(), request.path()) {
            ("GET" | "HEAD", "/") => {
                self.shown("text/html; charset=utf-8", |board| self.page(board))
            }
            ("GET" | "HEAD", "/figure.svg") => {
                self.shown("image/svg+xml", |board| board.figure().svg())
            }
            ("GET" | "HEAD", "/board.json") => self.shown("application/json", |board| {
                serde_json::to_string_pretty(board).expect("a board is plain values") + "\n"
            }),
            ("GET" | "HEAD", "/style.css") => Response::new(200, "text/css", STYLE),
            ("POST", "/submit") => self.submit(request, now_ms),
            (_, "/" | "/figure.svg" | "/board.json" | "/submit" | "/style.css") => {
                Response::error(405, "GET shows the board; POST /submit submits")
            }
            _ => Response::error(404, "there are /, /figure.svg, /board.json and /submit"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self, media_type: &'static str, show: impl FnOnce(&Board) -> String) -> Response {
        match self.board() {
            Ok(board) => {
                let mut response = Response::new(200, media_type, show(&board));
                response.fields.push(("Content-Security-Policy", POLICY.to_owned()));
                response
            }
            Err(error) => Response::error(500, &error.to_string()),
        }
    }

    /// The board of what is stored now.
    fn board(&self) -> Result<Board, ContestError> {
        if let Some(board) = &self.state().board {
            return Ok(board.clone());
        }
        let attempts = self.contest.attempts()?;
        let board = Board::of(&self.contest.rules().title, &attempts, self.baselines.clone());
        self.state().board = Some(board.clone());
        Ok(board)
    }

    fn submit(&self, request: &Request, now_ms: u64) -> Response {
        let token = request.token.as_deref().unwrap_or_default();
        let name = match self.contest.participant(token) {
            Ok(Some(name)) => name,
            Ok(None) => {
                let problem = "give the token of your invitation: Authorization: Bearer TOKEN";
                return Response::error(401, problem);
            }
            Err(error) => return Response::error(500, &error.to_string()),
        };
        if let Err(response) = self.admit(&name, now_ms) {
            return response;
        }
        let file = request.query("file").unwrap_or("submission.wasm");
        self.wait_for_a_core();
        let result = self.contest.submit(&name, file, &request.body, (now_ms, false));
        let mut state = self.state();
        state.scoring -= 1;
        state.busy.remove(&name);
        state.board = None;
        drop(state);
        self.scored.notify_one();
        match result {
            Ok(attempt) => accepted(&attempt),
            Err(error @ ContestError::Entrant(_)) => Response::error(422, &error.to_string()),
            Err(error) => Response::error(500, &error.to_string()),
        }
    }

    /// Admits a submission of `name`, if it is not too soon.
    fn admit(&self, name: &str, now_ms: u64) -> Result<(), Response> {
        let mut state = self.state();
        if state.busy.contains(name) {
            return Err(Response::error(429, "your last submission is still being scored"));
        }
        let recent = state.recent.entry(name.to_owned()).or_default();
        recent.retain(|&at| at + 60_000 > now_ms);
        if recent.len() >= Site::ATTEMPTS_A_MINUTE {
            let problem =
                format!("more than {} submissions a minute: wait", Site::ATTEMPTS_A_MINUTE);
            return Err(Response::error(429, &problem));
        }
        recent.push(now_ms);
        state.busy.insert(name.to_owned());
        Ok(())
    }

    fn wait_for_a_core(&self) {
        let mut state = self.state();
        while state.scoring >= self.cores {
            state = self.scored.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.scoring += 1;
    }

    fn page(&self, board: &Board) -> String {
        let title = escaped(&board.title);
        let mut rows = String::new();
        let cell = |value: Option<f64>, digits: usize| {
            value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
        };
        for (index, row) in board.rows.iter().enumerate() {
            let (class, attempts) = match row.baseline {
                true => (" class=\"baseline\"", String::new()),
                false => ("", row.attempts.to_string()),
            };
            let score = &row.training;
            let name = match &score.failure {
                Some(failure) => format!("{} (failed: {})", escaped(&row.name), escaped(failure)),
                None => escaped(&row.name),
            };
            let throughput = score.delay_95_ms.map(|_| score.throughput_mbps);
            let _ = write!(
                rows,
                "<tr{class}><td>{}</td><td>{name}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{attempts}</td></tr>",
                index + 1,
                cell(throughput, 2),
                cell(score.delay_95_ms, 0),
                cell(score.self_inflicted_ms, 0),
                cell(score.power, 2),
                cell(row.robustness.power, 2),
            );
        }
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
             <meta name=\"viewport\" content=\"width=device-width\"><meta http-equiv=\"refresh\" content=\"10\">\
             <link rel=\"stylesheet\" href=\"/style.css\"></head><body><h1>{title}</h1>\
             <p>Ranked by power on the training pair: throughput over 95 % end-to-end delay, Mbit/s per second. \
             Baselines are in italics. The page refreshes itself every ten seconds.</p>\
             <div class=\"wide\"><table><thead><tr><th>#</th><th>name</th><th>Mbps</th><th>95 % delay, ms</th>\
             <th>self-inflicted, ms</th><th>power</th><th>robustness</th><th>attempts</th></tr></thead>\
             <tbody>{rows}</tbody></table></div>\
             <h2>All attempts</h2><img src=\"/figure.svg\" alt=\"Throughput against self-inflicted delay of all \
             attempts and baselines: the table above has the best of each participant.\">\
             <h2>Submit</h2><p><code>curl -H 'Authorization: Bearer TOKEN' --data-binary @mine.wasm \
             'http://{}/submit?file=mine.wasm'</code></p></body></html>\n",
            self.hosts[0]
        )
    }
}

fn accepted(attempt: &Attempt) -> Response {
    let scores = attempt.scores.as_ref();
    let body = serde_json::json!({
        "name": attempt.name,
        "hash": attempt.hash,
        "training": scores.map(|scores| &scores.training),
        "robustness": scores.map(|scores| &scores.robustness),
    });
    Response::new(201, "application/json", body.to_string() + "\n")
}

/// Text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
