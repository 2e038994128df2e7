//! Arrays in and out: anything that numpy makes an array of, read in place where it is one of floats without gaps.

use std::borrow::Cow;

use numpy::ndarray::IxDyn;
use numpy::{AllowTypeChange, IntoPyArray, PyArrayDyn, PyArrayLike, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors;

/// What a call takes for an array.
pub type Given<'py> = PyArrayLike<'py, f64, IxDyn, AllowTypeChange>;

/// The numbers of an array, in place where they are without gaps.
pub fn numbers<'a>(array: &'a Given<'_>) -> Cow<'a, [f64]> {
    match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(array.as_array().iter().copied().collect()),
    }
}

/// A vector of `n` finite numbers.
pub fn vector(what: &str, array: &Given<'_>, n: usize) -> PyResult<Vec<f64>> {
    if array.shape() != [n] {
        return Err(errors::input(format!("{what}: array of shape {:?}, expected ({n},)", array.shape())));
    }
    finite(what, numbers(array).into_owned())
}

/// Rows of `n` finite numbers; any number of them.
pub fn rows(what: &str, array: &Given<'_>, n: usize) -> PyResult<Vec<Vec<f64>>> {
    if array.ndim() != 2 || array.shape()[1] != n {
        return Err(errors::input(format!(
            "{what}: array of shape {:?}, expected (any, {n})",
            array.shape()
        )));
    }
    let all = finite(what, numbers(array).into_owned())?;
    Ok(all.chunks_exact(n.max(1)).map(<[f64]>::to_vec).collect())
}

/// Numbers that are all finite.
fn finite(what: &str, numbers: Vec<f64>) -> PyResult<Vec<f64>> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => {
            Err(errors::input(format!("{what}: entry {at} is {}, expected a finite number", numbers[at])))
        }
        None => Ok(numbers),
    }
}

/// Three finite numbers.
pub fn triple(what: &str, array: &Given<'_>) -> PyResult<[f64; 3]> {
    let found = vector(what, array, 3)?;
    Ok([found[0], found[1], found[2]])
}

/// A new array of this shape.
pub fn array<'py>(
    py: Python<'py>,
    numbers: Vec<f64>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    numbers.into_pyarray(py).reshape(IxDyn(shape))
}
