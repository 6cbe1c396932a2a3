"""The Arrow C data interface by ctypes: https://arrow.apache.org/docs/format/CDataInterface.html.

A stream has one batch: a struct whose children are the columns. What its pointers refer to is kept in `_KEPT` until
its consumer releases it.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

_P = ctypes.c_void_p
_RELEASE = ctypes.CFUNCTYPE(None, _P)
_NULLABLE = 2


class _Schema(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", _P),
    ("release", _P),
    ("private_data", _P),
]


class _Array(ctypes.Structure):
    pass


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(_P)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", _P),
    ("release", _P),
    ("private_data", _P),
]

_GET = ctypes.CFUNCTYPE(ctypes.c_int, _P, _P)
_LAST_ERROR = ctypes.CFUNCTYPE(_P, _P)


class _Stream(ctypes.Structure):
    _fields_ = [
        ("get_schema", _P),
        ("get_next", _P),
        ("get_last_error", _P),
        ("release", _P),
        ("private_data", _P),
    ]


# What consumers still use, by the number in private_data.
_KEPT: dict[int, Any] = {}
_NUMBERS = itertools.count(1)


def _keep(value: Any) -> int:
    number = next(_NUMBERS)
    _KEPT[number] = value
    return number


def _released(kind: type[ctypes.Structure], address: int) -> None:
    """Releases the structure at `address`, and its children unless the consumer moved them away."""
    it = kind.from_address(address)
    for at in range(getattr(it, "n_children", 0)):
        child = it.children[at].contents
        if child.release:
            _RELEASE(child.release)(ctypes.addressof(child))
    _KEPT.pop(it.private_data, None)
    it.release = None


@_RELEASE
def _release_schema(address: int) -> None:
    _released(_Schema, address)


@_RELEASE
def _release_array(address: int) -> None:
    _released(_Array, address)


@_RELEASE
def _release_stream(address: int) -> None:
    _released(_Stream, address)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, _P).value


def _fill_schema(it: _Schema, form: bytes, name: bytes, children: list[_Schema]) -> None:
    pointers = (ctypes.POINTER(_Schema) * len(children))(*map(ctypes.pointer, children))
    it.format, it.name, it.metadata = form, name, None
    it.flags, it.n_children = _NULLABLE, len(children)
    it.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(_Schema)))
    it.dictionary, it.release = None, _address(_release_schema)
    it.private_data = _keep((form, name, children, pointers))


def _format(values: Any) -> bytes:
    if isinstance(values, np.ndarray):
        return {"f": b"g", "u": b"L", "i": b"l"}[values.dtype.kind]
    return b"u"


def _schema_into(it: _Schema, columns: Mapping[str, Any]) -> None:
    children = []
    for name, values in columns.items():
        child = _Schema()
        _fill_schema(child, _format(values), name.encode(), [])
        children.append(child)
    _fill_schema(it, b"+s", b"", children)


def _fill_array(
    it: _Array, length: int, nulls: int, buffers: list[Any], children: list[_Array]
) -> None:
    addresses = [None if one is None else one.ctypes.data for one in buffers]
    pointers = (_P * len(buffers))(*addresses)
    kids = (ctypes.POINTER(_Array) * len(children))(*map(ctypes.pointer, children))
    it.length, it.null_count, it.offset = length, nulls, 0
    it.n_buffers, it.n_children = len(buffers), len(children)
    it.buffers = ctypes.cast(pointers, ctypes.POINTER(_P))
    it.children = ctypes.cast(kids, ctypes.POINTER(ctypes.POINTER(_Array)))
    it.dictionary, it.release = None, _address(_release_array)
    it.private_data = _keep((buffers, pointers, children, kids))


def _column_into(it: _Array, values: Any) -> None:
    if not isinstance(values, np.ndarray):
        texts = [text.encode() for text in values]
        ends = np.cumsum([0, *map(len, texts)], dtype="<i4")
        data = np.frombuffer(b"".join(texts) + b"\0", dtype="u1")
        return _fill_array(it, len(texts), 0, [None, ends, data], [])
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    nulls = int(missing.sum())
    present = np.packbits(~missing, bitorder="little") if nulls else None
    return _fill_array(it, len(values), nulls, [present, values], [])


def _batch_into(it: _Array, columns: Mapping[str, Any]) -> None:
    children = []
    for values in columns.values():
        child = _Array()
        _column_into(child, values)
        children.append(child)
    length = len(next(iter(columns.values()), ()))
    _fill_array(it, length, 0, [None], children)


@_GET
def _get_schema(stream: int, out: int) -> int:
    columns, _ = _KEPT[_Stream.from_address(stream).private_data]
    _schema_into(_Schema.from_address(out), columns)
    return 0


@_GET
def _get_next(stream: int, out: int) -> int:
    state = _KEPT[_Stream.from_address(stream).private_data]
    it = _Array.from_address(out)
    if state[1]:
        it.release = None
    else:
        state[1] = True
        _batch_into(it, state[0])
    return 0


@_LAST_ERROR
def _get_last_error(stream: int) -> None:
    return None


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [_P, ctypes.c_char_p, _P]
_capsule_pointer = ctypes.PYFUNCTYPE(_P, _P, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, _P)
# Capsules keep a pointer to their names.
_NAMES = {_Schema: b"arrow_schema", _Stream: b"arrow_array_stream"}
# The structures of capsules, which consumers move out of them, by address.
_IN_CAPSULES: dict[int, ctypes.Structure] = {}


def _destroyed(kind: type[ctypes.Structure], capsule: int) -> None:
    address = _capsule_pointer(capsule, _NAMES[kind])
    it = _IN_CAPSULES.pop(address)
    if it.release:
        _RELEASE(it.release)(address)


@_DESTRUCTOR
def _destroy_schema(capsule: int) -> None:
    _destroyed(_Schema, capsule)


@_DESTRUCTOR
def _destroy_stream(capsule: int) -> None:
    _destroyed(_Stream, capsule)


def _capsule(it: ctypes.Structure, destructor: Any) -> object:
    address = ctypes.addressof(it)
    _IN_CAPSULES[address] = it
    return _new_capsule(address, _NAMES[type(it)], _address(destructor))


def schema(columns: Mapping[str, Any]) -> object:
    """The schema of the columns, as a capsule."""
    it = _Schema()
    _schema_into(it, columns)
    return _capsule(it, _destroy_schema)


def stream(columns: Mapping[str, Any]) -> object:
    """A stream of one batch of the columns, as a capsule."""
    it = _Stream()
    it.get_schema, it.get_next = _address(_get_schema), _address(_get_next)
    it.get_last_error, it.release = _address(_get_last_error), _address(_release_stream)
    # The columns, and whether their batch was taken.
    it.private_data = _keep([dict(columns), False])
    return _capsule(it, _destroy_stream)
