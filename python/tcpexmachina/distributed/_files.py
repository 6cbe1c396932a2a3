"""The files of a design: replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from .._core import Error


def replace_file(path: Path, text: str) -> None:
    """Writes `text` to `path`: after a crash it holds this text or the former."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise Error(f"cannot write {path}: {problem.strerror}") from None


def read(path: Path) -> str:
    """The text of a checkpoint."""
    try:
        return path.read_text()
    except FileNotFoundError:
        raise Error(f"there is no checkpoint {path} to go on from: leave resume out to begin a design") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise Error(f"cannot read the checkpoint {path}: {problem}") from None


def check_new(path: Path) -> None:
    """Refuses to overwrite a file, and a folder that is not there, before the work."""
    if path.exists():
        raise Error(f"{path} is there already: go on with it by resume, or give another file")
    if not path.absolute().parent.is_dir():
        raise Error(f"cannot write {path}: there is no folder {path.absolute().parent}")
