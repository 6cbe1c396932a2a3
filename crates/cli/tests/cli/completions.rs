//! Shells complete the command line: names as well as options.

use crate::common::Folder;
use std::process::{Command, Output};

/// The completions printed by a shell, one per line.
fn completions(output: Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

/// What bash offers for the last of `words`, using the generated script.
fn in_bash(folder: &Folder, words: &[&str]) -> Option<Vec<String>> {
    let script = "source ./exm.bash || exit 9
         COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
         complete -p exm >/dev/null || exit 8
         function=$(complete -p exm | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
         $function exm \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
         printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_exm"));
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()))
        .current_dir(&folder.0)
        .output();
    match output {
        Ok(output) => Some(completions(output)),
        Err(_) => {
            exm_testing::skip("no bash to complete in");
            None
        }
    }
}

#[test]
fn bash_completes_names_of_all_kinds() {
    let folder = Folder::new("completions");
    folder.write("exm.bash", folder.text("completions bash"));
    folder.write("cool.json", "{}");
    folder.write("cool.txt", "");
    folder.write("thesis-mine.toml", "");
    for (words, expected) in [
        (&["exm", "simu"][..], &["simulate"][..]),
        (&["exm", "table", "show", "co"], &["coexist", "cool.json"]),
        (&["exm", "table", "convert", "gen"], &["general-delta0.1", "general-delta1"]),
        (&["exm", "table", "diff", "1x", "10"], &["10x"]),
        (&["exm", "simulate", "--cc", "cubic-h"], &["cubic-hystart++"]),
        (&["exm", "simulate", "--cc", "bbr,coex"], &["bbr,coexist"]),
        (&["exm", "simulate", "--cc", "sprout-"], &["sprout-ewma"]),
        (&["exm", "simulate", "--queue", "fq"], &["fq-codel"]),
        (&["exm", "simulate", "--trace", "lte"], &["lte", "lte-like"]),
        (&["exm", "simulate", "--host", "b"], &["bare"]),
        (&["exm", "compare", "--cc", "cubic/sfq"], &["cubic/sfq-codel"]),
        (&["exm", "compare", "--cc", "reno,cubic/pi"], &["reno,cubic/pie"]),
        (&["exm", "compare", "--queue", "drop-h"], &["drop-head"]),
        (&["exm", "score", "veg"], &["vegas"]),
        (&["exm", "design", "m.toml", "--start", "datac"], &["datacenter"]),
        (&["exm", "experiment", "run", "thesis-3-4"], &["thesis-3-4"]),
        (&["exm", "experiment", "run", "thesis-m"], &["thesis-mine.toml"]),
        (&["exm", "trace", "generate", "5"], &["5g"]),
        #[cfg(target_os = "linux")]
        (&["exm", "cellsim", "--queue", "codel,pi"], &["codel,pie"]),
        #[cfg(target_os = "linux")]
        (&["exm", "cellsim", "--up", "lte-l"], &["lte-like"]),
        (&["exm", "completions", "ba"], &["bash"]),
    ] {
        let Some(offered) = in_bash(&folder, words) else { return };
        for name in expected {
            assert!(offered.iter().any(|word| word == name), "{words:?}: {offered:?}");
        }
        let typed = words.last().expect("a word");
        assert!(offered.iter().all(|word| word.starts_with(typed)), "{words:?}: {offered:?}");
        assert!(!offered.iter().any(|word| word == "cool.txt"), "{words:?}: {offered:?}");
    }
}

/// The scripts of other shells query the program in the same way.
#[test]
fn every_shell_has_a_script_and_completions() {
    let folder = Folder::new("completions-shells");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.text(&format!("completions {shell}"));
        assert!(script.contains("EXM_COMPLETE") && script.contains("exm"), "{shell}: {script}");
        let mut command = folder.exm("-- exm table show coex");
        command.env("EXM_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "3");
        let offered = completions(command.output().expect("the program starts"));
        assert!(offered.iter().any(|line| line.starts_with("coexist")), "{shell}: {offered:?}");
    }
}
