//! [`Columns`]: results as columns, which the Python side wraps as arrays and Arrow streams.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// Columns by their names, in order.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<(&'static str, Column)>);

#[derive(Debug)]
enum Column {
    Numbers(Vec<f64>),
    Counts(Vec<u64>),
    Texts(Vec<String>),
}

impl Columns {
    /// Adds a column of numbers; one that is missing becomes NaN.
    pub(crate) fn numbers(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) {
        let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        self.0.push((name, Column::Numbers(values)));
    }

    /// Adds a column of counts.
    pub(crate) fn counts(&mut self, name: &'static str, values: impl IntoIterator<Item = u64>) {
        self.0.push((name, Column::Counts(values.into_iter().collect())));
    }

    /// Adds a column of texts.
    pub(crate) fn texts(&mut self, name: &'static str, values: impl IntoIterator<Item = String>) {
        self.0.push((name, Column::Texts(values.into_iter().collect())));
    }

    /// A dict of the columns: texts as a list, and numbers as a type of numpy and their bytes, so that numpy
    /// needs no copy.
    pub(crate) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in self.0 {
            match column {
                Column::Texts(texts) => dict.set_item(name, PyList::new(py, texts)?)?,
                Column::Numbers(values) => dict.set_item(name, bytes(py, "<f8", &values)?)?,
                Column::Counts(values) => dict.set_item(name, bytes(py, "<u8", &values)?)?,
            }
        }
        Ok(dict)
    }
}

/// A type of numpy of 8 bytes a value, and the bytes of `values`.
pub(crate) fn bytes<'py, T: Little>(
    py: Python<'py>,
    dtype: &'static str,
    values: &[T],
) -> PyResult<(&'static str, Bound<'py, PyBytes>)> {
    let bytes = PyBytes::new_with(py, values.len() * 8, |room| {
        for (room, value) in room.chunks_exact_mut(8).zip(values) {
            room.copy_from_slice(&value.little());
        }
        Ok(())
    })?;
    Ok((dtype, bytes))
}

/// A number of 8 bytes.
pub(crate) trait Little {
    /// Its bytes, the least significant first.
    fn little(&self) -> [u8; 8];
}

impl Little for f64 {
    fn little(&self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

impl Little for u64 {
    fn little(&self) -> [u8; 8] {
        self.to_le_bytes()
    }
}
