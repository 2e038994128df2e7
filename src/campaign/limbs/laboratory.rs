//! Experiments on one simulated limb: recordings under PD control, predictions of what torques do, and tracking with inverse dynamics.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::file::{ControlFile, SensorNoiseFile};
use super::plant::{Beyond, Plant, PlantFault, follow_loops};
use super::truth::{LimbTruth, SpringFile};
use crate::dynamics::constraint::Constraint;
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics, motors_and_base};
use crate::recording::{MeasurementLog, Sample};
use crate::regression::inverse::Moving;
use crate::robot::{Model, configuration};
use crate::simulate::recording::normal;
use crate::trajectory::JointState;

/// Samples that torque errors are counted over, at most.
const SAMPLES: usize = 3000;
/// Before a motion begins the limb is held where it begins, s.
const SETTLE_S: f64 = 0.5;
/// Of a motor's torque and speed so much may be needed along sines by the files: what the files do not know, and control, need the rest.
const USED: f64 = 0.9;
/// Width to which the largest speed that keeps this is bracketed, as a share of the speed that was asked for.
const SPEED_SHARE: f64 = 0.002;
/// Eigenvalues of Y'Y below this share of the largest count as zero.
const NOTHING: f64 = 1e-12;

/// In words: what went wrong.
type Told<T> = Result<T, String>;

fn told(error: impl ToString) -> String {
    error.to_string()
}

/// A limb as its files have it, and as it is.
pub(super) struct Laboratory<'a> {
    /// By the files.
    pub limb: &'a Model,
    /// With joints for its springs, where it has some; else as `limb`.
    body: &'a Model,
    theta: Vec<f64>,
    beyond: Vec<Beyond>,
    control: &'a ControlFile,
    noise: &'a SensorNoiseFile,
    pub domain: ClosureDomain,
    /// Indices of the motors' joints, in `limb`.
    pub motors: Vec<usize>,
    /// Indices of what is independent, in `body`, and the place of each motor among them.
    independent: Vec<usize>,
    places: Vec<usize>,
    /// Moments of inertia that each motor feels in the middle of its range while the others are free, by the files, kg m^2.
    inertia: Vec<f64>,
}

/// What is asked of a limb.
pub(super) struct Order<'a> {
    /// Wanted motion of the motors.
    pub wanted: &'a dyn Fn(f64) -> JointState,
    pub duration_s: f64,
    /// Natural frequency of the PD controller, rad/s.
    pub bandwidth_rad_s: f64,
    /// Parameters of the inverse dynamics that are fed forward, where they are.
    pub forward: Option<&'a [f64]>,
    /// Of the noise.
    pub seed: u64,
}

/// What a limb did.
pub(super) struct Followed {
    /// What its sensors say, of the motors.
    pub samples: Vec<Sample>,
    /// Where the motors were and should have been, rad.
    pub positions: Vec<(Vec<f64>, Vec<f64>)>,
    /// The largest deflection of a spring, rad.
    pub deflection_rad: f64,
}

/// Prediction errors of some torques.
pub(super) struct Predicted {
    /// Of each motor, the root of the integral of squared errors over all segments, rad s^(1/2).
    pub norms: Vec<f64>,
    /// Segments in which the model came to where its loops do not close; it stays there.
    pub broken: u64,
}

impl<'a> Laboratory<'a> {
    pub(super) fn new(
        limb: &'a Model,
        body: &'a Model,
        (truth, springs): (&LimbTruth, &[SpringFile]),
        (control, noise): (&'a ControlFile, &'a SensorNoiseFile),
    ) -> Told<Self> {
        let domain = ClosureDomain::of(limb).map_err(told)?;
        let motors = motors_and_base(limb);
        let named = |name: &str| body.joints.iter().position(|joint| joint.name == name);
        let own: Vec<usize> = motors.iter().filter_map(|&k| named(&limb.joints[k].name)).collect();
        let mut independent = own.clone();
        independent.extend(springs.iter().filter_map(|spring| named(&spring.joint)));
        independent.sort_unstable();
        let places = own.iter().filter_map(|k| independent.binary_search(k).ok()).collect();
        let mut lab = Self {
            theta: truth.parameters(body),
            beyond: truth.beyond(body, &independent, springs),
            inertia: vec![],
            limb,
            body,
            control,
            noise,
            domain,
            motors,
            independent,
            places,
        };
        let mut reduced = ReducedDynamics::of_loops(limb).map_err(told)?;
        let middle: Vec<f64> = lab.ranges().iter().map(|(lower, upper)| 0.5 * (lower + upper)).collect();
        let (q, still) = (lab.posture(&mut reduced, &middle)?, vec![0.0; middle.len()]);
        reduced.place(limb, &q, &still, &still).map_err(told)?;
        let (mass, _) = reduced.mass_and_bias(limb, &limb.nominal_parameters()).map_err(told)?;
        let mobility = mass.try_inverse().ok_or("the files' mass matrix is singular")?;
        lab.inertia = mobility.diagonal().iter().map(|x| 1.0 / x).collect();
        for (&place, range) in lab.places.iter().zip(lab.ranges()) {
            lab.beyond[place].range = Some(range);
        }
        Ok(lab)
    }

    /// Where each motor may be, rad: within a rectangle of the proven domain, or its limits.
    pub(super) fn ranges(&self) -> Vec<(f64, f64)> {
        let range = |&motor: &usize| {
            let proven = self.domain.blocks.iter().find_map(|block| {
                let place = block.block.motors.iter().position(|&j| j == motor)?;
                Some((block.rectangle[place].lower(), block.rectangle[place].upper()))
            });
            proven.or(self.limb.joints[motor].limits.position).unwrap_or((-1.0, 1.0))
        };
        self.motors.iter().map(range).collect()
    }

    /// All joints by the files, with the motors there.
    fn posture(&self, reduced: &mut ReducedDynamics, motors: &[f64]) -> Told<Vec<f64>> {
        let mut q = configuration::neutral(self.limb);
        self.motors.iter().zip(motors).for_each(|(&k, x)| q[k] = *x);
        self.domain.place(self.limb, &mut q).map_err(told)?;
        reduced.close(self.limb, &mut q).map_err(told)?;
        Ok(q)
    }

    /// The limb as it is, at rest with the motors there and its springs without load.
    fn plant(&self, motors: &[f64]) -> Told<Plant<'a>> {
        let loops = (0..self.body.loops.len()).map(|i| Constraint::closure(self.body, i).in_plane(self.body));
        let mut reduced =
            ReducedDynamics::new(self.body, loops.collect(), self.independent.clone()).map_err(told)?;
        let rigid = self.posture(&mut ReducedDynamics::of_loops(self.limb).map_err(told)?, motors)?;
        let mut q = configuration::neutral(self.body);
        for (joint, x) in self.limb.joints.iter().zip(&rigid) {
            let place = self.body.joints.iter().position(|own| own.name == joint.name);
            place.into_iter().for_each(|k| q[k] = *x);
        }
        reduced.close(self.body, &mut q).map_err(told)?;
        Ok(Plant::new(self.body, reduced, self.theta.clone(), self.beyond.clone(), q))
    }

    /// Lets the limb follow a motion.
    pub(super) fn follow(&self, order: &Order<'_>) -> Told<Followed> {
        let mut draw = ChaCha8Rng::seed_from_u64(order.seed);
        let start = (order.wanted)(0.0);
        let mut plant = self.plant(&start.q)?;
        let mut forward = order.forward.map(|theta| Forward::new(self, theta, &start.q)).transpose()?;
        let (period, steps) = (self.control.period_s, self.control.plant_steps);
        let before = (SETTLE_S / period).round() as usize;
        let ticks = before + (order.duration_s / period).round() as usize;
        let mut u = vec![0.0; self.independent.len()];
        let mut done = Followed { samples: vec![], positions: vec![], deflection_rad: 0.0 };
        for tick in 0..=ticks {
            let t = (tick as f64 - before as f64) * period;
            let wanted = (order.wanted)(t.max(0.0));
            let ahead = match &mut forward {
                Some(forward) => forward.torque(self, &wanted)?,
                None => DVector::zeros(self.motors.len()),
            };
            let positions = plant.positions();
            let mut sample = Sample { t, q: vec![], dq: vec![], tau: vec![] };
            for (k, &place) in self.places.iter().enumerate() {
                let q = positions[place] + self.noise.position_rad * normal(&mut draw);
                let v = plant.velocities()[place] + self.noise.velocity_rad_s * normal(&mut draw);
                let damping = 2.0 * self.inertia[k] * order.bandwidth_rad_s;
                let stiffness = self.inertia[k] * order.bandwidth_rad_s.powi(2);
                let torque = ahead[k] + stiffness * (wanted.q[k] - q) + damping * (wanted.dq[k] - v);
                let limit = self.limb.joints[self.motors[k]].limits.torque;
                u[place] = torque.clamp(-limit, limit);
                sample.q.push(q);
                sample.dq.push(v);
                sample.tau.push(u[place] + self.noise.torque_nm * normal(&mut draw));
            }
            let springs = (0..positions.len()).filter(|k| !self.places.contains(k));
            done.deflection_rad = springs.map(|k| positions[k].abs()).fold(done.deflection_rad, f64::max);
            if tick >= before {
                done.samples.push(sample);
                done.positions.push((self.places.iter().map(|&k| positions[k]).collect(), wanted.q));
            }
            for _ in 0..steps {
                plant
                    .step(&u, period / steps as f64)
                    .map_err(|fault| format!("the simulated limb at t = {t:.3} s: {fault}"))?;
            }
        }
        Ok(done)
    }

    /// The largest share of its torque limit or its speed limit that each motor needs along a wanted motion by the files, friction with it.
    pub(super) fn loads(&self, wanted: &dyn Fn(f64) -> JointState, duration_s: f64) -> Told<Vec<f64>> {
        let theta = self.limb.nominal_parameters();
        let mut along = Forward::new(self, &theta, &wanted(0.0).q)?;
        let mut most = vec![0.0f64; self.motors.len()];
        for tick in 0..=(duration_s / self.control.period_s).round() as usize {
            let state = wanted(tick as f64 * self.control.period_s);
            let torques = along.torque(self, &state)?;
            for (k, most) in most.iter_mut().enumerate() {
                let limits = &self.limb.joints[self.motors[k]].limits;
                let speed = state.dq[k].abs() / limits.velocity;
                *most = most.max(torques[k].abs() / limits.torque).max(speed);
            }
        }
        Ok(most)
    }

    /// Sines of all motors that use a `share` of each range, to the largest speed of at most `speed_rad_s` at which no motor needs more than [`USED`] of its limits by the files.
    /// Gives that speed, rad/s, too.
    pub(super) fn sines(
        &self,
        share: f64,
        speed_rad_s: f64,
        (ramp_s, duration_s): (f64, f64),
    ) -> Told<(Sines, f64)> {
        let ranges = self.ranges();
        let at = |speed: f64| Sines::new(&ranges, share, speed, ramp_s);
        let keeps = |speed: f64| -> Told<bool> {
            let sines = at(speed);
            let loads = self.loads(&|t| sines.at(t), duration_s)?;
            Ok(loads.iter().all(|load| *load <= USED))
        };
        if keeps(speed_rad_s)? {
            return Ok((at(speed_rad_s), speed_rad_s));
        }
        let (mut low, mut high) = (0.0, speed_rad_s);
        while high - low > SPEED_SHARE * speed_rad_s {
            let middle = 0.5 * (low + high);
            if keeps(middle)? { low = middle } else { high = middle }
        }
        if low == 0.0 {
            return Err(format!("at no speed do sines keep {USED} of the motors' limits"));
        }
        Ok((at(low), low))
    }

    /// Rows of the regressor of a recording, thinned evenly, and its torques; one row a motor and sample.
    pub(super) fn rows(&self, samples: &[Moving]) -> Told<(DMatrix<f64>, DVector<f64>)> {
        let mut reduced = ReducedDynamics::of_loops(self.limb).map_err(told)?;
        let every = samples.len().div_ceil(SAMPLES).max(1);
        let (m, count) = (self.motors.len(), samples.len().div_ceil(every));
        let mut y = DMatrix::zeros(m * count, self.limb.parameter_count());
        let mut u = DVector::zeros(m * count);
        for (k, sample) in samples.iter().step_by(every).enumerate() {
            let q = self.posture(&mut reduced, &sample.q)?;
            reduced.place(self.limb, &q, &sample.dq, &sample.ddq).map_err(told)?;
            y.rows_mut(m * k, m).copy_from(&reduced.regressor(self.limb));
            u.rows_mut(m * k, m).copy_from_slice(&sample.tau);
        }
        Ok((y, u))
    }

    /// What torques of a recording do by the model `theta`, segment by segment from where the recording was, by the root of squared errors.
    pub(super) fn predict(
        &self,
        theta: &[f64],
        (log, samples): (&MeasurementLog, &[Moving]),
        segments: usize,
    ) -> Told<Predicted> {
        let mut reduced = ReducedDynamics::of_loops(self.limb).map_err(told)?;
        let first = self.posture(&mut reduced, &samples[0].q)?;
        // Where motors have their stops the files say: without them a model is soon where its loops do not close.
        let stop = |range| Beyond { range: Some(range), ..Beyond::default() };
        let stops = self.ranges().into_iter().map(stop).collect();
        let mut model = Plant::new(self.limb, reduced.clone(), theta.to_vec(), stops, first);
        let length = samples.len() / segments;
        let mut predicted = Predicted { norms: vec![0.0; self.motors.len()], broken: 0 };
        for segment in 0..segments {
            let from = segment * length;
            let start = self.posture(&mut reduced, &samples[from].q)?;
            model.put(&start, &samples[from].dq);
            let mut now = samples[from].q.clone();
            let mut stands = false;
            for k in from..(from + length).min(samples.len() - 1) {
                let h = samples[k + 1].t - samples[k].t;
                if !stands && model.step(&log.samples[k].tau, h).is_err() {
                    stands = true;
                    predicted.broken += 1;
                }
                if !stands {
                    now = model.positions();
                }
                for (norm, (x, y)) in predicted.norms.iter_mut().zip(now.iter().zip(&samples[k + 1].q)) {
                    *norm += h * (x - y).powi(2);
                }
            }
        }
        predicted.norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
        Ok(predicted)
    }
}

/// Inverse dynamics along a wanted motion.
struct Forward<'a> {
    reduced: ReducedDynamics,
    theta: &'a [f64],
    q: Vec<f64>,
}

impl<'a> Forward<'a> {
    fn new(lab: &Laboratory<'_>, theta: &'a [f64], start: &[f64]) -> Told<Self> {
        let mut reduced = ReducedDynamics::of_loops(lab.limb).map_err(told)?;
        let q = lab.posture(&mut reduced, start)?;
        Ok(Self { reduced, theta, q })
    }

    fn torque(&mut self, lab: &Laboratory<'_>, wanted: &JointState) -> Told<DVector<f64>> {
        let mut along = || -> Result<DVector<f64>, PlantFault> {
            follow_loops(&mut self.reduced, lab.limb, &mut self.q, &wanted.q)?;
            self.reduced.place(lab.limb, &self.q, &wanted.dq, &wanted.ddq)?;
            Ok(self.reduced.torque(lab.limb, self.theta)?)
        };
        along().map_err(|fault| format!("the wanted motion: {fault}"))
    }
}

/// Root mean square of each motor's torque errors by `theta`, N m.
pub(super) fn errors((y, u): &(DMatrix<f64>, DVector<f64>), motors: usize, theta: &[f64]) -> Vec<f64> {
    let error = u - y * DVector::from_column_slice(theta);
    let count = (error.len() / motors) as f64;
    let own = |k: usize| error.iter().skip(k).step_by(motors).map(|e| e * e).sum::<f64>();
    (0..motors).map(|k| (own(k) / count).sqrt()).collect()
}

/// The least that any parameters leave of each motor's torques, each motor with parameters of its own, N m.
pub(super) fn least_errors((y, u): &(DMatrix<f64>, DVector<f64>), motors: usize) -> Vec<f64> {
    let one = |motor: usize| {
        let rows: Vec<usize> = (motor..u.len()).step_by(motors).collect();
        let (own, torque) = (y.select_rows(&rows), u.select_rows(&rows));
        // Columns of one size: eigenvalues then say what moves at all.
        let sizes: Vec<f64> = own.column_iter().map(|c| c.norm()).collect();
        let moving: Vec<usize> = (0..sizes.len()).filter(|&c| sizes[c] > 0.0).collect();
        let mut own = own.select_columns(&moving);
        moving.iter().enumerate().for_each(|(c, &k)| own.column_mut(c).scale_mut(1.0 / sizes[k]));
        let eigen = SymmetricEigen::new(own.tr_mul(&own));
        let floor = NOTHING * eigen.eigenvalues.max();
        let onto = eigen.eigenvectors.tr_mul(&own.tr_mul(&torque));
        let parts = DVector::from_fn(onto.len(), |k, _| {
            if eigen.eigenvalues[k] > floor { onto[k] / eigen.eigenvalues[k] } else { 0.0 }
        });
        let left = torque - own * (&eigen.eigenvectors * parts);
        left.norm() / (rows.len() as f64).sqrt()
    };
    (0..motors).map(one).collect()
}

/// Sines of all motors with one largest speed, their amplitudes growing from rest.
pub(super) struct Sines {
    /// Middle, amplitude and angular speed of each.
    waves: Vec<(f64, f64, f64)>,
    ramp_s: f64,
}

impl Sines {
    /// Sines that use a `share` of each range.
    pub(super) fn new(ranges: &[(f64, f64)], share: f64, speed_rad_s: f64, ramp_s: f64) -> Self {
        let wave = |(lower, upper): &(f64, f64)| {
            let amplitude = 0.5 * share * (upper - lower);
            (0.5 * (lower + upper), amplitude, speed_rad_s / amplitude)
        };
        Self { waves: ranges.iter().map(wave).collect(), ramp_s }
    }

    pub(super) fn at(&self, t: f64) -> JointState {
        // s = 3x^2 - 2x^3 of the ramp, and its derivatives.
        let x = (t / self.ramp_s).min(1.0);
        let s = x * x * (3.0 - 2.0 * x);
        let ds = 6.0 * x * (1.0 - x) / self.ramp_s;
        let dds = if x < 1.0 { (6.0 - 12.0 * x) / self.ramp_s.powi(2) } else { 0.0 };
        let mut state = JointState { q: vec![], dq: vec![], ddq: vec![] };
        for &(middle, amplitude, w) in &self.waves {
            let (sin, cos) = (w * t).sin_cos();
            state.q.push(middle + amplitude * s * sin);
            state.dq.push(amplitude * (ds * sin + s * w * cos));
            state.ddq.push(amplitude * (dds * sin + 2.0 * ds * w * cos - s * w * w * sin));
        }
        state
    }
}

/// Mean and largest of the absolute tracking errors of each motor after `from` samples, degrees.
pub(super) fn tracking(followed: &Followed, from: usize) -> Vec<(f64, f64)> {
    let late = &followed.positions[from.min(followed.positions.len())..];
    let motors = late.first().map_or(0, |(q, _)| q.len());
    let one = |k: usize| {
        let off = late.iter().map(|(q, wanted)| (q[k] - wanted[k]).abs().to_degrees());
        let (sum, most) = off.fold((0.0, 0.0f64), |(sum, most), e| (sum + e, most.max(e)));
        (sum / late.len() as f64, most)
    };
    (0..motors).map(one).collect()
}
