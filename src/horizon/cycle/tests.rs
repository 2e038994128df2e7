use super::*;
use crate::certify::{MomentumProblem, MomentumStart};
use crate::certify::{Partition, Problem, Start, certify};
use crate::plan::momentum_fit::fit_bounded;
use crate::plan::tube_fit;
use crate::reach::PreparedSet;
use crate::reach::momentum::MomentumGains;
use crate::robot::{Scene, TimingBounds};
use crate::trajectory::Bezier;

const START: [f64; 7] = [0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5];

/// An arm that stands where it is, whatever it is told. Its ticks come this much later than even ones would, s.
struct Stands {
    ticks: u64,
    off_rad: f64,
    late_s: fn(u64) -> f64,
}

impl Stands {
    fn new(off_rad: f64) -> Self {
        Self { ticks: 0, off_rad, late_s: |_| 0.0 }
    }
}

impl Hardware for Stands {
    fn time(&self) -> f64 {
        self.ticks as f64 * 1e-3 + (self.late_s)(self.ticks)
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.time();
        reading.q.copy_from_slice(&START);
        reading.q[3] += self.off_rad;
        reading.dq.fill(0.0);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        measured.copy_from_slice(tau);
        self.ticks += 1;
        true
    }

    fn hold(&mut self, _: &mut [f64]) -> bool {
        self.ticks += 1;
        true
    }
}

/// A plan that goes nowhere, and its set.
struct Fixture {
    robot: Arc<Arm>,
    set: Arc<PreparedSet>,
    plan: Plan,
}

impl Fixture {
    fn new() -> Self {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let curve = Bezier::to_rest(&JointState::at_rest(&START), &START, 1.0).unwrap();
        let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 8).unwrap();
        let scene = Scene::default();
        let problem = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
        let certificate = certify(&problem, &Start::Rest, Partition::default()).unwrap();
        let plan = Plan {
            schema: crate::plan::saved::SCHEMA,
            t_start_s: 0.0,
            start: PlanStart::Rest,
            curve: curve.into(),
            tube: tube.into(),
            set: set.clone(),
            scene,
            robot: robot.clone(),
            certificate,
        };
        let set = Arc::new(PreparedSet::new(&robot, &set));
        Self { robot: Arc::new(robot), set, plan }
    }

    /// The same for an arm whose ticks shake, under the momentum law.
    fn late() -> Self {
        let mut fixture = Self::new();
        let timing = TimingBounds { jitter_max_s: 3e-4, ..TimingBounds::EXACT };
        let robot = fixture.robot.with_timing(timing).unwrap();
        let scene = Scene::default();
        let curve = &fixture.plan.curve;
        let problem = MomentumProblem::new(&robot, &fixture.set, &scene, curve, MomentumStart::Rest).unwrap();
        let tube = fit_bounded(&problem, MomentumGains { k_r: 5.0, kappa: 60.0 }, None, 8).unwrap();
        fixture.plan = Plan { tube: tube.0.into(), robot: robot.clone(), ..fixture.plan };
        fixture.robot = Arc::new(robot);
        fixture
    }

    fn cycle<'a>(&self, arm: &'a mut Stands) -> Cycle<&'a mut Stands> {
        let law = LawPlan::new(self.set.clone(), &self.plan.tube, &self.plan.curve);
        let controller = match (law, self.plan.tube.energy()) {
            (LawPlan::Momentum(plan), _) => SupervisedController::with_momentum(self.robot.clone(), plan),
            (_, tube) => SupervisedController::new(self.robot.clone(), self.set.set(), tube.unwrap()),
        };
        Cycle::new(arm, controller, (self.robot.clone(), self.set.set()), &START)
    }

    fn handover(&self, (serial, after): (u64, u64), start: PlanStart, starts: Starts) -> Handover {
        let plan = Arc::new(Plan { start, ..self.plan.clone() });
        let law = LawPlan::new(self.set.clone(), &plan.tube, &plan.curve);
        Handover { serial, after, plan, law, starts, not_after_s: f64::INFINITY }
    }
}

/// The numbers of the plans that are followed in the next ticks, and those that are settled after them.
fn ticks(cycle: &mut Cycle<&mut Stands>, count: usize) -> Vec<(u64, u64)> {
    let told = |_| {
        let row = cycle.tick().0;
        (row.plan, row.settled)
    };
    (0..count).map(told).collect()
}

#[test]
fn a_plan_takes_over_at_its_tick_and_nowhere_else() {
    let fixture = Fixture::new();
    let mut arm = Stands::new(0.0);
    let mut cycle = fixture.cycle(&mut arm);
    assert_eq!(ticks(&mut cycle, 2), [(0, 0); 2]);
    assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 1).is_none());
    assert_eq!(ticks(&mut cycle, 3), [(0, 1), (1, 1), (1, 1)]);

    // Ticks 3 and 4 were its first; tick 8 is number 5.
    let next = |serial: u64, after: u64, done: u64, tick: u64| {
        fixture.handover((serial, after), PlanStart::AfterTicks(done), Starts::At(tick))
    };
    assert!(cycle.offer(next(2, 1, 5, 8), 1).is_none());
    assert!(cycle.offer(next(3, 2, 2, 10), 1).is_none());
    assert!(cycle.offer(next(4, 2, 2, 10), 1).is_some(), "no more than two wait");
    assert_eq!(ticks(&mut cycle, 6), [(1, 3), (1, 3), (1, 3), (2, 3), (2, 3), (3, 3)]);

    // Late, proven for another tick, proven to follow another plan, and withdrawn.
    assert!(cycle.offer(next(5, 3, 1, 11), 1).is_some());
    assert!(cycle.offer(next(5, 3, 1, 12), 1).is_none());
    assert_eq!(ticks(&mut cycle, 2), [(3, 3), (3, 3)]);
    assert!(cycle.offer(next(6, 2, 4, 14), 1).is_none());
    assert_eq!(ticks(&mut cycle, 2), [(3, 3), (3, 3)]);
    assert!(cycle.offer(next(7, 3, 6, 16), 1).is_none());
    assert!(cycle.withdraw(7).is_some() && cycle.withdraw(7).is_none());
    // After its sightings have become too old.
    let stale = Handover { not_after_s: 0.0175, ..next(8, 3, 8, 18) };
    assert!(cycle.offer(stale, 1).is_none());
    assert_eq!(ticks(&mut cycle, 5).pop(), Some((3, 3)));
    // What would have followed that one does not follow this one.
    assert!(cycle.offer(next(9, 8, 11, 21), 1).is_none());
    assert_eq!(ticks(&mut cycle, 3).pop(), Some((3, 3)));
}

#[test]
fn past_a_stop_and_from_elsewhere_no_plan_is_followed() {
    let fixture = Fixture::new();
    let mut arm = Stands::new(0.1);
    let mut cycle = fixture.cycle(&mut arm);
    assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 0).is_none());
    let then = fixture.handover((2, 1), PlanStart::AfterTicks(3), Starts::At(3));
    assert!(cycle.offer(then, 0).is_none());
    let (row, _) = cycle.tick();
    assert!(row.misplaced.is_some() && row.doing == Doing::Standing);
    assert!((0..5).all(|_| cycle.tick().0.doing == Doing::Standing) && cycle.rests());

    let mut arm = Stands::new(0.0);
    let mut cycle = fixture.cycle(&mut arm);
    assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 0).is_none());
    assert_eq!(ticks(&mut cycle, 2), [(1, 1); 2]);
    assert!(!cycle.rests());
    let then = fixture.handover((2, 1), PlanStart::AfterTicks(4), Starts::At(4));
    assert!(cycle.offer(then, 0).is_none());
    cycle.hardware.off_rad = 0.1;
    let (row, _) = cycle.tick();
    assert!(row.stop.is_some() && row.doing == Doing::Following(2) && row.settled == 1);
    for _ in 0..5 {
        let (row, _) = cycle.tick();
        assert!(matches!(row.doing, Doing::Stopping(_)) && row.plan == 1 && row.stop.is_none());
    }
    assert!(cycle.offer(fixture.handover((3, 1), PlanStart::AfterTicks(9), Starts::At(9)), 0).is_some());
    // The encoder that jumped is lost, and nobody knows whether its joint is slow: the longest time is waited for.
    ticks(&mut cycle, 1400);
    assert!(!cycle.rests());
    ticks(&mut cycle, 100);
    assert!(cycle.rests());
}

/// Under the momentum law it is the first tick that is not before the plan's time, however ticks shake; and what comes later than that is not followed.
#[test]
fn a_plan_of_the_momentum_law_takes_over_by_the_clock() {
    let fixture = Fixture::late();
    let next = |serial: u64, after: u64, periods: u64| {
        fixture.handover((serial, after), PlanStart::AfterTicks(periods), Starts::InPlan)
    };
    // Ticks of the first plan at 0, 1.25, 2.25, ... ms by its clock, or at 0, 0.75, 1.75, ... ms.
    for (late_s, first) in [(0.25e-3, 5), (-0.25e-3, 6)] {
        let late: fn(u64) -> f64 = match late_s > 0.0 {
            true => |tick| if tick > 0 { 0.25e-3 } else { 0.0 },
            false => |tick| if tick > 0 { -0.25e-3 } else { 0.0 },
        };
        let mut arm = Stands { late_s: late, ..Stands::new(0.0) };
        let mut cycle = fixture.cycle(&mut arm);
        assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 0).is_none());
        assert_eq!(ticks(&mut cycle, 2), [(1, 1); 2]);
        assert!(cycle.offer(next(2, 1, 5), 0).is_none());
        let plans: Vec<u64> = (2..12).map(|_| cycle.tick().0.plan).collect();
        let taken = 2 + plans.iter().position(|plan| *plan == 2).unwrap();
        assert_eq!(taken, first, "{plans:?}");
        assert!(plans[taken - 2..].iter().all(|plan| *plan == 2));
        // Its clock began at five periods of the one before, not at that tick.
        let clock_s = cycle.reading.t - cycle.begun_s;
        assert!((clock_s - (11.0e-3 + late_s - 5e-3)).abs() < 1e-12, "{clock_s}");
        // Too late, after another plan, and after one that will never be followed.
        assert!(cycle.offer(next(3, 2, 4), 0).is_some());
        assert!(cycle.offer(next(4, 1, 20), 0).is_none());
        assert_eq!(ticks(&mut cycle, 20).pop(), Some((2, 2)));
    }
}

#[test]
fn a_tick_that_comes_too_late_for_the_momentum_law_ends_in_the_gentle_stop() {
    let fixture = Fixture::late();
    let late: [fn(u64) -> f64; 4] = [
        |tick| if tick >= 50 { 0.31e-3 } else { 0.0 },
        // Back to before the plan began.
        |tick| if tick >= 50 { -0.1 } else { 0.0 },
        |tick| if tick >= 50 { -1.1e-3 } else { 0.0 },
        |tick| if tick == 50 { f64::NAN } else { 0.0 },
    ];
    for (k, late_s) in late.into_iter().enumerate() {
        let mut arm = Stands { late_s, ..Stands::new(0.0) };
        let mut cycle = fixture.cycle(&mut arm);
        assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 0).is_none());
        for tick in 0..50 {
            assert!(cycle.tick().0.stop.is_none(), "case {k}, tick {tick}");
        }
        let stop = cycle.tick().0.stop;
        assert!(matches!(stop, Some(StopReason::Clock { .. })), "case {k}: {stop:?}");
        assert!(matches!(cycle.tick().0.doing, Doing::Stopping(_)));
        assert!(cycle.tau.iter().all(|tau| tau.is_finite()), "case {k}");
    }
    // At a time that is none no plan begins.
    let mut arm = Stands { late_s: |_| f64::NAN, ..Stands::new(0.0) };
    let mut cycle = fixture.cycle(&mut arm);
    assert!(cycle.offer(fixture.handover((1, 0), PlanStart::Rest, Starts::AtOnce), 0).is_none());
    assert!(matches!(cycle.tick().0.doing, Doing::Standing));
}
