"""Results as columns: numpy arrays by attribute, and Arrow streams without a dependency."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _arrow


def array(raw: tuple[str, bytes]) -> np.ndarray[Any, Any]:
    """The array of a type of numpy and its bytes, without a copy."""
    dtype, data = raw
    return np.frombuffer(data, dtype=dtype)


class Columns:
    """Columns of equal length, by name: numbers as numpy arrays, texts as lists.

    pyarrow, polars, DuckDB and pandas take it as it is (the Arrow PyCapsule interface). A number that is missing is
    NaN in the array and null in Arrow.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns: dict[str, Any] = {}
        for name, values in columns.items():
            is_raw = isinstance(values, tuple)
            self._columns[name] = array(values) if is_raw else values

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._columns)

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f'there is no column "{name}": there are {", ".join(columns)}')

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict."""
        for row in zip(*self._columns.values(), strict=True):
            values = (value.item() if isinstance(value, np.generic) else value for value in row)
            yield dict(zip(self._columns, values, strict=True))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns) or self.names != other.names:
            return NotImplemented if not isinstance(other, Columns) else False
        return all(_equal(self[name], other[name]) for name in self.names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Columns: {len(self)} rows of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(value)}</td>" for value in row.values()) + "</tr>"
            for _, row in zip(range(50), self, strict=False)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def __arrow_c_schema__(self) -> object:
        return _arrow.schema(self._columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _arrow.stream(self._columns)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    return bool(one == other)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return html.escape(str(value))
