//! A job with an arm that Python or a shared library drives, or with one that the library simulates.

use pyo3::prelude::*;
use surelift::horizon::Hardware;
use surelift::job::{self, GraspPrior, JobError, JobOptions, Until};
use surelift::robot;
use surelift::simulate::Paced;

use crate::arm::Arm;
use crate::arrays::{Given, Whole, triple};
use crate::driver::Driver;
use crate::errors::{self, border};
use crate::native::NativeArm;
use crate::owned::{Owned, detached};
use crate::payload;
use crate::progress::{Progress, Raised};
use crate::scene::Scene;
use crate::simulated::SimulatedArm;

/// How an arm that was just made is moved.
enum Moved {
    Inline,
    /// By a thread of its own.
    OnTheClock,
}

/// An arm and what is done with it, one call after the other. Every motion is proven before it begins.
///
/// `driver` is a `SimulatedArm` or a `NativeArm` of the same `arm`, or any object with the methods of `Driver` in the stubs: `read`, `command`, `hold` and `gripper`. `seed` draws the planner's
/// random numbers. `progress`, if given, is told what happens, in words. Other threads of Python go on during a call; a job belongs to the thread that made it, to which its calls are left.
///
/// `realtime`: the control cycle has a thread of its own, which holds the arm between two calls, too; for arms that time does not wait for. Without it the cycle runs within calls, and the arm's
/// time waits for the planner. Where nothing is said a `NativeArm` has such a thread, and no other. `finish`, or the end of a `with` block, ends the thread once the arm rests.
///
/// If `progress` raises, or Ctrl-C is heard with a `SimulatedArm` or in `realtime`, the arm follows its plan to the end, where it rests, and the call raises; the job goes on.
/// An exception of the driver, and else Ctrl-C while Python drives, end the call at once and are raised by it. The loop takes the arm for lost then: its own drives have to hold it.
/// Configurations are (n,), rad (m).
#[pyclass(frozen, module = "surelift")]
pub struct Job {
    /// Nothing once it is over.
    inner: Owned<Option<job::Job<'static>>>,
    /// Exceptions of the driver.
    lost: Raised,
    /// Exceptions of the callback, and Ctrl-C.
    asked: Raised,
}

impl Job {
    /// What comes of a call: an exception of Python comes before what the loop made of it.
    fn call<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut job::Job<'static>) -> Result<T, JobError>,
    ) -> PyResult<T> {
        let result = self.inner.with(py, |job| job.as_mut().map(act))?;
        raised(&self.lost, &self.asked)?;
        result.ok_or_else(is_over)?.map_err(|error| errors::of_job(&error))
    }

    /// Something with what is held.
    fn with_held<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(job::Held<'_, 'static>) -> Result<T, JobError>,
    ) -> PyResult<T> {
        let done = self.call(py, |job| job.held().map(act).transpose())?;
        done.ok_or_else(|| errors::input("nothing is held: call `grasp` first"))
    }
}

fn is_over() -> PyErr {
    errors::input("the job is over; make another one")
}

/// What a job is about, and who watches.
struct About {
    arm: robot::Arm,
    scene: robot::Scene,
    options: JobOptions,
    watch: Progress,
}

impl About {
    /// The job begins; a panic of it ends here.
    fn begin<H: Hardware + Send + 'static>(
        self,
        py: Python<'_>,
        hardware: H,
        moved: Moved,
    ) -> PyResult<Result<job::Job<'static>, JobError>> {
        let Self { arm, scene, options, watch } = self;
        let begin = || match moved {
            Moved::Inline => job::Job::begin((arm, scene), hardware, options, watch),
            Moved::OnTheClock => job::Job::begin_realtime((arm, scene), hardware, options, watch),
        };
        border(|| Ok(detached(py, begin)))
    }
}

/// What Python has raised meanwhile.
fn raised(lost: &Raised, asked: &Raised) -> PyResult<()> {
    // A driver's exception says more; the other one is of the past, too.
    let asked = asked.take();
    lost.take().or(asked).map_or(Ok(()), Err)
}

/// Proven bounds of what is held.
fn bounds(py: Python<'_>, found: &job::PayloadBounds) -> PyResult<Py<PyAny>> {
    let told = payload::bounds(py, &found.frame, found.mass_kg, (found.center_m, found.inertia_kg_m2))?;
    told.set_item("name", &found.name)?;
    Ok(told.into_any().unbind())
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (arm, driver, scene=None, seed=Whole::ZERO, progress=None, realtime=None),
        text_signature = "(arm, driver, scene=None, seed=0, progress=None, realtime=None)")]
    fn new(
        py: Python<'_>,
        arm: &Arm,
        driver: &Bound<'_, PyAny>,
        scene: Option<&Scene>,
        seed: Whole,
        progress: Option<Py<PyAny>>,
        realtime: Option<bool>,
    ) -> PyResult<Self> {
        let (lost, asked) = (Raised::default(), Raised::default());
        let period_s = arm.inner.gains().period_s;
        let about = About {
            arm: (*arm.inner).clone(),
            scene: scene.map(|scene| scene.inner.clone()).unwrap_or_default(),
            options: JobOptions { seed: seed.get("seed")?, ..JobOptions::of(&arm.inner) },
            watch: Progress::new(progress, asked.clone()),
        };
        let moved = |unless: bool| if realtime.unwrap_or(unless) { Moved::OnTheClock } else { Moved::Inline };
        let begun = if let Ok(native) = driver.extract::<PyRef<'_, NativeArm>>() {
            about.begin(py, native.hardware(arm)?, moved(true))
        } else if let Ok(simulated) = driver.extract::<PyRef<'_, SimulatedArm>>() {
            match moved(false) {
                // Ctrl-C is heard by whoever plans.
                Moved::OnTheClock => {
                    let paced = Paced::new(simulated.hardware(arm, Raised::default())?, period_s);
                    about.begin(py, paced, Moved::OnTheClock)
                }
                Moved::Inline => about.begin(py, simulated.hardware(arm, asked.clone())?, Moved::Inline),
            }
        } else {
            about.begin(py, Driver::new(driver, period_s, lost.clone())?, moved(false))
        }?;
        raised(&lost, &asked)?;
        let inner = Owned::new("job", Some(begun.map_err(|error| errors::of_job(&error))?));
        Ok(Self { inner, lost, asked })
    }

    /// Goes to a configuration `goal`, (n,), rad (m), with an empty hand, and rests there.
    ///
    /// `NotProvenError` where no way there could be proven: the arm then rests where it got to, and the job goes on.
    fn move_to(&self, py: Python<'_>, goal: Given<'_>) -> PyResult<()> {
        let goal = goal.numbers("goal")?;
        self.call(py, |job| job.move_to(goal))
    }

    /// Takes anything of `least_kg` to `mass_kg`, kg, that lies in a box: its centre `center_m` (3,) and full side lengths `size_m` (3,), m, in the tool frame, or in that of the link `frame`.
    ///
    /// The hand closes while the arm's own drives hold it. From then on everything is proven for whatever may be held.
    #[pyo3(signature = (mass_kg, center_m, size_m, least_kg=0.0, frame=None, name="thing"))]
    fn grasp(
        &self,
        py: Python<'_>,
        mass_kg: f64,
        center_m: Given<'_>,
        size_m: Given<'_>,
        least_kg: f64,
        frame: Option<String>,
        name: &str,
    ) -> PyResult<()> {
        let (center, size) = (triple("center_m", &center_m)?, triple("size_m", &size_m)?);
        let prior = GraspPrior::within(mass_kg, center, size).at_least(least_kg).named(name);
        let prior = match frame {
            Some(frame) => prior.in_frame(frame),
            None => prior,
        };
        self.call(py, |job| job.grasp(&prior).map(|_| ()))
    }

    /// Weighs what is held while the arm stands for `seconds`, s; gives proven bounds, as `payload` does. Ctrl-C with a `SimulatedArm` is heard when it ends.
    #[pyo3(signature = (seconds=1.0))]
    fn weigh(&self, py: Python<'_>, seconds: f64) -> PyResult<Py<PyAny>> {
        let found = self.with_held(py, |mut held| held.weigh(seconds))?;
        bounds(py, &found)
    }

    /// Moves so as to learn what is held: so many `motions`, or until the mass is known to within `mass_within_kg`, kg, either way. Gives proven bounds, as `payload` does.
    #[pyo3(signature = (motions=None, mass_within_kg=None))]
    fn learn(
        &self,
        py: Python<'_>,
        motions: Option<Whole>,
        mass_within_kg: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let until = match (motions, mass_within_kg) {
            (Some(motions), None) => Until::Motions(motions.count("motions")?),
            (None, Some(kg)) => Until::MassWithinKg(kg),
            _ => return Err(errors::input("learn: expected either `motions` or `mass_within_kg`")),
        };
        let found = self.with_held(py, |mut held| held.learn(until))?;
        bounds(py, &found)
    }

    /// What is proven by now of what is held: `name`; `mass_kg`, kg; `center_m`, three intervals, m (None where nothing bounds it); `inertia_kg_m2`, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz
    /// about the centre, kg m^2. Each is an interval [lower, upper], in the frame of the link `frame`.
    fn payload(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = self.with_held(py, |held| Ok(held.payload()))?;
        bounds(py, &found)
    }

    /// Carries it to a configuration `goal`, (n,), rad (m), and rests there. `NotProvenError` as of `move_to`.
    fn carry_to(&self, py: Python<'_>, goal: Given<'_>) -> PyResult<()> {
        let goal = goal.numbers("goal")?;
        self.with_held(py, |mut held| held.carry_to(goal))
    }

    /// Lets go of it: the hand opens while the arm's own drives hold it. What was learnt stays in the report.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.with_held(py, |held| held.release())
    }

    /// What was done so far, in words, with times in s and masses in kg.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let told = self.inner.with(py, |job| job.as_ref().map(|job| job.report().to_string()))?;
        told.ok_or_else(is_over)
    }

    /// The end: waits until the arm rests. Its own drives have to hold it from then on. The report; in `realtime` it says how well the ticks kept time, us.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let told = self.inner.with(py, |job| job.take().map(|job| job.finish().to_string()))?;
        raised(&self.lost, &self.asked)?;
        told.ok_or_else(is_over)
    }

    fn __enter__(job: Py<Self>) -> Py<Self> {
        job
    }

    /// The end, as `finish`, unless that has been.
    #[pyo3(signature = (*_what))]
    fn __exit__(&self, py: Python<'_>, _what: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.with(py, |job| drop(job.take().map(job::Job::finish)))
    }
}
