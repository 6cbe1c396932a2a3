"""What tests share: the command `exm`, which they compare the package with."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def exm() -> Callable[..., dict[str, Any]]:
    """Runs `exm` of the debug build with --json; skips where it is not built."""
    import json

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "debug" / "exm"
    if not program.exists():
        pytest.skip("exm is not built: cargo build")

    def run(*arguments: str) -> dict[str, Any]:
        command = [str(program), *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    return run


SMALL = """
[network]
rate = "5..20 Mbps"
rtt = "50..150 ms"
senders = "1..4"
[traffic]
on = "exp 1 s"
off = "exp 1 s"
[design]
duration = "4 s"
specimens = 4
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a model whose designs take seconds."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
