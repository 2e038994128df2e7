//! Simulates plans under a law with all that the robot's file says of drives, sensors and timing, and says whether the loop rings.
//!
//! The readings of a tick are of up to the latency before it, its commands act up to the delay after it, and ticks are a period apart, give or take the
//! jitter. Sensors, drives, friction and parameters are at or near the ends of their bounds.
//!
//! A loop *rings* if joints swing to and fro as [`crate::control::chatter`] counts it: commands by a quarter of the torque limit, speeds by a quarter
//! of the velocity limit, or the error r by its whole tube radius, which is half of what the tube is wide; six times within 0.2 s.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;

use crate::control::{ChatterWatch, Controller, Measured, RobustController};
use crate::dynamics::truth::{self, extreme};
use crate::inertia::ParameterSet;
use crate::plan::setup::Setup;
use crate::reach::Tube;
use crate::reach::momentum::CycleTiming;
use crate::robot::{Arm, Gains};
use crate::simulate::DriveLag;
use crate::trajectory::Bezier;

/// V / V_max beyond which a plan is not followed any further.
const GONE: f64 = 1e3;
/// Least distance of two ticks, in periods: ticks that jitter by more than a period still come one after the other.
const SHORTEST: f64 = 0.1;
/// Where drives lag, so many steps are taken in the largest time constant.
const STEPS_IN_A_LAG: f64 = 8.0;

/// What simulated plans used of their tubes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    /// Largest share of a joint's bound on r or e.
    pub tube_used: f64,
    /// Largest V / V_max.
    pub energy_used: f64,
    /// Plans simulated.
    pub plans: usize,
    /// The first plan under which the loop rings, if it does.
    pub rings: Option<Ringing>,
}

/// A joint that swings to and fro.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ringing {
    /// Its index.
    pub joint: usize,
    /// Plan, from 0.
    pub plan: usize,
    /// When, s on the plan.
    pub at_s: f64,
    /// Whether commands or speeds swing by a quarter of their limits; if not, the error r swings through half of the tube.
    pub coarse: bool,
}

impl Simulated {
    /// Why gains that do so are refused, if they are.
    pub fn refusal(&self, joints: &[crate::robot::Joint]) -> Option<String> {
        if let Some(Ringing { joint, plan, at_s, coarse }) = self.rings {
            let what =
                if coarse { "its command or speed swings" } else { "its error swings through the tube" };
            let name = &joints[joint].name;
            return Some(format!("'{name}' rings: {what} to and fro {at_s:.3} s into plan {}", plan + 1));
        }
        if self.plans == 0 {
            return Some("no plan could be simulated".to_owned());
        }
        // NaN is no tube either.
        let most = self.tube_used.max(self.energy_used);
        let within = self.tube_used <= 1.0 && self.energy_used <= 1.0;
        (!within).then(|| format!("the simulated arm leaves its tube: {:.0} % of it used", 100.0 * most))
    }
}

/// Simulates the plans in closed loop, each with other parameters at the edge of the set.
pub fn simulated(
    arm: &Setup,
    gains: Gains,
    curves: &[Bezier],
    (timing, seed): (&CycleTiming, u64),
) -> Simulated {
    let runs: Vec<Run> = curves
        .par_iter()
        .enumerate()
        .filter_map(|(plan, curve)| {
            let (tube, ..) = super::measure::one(arm, gains, curve, super::CELLS).ok()?;
            let robot = arm.robot.with_gains(gains).ok()?;
            let proven = ProvenPlan { robot, set: arm.set.clone(), tube, curve: curve.clone() };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(1 + plan as u64);
            Some(Follower::new(&proven, *timing, rng).run(plan))
        })
        .collect();
    let largest = |f: &dyn Fn(&Run) -> f64| runs.iter().map(f).fold(0.0f64, larger);
    Simulated {
        tube_used: largest(&|r| r.tube),
        energy_used: largest(&|r| r.energy),
        plans: runs.len(),
        rings: runs.iter().find_map(|r| r.rings),
    }
}

/// The larger of two numbers; what is no number is kept.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// What one plan used.
struct Run {
    tube: f64,
    energy: f64,
    rings: Option<Ringing>,
}

/// What happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// The sensors take what tick `0` reads.
    Reading(usize),
    /// The command of tick `0` begins to act.
    Command(usize),
}

/// A plan whose tube is proven, and what it was proven for.
struct ProvenPlan {
    robot: Arm,
    set: ParameterSet,
    tube: Tube,
    curve: Bezier,
}

/// A plan, the arm that follows it, and what its drives and sensors do.
struct Follower<'a> {
    case: &'a ProvenPlan,
    timing: CycleTiming,
    rng: ChaCha8Rng,
    theta: Vec<f64>,
    controller: RobustController,
    /// Times of the ticks, s.
    ticks: Vec<f64>,
    /// Commands by tick, N m.
    commands: Vec<Vec<f64>>,
    /// Share of each drive's error and unmodelled torque that stays; none: another at each command.
    drives: Vec<[Option<f64>; 2]>,
    /// How drives lag; none if they do not.
    lag: Option<DriveLag>,
}

impl<'a> Follower<'a> {
    fn new(case: &'a ProvenPlan, timing: CycleTiming, mut rng: ChaCha8Rng) -> Self {
        let theta = truth::consistent(&case.robot, &case.set, &mut rng);
        let controller = RobustController::new(Arc::new(case.robot.clone()), &case.set, &case.tube);
        let (mut ticks, mut t) = (Vec::new(), 0.0);
        while t < case.curve.duration_s {
            ticks.push(t);
            t += (timing.period_s + timing.jitter_s * extreme(&mut rng)).max(SHORTEST * timing.period_s);
        }
        let mut share = || rng.random_bool(0.5).then(|| extreme(&mut rng));
        let drives = (0..case.robot.dof()).map(|_| [share(), share()]).collect();
        let commands = vec![Vec::new(); ticks.len()];
        // The drives' own draws; there is no other way to copy a generator.
        let draws = ChaCha8Rng::deserialize_state(&rng.serialize_state());
        let lag = DriveLag::within(timing.drive_lag_s, case.robot.dof(), draws);
        Self { case, timing, rng, theta, controller, commands, ticks, drives, lag }
    }

    /// Readings and commands in the order of time. A drive that gets two commands obeys the younger one.
    fn events(&mut self) -> Vec<(f64, Event)> {
        let CycleTiming { latency_s, delay_s, .. } = self.timing;
        let mut events = Vec::with_capacity(2 * self.ticks.len());
        for (k, &t) in self.ticks.iter().enumerate() {
            let mut age = |bound: f64| 0.5 * bound * (1.0 + extreme(&mut self.rng));
            let (late, later) = (age(latency_s), age(delay_s));
            events.push(((t - late).max(0.0), Event::Reading(k)));
            events.push((t + later, Event::Command(k)));
        }
        // Stable: a command follows the reading that it comes from.
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        events
    }

    fn run(mut self, plan: usize) -> Run {
        let case = self.case;
        let (robot, tube, curve) = (&case.robot, &case.tube, &case.curve);
        let n = robot.dof();
        let mut desired = curve.state(0.0);
        let (mut q, mut dq, mut now) = (desired.q.clone(), desired.dq.clone(), 0.0);
        let radius: Vec<[f64; 2]> = (0..n).map(|j| [tube.e_radius(j), tube.r_radius(j)]).collect();
        let swings: Vec<f64> = radius.iter().map(|r| r[1]).collect();
        let mut fine = ChatterWatch::of_swings(&swings, &vec![f64::INFINITY; n], self.timing.period_s);
        let mut coarse = ChatterWatch::new(robot);
        let mut run = Run { tube: 0.0, energy: 0.0, rings: None };
        // Until a command acts, the arm is moved as desired by what acted before.
        let (mut acting, mut r) = (self.command(0, (&q, &dq)), vec![0.0; n]);
        let (mut applied, mut newest) = (self.applied(&acting), None);
        self.lag.iter_mut().for_each(|lag| lag.hold(&acting));
        for (at, event) in self.events() {
            let pushes: Vec<f64> = r.iter().map(|r: &f64| r.signum()).collect();
            if at > now {
                (q, dq) = self.moved((q, dq), (&acting, &applied), &pushes, at - now);
                now = at;
            }
            match event {
                Event::Reading(k) => self.commands[k] = self.command(k, (&q, &dq)),
                Event::Command(k) if newest.is_none_or(|newest| k > newest) => {
                    newest = Some(k);
                    acting.clone_from(&self.commands[k]);
                    applied = self.applied(&acting);
                    curve.evaluate(now.min(curve.duration_s), &mut desired);
                    for j in 0..n {
                        let e = desired.q[j] - q[j];
                        r[j] = desired.dq[j] - dq[j] + tube.gains.k_r * e;
                        run.tube = run.tube.max(e.abs() / radius[j][0]).max(r[j].abs() / radius[j][1]);
                    }
                    run.energy =
                        larger(run.energy, truth::energy(robot, &self.theta, &q, &r) / tube.gains.v_max);
                    let swinging = [coarse.tick(&acting, &dq), fine.tick(&r, &dq)];
                    if let Some(found) = swinging.iter().position(Option::is_some) {
                        let joint = swinging[found].unwrap_or_default();
                        run.rings = Some(Ringing { joint, plan, at_s: now, coarse: found == 0 });
                        return run;
                    }
                    // What has left so far does not come back.
                    if !(run.energy < GONE) {
                        return run;
                    }
                }
                Event::Command(_) => (),
            }
        }
        run
    }

    /// The law's torques at tick `k` for sensors that see the state so far off as they may be.
    fn command(&mut self, k: usize, (q, dq): (&[f64], &[f64])) -> Vec<f64> {
        let sensors = self.case.robot.sensors();
        let mut off = |x: &[f64], bound: f64| -> Vec<f64> {
            x.iter().map(|x| x + bound * extreme(&mut self.rng)).collect()
        };
        let (q, dq) = (off(q, sensors.position_rad), off(dq, sensors.velocity_rad_s));
        let t = self.ticks[k];
        let desired = self.case.curve.state(t);
        let mut tau = vec![0.0; q.len()];
        self.controller.tick(t, Measured { q: &q, dq: &dq }, &desired, &mut tau);
        tau
    }

    /// The state after so long (s) of one command, given with what drives make of it: at once, or as they lag.
    fn moved(
        &mut self,
        (mut q, mut dq): (Vec<f64>, Vec<f64>),
        (command, applied): (&[f64], &[f64]),
        pushes: &[f64],
        length_s: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let robot = &self.case.robot;
        let Some(lag) = &mut self.lag else {
            return truth::step(robot, &self.theta, (&q, &dq), applied, pushes, length_s);
        };
        let steps = (length_s * STEPS_IN_A_LAG / lag.bound_s()).ceil().max(1.0);
        lag.redraw();
        for _ in 0..steps as usize {
            let h = length_s / steps;
            let mut torque = |j: usize| lag.follow(j, command[j], h).mean + (applied[j] - command[j]);
            let acting: Vec<f64> = (0..command.len()).map(&mut torque).collect();
            (q, dq) = truth::step(robot, &self.theta, (&q, &dq), &acting, pushes, h);
        }
        (q, dq)
    }

    /// What the drives make of a command, with what acts besides.
    fn applied(&mut self, command: &[f64]) -> Vec<f64> {
        let mut applied = command.to_vec();
        for (j, tau) in applied.iter_mut().enumerate() {
            let drive = self.case.robot.drive(j);
            let mut share = |k: usize| self.drives[j][k].unwrap_or_else(|| extreme(&mut self.rng));
            *tau += (drive.error_nm + drive.error_ratio * tau.abs()) * share(0);
            *tau += drive.unmodelled_nm * share(1);
        }
        applied
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::reach::fixture;
    use crate::robot::DriveBounds;
    use crate::trajectory::JointState;

    const TIMING: CycleTiming =
        CycleTiming { period_s: 1e-3, latency_s: 2.5e-3, delay_s: 1.5e-3, jitter_s: 2e-4, drive_lag_s: 0.0 };

    /// A plan of half a radian in every joint, with drives that err by so much.
    fn case(drive: DriveBounds) -> ProvenPlan {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let n = robot.dof();
        let robot = robot.with_drives(vec![drive; n]).unwrap();
        let curve = Bezier::to_rest(&JointState::at_rest(&vec![0.1; n]), &vec![0.6; n], 3.0).unwrap();
        let (set, tube) = (ParameterSet::around_nominal(&robot), fixture::tube(&robot));
        ProvenPlan { robot, set, tube, curve }
    }

    #[test]
    fn readings_and_commands_reach_their_ages_and_no_more() {
        let case = case(DriveBounds::IDEAL);
        let mut follower = Follower::new(&case, TIMING, ChaCha8Rng::seed_from_u64(3));
        let ticks = follower.ticks.clone();
        let apart: Vec<f64> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(apart.iter().all(|x| (8e-4 - 1e-12..=1.2e-3 + 1e-12).contains(x)));
        assert!(apart.iter().any(|x| *x > 1.19e-3) && ticks.len() > 2900);
        let events = follower.events();
        assert!(events.is_sorted_by(|a, b| a.0 <= b.0) && events.len() == 2 * ticks.len());
        let (mut oldest, mut latest, mut read) = (0.0f64, 0.0f64, vec![false; ticks.len()]);
        for (at, event) in events {
            match event {
                Event::Reading(k) => {
                    assert!(at <= ticks[k]);
                    (oldest, read[k]) = (oldest.max(ticks[k] - at), true);
                }
                Event::Command(k) => {
                    assert!(read[k] && at >= ticks[k]);
                    latest = latest.max(at - ticks[k]);
                }
            }
        }
        let reached = |most: f64, bound: f64| (bound - 1e-9..=bound + 1e-9).contains(&most);
        assert!(reached(oldest, TIMING.latency_s) && reached(latest, TIMING.delay_s), "{oldest} {latest}");
    }

    #[test]
    fn drives_err_up_to_their_bounds_and_no_further() {
        let (drive, command) = (
            DriveBounds { error_nm: 0.5, error_ratio: 0.02, unmodelled_nm: 0.7, ..DriveBounds::IDEAL },
            -20.0,
        );
        let (case, ideal) = (case(drive), case(DriveBounds::IDEAL));
        let mut most = 0.0f64;
        for seed in 0..20 {
            let mut follower = Follower::new(&case, TIMING, ChaCha8Rng::seed_from_u64(seed));
            for applied in (0..50).flat_map(|_| follower.applied(&[command; 7])) {
                most = most.max((applied - command).abs());
            }
            let mut follower = Follower::new(&ideal, TIMING, ChaCha8Rng::seed_from_u64(seed));
            assert_eq!(follower.applied(&[command; 7]), [command; 7]);
        }
        assert!(most <= 0.5 + 0.4 + 0.7 + 1e-12 && most > 1.59, "{most}");
    }
}
