//! The arm as it truly is: drawn within what the robot's file and the prior allow, or as far beyond it as asked.

use std::f64::consts::TAU;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;
use surelift::horizon::Task;
use surelift::inertia::pseudo::check_physical;
use surelift::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use surelift::robot::{Arm, EncoderSide, Primitive, Spring, TimingBounds};

use crate::setup::{
    FrameSetup, HeldSetup, JointSetup, ObstacleSetup, PROTOCOL, Setup, SpringSetup, TimingSetup,
};

/// Draws until a body that can exist is given up for another way to draw one.
const DRAWS: usize = 4000;
/// Pieces that a held object is made of.
const PIECES: usize = 8;
/// Share of a bound that is drawn at most: the rest is for rounding.
const WITHIN: f64 = 1.0 - 1e-9;

/// One of the effects that a robot's file bounds, to go beyond its bound alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Inertial parameters of all links.
    Links,
    /// Coulomb and viscous friction, offset.
    Friction,
    /// Transmission inertia.
    Armature,
    /// Error of the applied torque.
    DriveError,
    /// Torque that nobody accounts for.
    Unmodelled,
    /// Encoders: position.
    Position,
    /// Encoders: velocity.
    Velocity,
    /// Torque sensors.
    TorqueSensor,
    /// The lean of the base.
    Tilt,
    /// What static friction has above Coulomb friction.
    Breakaway,
    /// The mass of what is held, above the heaviest that the prior allows.
    Payload,
    /// Age of the readings.
    ReadingAge,
    /// Time until a command acts.
    CommandDelay,
    /// How unevenly ticks come.
    Jitter,
    /// How slowly drives follow.
    DriveLag,
    /// Age of the readings of loops inside the motors.
    MotorLoopAge,
    /// All of them but the payload.
    All,
}

impl Effect {
    /// Its bound among those on times, by its name in a robot's file.
    fn of_timing(self, timing: &TimingBounds) -> Option<(&'static str, f64)> {
        match self {
            Self::ReadingAge => Some(("reading_age_max_s", timing.reading_age_max_s)),
            Self::CommandDelay => Some(("command_delay_max_s", timing.command_delay_max_s)),
            Self::Jitter => Some(("jitter_max_s", timing.jitter_max_s)),
            Self::DriveLag => Some(("drive_lag_max_s", timing.drive_lag_max_s)),
            Self::MotorLoopAge => Some(("motor_loop_age_max_s", timing.motor_loop_age_max_s)),
            _ => None,
        }
    }
}

/// What is drawn, and how far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Seed of everything.
    pub seed: u64,
    /// The effect that goes beyond its bound, and how many times that is.
    pub beyond: Option<(Effect, f64)>,
    /// How far beside the hand's axis the centre of what is held is, m: least and most.
    pub off_axis_m: Option<[f64; 2]>,
    /// Springs in the joints.
    pub springs: Option<SpringSetup>,
}

impl Draw {
    /// How many times its bound an effect may be.
    fn times(&self, effect: Effect) -> f64 {
        let is = |other| other == effect || (other == Effect::All && effect != Effect::Payload);
        self.beyond.filter(|&(other, _)| is(other)).map_or(1.0, |(_, times)| times)
    }

    /// What cannot be passed, and why.
    fn fault(&self, robot: &Arm) -> Option<String> {
        let (effect, times) = self.beyond?;
        let (file, timing) = (&robot.name, robot.timing());
        if let Some((name, _)) = effect.of_timing(&timing).filter(|(_, bound)| *bound == 0.0) {
            return Some(format!(
                "beyond: `{name}` is 0 in the file of robot `{file}`, expected a bound to pass"
            ));
        }
        let (jitter_s, period_s) = (self.times(Effect::Jitter) * timing.jitter_max_s, robot.gains().period_s);
        (jitter_s >= period_s).then(|| {
            format!(
                "times: {times} times `jitter_max_s` of robot `{file}` is {jitter_s} s, expected less than its period of {period_s} s"
            )
        })
    }

    /// Whether errors are at the ends of their bounds: in every other seed, and wherever a bound is passed.
    fn at_ends(&self) -> bool {
        self.beyond.is_some() || self.seed % 2 == 1
    }
}

/// The truth about an arm, and how MuJoCo is to make it.
#[derive(Debug, Clone)]
pub struct Truth {
    /// All parameters, in the layout of the library's sets.
    pub theta: Vec<f64>,
    /// For the peer.
    pub setup: Setup,
}

/// Draws an arm for a task.
///
/// # Errors
/// Where the prior is no set, or holds no body that can be found; and where a time is to pass a bound that the robot's file does not have.
pub fn draw(task: &Task, urdf: &str, steps: usize, draw: &Draw) -> Result<Truth, String> {
    let (robot, n) = (&task.robot, task.robot.dof());
    if let Some(reason) = draw.fault(robot) {
        return Err(reason);
    }
    let stiffness = |j: usize| robot.drive(j).spring.map(|spring| spring.stiffness_nm_rad);
    if (1..n).any(|j| stiffness(j) != stiffness(0)) {
        return Err(
            "drives.spring: stiffnesses that differ, expected the same in all joints: this plant has one"
                .to_owned(),
        );
    }
    let mut rng = ChaCha8Rng::seed_from_u64(draw.seed);
    let mut theta = robot.nominal_parameters();
    for j in 0..n {
        let body = link(robot, j, draw, &mut rng);
        theta[robot.body_range(j)].copy_from_slice(&body);
        let first = robot.friction_index(j);
        for part in [COULOMB, VISCOUS, ARMATURE, OFFSET] {
            let times = draw.times(if part == ARMATURE { Effect::Armature } else { Effect::Friction });
            let nominal = theta[first + part];
            let radius = robot.uncertainty().of_joint(part, nominal);
            theta[first + part] = nominal + times * radius * share(draw, &mut rng);
        }
    }
    if task.held.is_some() {
        let body = last_body(task, draw, &mut rng)?;
        theta[robot.body_range(robot.end_effector())].copy_from_slice(&body);
    }
    let setup = setup(task, (urdf, steps), &theta, draw, &mut rng);
    Ok(Truth { theta, setup })
}

/// Share of a bound.
fn share(draw: &Draw, rng: &mut ChaCha8Rng) -> f64 {
    let share = rng.random_range(-1.0..=1.0_f64);
    WITHIN * if draw.at_ends() { share.signum() } else { share }
}

/// A link that can exist: at a corner of its box or anywhere in it; else one that is heavier or lighter by the ratio, all of it.
fn link(robot: &Arm, j: usize, draw: &Draw, rng: &mut ChaCha8Rng) -> [f64; INERTIAL] {
    let (nominal, times) = (robot.joints[j].inertia, draw.times(Effect::Links));
    let radius: [f64; INERTIAL] = std::array::from_fn(|p| times * robot.uncertainty().of_link(p, nominal[p]));
    for _ in 0..DRAWS {
        let body: [f64; INERTIAL] = std::array::from_fn(|p| nominal[p] + radius[p] * share(draw, rng));
        if check_physical(&body).is_ok() {
            return body;
        }
    }
    let factor = 1.0 + times * robot.uncertainty().link_ratio * share(draw, rng);
    nominal.map(|x| factor * x)
}

/// The hand with what it holds, within the prior, or heavier than that allows.
fn last_body(task: &Task, draw: &Draw, rng: &mut ChaCha8Rng) -> Result<[f64; INERTIAL], String> {
    let (robot, prior) = (&task.robot, task.prior_set().map_err(|fault| fault.to_string())?);
    let (hand, times) = (robot.end_effector(), draw.times(Effect::Payload));
    let most = prior.body(hand).mass().upper;
    for _ in 0..DRAWS {
        let empty = link(robot, hand, &Draw { beyond: None, ..*draw }, rng);
        let mass = (most - empty[0]) * if times > 1.0 { times } else { rng.random_range(0.02..=0.999) };
        let body = sum(&empty, &object(robot, mass, draw.off_axis_m, rng));
        if check_physical(&body).is_ok() && (times > 1.0 || possible(robot, &prior, &body)) {
            return Ok(body);
        }
    }
    // A prior that is narrower than what is known of the hand.
    let ranges = prior.body(hand);
    for _ in 0..100 * DRAWS {
        let body = std::array::from_fn(|p| rng.random_range(ranges.lower()[p]..=ranges.upper()[p]));
        if check_physical(&body).is_ok() && possible(robot, &prior, &body) {
            return Ok(body);
        }
    }
    Err(format!("no body of the prior of `{}` can exist", task.name))
}

/// Whether the prior allows the body, its core included.
fn possible(robot: &Arm, prior: &ParameterSet, body: &[f64; INERTIAL]) -> bool {
    let mut theta = prior.center();
    theta[robot.body_range(robot.end_effector())].copy_from_slice(body);
    prior.contains(&theta)
}

/// Points of mass within what is declared of the held object's shape, or in a ball beside the hand's axis.
fn object(robot: &Arm, mass: f64, off_axis_m: Option<[f64; 2]>, rng: &mut ChaCha8Rng) -> [f64; INERTIAL] {
    let held = held(robot);
    let shares: Vec<f64> = (0..PIECES).map(|_| rng.random_range(0.05..1.0)).collect();
    let total: f64 = shares.iter().sum();
    let aside = off_axis_m.map(|[least, most]| (rng.random_range(least..=most), rng.random_range(0.0..TAU)));
    let mut body = [0.0; INERTIAL];
    for share in shares {
        let capsule = held.get(rng.random_range(0..held.len().max(1)));
        let (a, b, radius) = capsule.map_or(([0.0; 3], [0.0; 3], 0.03), |c| (c.a, c.b, c.radius));
        let along = rng.random_range(0.0..=1.0);
        let mut point: [f64; 3] = std::array::from_fn(|k| a[k] + along * (b[k] - a[k]));
        if let Some((distance, angle)) = aside {
            point[0] = distance * angle.cos();
            point[1] = distance * angle.sin();
        }
        let within = in_ball(rng);
        let point: [f64; 3] = std::array::from_fn(|k| point[k] + radius * within[k]);
        body = sum(&body, &of_point(mass * share / total, point));
    }
    body
}

/// A point of the unit ball.
fn in_ball(rng: &mut ChaCha8Rng) -> [f64; 3] {
    loop {
        let point: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..=1.0));
        if point.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
            return point;
        }
    }
}

/// Parameters of a point of mass.
fn of_point(m: f64, [x, y, z]: [f64; 3]) -> [f64; INERTIAL] {
    let inertia = [y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y];
    std::array::from_fn(|p| match p {
        0 => m,
        1..=3 => m * [x, y, z][p - 1],
        _ => m * inertia[p - 4],
    })
}

fn sum(a: &[f64; INERTIAL], b: &[f64; INERTIAL]) -> [f64; INERTIAL] {
    std::array::from_fn(|p| a[p] + b[p])
}

/// Capsules of what is held.
fn held(robot: &Arm) -> Vec<HeldSetup> {
    let held = robot.parts().iter().filter(|part| part.link == "payload");
    let capsule = held.filter_map(|part| {
        let (radius, length) = match part.collision.primitive {
            Primitive::Capsule { radius, length } => (radius, length),
            Primitive::Sphere { radius } => (radius, 0.0),
            _ => return None,
        };
        let end = |sign: f64| part.collision.placement.point(&[0.0, 0.0, sign * 0.5 * length].into()).into();
        Some(HeldSetup { joint: part.joint?, a: end(-1.0), b: end(1.0), radius })
    });
    capsule.collect()
}

fn setup(
    task: &Task,
    (urdf, steps): (&str, usize),
    theta: &[f64],
    draw: &Draw,
    rng: &mut ChaCha8Rng,
) -> Setup {
    // A part of what the bounds allow is what springs do; the rest errs.
    let (robot, sensors) = (&task.robot, task.robot.encoders());
    let most = robot.uncertainty().gravity_direction_deg;
    let lean = if draw.at_ends() { WITHIN } else { WITHIN * rng.random::<f64>().sqrt() };
    let angle = (lean * draw.times(Effect::Tilt) * most).to_radians();
    let gravity = robot.tilted(angle, rng.random_range(0.0..TAU)).gravity.into();
    let obstacle = |obstacle: &surelift::robot::Zonotope3| ObstacleSetup {
        name: obstacle.name.clone(),
        center: obstacle.center.into(),
        generators: obstacle.generators.iter().map(|g| (*g).into()).collect(),
    };
    Setup {
        protocol: PROTOCOL,
        urdf: urdf.to_owned(),
        period_s: robot.gains().period_s,
        steps,
        gravity,
        start: task.start.clone(),
        joints: joints(robot, theta, draw, rng),
        obstacles: task.scene.obstacles.iter().map(obstacle).collect(),
        held: held(robot),
        stiction_speed_rad_s: robot.stiction_speed_of_transmissions(),
        position_rad: WITHIN * draw.times(Effect::Position) * sensors.position_rad,
        velocity_rad_s: WITHIN * draw.times(Effect::Velocity) * sensors.velocity_rad_s,
        torque_ratio: WITHIN * draw.times(Effect::TorqueSensor) * sensors.torque_ratio,
        torque_abs_nm: (0..robot.dof())
            .map(|j| WITHIN * draw.times(Effect::TorqueSensor) * sensors.torque(j).abs_nm)
            .collect(),
        timing: TimingSetup::scaled(
            robot.timing(),
            [
                Effect::ReadingAge,
                Effect::CommandDelay,
                Effect::Jitter,
                Effect::DriveLag,
                Effect::MotorLoopAge,
            ]
            .map(|effect| WITHIN * draw.times(effect)),
        ),
        springs: draw.springs.or(robot.drive(0).spring.map(|spring| drawn_spring(&spring, draw))),
        at_ends: draw.at_ends(),
        seed: draw.seed,
    }
}

/// As soft as stated where errors are at their ends, up to 1.75 times as stiff elsewhere; the same in all joints.
fn drawn_spring(stated: &Spring, draw: &Draw) -> SpringSetup {
    let stiffer = if draw.at_ends() { 1.0 } else { 1.0 + (draw.seed % 8) as f64 / 8.0 };
    SpringSetup { stiffness_nm_rad: stiffer * stated.stiffness_nm_rad, encoders: EncoderSide::Motor }
}

fn joints(robot: &Arm, theta: &[f64], draw: &Draw, rng: &mut ChaCha8Rng) -> Vec<JointSetup> {
    let frames = robot.frames(&vec![0.0; robot.dof()]);
    let above = draw.times(Effect::Breakaway) * (robot.uncertainty().breakaway_ratio - 1.0);
    let joint = |j: usize| {
        let (own, drive) = (robot.joint_parameters(theta, j), robot.drive(j));
        let breakaway = 1.0 + WITHIN * above * if draw.at_ends() { 1.0 } else { rng.random::<f64>() };
        let (applied, unmodelled) = (draw.times(Effect::DriveError), draw.times(Effect::Unmodelled));
        JointSetup {
            name: robot.joints[j].name.clone(),
            frame: FrameSetup::from(&frames[j]),
            nominal: robot.joints[j].inertia.to_vec(),
            body: theta[robot.body_range(j)].to_vec(),
            coulomb: own.coulomb,
            viscous: own.viscous,
            armature: own.armature,
            offset: own.offset,
            breakaway,
            stuck: breakaway * share(draw, rng),
            drive_error_nm: WITHIN * applied * drive.error_nm,
            drive_error_ratio: WITHIN * applied * drive.error_ratio,
            unmodelled_nm: WITHIN * unmodelled * drive.unmodelled_besides_springs_nm(),
            torque_limit_nm: robot.joints[j].limits.torque,
        }
    };
    (0..robot.dof()).map(joint).collect()
}
