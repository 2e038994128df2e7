//! Reading a scenario: TOML -> [`Scenario`], or the reason why not.

use std::path::Path;

use nalgebra::Matrix3;

use super::error::ScenarioError;
use super::prior;
use super::task::Scenario;
use super::world::{self, WorldFile};
use crate::extend::{Disk, ITEM, Layers};
use crate::horizon::{Excite, HeldObject, Identify, Placing, Task, Timing, usual_tolerance};
use crate::inertia::pseudo::{check_physical, from_center_of_mass};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::propose::ConstraintModel;
use crate::robot::prior::{Prior, PriorFault};
use crate::robot::{
    self, Arm, Capsule, NamedFrame, Obstruction, Placement, RobotError, Scene, Uncertainty, Zonotope3,
};
use crate::simulate::HiddenTruth;

mod faults;
mod obstacles;
mod path;
mod schema;

use schema::{Geometry, Object, Payload, ScenarioFile, Tolerance};

/// No obstacle is farther away or larger, m: beyond any scene, and far below where squares are no longer numbers.
const FARTHEST: f64 = 1e6;
/// No trajectory takes longer, s: storage is asked for by the tick. Ten minutes are far beyond any plan, and their ticks fit
/// into memory.
const LONGEST_S: f64 = 600.0;
/// No count is larger: storage is asked for by the piece. A million is far beyond what is of use, and fits into memory.
const MOST: usize = 1_000_000;

/// Keys that name files beside the robot: relative to the file that states them.
const FILES: [&str; 8] = [
    "path.file",
    "prior.payload.mesh",
    "obstacles.*.mesh",
    "further_obstacles.*.mesh",
    "items.*.path.file",
    "items.*.prior.payload.mesh",
    "items.*.obstacles.*.mesh",
    "items.*.further_obstacles.*.mesh",
];

/// See [`Scenario::load`] and [`Scenario::load_in_world`].
pub(super) fn load(path: &Path, item: Option<&str>, world: Option<&Path>) -> Result<Scenario, ScenarioError> {
    let mut layers = Layers::read(path, &Disk)?.with_paths(&FILES);
    let check = Check { path };
    let item = layers.choose(item).map_err(|reason| check.error(ITEM, reason))?.map(str::to_owned);
    let mut scenario = check.scenario(layers.parse(&[])?, world, layers.stated_in("robot"))?;
    if let Some(item) = item {
        scenario.task.name += &format!("-{item}");
    }
    Ok(scenario)
}

/// See [`Scenario::items`].
pub(super) fn items(path: &Path) -> Result<Vec<String>, ScenarioError> {
    Ok(Layers::read(path, &Disk)?.items())
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Checks the parts of one file.
struct Check<'a> {
    path: &'a Path,
}

impl Check<'_> {
    fn error(&self, field: impl Into<String>, reason: impl Into<String>) -> ScenarioError {
        ScenarioError::Field { path: self.path.to_path_buf(), field: field.into(), reason: reason.into() }
    }

    /// The scenario that `file` states, in a world of its own or in that of the file. `robot_in` is the file that names the robot.
    fn scenario(
        &self,
        mut file: ScenarioFile,
        world: Option<&Path>,
        robot_in: &Path,
    ) -> Result<Scenario, ScenarioError> {
        if file.schema != schema::SCHEMA {
            let reason = format!("{}, expected {}", file.schema, schema::SCHEMA);
            return Err(self.error("schema", reason));
        }
        let robot = self.robot(&file, robot_in)?;
        let n = robot.dof();
        file.obstacles.append(&mut file.further_obstacles);
        let (mut scene, paths) = (self.scene(&file.obstacles)?, self.paths(&file.obstacles)?);
        let pieces = self.pieces_of_file(&mut file)?;
        let (start, goal) = match world {
            None => (
                self.configuration("start_rad", file.start_rad.take(), &robot)?,
                self.configuration("goal_rad", file.goal_rad.take(), &robot)?,
            ),
            Some(path) => self.world(path, &file, &robot, &mut scene)?,
        };
        let goal_tolerance_rad = match file.goal_tolerance_rad {
            Some(Tolerance::All(one)) => vec![one; n],
            Some(Tolerance::Each(each)) => each,
            None => robot.joints.iter().map(|joint| usual_tolerance(joint.kind)).collect(),
        };
        self.positives("goal_tolerance_rad", &goal_tolerance_rad, n)?;
        file.growth_max_m.iter().try_for_each(|&most_m| self.positive("growth_max_m", most_m))?;
        self.positives("carry.range_rad", &file.carry.range_rad, n)?;
        let timing = file.timing.timing(file.payload.is_some());
        self.timing(&timing)?;
        let heavier = file.faults.payload_mass_kg;
        let faults = self.faults(file.faults, &robot, &scene)?;
        let prior = file.prior.map(|prior| self.in_numbers(prior, &robot)).transpose()?;
        let truth = file.payload.as_ref().map(|payload| self.truth(payload, &robot)).transpose()?;
        let object = (file.payload.zip(truth), prior, file.excite);
        let at_fault = (heavier, faults.payload_slips.is_some());
        let (held, truth) = self.held_or_nothing(object, &robot, (&timing, file.identify), at_fault)?;
        let path = self.path_to_goal(pieces, file.path, (&start, &goal), &robot)?;
        file.placing.iter().try_for_each(|placing| self.placing(placing))?;
        let stem = world.and_then(Path::file_stem).map(|stem| format!("-{}", stem.to_string_lossy()));
        let task = Task {
            name: file.name + &stem.unwrap_or_default(),
            description: file.description,
            robot,
            held,
            start,
            goal,
            goal_tolerance_rad,
            growth_max_m: file.growth_max_m,
            scene,
            timing,
            carry: file.carry,
            path,
            placing: file.placing,
            planner: ConstraintModel::default(),
        };
        let places = Check { path: world.unwrap_or(self.path) };
        places.free("start", &task.start, &task)?;
        // What moves may be gone by then.
        let later = Task { scene: task.scene.still_part(), ..task.clone() };
        places.free("goal", &task.goal, &later)?;
        if let Some(path) = &task.path {
            self.free("start of the path", &path.start(), &later)?;
        }
        Ok(Scenario { task, truth: truth.with_faults(faults).with_paths(paths) })
    }

    /// What is held and its truth, from three tables that are given together or not at all. Of a payload at fault: the mass that
    /// it has in truth, kg, and whether it slips.
    fn held_or_nothing(
        &self,
        object: (Option<(Payload, HiddenTruth)>, Option<Prior>, Option<Excite>),
        robot: &Arm,
        (timing, identify): (&Timing, Identify),
        (heavier, slips): (Option<f64>, bool),
    ) -> Result<(Option<HeldObject>, HiddenTruth), ScenarioError> {
        match object {
            (Some((payload, mut truth)), Some(prior), Some(excite)) => {
                if let Some(mass) = heavier {
                    let empty = &robot.joints[robot.end_effector()].inertia;
                    let scaled = truth.with_object_mass(mass, empty);
                    truth = scaled.map_err(|reason| self.error("faults.payload_mass_kg", reason))?;
                }
                let held = self.held(payload.name, prior, excite, identify, timing, robot)?;
                Ok((Some(held), truth))
            }
            (None, None, None) => {
                if timing.exciting_plans > 0 {
                    let reason = format!("{}, expected 0 where nothing is held", timing.exciting_plans);
                    return Err(self.error("timing.exciting_plans", reason));
                }
                if heavier.is_some() || slips {
                    return Err(self.error("faults", "a payload is at fault, but nothing is held"));
                }
                Ok((None, HiddenTruth::nothing()))
            }
            (payload, prior, _) => {
                let parts = [("payload", payload.is_some()), ("prior", prior.is_some())];
                let field = parts.iter().find(|(_, given)| !given).map_or("excite", |(name, _)| name);
                let reason = "missing; expected `payload`, `prior` and `excite`, or none of them";
                Err(self.error(field, reason))
            }
        }
    }

    /// A configuration of the scenario file.
    fn configuration(
        &self,
        field: &str,
        given: Option<Vec<f64>>,
        robot: &Arm,
    ) -> Result<Vec<f64>, ScenarioError> {
        let missing = "missing; give it, or a world file that holds it (`--world FILE.csv`)";
        let q = given.ok_or_else(|| self.error(field, missing))?;
        self.vector(field, &q, robot.dof())?;
        self.within_limits(field, &q, robot)?;
        Ok(q)
    }

    /// Start and goal of a world file; its boxes join the scene.
    fn world(
        &self,
        path: &Path,
        file: &ScenarioFile,
        robot: &Arm,
        scene: &mut Scene,
    ) -> Result<(Vec<f64>, Vec<f64>), ScenarioError> {
        for (field, given) in [("start_rad", &file.start_rad), ("goal_rad", &file.goal_rad)] {
            if given.is_some() {
                let reason = format!("expected in one place only, and `{}` gives it too", path.display());
                return Err(self.error(field, reason));
            }
        }
        let WorldFile { start, goal, boxes } = world::read(path, robot.dof())?;
        let at_fault = Check { path };
        at_fault.within_limits("line 1 (start)", &start, robot)?;
        at_fault.within_limits("line 2 (goal)", &goal, robot)?;
        for (i, b) in boxes.iter().enumerate() {
            let name = format!("box {}", i + 1);
            let (center, size) = (b.center.into(), b.size.into());
            scene.obstacles.push(Zonotope3::cuboid(name, center, size, &Matrix3::identity()));
        }
        Ok((start, goal))
    }

    /// What is known of a held object.
    fn held(
        &self,
        payload: String,
        prior: Prior,
        excite: Excite,
        identify: Identify,
        timing: &Timing,
        robot: &Arm,
    ) -> Result<HeldObject, ScenarioError> {
        self.positives("excite.range_rad", &excite.range_rad, robot.dof())?;
        self.count("excite.samples", excite.samples, INERTIAL)?;
        let weights = &excite.weights;
        if weights.iter().any(|w| !(w.is_finite() && *w >= 0.0)) || weights.iter().sum::<f64>() <= 0.0 {
            let reason = format!("{weights:?}, expected finite numbers not below 0, some above");
            return Err(self.error("excite.weights", reason));
        }
        self.positive("identify.window_s", identify.window_s)?;
        if identify.window_s > timing.t_p_s {
            let reason = format!("{} s, expected at most timing.t_p_s", identify.window_s);
            return Err(self.error("identify.window_s", reason));
        }
        let (weigh, window) = (identify.weigh_s, identify.window_s);
        if !(weigh == 0.0 || (window..=LONGEST_S).contains(&weigh)) {
            let reason =
                format!("{weigh} s, expected 0 or a time from window_s = {window} s to {LONGEST_S} s");
            return Err(self.error("identify.weigh_s", reason));
        }
        self.prior(&prior, robot)?;
        Ok(HeldObject { payload, prior, excite, identify })
    }

    /// A prior in words as one in numbers.
    fn in_numbers(&self, prior: Prior, robot: &Arm) -> Result<Prior, ScenarioError> {
        let numbers = prior.in_folder(self.folder()).in_numbers(robot);
        numbers.map_err(|fault| self.error(format!("prior.{}", fault.field), fault.reason))
    }

    /// The frame that an object is stated in.
    fn frame_of(&self, robot: &Arm, object: &Object) -> Result<NamedFrame, ScenarioError> {
        let frames = robot.tool_frames();
        let found = frames.get(object.frame.as_deref()).cloned();
        found.map_err(|fault| self.error("payload.object.frame", fault.reason))
    }

    /// Folder of the file.
    fn folder(&self) -> &Path {
        folder_of(self.path)
    }

    /// The robot with the held object's shape.
    fn robot(&self, file: &ScenarioFile, stated_in: &Path) -> Result<Arm, ScenarioError> {
        let refuse = |source| ScenarioError::Robot { path: self.path.to_path_buf(), source };
        let found = robot::find(Path::new(&file.robot), folder_of(stated_in)).map_err(refuse)?;
        let mut robot = robot::load_adjusted(&found, self.path, &file.joints).map_err(refuse)?;
        if let Some(own) = &file.uncertainty {
            let robots = robot.uncertainty();
            let uncertainty = Uncertainty {
                link_ratio: own.link_ratio,
                friction_ratio: own.friction_ratio,
                armature_ratio: own.armature_ratio,
                gravity_direction_deg: own.gravity_direction_deg.unwrap_or(robots.gravity_direction_deg),
                breakaway_ratio: own.breakaway_ratio.unwrap_or(robots.breakaway_ratio),
                first_moment_kg_m: own.first_moment_kg_m.unwrap_or(robots.first_moment_kg_m),
                inertia_kg_m2: own.inertia_kg_m2.unwrap_or(robots.inertia_kg_m2),
                offset_nm: own.offset_nm.unwrap_or(robots.offset_nm),
            };
            if let Some((what, reason)) = uncertainty.fault() {
                return Err(self.error(format!("uncertainty.{what}"), reason));
            }
            robot = robot.with_uncertainty(uncertainty).map_err(refuse)?;
        }
        match &file.payload {
            Some(payload) => self.holding(robot, payload),
            None => Ok(robot),
        }
    }

    /// The robot with the shape of what it holds.
    fn holding(&self, robot: Arm, payload: &Payload) -> Result<Arm, ScenarioError> {
        match (payload.shape.is_empty(), payload.geometry) {
            (true, None) => {
                let reason = "missing; expected the capsules that the object lies in, or `geometry = \"none\"`: then nothing is \
                              proven about what it touches";
                return Err(self.error("payload.shape", reason));
            }
            (false, Some(Geometry::None)) => {
                let reason = "none, but `payload.shape` declares a shape; expected one of them";
                return Err(self.error("payload.geometry", reason));
            }
            _ => {}
        }
        let frame = match &payload.object {
            Some(object) => self.frame_of(&robot, object)?.placement,
            None => Placement::identity(),
        };
        let capsules: Vec<Capsule> = payload
            .shape
            .iter()
            .map(|s| Capsule { a: s.a_m.into(), b: s.b_m.into(), radius: s.radius_m }.placed(&frame))
            .collect();
        if let Some(pair) = payload.ignore.iter().find(|pair| pair.reason.trim().is_empty()) {
            let reason = format!("`{}` is ignored without a reason", pair.capsule);
            return Err(self.error("payload.ignore.reason", reason));
        }
        let ignored: Vec<_> =
            payload.ignore.iter().map(|pair| (pair.capsule.clone(), pair.reason.clone())).collect();
        robot.with_payload_shape(&capsules, &ignored).map_err(|fault| match fault {
            RobotError::Payload { index, reason } => self.error(format!("payload.shape[{index}]"), reason),
            RobotError::PayloadIgnore { name } => {
                self.error("payload.ignore", format!("there is no capsule `{name}`"))
            }
            source => ScenarioError::Robot { path: self.path.to_path_buf(), source },
        })
    }

    fn finite(&self, field: &str, values: &[f64]) -> Result<(), ScenarioError> {
        match values.iter().find(|x| !x.is_finite()) {
            Some(bad) => Err(self.error(field, format!("contains {bad}, expected finite numbers"))),
            None => Ok(()),
        }
    }

    fn placing(&self, placing: &Placing) -> Result<(), ScenarioError> {
        self.places("placing.point_m", &placing.point_m)?;
        self.positive("placing.horizontal_m", placing.horizontal_m)?;
        self.positive("placing.vertical_m", placing.vertical_m)?;
        self.positive("placing.tilt_deg", placing.tilt_deg)
    }

    /// Finite, and no farther than any robot reaches: distances to what is 1e300 m away are no longer numbers.
    fn places(&self, field: &str, values: &[f64]) -> Result<(), ScenarioError> {
        self.finite(field, values)?;
        match values.iter().find(|x| x.abs() > FARTHEST) {
            Some(far) => Err(self.error(field, format!("contains {far}, expected at most {FARTHEST} m"))),
            None => Ok(()),
        }
    }

    fn positive(&self, field: &str, x: f64) -> Result<(), ScenarioError> {
        let fine = x.is_finite() && x > 0.0;
        if fine { Ok(()) } else { Err(self.error(field, format!("{x}, expected a finite number > 0"))) }
    }

    fn count(&self, field: &str, count: usize, least: usize) -> Result<(), ScenarioError> {
        let fine = (least..=MOST).contains(&count);
        let reason = || format!("{count}, expected a number from {least} to {MOST}");
        if fine { Ok(()) } else { Err(self.error(field, reason())) }
    }

    /// `n` finite numbers above 0.
    fn positives(&self, field: &str, values: &[f64], n: usize) -> Result<(), ScenarioError> {
        self.vector(field, values, n)?;
        values.iter().try_for_each(|&x| self.positive(field, x))
    }

    /// `n` finite numbers.
    fn vector(&self, field: &str, values: &[f64], n: usize) -> Result<(), ScenarioError> {
        if values.len() != n {
            let reason = format!("{} numbers, expected {n}, one a joint", values.len());
            return Err(self.error(field, reason));
        }
        self.finite(field, values)
    }

    fn within_limits(&self, field: &str, q: &[f64], robot: &Arm) -> Result<(), ScenarioError> {
        for (joint, &x) in robot.joints.iter().zip(q) {
            if let Some((lower, upper)) = joint.limits.position
                && !(lower..=upper).contains(&x)
            {
                let reason =
                    format!("joint `{}` at {x}, expected within [{lower:.4}, {upper:.4}]", joint.name);
                return Err(self.error(field, reason));
            }
        }
        Ok(())
    }

    fn timing(&self, timing: &Timing) -> Result<(), ScenarioError> {
        self.positive("timing.t_f_s", timing.t_f_s)?;
        self.positive("timing.t_p_s", timing.t_p_s)?;
        if timing.t_f_s > LONGEST_S {
            let reason = format!("{} s, expected at most {LONGEST_S} s", timing.t_f_s);
            return Err(self.error("timing.t_f_s", reason));
        }
        if timing.t_p_s >= timing.t_f_s {
            let reason = format!("{} s, expected less than t_f_s = {} s", timing.t_p_s, timing.t_f_s);
            return Err(self.error("timing.t_p_s", reason));
        }
        for (field, count) in
            [("timing.max_plans", timing.max_plans), ("timing.max_failures", timing.max_failures)]
        {
            self.count(field, count, 1)?;
        }
        self.positive("timing.patience_s", timing.patience_s)?;
        if timing.exciting_plans > timing.max_plans {
            return Err(self.error("timing.exciting_plans", "more than timing.max_plans"));
        }
        Ok(())
    }

    /// Whether the prior says what it must of a held body, and whether any body is like that.
    fn prior(&self, prior: &Prior, robot: &Arm) -> Result<(), ScenarioError> {
        let refuse = |fault: PriorFault| self.error(format!("prior.{}", fault.field), fault.reason);
        let Some([lower, upper]) = prior.body().map_err(refuse)? else {
            return Err(self.error("prior.lower", "missing, expected ten numbers"));
        };
        prior.applied_to(ParameterSet::around_nominal(robot), robot).map_err(refuse)?;
        prior::exclusion(&lower, &upper).map_or(Ok(()), |reason| Err(self.error("prior", reason)))
    }

    /// The true whole last body.
    fn truth(&self, payload: &Payload, robot: &Arm) -> Result<HiddenTruth, ScenarioError> {
        let impossible = |field: &str, reason: String| {
            self.error(field, format!("no rigid body has this inertia: {reason}"))
        };
        match (payload.mass_kg, payload.first_moment_kg_m, &payload.inertia_kg_m2, &payload.object) {
            (Some(mass), Some([hx, hy, hz]), Some(i), None) => {
                HiddenTruth::new([mass, hx, hy, hz, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz])
                    .map_err(|reason| impossible("payload", reason))
            }
            (None, None, None, Some(object)) => {
                let frame = self.frame_of(robot, object)?;
                let i = &object.inertia_kg_m2;
                let about = Matrix3::new(i.xx, i.xy, i.xz, i.xy, i.yy, i.yz, i.xz, i.yz, i.zz);
                let com = frame.placement.point(&object.com_m.into());
                let turn = frame.placement.rotation;
                let own = from_center_of_mass(object.mass_kg, &com, &(turn * about * turn.transpose()));
                check_physical(&own).map_err(|reason| impossible("payload.object", reason.to_string()))?;
                let empty = &robot.joints[robot.end_effector()].inertia;
                HiddenTruth::new(std::array::from_fn(|k| own[k] + empty[k]))
                    .map_err(|reason| impossible("payload.object", reason))
            }
            _ => {
                let reason = "expected `mass_kg`, `first_moment_kg_m` and `inertia_kg_m2` of the whole last body, or `object`";
                Err(self.error("payload", reason))
            }
        }
    }

    /// Refuses a configuration where the arm touches an obstacle or itself.
    fn free(&self, moment: &'static str, q: &[f64], task: &Task) -> Result<(), ScenarioError> {
        let robot = &task.robot;
        let frames = robot.frames(q);
        let nearest = [robot.obstacle_clearance(&frames, &task.scene), robot.self_clearance(&frames)];
        for clearance in nearest.into_iter().flatten() {
            if clearance.distance > 0.0 {
                continue;
            }
            let what = match clearance.to {
                Obstruction::Obstacle(k) => format!("obstacle `{}`", task.scene.obstacles[k].name),
                Obstruction::Shape(k) => format!("its own `{}`", robot.shapes()[k].name),
            };
            return Err(ScenarioError::Touching {
                path: self.path.to_path_buf(),
                moment,
                capsule: robot.shapes()[clearance.shape].name.clone(),
                what,
                distance_m: clearance.distance,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
