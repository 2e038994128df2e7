//! The planning of one period: the way, the proposal towards the next target on it, and the proof.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::certify::Partition;
use crate::plan::Plan;
use crate::plan::propose::{MomentumProposal, Proposal, Purpose, Setting, cells};
use crate::plan::route::{RouteError, Router, Terrain};
use crate::reach::{Joints, PreparedSet, TrackingTube};
use crate::robot::Scene;
use crate::trajectory::{Bezier, JointState, Pieces, PiecewiseBezier};

use super::super::event::Event;
use super::super::outcome::TaskPhase;
use super::super::record::{Margins, PlanSummary};
use super::Runner;
use super::law::Law;

/// Time for a plan when the clock does not count: the number of evaluations ends the search long before.
const UNTIMED: Duration = Duration::from_secs(600);
/// Share of t_p that a proposal may use; the rest is for the certifier. A proof that comes late is worth nothing, which
/// costs more than the last evaluations win.
const PROPOSE_SHARE: f64 = 0.8;
/// Share of t_p that a proposal leaves besides where the arm may settle instead: what fitting a tube to rest takes, twice over.
const SETTLE_SHARE: f64 = 0.15;
/// Failed or stalled carrying plans in a row after which the route is searched anew. The next reach would be an eighth of
/// the first ([`RETRY_SHARE`] to this power); fewer would give up routes that only need a smaller step.
const NEW_ROUTE_AFTER: usize = 4;
/// After each failed carrying plan the next target is looked for within this share of the reach before. A larger share fails
/// again for the same reason, a smaller one makes little way.
const RETRY_SHARE: f64 = 0.6;

/// A motion with the constants of its tube, for the certifier.
pub(super) struct Candidate {
    pub(super) curve: PiecewiseBezier,
    pub(super) tube: TrackingTube,
}

impl From<&Proposal> for Candidate {
    fn from(proposal: &Proposal) -> Self {
        Self { curve: proposal.curve.clone().into(), tube: proposal.tube.clone().into() }
    }
}

impl From<MomentumProposal> for Candidate {
    fn from(proposal: MomentumProposal) -> Self {
        Self { curve: proposal.curve.into(), tube: proposal.tube.into() }
    }
}

impl Runner<'_> {
    /// Searches the way while the arm still stands: no plan runs out meanwhile, so it may take as long as all the periods
    /// in which planning may fail. `Err` says that there is none, as far as the search can tell.
    pub(super) fn look_for_a_way(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        let timing = &self.task.timing;
        let patience = Duration::from_secs_f64(timing.t_p_s) * timing.max_failures as u32;
        let deadline = begun + if self.timed { patience } else { UNTIMED };
        let mut router = std::mem::take(&mut self.router);
        let still = self.surroundings.still().clone();
        let terrain = Terrain { robot: &self.robot, set: self.set(), scene: &still };
        let from = self.next_start().q;
        let found = router.find(terrain, &from, &self.task.goal, self.seed, deadline);
        let found = found.map(|_| ()).map_err(|e| no_way(&e));
        self.router = router;
        self.record.route_ms = Some(1e3 * begun.elapsed().as_secs_f64());
        found
    }

    /// Searches, briefly, a way round all that obstacles that move may reach within a plan. Where there is none, the way that there was stays.
    fn look_for_a_way_round(&mut self, setting: &Setting<'_>) {
        if !self.surroundings.moves() {
            return;
        }
        let around = self.surroundings.enlarged(setting.duration_s);
        let terrain = Terrain { robot: setting.robot, set: setting.set.set(), scene: &around };
        let (now, start) = (Instant::now(), &setting.start.q);
        let deadline = now + setting.deadline.saturating_duration_since(now) / 2;
        let found = self.router.find_briefly(terrain, start, &self.task.goal, setting.seed, deadline);
        tracing::debug!(found = found.is_ok(), "looked for a way round");
    }

    /// Desired state at the end of the present period: where the next plan starts.
    pub(super) fn next_start(&self) -> JointState {
        match &self.active {
            None => JointState::at_rest(&self.task.start),
            Some(active) => active.plan.curve.state(active.time_at(self.switch_ticks(active))),
        }
    }

    /// When the next plan starts, s: at the end of the present period, or at once.
    fn next_start_s(&self, later: bool) -> f64 {
        match &self.active {
            Some(active) if active.plan.tube.momentum().is_some() => {
                // By the clock of the plan before, which its ticks need not keep.
                active.plan.t_start_s + active.time_by_the_clock(self.switch_ticks(active))
            }
            _ => self.cycles.time() + if later { self.task.timing.t_p_s } else { 0.0 },
        }
    }

    /// Proposes and certifies the plan for the next period within t_p of `period`, the start of this one. The set is prepared for all three: planner,
    /// certifier and controller.
    pub(super) fn make_plan(
        &mut self,
        phase: TaskPhase,
        period: Instant,
    ) -> Option<(Plan, Arc<PreparedSet>)> {
        let index = self.record.attempts.len();
        let _span = tracing::info_span!("plan", plan = index, %phase).entered();
        let t_p = if self.timed { Duration::from_secs_f64(self.task.timing.t_p_s) } else { UNTIMED };
        let start = self.next_start();
        // While obstacles move, the first plan takes its time as others do: the arm stands meanwhile.
        let later = self.active.is_some() || self.surroundings.moves();
        let t = self.next_start_s(later);
        let ticks = (self.law.latest_ticks(&self.robot, self.planning_ticks()), self.robot.gains().period_s);
        self.surroundings.plan_starts_at(self.cycles.time(), ticks);
        let begun = Instant::now();
        let proposal = match self.no_room_at(&start) {
            Some(reason) => Err(reason),
            None => self.propose(phase, &start, period + t_p.mul_f64(PROPOSE_SHARE)),
        };
        let propose_ms = 1e3 * begun.elapsed().as_secs_f64();
        let mut summary = PlanSummary {
            t,
            phase,
            certified: false,
            propose_ms,
            certify_ms: 0.0,
            min_margin: Margins::default(),
            torque: None,
            reason: None,
        };
        let certified = proposal.and_then(|(proposal, set)| {
            self.observer.event(&Event::PlanProposed { index, phase, t, propose_ms });
            let begun = Instant::now();
            let plan = self.certified(proposal, &set, t);
            summary.certify_ms = 1e3 * begun.elapsed().as_secs_f64();
            plan.map(|plan| (plan, set))
        });
        let in_time = certified.and_then(|plan| {
            if period.elapsed() <= t_p {
                return Ok(plan);
            }
            self.record.deadline_misses += 1;
            Err(format!("certified after {:.2} s, later than t_p", period.elapsed().as_secs_f64()))
        });
        match in_time {
            Ok(plan) => {
                summary.certified = true;
                summary.min_margin = Margins::from(&plan.0.certificate);
                self.observer.event(&Event::PlanCertified {
                    index,
                    phase,
                    t,
                    propose_ms,
                    certify_ms: summary.certify_ms,
                    min_margin: summary.min_margin,
                });
                self.record.attempts.push(summary);
                Some(plan)
            }
            Err(reason) => {
                self.observer.event(&Event::PlanFailed { index, reason: reason.clone() });
                summary.reason = Some(reason);
                self.record.attempts.push(summary);
                None
            }
        }
    }

    /// A proposal, and the set that it was made for.
    fn propose(
        &mut self,
        phase: TaskPhase,
        start: &JointState,
        deadline: Instant,
    ) -> Result<(Candidate, Arc<PreparedSet>), String> {
        if let Some(curve) = self.given(phase, start)? {
            return self.propose_given(curve);
        }
        if !self.may_settle() {
            return self.sought(phase, start, deadline);
        }
        let left = Duration::from_secs_f64(SETTLE_SHARE * self.task.timing.t_p_s);
        self.sought(phase, start, deadline - left).or_else(|reason| self.settling(start).map_err(|_| reason))
    }

    /// A proposal that is searched for, and the set that it was made for.
    fn sought(
        &mut self,
        phase: TaskPhase,
        start: &JointState,
        deadline: Instant,
    ) -> Result<(Candidate, Arc<PreparedSet>), String> {
        let (task, robot, scene) = (self.task.clone(), self.robot.clone(), self.surroundings.scene().clone());
        let set = Arc::new(PreparedSet::new(&self.robot, self.set()));
        let held = task.held.as_ref().filter(|_| phase == TaskPhase::Excite);
        let reach = held.map_or(&task.carry.range_rad, |held| &held.excite.range_rad);
        let running = self.active.as_ref().map(|active| active.plan.curve.end());
        let held_tube = self.active.as_ref().map(|active| active.plan.tube.clone());
        let setting = Setting {
            robot: &robot,
            set: &set,
            scene: &scene,
            start,
            duration_s: task.timing.t_f_s,
            reach,
            warm: running.as_deref(),
            held: held_tube.as_ref().and_then(TrackingTube::energy),
            growth_max_m: task.growth_max_m,
            seed: self.seed.wrapping_mul(1000).wrapping_add(self.record.attempts.len() as u64 + 1),
            deadline,
        };
        let mut planner = std::mem::take(&mut self.planner);
        let criterion;
        let purpose = match (held, &self.learner) {
            (Some(held), Some(learner)) => {
                let last = self.excited + 1 >= task.timing.exciting_plans;
                // Late arms learn too little to spare any of the last motion: only what is executed of it counts.
                let whole = (last && self.law == Law::Energy) || held.excite.look_ahead;
                let horizon_s = if whole { task.timing.t_f_s } else { task.timing.t_p_s };
                criterion = learner.criterion(set.set());
                Purpose::Excite {
                    known: learner.known(),
                    criterion: &criterion,
                    samples: held.excite.samples,
                    horizon_s,
                }
            }
            _ => {
                self.planner = planner;
                return self.propose_approach(&setting);
            }
        };
        let found = self.found(&mut planner, &setting, purpose);
        self.planner = planner;
        Ok((found?, set))
    }

    /// A proposal towards the goal, and the set along the way there, which is part of the setting's.
    fn propose_approach(&mut self, setting: &Setting<'_>) -> Result<(Candidate, Arc<PreparedSet>), String> {
        // After a failure, or a plan that leads nowhere, less is asked for; in the end another way is sought.
        let stuck = |count: usize| count > 0 && count.is_multiple_of(NEW_ROUTE_AFTER);
        let leads_nowhere = stuck(self.failures) || stuck(self.stalls);
        if leads_nowhere {
            self.router.forget();
        }
        if leads_nowhere || self.waiting.as_ref().is_some_and(|waiting| stuck(waiting.plans)) {
            self.look_for_a_way_round(setting);
        }
        // On a new route everything is tried again; what failed in this very state is not.
        let setbacks = self.failures + self.stalls % NEW_ROUTE_AFTER;
        let modest: Vec<f64> = setting.reach.iter().map(|r| r * RETRY_SHARE.powi(setbacks as i32)).collect();
        let within = Setting { reach: &modest, ..*setting };
        let target = next_target(&mut self.router, &within, self.surroundings.still(), &self.task.goal)?;
        let straight =
            Bezier::to_rest(setting.start, &target, setting.duration_s).map_err(|e| e.to_string())?;
        let known = self.known_along((&straight).into(), setting.set)?;
        let setting = Setting { set: &known, ..*setting };
        let mut planner = std::mem::take(&mut self.planner);
        let found = self.found(&mut planner, &setting, Purpose::Approach(&target));
        self.planner = planner;
        Ok((found?, known))
    }

    /// What is known for a motion like `curve`: part of `set`, the present one.
    pub(super) fn known_along(
        &mut self,
        curve: Pieces<'_>,
        set: &Arc<PreparedSet>,
    ) -> Result<Arc<PreparedSet>, String> {
        let known = match &mut self.learner {
            // The momentum law's proof takes the box alone.
            Some(learner) if self.law == Law::Energy => {
                let known = learner.along(self.cycles.time(), curve).map_err(|broken| {
                    self.record.breaks([*broken]);
                    "the measurements contradict an assumption".to_owned()
                })?;
                Arc::new(PreparedSet::new(&self.robot, &known))
            }
            _ => set.clone(),
        };
        self.cycles.claim(known.set());
        Ok(known)
    }

    /// The proof: nothing is executed without it.
    fn certified(&self, proposal: Candidate, set: &Arc<PreparedSet>, t: f64) -> Result<Plan, String> {
        let scene = &**self.surroundings.scene();
        let partition = Partition { cells: cells(proposal.curve.duration_s()), ..Partition::default() };
        let start = self.plan_start();
        let certificate = self.prove(&proposal, set, start, partition).map_err(|e| e.to_string())?;
        Ok(Plan {
            schema: crate::plan::saved::schema(scene, proposal.curve.view(), &proposal.tube),
            t_start_s: t,
            start,
            curve: proposal.curve,
            tube: proposal.tube,
            set: set.set().clone(),
            scene: scene.clone(),
            robot: (*self.robot).clone(),
            certificate,
        })
    }
}

/// The next target on the route among what does not move; the route is searched where there is none yet or it is out of reach.
fn next_target(
    router: &mut Router,
    setting: &Setting<'_>,
    scene: &Scene,
    goal: &[f64],
) -> Result<Joints<f64>, String> {
    let Setting { robot, set, start, reach, .. } = *setting;
    let terrain = Terrain { robot, set: set.set(), scene };
    if let Some(found) = router.target(terrain, &start.q, reach) {
        return Ok(found);
    }
    router.find(terrain, &start.q, goal, setting.seed, setting.deadline).map_err(|e| no_way(&e))?;
    let found = router.target(terrain, &start.q, reach);
    found.ok_or_else(|| "the way to the goal starts out of reach".to_owned())
}

fn no_way(error: &RouteError) -> String {
    format!("no way to the goal: {error}")
}
