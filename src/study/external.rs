//! Torques from outside: times at which no parameters of the robot explain what its joints do.
//!
//! A push that nobody logged spoils every estimate, and breaks what a set rests on. It is looked for before either. Inverse dynamics
//! is linear in all links' inertias and all joints' friction, Y p = tau. Both sides are averaged over the same windows, so that noise of
//! accelerations averages out and nothing is biased by the average. All of p is fitted, nothing believed beforehand, with windows that do not fit
//! weighed down and, far out, left out ([`crate::regression::least_squares::huber_weights`]). What is then left over some length of time is
//! compared with what is usual for that joint: with the median size over the recording, and with half of the one around that time.
//!
//! This tells a push from noise. It does not tell a push from what the model lacks (a cable, a stop, a switched controller): each is a
//! reason to believe no estimate there. Whatever the measured torque contains is no push: a torque added by the drive itself shows only where
//! the log holds commands.

use nalgebra::{Cholesky, DMatrix, DVector};
use serde::Serialize;

use crate::dynamics::actuation::friction_columns;
use crate::dynamics::{Motion, rotor_column, torque_regressor};
use crate::inertia::{FRICTION, INERTIAL};
use crate::recording::Sample;
use crate::regression::filter::LocalPolynomial;
use crate::regression::inverse::rms;
use crate::regression::least_squares::{huber_weights, robust_deviation};
use crate::robot::Model;

/// Half of the filter that accelerations come from, s, and the fewest samples that it takes.
const SMOOTHING_S: f64 = 0.025;
const FEWEST: usize = 2;
/// Blocks that windows are made of, s.
const BLOCK_S: f64 = 0.025;
/// Windows of the fit, s.
const WINDOW_S: f64 = 0.2;
/// Lengths over which what is left is averaged, s.
const LENGTHS_S: [f64; 3] = [0.1, 0.2, 0.4];
/// What is usual around a time: within so many seconds, without so many around the window itself.
const AROUND_S: f64 = 1.0;
const APART_S: f64 = 0.15;
/// Share of it that counts against what is usual in the recording.
const LOCAL_SHARE: f64 = 0.5;
/// A mean beyond so many times what is usual is named. Undisturbed recordings of real pendulums stay below (`tests/pendulums.rs`).
const BEYOND: f64 = 6.5;
/// Windows farther than this from the fit have no say in it, in its robust deviations.
const FAR: f64 = 8.0;
/// Rounds of the fit, windows in it at most, and what keeps unseen directions at the robot's files.
const ROUNDS: usize = 12;
const MOST: usize = 2000;
const RIDGE: f64 = 1e-6;
/// Fewest windows that say what is usual.
const LEAST: usize = 30;
/// A smaller push, as a share of the joint's torque (root mean square), is not worth naming, however well the rest fits.
const SHARE: f64 = 0.1;
/// Nor is one below this share of the joint's dry friction F_c. Where a joint turns back, or a law compensates its friction, torque and acceleration step by
/// 2 F_c at once; the filter spreads the step of the acceleration, half of it to each side. And near a standstill friction is anything between its two signs.
const OF_FRICTION: f64 = 1.0;
/// Independent windows (of all joints) that each parameter needs which the motion shows: fewer are explained by the fit, pushes included, and
/// what is left of them is no measure of what is usual.
const ROWS_EACH: f64 = 2.0;

/// A torque that nothing explains.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExternalTorque {
    /// Place of the segment among those that were looked at.
    pub segment: usize,
    /// The joint.
    pub joint: String,
    /// Its unit: N m, or N of a slider.
    pub unit: &'static str,
    /// From when, s: the one rectangular push that explains most of what was noticed.
    pub from_s: f64,
    /// To when, s.
    pub to_s: f64,
    /// Its largest mean over two blocks (0.05 s), along the joint; the sign says which way it pushed.
    pub peak: f64,
    /// Its integral from then to then, N m s (N s).
    pub impulse: f64,
    /// All the times, s, at which what is left is more than usual: whoever learns should leave these out.
    pub touched_s: [f64; 2],
    /// How many times what is usual.
    pub beyond: f64,
}

impl ExternalTorque {
    /// In words.
    pub fn sentence(&self) -> String {
        let Self { joint, unit, from_s, to_s, peak, impulse, beyond, .. } = self;
        format!(
            "`{joint}`, {from_s:.2} s to {to_s:.2} s: {peak:+.2} {unit} ({impulse:+.2} {unit} s in all) that no parameters explain, {beyond:.0} times \
             what is usual; something pushed, or the model lacks something there"
        )
    }
}

/// Why torques from outside were not looked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotNoticed {
    /// The robot floats, or has loops.
    #[error(
        "torques from outside are not looked for: nobody measures the forces on a floating base or in a loop"
    )]
    Unmeasured,
    /// Too little data.
    #[error(
        "torques from outside are not looked for: {has_s:.1} s of motion are explained by {parameters:.0} parameters whatever happens; {needs_s:.1} s would tell"
    )]
    TooShort {
        /// Length of what was recorded, s.
        has_s: f64,
        /// Length that would do, s.
        needs_s: f64,
        /// Parameters that the motion shows.
        parameters: f64,
    },
}

/// Torques from outside in segments of a recording, in order of joints and times.
///
/// # Errors
/// [`NotNoticed`] where the robot floats or has loops, or where the segments are too short to tell what is usual.
pub fn external_torques(robot: &Model, segments: &[&[Sample]]) -> Result<Vec<ExternalTorque>, NotNoticed> {
    if robot.has_free_flyer() || !robot.loops.is_empty() || robot.nv() != robot.bodies() {
        return Err(NotNoticed::Unmeasured);
    }
    let chains: Vec<Vec<Block>> = segments.iter().map(|samples| blocks(robot, samples)).collect();
    let blocks = || chains.iter().flatten();
    let period = blocks().map(|b| b.seconds).reduce(f64::max).unwrap_or(BLOCK_S);
    let p = fit(robot, &chains, count_of(WINDOW_S, period))?;
    let signal = rms(&blocks().map(|block| block.tau.clone()).collect::<Vec<_>>(), robot.nv());
    let nominal = robot.nominal_parameters();
    let mut found = vec![];
    for joint in 0..robot.nv() {
        // Where a motion cannot tell friction from gravity the fit may make anything of it: no more is granted than the files say, twice over.
        let own = robot.joint_index(joint).coulomb;
        let dry = p[own].clamp(0.0, 2.0 * nominal[own]);
        let least = (SHARE * signal[joint]).max(OF_FRICTION * dry);
        let left: Vec<Vec<f64>> =
            chains.iter().map(|chain| chain.iter().map(|block| block.left(joint, &p)).collect()).collect();
        for (segment, marks) in marks(&left, period).into_iter().enumerate() {
            let chain = &chains[segment];
            let events = events(&marks, period).into_iter();
            found.extend(events.filter_map(|event| {
                let told = event.told(chain, &left[segment]);
                let torque = ExternalTorque {
                    segment,
                    joint: robot.joints[joint].name.clone(),
                    unit: if robot.joints[joint].kind.is_rotation() { "N m" } else { "N" },
                    ..told
                };
                (torque.peak.abs() > least).then_some(torque)
            }));
        }
    }
    Ok(found)
}

/// Means of regressor and torques over a short time.
struct Block {
    from_s: f64,
    seconds: f64,
    /// n x p, row-major.
    y: Vec<f64>,
    tau: Vec<f64>,
}

impl Block {
    /// The torque from outside that parameters `p` leave: what the motion needs beyond the measured torque.
    fn left(&self, joint: usize, p: &DVector<f64>) -> f64 {
        let row = &self.y[p.len() * joint..][..p.len()];
        row.iter().zip(p.iter()).map(|(y, p)| y * p).sum::<f64>() - self.tau[joint]
    }
}

/// How many blocks of `period` make up `seconds`.
fn count_of(seconds: f64, period: f64) -> usize {
    (seconds / period).round().max(1.0) as usize
}

/// A segment in blocks, means by the trapezoidal rule; none where it is shorter than the filter.
fn blocks(robot: &Model, samples: &[Sample]) -> Vec<Block> {
    let mut steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
    steps.sort_by(f64::total_cmp);
    let Some(&step) = steps.get(steps.len() / 2) else { return vec![] };
    let half = ((SMOOTHING_S / step).round() as usize).max(FEWEST);
    let times: Vec<f64> = samples.iter().map(|s| s.t).collect();
    if samples.len() <= 2 * half {
        return vec![];
    }
    let Ok(filter) = LocalPolynomial::new(&times, half, 2) else { return vec![] };
    let n = robot.nv();
    let smooth = |j: usize| {
        let signal: Vec<f64> = samples.iter().map(|s| s.dq[j]).collect();
        (filter.values(&signal), filter.derivatives(&signal))
    };
    let motion: Vec<(Vec<f64>, Vec<f64>)> = (0..n).map(smooth).collect();
    let (width, mut writer) = (robot.parameter_count(), Writer::new(robot));
    let each = count_of(BLOCK_S, step);
    let (mut before, mut now) = (vec![0.0; n * width], vec![0.0; n * width]);
    let at = |k: usize| -> (Vec<f64>, Vec<f64>) {
        (motion.iter().map(|m| m.0[k]).collect(), motion.iter().map(|m| m.1[k]).collect())
    };
    let (v, a) = at(0);
    writer.write(robot, (&samples[0].q, &v, &a), &mut before);
    let mut chain = Vec::with_capacity(samples.len() / each + 1);
    for first in (0..samples.len() - 1).step_by(each) {
        let last = first + each;
        if last >= samples.len() {
            break;
        }
        let seconds = samples[last].t - samples[first].t;
        let mut block =
            Block { from_s: samples[first].t, seconds, y: vec![0.0; n * width], tau: vec![0.0; n] };
        for k in first..last {
            let (v, a) = at(k + 1);
            writer.write(robot, (&samples[k + 1].q, &v, &a), &mut now);
            let share = 0.5 * (samples[k + 1].t - samples[k].t) / seconds;
            for (sum, (x, y)) in block.y.iter_mut().zip(before.iter().zip(&now)) {
                *sum += share * (x + y);
            }
            for j in 0..n {
                block.tau[j] += share * (samples[k].tau[j] + samples[k + 1].tau[j]);
            }
            std::mem::swap(&mut before, &mut now);
        }
        chain.push(block);
    }
    chain
}

/// Writes the regressor of all parameters of a robot.
struct Writer {
    motion: Motion<f64>,
    links: Vec<f64>,
}

impl Writer {
    fn new(robot: &Model) -> Self {
        let n = robot.nv();
        Self { motion: Motion::new(robot), links: vec![0.0; n * INERTIAL * robot.bodies()] }
    }

    fn write(&mut self, robot: &Model, (q, v, a): (&[f64], &[f64], &[f64]), y: &mut [f64]) {
        let (n, links, width) = (robot.nv(), INERTIAL * robot.bodies(), robot.parameter_count());
        self.motion.sweep_plain(robot, q, v, a);
        torque_regressor(robot, &self.motion, 0..robot.bodies(), &mut self.links);
        y.fill(0.0);
        for j in 0..n {
            let row = &mut y[width * j..width * (j + 1)];
            row[..links].copy_from_slice(&self.links[links * j..links * (j + 1)]);
            let own = &mut row[links + FRICTION * j..][..FRICTION];
            own.copy_from_slice(&friction_columns(robot, v[j], a[j]));
        }
        for j in 0..robot.bodies() {
            let column = robot.joint_index(j).armature;
            rotor_column(robot, &self.motion, j, (v, a), |row, x| y[width * row + column] += x);
        }
    }
}

/// The parameters that most windows agree on.
fn fit(robot: &Model, chains: &[Vec<Block>], length: usize) -> Result<DVector<f64>, NotNoticed> {
    let (n, width) = (robot.nv(), robot.parameter_count());
    let has_s: f64 = chains.iter().flatten().map(|block| block.seconds).sum();
    let too_short = |parameters: f64| {
        let needs_s =
            f64::max(ROWS_EACH * parameters / n as f64 * WINDOW_S, LEAST as f64 * BLOCK_S + WINDOW_S);
        NotNoticed::TooShort { has_s, needs_s, parameters }
    };
    let nominal = DVector::from_vec(robot.nominal_parameters());
    let starts: Vec<(usize, usize)> = (chains.iter().enumerate())
        .flat_map(|(c, chain)| (0..(chain.len() + 1).saturating_sub(length)).map(move |k| (c, k)))
        .collect();
    if starts.len() < LEAST {
        return Err(too_short(width as f64));
    }
    let every = starts.len().div_ceil(MOST);
    // Each window's rows and what is to be explained beyond the files' parameters, joint by joint.
    let mut rows = vec![DMatrix::<f64>::zeros(width, 0); n];
    let mut rest: Vec<DVector<f64>> = vec![];
    for (j, rows) in rows.iter_mut().enumerate() {
        let kept: Vec<_> = starts.iter().step_by(every).collect();
        *rows = DMatrix::zeros(width, kept.len());
        let mut b = DVector::zeros(kept.len());
        for (column, &&(c, k)) in kept.iter().enumerate() {
            for block in &chains[c][k..k + length] {
                let own = DVector::from_column_slice(&block.y[width * j..width * (j + 1)]);
                rows.column_mut(column).axpy(1.0 / length as f64, &own, 1.0);
                b[column] += block.tau[j] / length as f64;
            }
            b[column] -= rows.column(column).dot(&nominal);
        }
        rest.push(b);
    }
    let square: Vec<f64> =
        (0..width).map(|i| rows.iter().map(|r| r.row(i).norm_squared()).sum::<f64>()).collect();
    let scale = DVector::from_iterator(width, square.iter().map(|s| if *s > 0.0 { s.sqrt() } else { 1.0 }));
    // The files' parameters say first what is far: a push of many times the usual torque would else be fitted before it is noticed.
    let mut x = DVector::zeros(width);
    for _ in 0..ROUNDS {
        let weights: Vec<Vec<f64>> = (0..n).map(|j| weights(&(&rest[j] - rows[j].tr_mul(&x)))).collect();
        let normal = Normal::of(&rows, &rest, &weights, &scale).ok_or_else(|| too_short(width as f64))?;
        if has_s / WINDOW_S * (n as f64) < ROWS_EACH * normal.shown {
            return Err(too_short(normal.shown));
        }
        x = normal.x;
    }
    Ok(nominal + x)
}

/// What the windows of a joint count by what is left of them.
fn weights(left: &DVector<f64>) -> Vec<f64> {
    let left: Vec<f64> = left.iter().copied().collect();
    let usual = robust_deviation(&left).max(f64::MIN_POSITIVE.sqrt());
    let inside = |r: f64| if r.abs() < FAR * usual { 1.0 / (usual * usual) } else { 0.0 };
    huber_weights(&left).iter().zip(&left).map(|(w, r)| w * inside(*r)).collect()
}

/// Weighted least squares, columns scaled to unit length.
struct Normal {
    x: DVector<f64>,
    /// How many parameters the rows determine, against the ridge: the trace of (N + r I)^-1 N.
    shown: f64,
}

impl Normal {
    fn of(
        rows: &[DMatrix<f64>],
        rest: &[DVector<f64>],
        weights: &[Vec<f64>],
        scale: &DVector<f64>,
    ) -> Option<Self> {
        let width = scale.len();
        let (mut normal, mut right) = (DMatrix::zeros(width, width), DVector::zeros(width));
        for ((rows, b), weights) in rows.iter().zip(rest).zip(weights) {
            let mut weighted = rows.clone();
            for (mut column, w) in weighted.column_iter_mut().zip(weights) {
                column *= *w;
            }
            normal += &weighted * rows.transpose();
            right += &weighted * b;
        }
        for i in 0..width {
            right[i] /= scale[i];
            for k in 0..width {
                normal[(i, k)] /= scale[i] * scale[k];
            }
        }
        let ridge = RIDGE * normal.diagonal().max();
        for i in 0..width {
            normal[(i, i)] += ridge;
        }
        let factor = Cholesky::new(normal)?;
        let shown = width as f64 - ridge * factor.inverse().trace();
        Some(Self { x: factor.solve(&right).component_div(scale), shown })
    }
}

/// For each block, how far beyond what is usual the worst window around it lies, and half of that window's blocks.
type Marks = Vec<(f64, usize)>;

/// Marks of all segments.
fn marks(left: &[Vec<f64>], period: f64) -> Vec<Marks> {
    let mut marks: Vec<Marks> = left.iter().map(|of| vec![(0.0, 0); of.len()]).collect();
    for seconds in LENGTHS_S {
        let length = count_of(seconds, period);
        let mean = |of: &Vec<f64>| -> Vec<f64> {
            of.windows(length).map(|w| w.iter().sum::<f64>() / length as f64).collect()
        };
        let means: Vec<Vec<f64>> = left.iter().map(mean).collect();
        let everywhere = robust_deviation(means.iter().flatten());
        let (around, apart) = (count_of(AROUND_S, period), count_of(0.5 * seconds + APART_S, period));
        for (means, marks) in means.iter().zip(&mut marks) {
            for (k, mean) in means.iter().enumerate() {
                let before = k.saturating_sub(around)..k.saturating_sub(apart);
                let behind = (k + apart).min(means.len())..(k + around).min(means.len());
                let here = robust_deviation(means[before].iter().chain(&means[behind]));
                let deviation = everywhere.max(LOCAL_SHARE * here);
                let beyond = if deviation > 0.0 { mean.abs() / deviation } else { 0.0 };
                let middle = k + length / 2;
                if beyond > marks[middle].0 {
                    marks[middle] = (beyond, length / 2);
                }
            }
        }
    }
    marks
}

/// Blocks from the first to the last of an event.
struct Event {
    first: usize,
    last: usize,
    beyond: f64,
}

impl Event {
    /// What it was, by what is `left` of its segment; segment, joint and unit are for whoever knows them.
    ///
    /// Windows that only touch a push are marked as well, so an event is wider than the push in it. In white noise the most probable
    /// rectangular push has the largest sum over the root of its length.
    fn told(&self, chain: &[Block], left: &[f64]) -> ExternalTorque {
        let end = |k: usize| chain[k].from_s + chain[k].seconds;
        let (mut best, mut push) = (0.0, self.first..self.first + 1);
        for first in self.first..=self.last {
            let mut sum = 0.0;
            for last in first..=self.last {
                sum += left[last];
                let likely = f64::abs(sum) / ((last + 1 - first) as f64).sqrt();
                if likely > best {
                    (best, push) = (likely, first..last + 1);
                }
            }
        }
        let pairs = left[push.clone()].windows(2).map(|w| 0.5 * (w[0] + w[1]));
        let peak = pairs.reduce(|most, x| if x.abs() > most.abs() { x } else { most });
        ExternalTorque {
            segment: 0,
            joint: String::new(),
            unit: "",
            from_s: chain[push.start].from_s,
            to_s: end(push.end - 1),
            peak: peak.unwrap_or(left[push.start]),
            impulse: push.map(|k| left[k] * chain[k].seconds).sum(),
            touched_s: [chain[self.first].from_s, end(self.last)],
            beyond: self.beyond,
        }
    }
}

/// Runs of marked blocks, shorter pauses included, with the windows that they are the middle of.
fn events(marks: &Marks, period: f64) -> Vec<Event> {
    let pause = count_of(LENGTHS_S[0], period);
    let mut events: Vec<Event> = vec![];
    for (k, &(beyond, half)) in marks.iter().enumerate().filter(|(_, mark)| mark.0 > BEYOND) {
        let (first, last) = (k.saturating_sub(half.min(pause)), (k + half.min(pause)).min(marks.len() - 1));
        match events.last_mut().filter(|event| first <= event.last + pause) {
            Some(event) => {
                event.last = event.last.max(last);
                event.beyond = event.beyond.max(beyond);
            }
            None => events.push(Event { first, last, beyond }),
        }
    }
    events
}

#[cfg(test)]
mod tests;
