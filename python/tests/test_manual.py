"""The examples of the manual and of the READMEs run, each page in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


PAGES = ["python", "learning", "designs-on-many-machines"]


@pytest.mark.parametrize("page", [*(f"crates/cli/docs/{page}.md" for page in PAGES), "python/README.md", "README.md"])
def test_examples_run(page: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    namespace: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
