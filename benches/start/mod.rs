//! What the benches start from: the shipped scenario, before the first plan.

// Each bench compiles its own copy and uses its part.
#![allow(dead_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use surelift::horizon::{HeldObject, Task};
use surelift::identify::{Identifier, IdentifierOptions};
use surelift::plan::excite::{Criterion, Information};
use surelift::plan::propose::{Proposal, Purpose, Setting, propose};
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::robot::Arm;
use surelift::scenario::Scenario;
use surelift::simulate::HiddenTruth;
use surelift::trajectory::JointState;

/// The scenario, and the set of parameters that is possible before any measurement.
pub struct Start {
    pub task: Task,
    pub held: HeldObject,
    pub robot: Arc<Arm>,
    pub identifier: Identifier,
    pub set: Arc<PreparedSet>,
    pub rest: JointState,
}

impl Start {
    /// Loads `scenarios/dumbbell_c_8lb.toml`; the truth is for a simulated plant.
    pub fn load() -> (Self, HiddenTruth) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml");
        let (task, truth) = Scenario::load(path).expect("the scenario ships").split();
        let robot = Arc::new(task.robot.clone());
        let held = task.held.clone().expect("the scenario holds a payload");
        let bound = tube_fit::initial(&robot).acceleration_bound;
        let options = IdentifierOptions { window_s: held.identify.window_s, ..IdentifierOptions::default() };
        let identifier = Identifier::new(robot.clone(), &task.prior_set().unwrap(), bound, options)
            .expect("the scenario's prior holds bodies");
        let rest = JointState::at_rest(&task.start);
        let set = Arc::new(PreparedSet::new(&robot, identifier.set()));
        (Self { task, held, robot, identifier, set, rest }, truth)
    }

    /// The planner's question at the start; the deadline is never reached, so the work is always the same.
    pub fn setting<'a>(&'a self, reach: &'a [f64]) -> Setting<'a> {
        Setting {
            robot: &self.robot,
            set: &self.set,
            scene: &self.task.scene,
            start: &self.rest,
            duration_s: self.task.timing.t_f_s,
            reach,
            warm: None,
            held: None,
            growth_max_m: None,
            seed: 1,
            deadline: Instant::now() + Duration::from_secs(3600),
        }
    }

    /// The first exciting trajectory and its tube.
    pub fn exciting(&self) -> Proposal {
        let known = Information::none();
        let (samples, horizon_s) = (self.held.excite.samples, self.task.timing.t_p_s);
        let criterion = Criterion::predicted_width(&self.robot, self.identifier.set());
        let purpose = Purpose::Excite { known: &known, criterion: &criterion, samples, horizon_s };
        propose(&self.setting(&self.held.excite.range_rad), purpose).expect("a first plan is found")
    }
}
