//! An arm whose driver is written in Python.

use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading};

use crate::arrays::{Given, array};
use crate::errors;
use crate::progress::Raised;

/// An object with the methods of `Driver` in the stubs.
pub struct Driver {
    object: Py<PyAny>,
    period_s: f64,
    ticks: u64,
    clock: Option<Clock>,
    raised: Raised,
}

/// The object's own clock, by its method `time`.
struct Clock {
    /// What it said at first, s.
    first_s: Option<f64>,
}

impl Driver {
    /// A driver whose exceptions are kept in `raised`.
    pub fn new(object: &Bound<'_, PyAny>, period_s: f64, raised: Raised) -> PyResult<Self> {
        for method in ["read", "command", "hold", "gripper"] {
            if !object.hasattr(method)? {
                let found = object.get_type().name()?;
                return Err(errors::input(format!(
                    "driver: {found} has no method `{method}`; expected a SimulatedArm, a NativeArm, or an object with the methods of Driver"
                )));
            }
        }
        let clock = object.hasattr("time")?.then_some(Clock { first_s: None });
        Ok(Self { object: object.clone().unbind(), period_s, ticks: 0, clock, raised })
    }

    /// Calls Python, unless it has raised before or is at its end. Whether it was called and has not raised.
    fn within(&mut self, act: impl FnOnce(&mut Self, Python<'_>) -> PyResult<()>) -> bool {
        if self.raised.is_some() {
            return false;
        }
        match Python::try_attach(|py| act(self, py)) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                self.raised.keep(error);
                false
            }
            None => false,
        }
    }

    /// Calls a method that gives `out.len()` arrays of its sizes. After an exception everything is NaN: the loop takes the arm for lost.
    fn ask(&mut self, method: &str, tau: Option<&[f64]>, out: &mut [&mut [f64]]) -> bool {
        let answered = self.within(|driver, py| driver.call(py, method, tau, out));
        if !answered {
            out.iter_mut().for_each(|out| out.fill(f64::NAN));
        }
        answered
    }

    fn call(
        &self,
        py: Python<'_>,
        method: &str,
        tau: Option<&[f64]>,
        out: &mut [&mut [f64]],
    ) -> PyResult<()> {
        py.check_signals()?;
        let object = self.object.bind(py);
        let answer = match tau {
            Some(tau) => object.call_method1(method, (array(py, tau.to_vec(), &[tau.len()])?,))?,
            None => object.call_method0(method)?,
        };
        let parts: Vec<Bound<'_, PyAny>> = if out.len() == 1 { vec![answer] } else { answer.extract()? };
        if parts.len() != out.len() {
            return Err(errors::input(format!("{method}: {} arrays, expected {}", parts.len(), out.len())));
        }
        for (part, out) in parts.iter().zip(out) {
            let found: Given<'_> = part.extract()?;
            out.copy_from_slice(found.any(method, out.len())?);
        }
        Ok(())
    }

    /// When the reading was there, s: by the object's clock from the first reading on, or by even periods.
    fn stamp_s(&mut self) -> f64 {
        let even_s = self.time();
        let mut stamp_s = even_s;
        let told = self.within(|driver, py| {
            let Some(clock) = &mut driver.clock else { return Ok(()) };
            let now_s: f64 = driver.object.call_method0(py, "time")?.extract(py)?;
            stamp_s = now_s - *clock.first_s.get_or_insert(now_s - even_s);
            Ok(())
        });
        if told { stamp_s } else { f64::NAN }
    }
}

impl Hardware for Driver {
    fn time(&self) -> f64 {
        self.ticks as f64 * self.period_s
    }

    fn read(&mut self, reading: &mut Reading) {
        self.ask("read", None, &mut [&mut reading.q, &mut reading.dq]);
        reading.t = self.stamp_s();
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.ticks += 1;
        self.ask("command", Some(tau), &mut [measured])
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.ticks += 1;
        self.ask("hold", None, &mut [measured])
    }

    fn gripper(&mut self, closes: bool) {
        self.within(|driver, py| driver.object.call_method1(py, "gripper", (closes,)).map(|_| ()));
    }
}
