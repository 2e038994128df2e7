//! Where a legged robot should be: a reference for the base, feet that stand, step or jump, and joints that swing.
//!
//! For those who simulate recordings. The reference is a function of time; legs follow by inverse kinematics, so that base,
//! feet and joints agree.

use nalgebra::{DMatrix, DVector, Rotation3, UnitQuaternion, Vector3};

use crate::dynamics::{Axes, Workspace};
use crate::robot::configuration::integrate;
use crate::robot::{LoopKind, Model, Placement};
use crate::simulate::Sway;

/// Newton steps of the inverse kinematics, and the error (m, rad) that counts as none.
const STEPS: usize = 40;
const REACHED: f64 = 1e-11;

/// A foot that stands and steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Foot {
    /// Index of its frame among the robot's named ones.
    pub frame: usize,
    /// Whether its orientation is kept too.
    pub kind: LoopKind,
    /// Times at which it is in the air, s, in order.
    pub lifted: Vec<[f64; 2]>,
    /// What every step adds to its place, m.
    pub step: Vector3<f64>,
    /// Height of a step, m.
    pub height: f64,
}

/// A frame that goes round a circle through its place at the start, which stays where it is: a hand, say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    /// Index of its frame among the robot's named ones.
    pub frame: usize,
    /// Radius, m.
    pub radius: f64,
    /// Rounds a second, Hz.
    pub frequency_hz: f64,
    /// Axis of the world (0, 1, 2 for x, y, z) that the circle's plane is normal to.
    pub normal: usize,
}

/// A jump of the base, upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jump {
    /// Beginning of the crouch, s.
    pub at: f64,
    /// Depth of the crouch, m; it takes `lasts` to go down and `lasts` to come up to speed.
    pub crouch: f64,
    /// See `crouch`, s.
    pub lasts: f64,
    /// Time in the air, s.
    pub flight: f64,
}

/// What the robot should do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Posture {
    /// Amplitude, frequency (Hz) and phase of the base's sway along x, y, z (m) and about them (rad).
    pub sway: [[f64; 3]; 6],
    /// Speed of the base, m/s, between the first and the last step.
    pub speed: Vector3<f64>,
    /// When it moves, s.
    pub moving: [f64; 2],
    /// A jump, if there is one.
    pub jump: Option<Jump>,
    /// The feet.
    pub feet: Vec<Foot>,
    /// Frames that go round circles; the joints between them and the base follow.
    pub circles: Vec<Circle>,
    /// Amplitude and frequency (Hz) of each degree of freedom around the start, for joints that are no leg's.
    pub joints: Vec<[f64; 2]>,
    /// A series that the base and joints that are no leg's follow, instead of sway and swing. Its configuration without legs is the reference's.
    pub series: Option<Sway>,
    /// Bandwidth of the law that follows the reference, rad/s.
    pub bandwidth: f64,
    /// What 1 N m costs the law against what 1 N m brings about in the mean over the motors, as an acceleration. It chooses among torques that all hold the same
    /// motion. Where some joints are light it must be small: heavy directions then bring about little in comparison, and would not be held.
    pub effort: f64,
}

/// Time over which sway and swing grow, s: a start at full swing would ask for a jump of the torques.
const RAMP: f64 = 0.5;

/// Speed at which a foot goes on down behind the planned end of its step until it meets the ground, m/s.
const SEARCH: f64 = 0.1;

/// Within this time of a configuration legs are sought from where they were in it, s.
const NEAR_S: f64 = 0.05;

/// 6 x^5 - 15 x^4 + 10 x^3 between 0 and 1.
fn blend(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * x * (10.0 + x * (6.0 * x - 15.0))
}

/// The polynomial of fifth degree from (place, speed, acceleration) to another in time `t_end`, at `t`.
fn quintic(from: [f64; 3], to: [f64; 3], t_end: f64, t: f64) -> f64 {
    let x = t / t_end;
    let ([p0, v0, a0], [p1, v1, a1]) = (from, to);
    let (v0, v1, a0, a1) = (v0 * t_end, v1 * t_end, a0 * t_end * t_end, a1 * t_end * t_end);
    let d = p1 - p0;
    let c3 = 10.0 * d - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1;
    let c4 = -15.0 * d + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1;
    let c5 = 6.0 * d - 3.0 * (v0 + v1) - 0.5 * (a0 - a1);
    p0 + x * (v0 + x * (0.5 * a0 + x * (c3 + x * (c4 + x * c5))))
}

impl Circle {
    /// How far the frame is from its start at `t` s.
    fn shift(&self, t: f64) -> Vector3<f64> {
        let (sine, cosine) = (std::f64::consts::TAU * self.frequency_hz * t).sin_cos();
        let mut shift = Vector3::zeros();
        shift[(self.normal + 1) % 3] = cosine - 1.0;
        shift[(self.normal + 2) % 3] = sine;
        shift * (self.radius * blend(t / RAMP))
    }
}

impl Jump {
    /// Height of the base over its stand at `t`.
    fn height(&self, gravity: f64, t: f64) -> f64 {
        let speed = 0.5 * gravity * self.flight;
        let (down, still, up, away) =
            ([-self.crouch, 0.0, 0.0], [0.0; 3], [0.0, speed, -gravity], [0.0, -speed, -gravity]);
        let t = t - self.at;
        let landed = 2.0 * self.lasts + self.flight;
        match t {
            t if t <= 0.0 => 0.0,
            t if t < self.lasts => quintic(still, down, self.lasts, t),
            t if t < 2.0 * self.lasts => quintic(down, up, self.lasts, t - self.lasts),
            t if t < landed => {
                let t = t - 2.0 * self.lasts;
                speed * t - 0.5 * gravity * t * t
            }
            t if t < landed + self.lasts => quintic(away, down, self.lasts, t - landed),
            t if t < landed + 2.0 * self.lasts => quintic(down, still, self.lasts, t - landed - self.lasts),
            _ => 0.0,
        }
    }

    /// The time in the air.
    pub fn in_the_air(&self) -> [f64; 2] {
        let from = self.at + 2.0 * self.lasts;
        [from, from + self.flight]
    }
}

/// Rows of a contact's force that the law keeps small along a series, beside torques, with the weight of 1 N (N m) against 1 N m: forces along the ground, by which a foot slips,
/// and moments, by which a sole tips or turns. Many torques make the same motion of a robot on its feet; those of least square press the feet apart.
pub(crate) fn ground_rows(kind: LoopKind) -> &'static [(usize, f64)] {
    const ALONG: f64 = 3.0;
    // By a lever of 5 cm.
    const TIPS: f64 = 20.0 * ALONG;
    match kind {
        LoopKind::Point => &[(0, ALONG), (1, ALONG)],
        LoopKind::Rigid => &[(0, ALONG), (1, ALONG), (3, TIPS), (4, TIPS), (5, TIPS)],
    }
}

/// Numbers of a frame's place that inverse kinematics bring about.
fn rows(kind: LoopKind) -> usize {
    if kind == LoopKind::Rigid { 6 } else { 3 }
}

/// Degrees of freedom between `joint`, on which a foot is, and the base, from the foot on.
pub(crate) fn leg(robot: &Model, joint: Option<usize>) -> Vec<usize> {
    let actuated = |joint: Option<usize>| joint.filter(|&i| i >= robot.first_actuated());
    let up = std::iter::successors(actuated(joint), |&i| actuated(robot.joints[i].parent));
    up.map(|i| robot.v_index(i)).collect()
}

/// A frame that inverse kinematics place.
#[derive(Debug)]
struct Limb {
    frame: usize,
    kind: LoopKind,
    /// Where it is at the start.
    stands: Placement,
    /// Degrees of freedom between it and the base.
    joints: Vec<usize>,
}

/// The reference of one robot.
#[derive(Debug)]
pub struct PostureReference {
    posture: Posture,
    start: Vec<f64>,
    /// Feet, then frames on circles.
    limbs: Vec<Limb>,
    /// Where each foot came down so far, one place a step; nothing where feet come down as planned.
    touched: Option<Vec<Vec<Placement>>>,
    /// When a series was asked for last, and the configuration then: legs may be far from where they start, and are sought from there on.
    last: Option<(f64, Vec<f64>)>,
    workspace: Workspace,
    jacobian: Vec<f64>,
}

impl PostureReference {
    /// A reference that begins in configuration `start` (length nq).
    ///
    /// # Errors
    /// In words, the foot or hand that hangs on too few joints to be placed.
    pub fn new(robot: &Model, posture: Posture, start: &[f64]) -> Result<Self, String> {
        let mut workspace = Workspace::new(robot);
        workspace.place(robot, start);
        let feet = posture.feet.iter().map(|f| (f.frame, f.kind));
        let placed: Vec<_> = feet.chain(posture.circles.iter().map(|c| (c.frame, LoopKind::Point))).collect();
        let chains: Vec<_> = placed.iter().map(|(f, _)| leg(robot, robot.named_frames[*f].joint)).collect();
        let mut limbs = Vec::new();
        for (&(index, kind), chain) in placed.iter().zip(&chains) {
            // A joint that moves two of them, as one of the torso does both hands, places neither.
            let shared = |j: &usize| chains.iter().filter(|other| other.contains(j)).count() > 1;
            let joints: Vec<usize> = chain.iter().copied().filter(|j| !shared(j)).collect();
            let (frame, rows) = (&robot.named_frames[index], rows(kind));
            if joints.len() < rows {
                return Err(format!(
                    "`{}` hangs on {} joints of its own, expected {rows}",
                    frame.name,
                    joints.len()
                ));
            }
            limbs.push(Limb { frame: index, kind, stands: workspace.frame_placement(frame), joints });
        }
        let jacobian = vec![0.0; 6 * robot.nv()];
        Ok(Self { posture, start: start.to_vec(), limbs, touched: None, last: None, workspace, jacobian })
    }

    /// Whether a series is followed.
    pub fn follows_series(&self) -> bool {
        self.posture.series.is_some()
    }

    /// Bandwidth of the law.
    pub fn bandwidth(&self) -> f64 {
        self.posture.bandwidth
    }

    /// From now on feet stand where they come down ([`PostureReference::touch`]), and go on down until they do.
    pub(crate) fn feel_the_ground(&mut self) {
        self.touched = Some(vec![vec![]; self.posture.feet.len()]);
    }

    /// Foot `f` has come down at `place`, and stands there until its next step.
    pub(crate) fn touch(&mut self, f: usize, place: Placement) {
        if let Some(touched) = &mut self.touched {
            touched[f].push(place);
        }
    }

    /// Where foot `f` should be at `t` if it came down at `touched` so far: each step begins there and ends on the floor that the first stand is on.
    fn foot_on_ground(&self, touched: &[Placement], f: usize, t: f64) -> Placement {
        let (foot, mut place) = (&self.posture.feet[f], self.limbs[f].stands);
        let floor = place.translation.z;
        for (i, [from, to]) in foot.lifted.iter().enumerate().filter(|(_, [from, _])| t >= *from) {
            if let Some(stands) = touched.get(i) {
                place = *stands;
                continue;
            }
            let x = (t - from) / (to - from);
            let mut step = foot.step;
            step.z = floor + (i + 1) as f64 * foot.step.z - place.translation.z;
            place.translation += step * blend(x);
            place.translation.z += foot.height * blend(2.0 * x.min(1.0 - x)) - SEARCH * (t - to).max(0.0);
        }
        place
    }

    /// Where foot `f` should be at `t`.
    fn foot(&self, gravity: f64, f: usize, t: f64) -> Placement {
        if let Some(touched) = &self.touched {
            return self.foot_on_ground(&touched[f], f, t);
        }
        let (foot, mut place) = (&self.posture.feet[f], self.limbs[f].stands);
        for [from, to] in &foot.lifted {
            let x = (t - from) / (to - from);
            place.translation += foot.step * blend(x);
            if (0.0..1.0).contains(&x) {
                place.translation.z += foot.height * blend(2.0 * x.min(1.0 - x));
            }
        }
        if let Some(jump) = self.posture.jump {
            let [from, to] = jump.in_the_air();
            if (from..to).contains(&t) {
                place.translation.z += jump.height(gravity, t);
            }
        }
        place
    }

    /// The configuration at `t` (s), with legs that reach where the feet should be, into `q` (length nq).
    ///
    /// # Errors
    /// In words, the foot that its leg does not reach, and when.
    pub fn at(&mut self, robot: &Model, t: f64, q: &mut [f64]) -> Result<(), String> {
        self.upper(robot, t, q);
        let apart = robot.nq() - robot.nv();
        if let Some((_, last)) = self.last.as_ref().filter(|(at, _)| (t - at).abs() < NEAR_S) {
            self.limbs.iter().flat_map(|limb| &limb.joints).for_each(|&k| q[k + apart] = last[k + apart]);
        }
        let gravity = robot.gravity.norm();
        (0..self.limbs.len()).try_for_each(|limb| self.reach(robot, gravity, limb, t, q))?;
        if self.posture.series.is_some() {
            let (at, last) = self.last.get_or_insert_with(|| (t, q.to_vec()));
            *at = t;
            last.copy_from_slice(q);
        }
        Ok(())
    }

    /// Base and joints that carry nothing at `t` (s), into `q` (length nq); legs are as at the start.
    pub(crate) fn upper(&self, robot: &Model, t: f64, q: &mut [f64]) {
        if let Some(series) = &self.posture.series {
            q.copy_from_slice(&series.at(robot, t).q);
            return;
        }
        let p = &self.posture;
        let ramp = blend(t / RAMP);
        let gravity = robot.gravity.norm();
        let mut shift = vec![0.0; robot.nv()];
        for (j, [amplitude, frequency]) in p.joints.iter().enumerate() {
            shift[j] = ramp * amplitude * (std::f64::consts::TAU * frequency * t).sin();
        }
        integrate(robot, &self.start, &shift, q);
        if robot.has_free_flyer() {
            let sway = p.sway.map(|[a, f, phase]| ramp * a * (std::f64::consts::TAU * f * t + phase).sin());
            let moved = p.speed * (t.clamp(p.moving[0], p.moving[1]) - p.moving[0]);
            let up = p.jump.map_or(0.0, |j| j.height(gravity, t));
            for k in 0..3 {
                q[k] = self.start[k] + sway[k] + moved[k];
            }
            q[2] += up;
            let start = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(
                self.start[6],
                self.start[3],
                self.start[4],
                self.start[5],
            ));
            let turn = start * Rotation3::from_scaled_axis(Vector3::new(sway[3], sway[4], sway[5]));
            q[3..7].copy_from_slice(turn.coords.as_slice());
        }
    }

    /// What torques cost the law.
    pub fn effort(&self) -> f64 {
        self.posture.effort
    }

    /// Where limb `i` should be at `t`.
    fn goal(&self, gravity: f64, i: usize, t: f64) -> Placement {
        let Some(circle) = i.checked_sub(self.posture.feet.len()) else { return self.foot(gravity, i, t) };
        let mut place = self.limbs[i].stands;
        place.translation += self.posture.circles[circle].shift(t);
        place
    }

    /// Newton's iteration on the joints of limb `i`.
    fn reach(&mut self, robot: &Model, gravity: f64, i: usize, t: f64, q: &mut [f64]) -> Result<(), String> {
        let goal = self.goal(gravity, i, t);
        let (n, limb) = (robot.nv(), &self.limbs[i]);
        let (frame, joints, rows) = (&robot.named_frames[limb.frame], &limb.joints, rows(limb.kind));
        let (mut step, mut to) = (vec![0.0; n], q.to_vec());
        for _ in 0..STEPS {
            self.workspace.place(robot, q);
            let now = self.workspace.frame_placement(frame);
            let turn = Rotation3::from_matrix_unchecked(goal.rotation * now.rotation.transpose());
            let turn = UnitQuaternion::from_rotation_matrix(&turn).scaled_axis();
            let apart = goal.translation - now.translation;
            let error = DVector::from_fn(rows, |r, _| if r < 3 { apart[r] } else { turn[r - 3] });
            if error.amax() < REACHED {
                return Ok(());
            }
            self.workspace.frame_jacobian(robot, frame, Axes::WorldAligned, &mut self.jacobian);
            let j = DMatrix::from_fn(rows, joints.len(), |r, c| self.jacobian[n * r + joints[c]]);
            let Some(change) = j.svd(true, true).solve(&error, 1e-9).ok().filter(|c| c.amax() < 1e3) else {
                break;
            };
            step.fill(0.0);
            joints.iter().zip(change.iter()).for_each(|(&c, x)| step[c] = x.clamp(-0.5, 0.5));
            integrate(robot, q, &step, &mut to);
            q.copy_from_slice(&to);
        }
        Err(format!("`{}` cannot be where the reference wants it at {t} s", frame.name))
    }
}
