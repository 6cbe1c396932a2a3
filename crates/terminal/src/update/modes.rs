//! What is no cell: the bell, titles, the clipboard and modes.

use super::writer::Writer;
use crate::screen::Screen;

/// Writes what precedes the rows.
pub(super) fn write_before_rows(writer: &mut Writer<'_>, from: &Screen, to: &Screen) {
    let out = &mut writer.out;
    if from.bells() != to.bells() {
        out.push(0x07);
    }
    write_titles(out, from, to);
    if let Some(data) = to.clipboard()
        && from.clipboard() != Some(data)
    {
        write_osc(out, b"52;c;", data);
    }
    if from.modes.reverse_video != to.modes.reverse_video {
        write_mode(out, 5, to.modes.reverse_video);
    }
    if writer.features.alternate_screen && from.modes.alternate_screen != to.modes.alternate_screen
    {
        // What the other screen shows is not known here.
        write_mode(&mut writer.out, 1049, to.modes.alternate_screen);
        writer.clear();
    }
}

fn write_titles(out: &mut Vec<u8>, from: &Screen, to: &Screen) {
    let changes = (from.icon_name() != to.icon_name(), from.title() != to.title());
    let (icon_name, title) = (to.icon_name().unwrap_or(""), to.title().unwrap_or(""));
    match changes {
        (true, true) if icon_name == title => write_osc(out, b"0;", title),
        _ => {
            if changes.0 {
                write_osc(out, b"1;", icon_name);
            }
            if changes.1 {
                write_osc(out, b"2;", title);
            }
        }
    }
}

/// Writes what follows the rows and the cursor's position.
pub(super) fn write_after_rows(writer: &mut Writer<'_>, from: &Screen, to: &Screen) {
    let (old, new) = (&from.modes, &to.modes);
    if old.cursor_visible != new.cursor_visible {
        write_mode(&mut writer.out, 25, new.cursor_visible);
    }
    if writer.features.cursor_shape && old.cursor_shape != new.cursor_shape {
        let shape = format!("\x1b[{} q", new.cursor_shape.parameter());
        writer.out.extend_from_slice(shape.as_bytes());
    }
    writer.set_pen(&to.pen);
    let out = &mut writer.out;
    if old.bracketed_paste != new.bracketed_paste {
        write_mode(out, 2004, new.bracketed_paste);
    }
    write_choice(out, old.mouse.number(), new.mouse.number());
    if old.focus_events != new.focus_events {
        write_mode(out, 1004, new.focus_events);
    }
    write_choice(out, old.mouse_encoding.number(), new.mouse_encoding.number());
}

/// Switches from one of several modes that exclude each other to another. The old one is reset first, for terminals
/// that keep each of them.
fn write_choice(out: &mut Vec<u8>, old: Option<u16>, new: Option<u16>) {
    if old != new {
        old.into_iter().for_each(|mode| write_mode(out, mode, false));
        new.into_iter().for_each(|mode| write_mode(out, mode, true));
    }
}

fn write_mode(out: &mut Vec<u8>, mode: u16, on: bool) {
    out.extend_from_slice(format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }).as_bytes());
}

fn write_osc(out: &mut Vec<u8>, command: &[u8], text: &str) {
    out.extend_from_slice(b"\x1b]");
    out.extend_from_slice(command);
    out.extend_from_slice(text.as_bytes());
    out.push(0x07);
}
