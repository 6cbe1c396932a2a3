//! Assembles the page of `exm ratatouille`: one HTML file that contains its styles, its scripts and its module, and
//! whose policy lets it load nothing else.

use base64ct::{Base64, Encoding};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// The types of scripts that a browser executes; it ignores the text of others.
const EXECUTABLE: [&str; 3] = ["", "text/javascript", "module"];
/// The place of the policy.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"\">";

/// The page in `folder`, with `module` in it.
///
/// A stylesheet and a script of `index.html` that is given by `href` or `src` is replaced by its text, the element
/// `<script type="application/wasm" id="module">` gets the module, compressed by gzip and written in base64, and
/// `<meta http-equiv="Content-Security-Policy" content="">` the policy.
///
/// # Errors
/// If a file cannot be read or contained in the page; the text names it.
pub(crate) fn assemble(folder: &Path, module: &[u8]) -> Result<String, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        // What a policy's hash is about: a browser reads the page so.
        Ok(text.replace("\r\n", "\n"))
    };
    let page = Page { read: &read, module, html: String::new(), scripts: vec![], styles: vec![] };
    page.filled(&read("index.html")?).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The page as far as it is assembled.
struct Page<'a> {
    /// Reads a file of the page's folder.
    read: &'a dyn Fn(&str) -> Result<String, String>,
    module: &'a [u8],
    html: String,
    /// The hashes of what may be executed and applied.
    scripts: Vec<String>,
    styles: Vec<String>,
}

impl Page<'_> {
    fn filled(mut self, index: &str) -> Result<String, String> {
        let mut rest = index;
        while let Some((before, tag, after)) = next_tag(rest)? {
            self.html += before;
            rest = match tag.name {
                "link" => self.link(&tag, after)?,
                "style" => self.style(&tag, after)?,
                _ => self.script(&tag, after)?,
            };
        }
        self.html += rest;
        if self.html.matches(POLICY).count() != 1 {
            return Err(format!("index.html must contain once: {POLICY}"));
        }
        let policy = POLICY.replace("\"\"", &format!("\"{}\"", self.policy()));
        Ok(self.html.replacen(POLICY, &policy, 1))
    }

    /// What the page may load and execute: itself.
    fn policy(&self) -> String {
        let (scripts, styles) = (self.scripts.join(" "), self.styles.join(" "));
        format!(
            "default-src 'none'; script-src {scripts} 'wasm-unsafe-eval'; worker-src blob:; style-src {styles}; \
             img-src data: blob:; base-uri 'none'; form-action 'none'"
        )
    }

    fn link<'t>(&mut self, tag: &Tag<'_>, after: &'t str) -> Result<&'t str, String> {
        if tag.value("rel") == Some("stylesheet") {
            let name = tag.value("href").ok_or("a stylesheet has no href")?;
            let text = contained(name, &(self.read)(name)?, "</style")?;
            self.styles.push(hash(&text));
            self.html += &format!("<style>{text}</style>");
        } else {
            self.html += tag.text;
        }
        Ok(after)
    }

    fn style<'t>(&mut self, tag: &Tag<'_>, after: &'t str) -> Result<&'t str, String> {
        let (text, after) = after.split_once("</style>").ok_or("a <style> does not end")?;
        self.styles.push(hash(text));
        self.html += &format!("{}{text}</style>", tag.text);
        Ok(after)
    }

    fn script<'t>(&mut self, tag: &Tag<'_>, after: &'t str) -> Result<&'t str, String> {
        let (inside, after) = after.split_once("</script>").ok_or("a <script> does not end")?;
        let kind = tag.value("type").unwrap_or_default();
        let text = match tag.value("src") {
            Some(name) if inside.is_empty() => contained(name, &(self.read)(name)?, "</script")?,
            Some(name) => return Err(format!("the <script> of {name} has a text as well")),
            None if kind == "application/wasm" => Base64::encode_string(&gzip(self.module)),
            None => inside.to_owned(),
        };
        if EXECUTABLE.contains(&kind) {
            self.scripts.push(hash(&text));
        }
        self.html += "<script";
        for (name, value) in tag.attributes.iter().filter(|(name, _)| *name != "src") {
            self.html += &format!(" {name}=\"{value}\"");
        }
        self.html += &format!(">{text}</script>");
        Ok(after)
    }
}

/// A start tag that may bring something from elsewhere.
struct Tag<'a> {
    name: &'a str,
    /// Names and values; those without a value have an empty one.
    attributes: Vec<(&'a str, &'a str)>,
    /// The whole tag.
    text: &'a str,
}

impl Tag<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// The next tag of `html`, with what is before and after it.
fn next_tag(html: &str) -> Result<Option<(&str, Tag<'_>, &str)>, String> {
    let names = ["link", "style", "script"];
    let starts = |name: &&str| {
        let mut found = html.match_indices('<').map(|(at, _)| at);
        found.find(|at| {
            let rest = html[at + 1..].strip_prefix(*name);
            rest.is_some_and(|rest| rest.starts_with([' ', '\n', '>']))
        })
    };
    let first = names.iter().filter_map(|name| Some((starts(name)?, *name))).min();
    let Some((at, name)) = first else { return Ok(None) };
    let mut rest = &html[at + 1 + name.len()..];
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>') {
            let text = &html[at..html.len() - after.len()];
            return Ok(Some((&html[..at], Tag { name, attributes, text }, after)));
        }
        let end = rest.find([' ', '\n', '=', '>']).filter(|end| *end > 0);
        let (key, after) = rest.split_at(end.ok_or(format!("a <{name}> does not end"))?);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => {
                quoted.split_once('"').ok_or(format!("{key} of a <{name}> does not end"))?
            }
            None if after.starts_with('=') => {
                return Err(format!("{key} of a <{name}> lacks quotes"));
            }
            None => ("", after),
        };
        attributes.push((key, value));
        rest = after;
    }
}

/// The text of the file `name`, if it can stand within an element that `end` would end.
fn contained(name: &str, text: &str, end: &str) -> Result<String, String> {
    let lower = text.to_ascii_lowercase();
    match [end, "<!--"].into_iter().find(|mark| lower.contains(mark)) {
        Some(mark) => Err(format!("{name} contains {mark}, which a page cannot contain")),
        None => Ok(text.to_owned()),
    }
}

/// A source of a policy: the hash of a `text`.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", Base64::encode_string(&Sha256::digest(text)))
}

/// `bytes` in gzip's format, without a time or a name.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    writer.write_all(bytes).and_then(|()| writer.finish()).expect("memory can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    const INDEX: &str = "<!doctype html>\n<html lang=\"en\"><head>\n\
        <meta http-equiv=\"Content-Security-Policy\" content=\"\">\n\
        <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"style.css\">\n</head><body>\n\
        <script type=\"text/plain\" id=\"worker\" src=\"worker.js\"></script>\n\
        <script type=\"application/wasm\" id=\"module\"></script>\n\
        <script defer src=\"app.js\"></script>\n</body></html>\n";
    const SCRIPT: &str = "document.title = 'a <b>';\n";

    fn filled(index: &str, script: &str) -> Result<String, String> {
        let read = |name: &str| match name {
            "style.css" => Ok("body { margin: 0 }".to_owned()),
            "worker.js" => Ok("postMessage(1);".to_owned()),
            "app.js" => Ok(script.to_owned()),
            _ => Err(format!("cannot read {name}")),
        };
        let (scripts, styles, html) = (Vec::new(), Vec::new(), String::new());
        Page { read: &read, module: b"\0asm", html, scripts, styles }.filled(index)
    }

    #[test]
    fn a_page_contains_its_files() {
        let html = filled(INDEX, SCRIPT).expect("a page");
        for part in [
            "<link rel=\"icon\" href=\"data:,\">\n<style>body { margin: 0 }</style>\n",
            "<script type=\"text/plain\" id=\"worker\">postMessage(1);</script>\n",
            "<script defer=\"\">document.title = 'a <b>';\n</script>\n</body></html>\n",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        let start = "id=\"module\">";
        let module = &html[html.find(start).expect("the module") + start.len()..];
        let module = Base64::decode_vec(module.split('<').next().unwrap()).expect("base64");
        let mut bytes = Vec::new();
        GzDecoder::new(&*module).read_to_end(&mut bytes).expect("gzip");
        assert_eq!(bytes, b"\0asm");
    }

    /// The hashes are those of `printf "document.title = 'a <b>';\n" | openssl sha256 -binary | base64`.
    #[test]
    fn the_policy_permits_what_the_page_contains_and_nothing_else() {
        let html = filled(INDEX, SCRIPT).expect("a page");
        let policy = html.split("content=\"").nth(1).and_then(|rest| rest.split('"').next());
        let script = "'sha256-wB77CW3M5GeHQH00vBa6fhSxHt6fk1NUFh/Xq0e6TSU='";
        let style = "'sha256-mX+s7KJgWpgxJola85xdpAFPBQaV091gzM2oPjgTW2w='";
        let expected = format!(
            "default-src 'none'; script-src {script} 'wasm-unsafe-eval'; worker-src blob:; style-src {style}; \
             img-src data: blob:; base-uri 'none'; form-action 'none'"
        );
        assert_eq!(policy, Some(&*expected));
    }

    #[test]
    fn what_a_page_cannot_contain_is_an_error() {
        let error = |index: &str, script: &str| filled(index, script).expect_err("it is wrong");
        assert!(error(INDEX, "a('</Script>')").starts_with("app.js contains </script"));
        assert!(error(INDEX, "a('<!--')").starts_with("app.js contains <!--"));
        let of_other = INDEX.replace("app.js", "other.js");
        assert_eq!(error(&of_other, SCRIPT), "cannot read other.js");
        let index = INDEX.replace("content=\"\"", "content=\"none\"");
        assert!(error(&index, SCRIPT).starts_with("index.html must contain once"));
        let index = INDEX.replace("\"app.js\"></script>", "\"app.js\">1</script>");
        assert_eq!(error(&index, SCRIPT), "the <script> of app.js has a text as well");
        assert_eq!(error("<script src=app.js></script>", ""), "src of a <script> lacks quotes");
        assert_eq!(error("<script>", ""), "a <script> does not end");
        assert_eq!(error("<script src", ""), "a <script> does not end");
    }
}
