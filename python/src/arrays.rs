//! What calls take: anything that numpy makes an array of, read in place where it is one of floats in C order; and whole numbers.

use numpy::ndarray::IxDyn;
use numpy::{AllowTypeChange, IntoPyArray, PyArrayDyn, PyArrayLike, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors;

/// An array of floats, of any shape.
type Array<'py> = PyArrayLike<'py, f64, IxDyn, AllowTypeChange>;

/// What a call takes for an array: one in C order, or why what was given makes none. Who uses it knows its name, so errors wait until then.
pub struct Given<'py>(Result<Array<'py>, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let found = Array::extract(object).and_then(in_c_order);
        match found {
            Ok(array) => Ok(Self(Ok(array))),
            Err(error)
                if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) =>
            {
                Ok(Self(Err(error.value(py).to_string())))
            }
            Err(error) => Err(error),
        }
    }
}

/// The same numbers in rows without gaps. Fortran's order, strides and fields of records are no such thing.
fn in_c_order(array: Array<'_>) -> PyResult<Array<'_>> {
    if array.is_c_contiguous() && array.data().is_aligned() {
        return Ok(array);
    }
    array.call_method0("copy")?.extract()
}

impl<'py> Given<'py> {
    fn array(&self, what: &str) -> PyResult<&Array<'py>> {
        let no_numbers =
            |reason: &String| errors::input(format!("{what}: {reason}, expected an array of numbers"));
        self.0.as_ref().map_err(no_numbers)
    }

    /// Its shape; `what` names it where it has none.
    pub fn shape(&self, what: &str) -> PyResult<&[usize]> {
        Ok(self.array(what)?.shape())
    }

    /// All its numbers in place, row by row.
    pub fn numbers(&self, what: &str) -> PyResult<&[f64]> {
        self.array(what)?.as_slice().map_err(|error| errors::input(format!("{what}: {error}")))
    }

    /// `n` numbers, which may be any.
    pub fn any(&self, what: &str, n: usize) -> PyResult<&[f64]> {
        match self.shape(what)? {
            [found] if *found == n => self.numbers(what),
            shape => Err(errors::input(format!("{what}: array of shape {shape:?}, expected ({n},)"))),
        }
    }
}

/// A vector of `n` finite numbers.
pub fn vector(what: &str, given: &Given<'_>, n: usize) -> PyResult<Vec<f64>> {
    finite(what, given.any(what, n)?)
}

/// Rows of `n` finite numbers; any number of them.
pub fn rows(what: &str, given: &Given<'_>, n: usize) -> PyResult<Vec<Vec<f64>>> {
    match given.shape(what)? {
        [_, found] if *found == n => {
            let all = finite(what, given.numbers(what)?)?;
            Ok(all.chunks_exact(n.max(1)).map(<[f64]>::to_vec).collect())
        }
        shape => Err(errors::input(format!("{what}: array of shape {shape:?}, expected (any, {n})"))),
    }
}

/// Numbers that are all finite.
pub fn finite(what: &str, numbers: &[f64]) -> PyResult<Vec<f64>> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => {
            Err(errors::input(format!("{what}: entry {at} is {}, expected a finite number", numbers[at])))
        }
        None => Ok(numbers.to_vec()),
    }
}

/// Three finite numbers.
pub fn triple(what: &str, given: &Given<'_>) -> PyResult<[f64; 3]> {
    let found = vector(what, given, 3)?;
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

/// What a call takes for a whole number >= 0: one, or the words for what it was instead.
#[derive(Clone)]
pub struct Whole(Result<u64, String>);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<u64>() {
            Ok(number) => Ok(Self(Ok(number))),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Self(Err(object.str()?.to_string())))
            }
            Err(error) => Err(error),
        }
    }
}

impl Whole {
    /// Where nothing is given.
    pub const ZERO: Self = Self(Ok(0));

    /// The number.
    pub fn get(&self, what: &str) -> PyResult<u64> {
        let none = |found: &String| {
            errors::input(format!("{what}: {found}, expected a whole number from 0 to 2^64 - 1"))
        };
        self.0.as_ref().copied().map_err(none)
    }

    /// A number of things, or the index of one: so many that there cannot be more.
    pub fn count(&self, what: &str) -> PyResult<usize> {
        Ok(usize::try_from(self.get(what)?).unwrap_or(usize::MAX))
    }
}
