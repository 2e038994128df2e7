//! Trajectories from where the arm rests: proposed, then proven. What cannot be proven is not handed out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use surelift::certify::{Partition, Problem, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::plan::excite::{Criterion, Information};
use surelift::plan::propose::{Planner, Purpose, Setting, cells};
use surelift::plan::route::{Router, Terrain};
use surelift::plan::saved::{self, PlanStart};
use surelift::reach::{PreparedSet, TrackingTube};
use surelift::robot::{Arm, Scene};
use surelift::trajectory::{JointState, PiecewiseBezier};

/// Samples of a motion at which it is foreseen what it would tell.
const SAMPLES: usize = 128;

/// What the planner may do, whatever is known of the payload.
pub struct Limits {
    /// Obstacles.
    pub scene: Scene,
    /// Duration of a trajectory, s; it ends at rest.
    pub duration_s: f64,
    /// How far one trajectory may move each joint towards a goal, rad (m).
    pub carry_range: Vec<f64>,
    /// How far so as to learn, rad (m).
    pub excite_range: Vec<f64>,
    /// Time for a proposal, s.
    pub seconds: f64,
}

/// What a trajectory is for.
pub enum Aim<'a> {
    /// Towards these joint positions, rad (m).
    Goal(&'a [f64]),
    /// To tell much about the payload.
    Learn,
}

/// Plans one trajectory after the other.
pub struct TrajectoryPlanner {
    robot: Arc<Arm>,
    limits: Limits,
    planner: Planner,
    router: Router,
    known: Information,
    tried: u64,
}

impl TrajectoryPlanner {
    /// For an arm with what it holds.
    pub fn new(robot: Arc<Arm>, limits: Limits) -> Self {
        let (planner, router, known) = (Planner::default(), Router::default(), Information::none());
        Self { robot, limits, planner, router, known, tried: 0 }
    }

    /// A proven trajectory from rest at `start`, rad (m), for all parameters of `set`.
    ///
    /// # Errors
    /// What could not be proven, in words.
    pub fn plan(&mut self, aim: &Aim<'_>, set: &ParameterSet, start: &[f64]) -> Result<Plan, String> {
        if let Some(beyond) = self.robot.beyond_first_law() {
            return Err(format!(
                "robot '{}': {beyond}: trajectories are offered for rigid arms whose `timing` is zero alone",
                self.robot.name
            ));
        }
        self.tried += 1;
        let prepared = Arc::new(PreparedSet::new(&self.robot, set));
        let state = JointState::at_rest(start);
        let deadline = Instant::now() + Duration::from_secs_f64(self.limits.seconds);
        let criterion;
        let target = match aim {
            Aim::Goal(goal) => Some(self.target(set, start, goal, deadline)?),
            Aim::Learn => None,
        };
        let reach = if target.is_some() { &self.limits.carry_range } else { &self.limits.excite_range };
        let purpose = match &target {
            Some(target) => Purpose::Approach(target),
            None => {
                criterion = Criterion::predicted_width(&self.robot, set);
                let (known, horizon_s) = (&self.known, self.limits.duration_s);
                Purpose::Excite { known, criterion: &criterion, samples: SAMPLES, horizon_s }
            }
        };
        let setting = Setting {
            robot: &self.robot,
            set: &prepared,
            scene: &self.limits.scene,
            start: &state,
            duration_s: self.limits.duration_s,
            reach,
            warm: None,
            held: None,
            growth_max_m: None,
            seed: self.tried,
            deadline,
        };
        let found = self.planner.propose(&setting, purpose).map_err(|error| error.to_string())?;
        let (curve, tube) = (found.curve.clone(), found.tube.clone());
        self.proven(curve.into(), tube.into(), &prepared)
    }

    /// The next target on the way to the goal.
    fn target(
        &mut self,
        set: &ParameterSet,
        start: &[f64],
        goal: &[f64],
        deadline: Instant,
    ) -> Result<Vec<f64>, String> {
        let terrain = Terrain { robot: &self.robot, set, scene: &self.limits.scene };
        self.router.find(terrain, start, goal, self.tried, deadline).map_err(|e| format!("no way: {e}"))?;
        let target = self.router.target(terrain, start, &self.limits.carry_range);
        target
            .map(|target| target.to_vec())
            .ok_or_else(|| "the way to the goal starts out of reach".to_owned())
    }

    fn proven(
        &self,
        curve: PiecewiseBezier,
        tube: TrackingTube,
        set: &Arc<PreparedSet>,
    ) -> Result<Plan, String> {
        let (robot, scene) = (&*self.robot, &self.limits.scene);
        let own = tube.energy().ok_or("a tube of another law")?;
        let certificate = {
            let problem =
                Problem::with_prepared(robot, set, scene, own, &curve).map_err(|e| e.to_string())?;
            let partition = Partition { cells: cells(curve.duration_s()), ..Partition::default() };
            certify(&problem, &Start::Rest, partition).map_err(|e| e.to_string())?
        };
        Ok(Plan {
            schema: saved::schema(scene, curve.view(), &tube),
            t_start_s: 0.0,
            start: PlanStart::Rest,
            curve,
            tube,
            set: set.set().clone(),
            scene: scene.clone(),
            robot: robot.clone(),
            certificate,
        })
    }

    /// A trajectory was executed to its end: the next one is to tell what it has not.
    pub fn executed(&mut self, plan: &Plan) {
        self.known.absorb(&self.robot, &plan.set, &plan.curve, plan.curve.duration_s(), SAMPLES);
    }

    /// What was told counts no more.
    pub fn reset(&mut self) {
        self.known = Information::none();
    }
}
