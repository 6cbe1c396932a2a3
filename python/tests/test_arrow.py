"""Results as Arrow streams, which pyarrow reads without copies or leaks."""

import gc

import numpy as np
import pyarrow as pa

import tcpexmachina as em
from tcpexmachina import _arrow


def columns() -> em.Columns:
    numbers = np.array([1.5, np.nan, -2.0])
    counts = np.array([1, 2, 2**60], dtype="u8")
    return em.Columns({"name": ["a", "", "ü"], "number": numbers, "count": counts})


def test_a_table_is_read_as_it_is() -> None:
    table = pa.table(columns())
    table.validate(full=True)
    assert table.to_pylist() == [
        {"name": "a", "number": 1.5, "count": 1},
        {"name": "", "number": None, "count": 2},
        {"name": "ü", "number": -2.0, "count": 2**60},
    ]
    assert pa.schema(columns()) == table.schema


def test_nothing_is_copied() -> None:
    own = columns()
    table = pa.table(own)
    buffer = table["count"].chunk(0).buffers()[1]
    assert buffer.address == own.count.ctypes.data


def test_a_part_outlives_the_rest() -> None:
    column = pa.table(columns())["name"]
    gc.collect()
    assert column.to_pylist() == ["a", "", "ü"]


def test_nothing_is_left() -> None:
    gc.collect()
    before = len(_arrow._KEPT), len(_arrow._IN_CAPSULES)
    for _ in range(10):
        pa.table(columns())
        columns().__arrow_c_stream__()
        columns().__arrow_c_schema__()
    gc.collect()
    assert (len(_arrow._KEPT), len(_arrow._IN_CAPSULES)) == before


def test_no_rows_are_rows() -> None:
    empty = em.Columns({"name": [], "number": np.array([], dtype="f8")})
    assert pa.table(empty).num_rows == 0
