//! `exm help`: the pages of the manual, and the help of commands.

use crate::cli::Cli;
use crate::complete;
use crate::manual::{self, Topic};
use crate::shell::{Failure, print, write_out};
use exm_grammar::nearest;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  exm help
  exm help your-network
  exm help table diff";

/// The maximum width of pages on wide terminals.
const WIDEST: usize = 100;

/// Show a page of the manual, or the help of a command; without a name, list them all
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The topic, or the command
    #[arg(value_name = "TOPIC", add = complete::topics())]
    words: Vec<String>,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let topic = if let [name] = words[..] { manual::topic(name) } else { None };
        match topic {
            Some(topic) => show_page(topic),
            None if words.is_empty() => show_all(),
            None => show_command(&words),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The help of the program, and the list of topics.
fn show_all() -> Result<(), Failure> {
    show_command(&[])?;
    print(&format!("\nTopics of the manual, shown by exm help TOPIC:\n\n{}", manual::list()))
}

fn show_page(topic: &Topic) -> Result<(), Failure> {
    let styled = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let page = manual::rendered(topic.text, width().min(WIDEST), styled);
    if styled { write_out(page.as_bytes()) } else { print(&page) }
}

/// The width of the terminal in characters.
fn width() -> usize {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    given.or_else(terminal).unwrap_or(WIDEST).max(20)
}

/// The help of the command `words`, a path of subcommands, as `--help` prints it.
fn show_command(words: &[&str]) -> Result<(), Failure> {
    let mut cli = Cli::definition();
    let mut command = &mut cli;
    for (place, word) in words.iter().enumerate() {
        let known: Vec<String> =
            command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        match command.find_subcommand_mut(word) {
            Some(inner) => command = inner,
            None => return Err(unknown(word, place == 0, &known)),
        }
    }
    let asked = ["exm"].iter().chain(words).chain(&["--help"]);
    match Cli::definition().try_get_matches_from(asked) {
        Err(help) => Ok(help.print()?),
        Ok(_) => Ok(()),
    }
}

/// The failure if `word` is neither a topic nor a command.
fn unknown(word: &str, may_be_topic: bool, commands: &[String]) -> Failure {
    let topics = manual::TOPICS.iter().filter(|_| may_be_topic).map(|topic| topic.name);
    let known: Vec<&str> = commands.iter().map(String::as_str).chain(topics).collect();
    let problem = format!("there is neither a topic nor a command \"{word}\"");
    match nearest(word, &known) {
        Some(name) => Failure::usage(format!("{problem}: did you mean \"{name}\"?")),
        None => Failure::usage(problem),
    }
    .with_tip("exm help lists them all")
}
