//! Reading a scenario: TOML -> [`Scenario`], or the reason why not.

use std::collections::HashSet;
use std::path::Path;

use nalgebra::Rotation3;

use super::error::ScenarioError;
use super::prior;
use super::task::{Prior, PublicTask, Scenario, Timing};
use crate::robot::{self, Capsule, INERTIAL, Obstruction, Robot, RobotError, Scene, Zonotope3};
use crate::simulate::HiddenTruth;

mod schema;

use schema::{File, Obstacle, Payload};

/// See [`Scenario::load`].
pub(super) fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScenarioError::Read { path: path.to_path_buf(), source })?;
    let file: File = toml::from_str(&text)
        .map_err(|e| ScenarioError::Parse { path: path.to_path_buf(), message: e.to_string() })?;
    Check { path }.scenario(file)
}

/// Checks the parts of one file.
struct Check<'a> {
    path: &'a Path,
}

impl Check<'_> {
    fn error(&self, field: impl Into<String>, reason: impl Into<String>) -> ScenarioError {
        ScenarioError::Field { path: self.path.to_path_buf(), field: field.into(), reason: reason.into() }
    }

    fn scenario(&self, file: File) -> Result<Scenario, ScenarioError> {
        if file.schema != schema::SCHEMA {
            let reason = format!("{}, expected {}", file.schema, schema::SCHEMA);
            return Err(self.error("schema", reason));
        }
        let robot = self.robot(&file)?;
        let n = robot.dof();
        for (field, values) in [("start_rad", &file.start_rad), ("goal_rad", &file.goal_rad)] {
            self.vector(field, values, n)?;
            self.within_limits(field, values, &robot)?;
        }
        self.positive("goal_tolerance_rad", file.goal_tolerance_rad)?;
        for (field, values) in
            [("excite.range_rad", &file.excite.range_rad), ("carry.range_rad", &file.carry.range_rad)]
        {
            self.vector(field, values, n)?;
            values.iter().try_for_each(|&x| self.positive(field, x))?;
        }
        if file.excite.samples < INERTIAL {
            let reason = format!("{}, expected at least {INERTIAL}", file.excite.samples);
            return Err(self.error("excite.samples", reason));
        }
        self.timing(&file.timing)?;
        self.positive("identify.window_s", file.identify.window_s)?;
        if file.identify.window_s > file.timing.t_p_s {
            let reason = format!("{} s, expected at most timing.t_p_s", file.identify.window_s);
            return Err(self.error("identify.window_s", reason));
        }
        self.prior(&file.prior)?;
        let scene = self.scene(&file.obstacles)?;
        let truth = self.truth(&file.payload)?;
        let task = PublicTask {
            name: file.name,
            description: file.description,
            robot,
            payload: file.payload.name,
            start: file.start_rad,
            goal: file.goal_rad,
            goal_tolerance_rad: file.goal_tolerance_rad,
            scene,
            prior: file.prior,
            timing: file.timing,
            excite: file.excite,
            carry: file.carry,
            identify: file.identify,
        };
        self.free("start", &task.start, &task)?;
        self.free("goal", &task.goal, &task)?;
        Ok(Scenario { task, truth })
    }

    /// The robot with the held object's shape.
    fn robot(&self, file: &File) -> Result<Robot, ScenarioError> {
        let refuse = |source| ScenarioError::Robot { path: self.path.to_path_buf(), source };
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = robot::find(Path::new(&file.robot), folder).map_err(refuse)?;
        let robot = robot::load(&found).map_err(refuse)?;
        if let Some(reason) = robot.arm_fault() {
            return Err(refuse(RobotError::NoArm { path: found, reason }));
        }
        let capsules: Vec<Capsule> = file
            .payload
            .shape
            .iter()
            .map(|s| Capsule { a: s.a_m.into(), b: s.b_m.into(), radius: s.radius_m })
            .collect();
        if let Some((i, reason)) = capsules.iter().enumerate().find_map(|(i, c)| Some((i, c.fault()?))) {
            return Err(self.error(format!("payload.shape[{i}]"), reason));
        }
        robot.with_payload_shape(&capsules).map_err(refuse)
    }

    fn finite(&self, field: &str, values: &[f64]) -> Result<(), ScenarioError> {
        match values.iter().find(|x| !x.is_finite()) {
            Some(bad) => Err(self.error(field, format!("contains {bad}, expected finite numbers"))),
            None => Ok(()),
        }
    }

    fn positive(&self, field: &str, x: f64) -> Result<(), ScenarioError> {
        let fine = x.is_finite() && x > 0.0;
        if fine { Ok(()) } else { Err(self.error(field, format!("{x}, expected a finite number > 0"))) }
    }

    /// `n` finite numbers.
    fn vector(&self, field: &str, values: &[f64], n: usize) -> Result<(), ScenarioError> {
        if values.len() != n {
            let reason = format!("{} numbers, expected {n}, one a joint", values.len());
            return Err(self.error(field, reason));
        }
        self.finite(field, values)
    }

    fn within_limits(&self, field: &str, q: &[f64], robot: &Robot) -> Result<(), ScenarioError> {
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
        if timing.t_p_s >= timing.t_f_s {
            let reason = format!("{} s, expected less than t_f_s = {} s", timing.t_p_s, timing.t_f_s);
            return Err(self.error("timing.t_p_s", reason));
        }
        for (field, count) in
            [("timing.max_plans", timing.max_plans), ("timing.max_failures", timing.max_failures)]
        {
            if count == 0 {
                return Err(self.error(field, "0, expected at least 1"));
            }
        }
        if timing.exciting_plans > timing.max_plans {
            return Err(self.error("timing.exciting_plans", "more than timing.max_plans"));
        }
        Ok(())
    }

    fn prior(&self, prior: &Prior) -> Result<(), ScenarioError> {
        self.finite("prior.lower", &prior.lower)?;
        self.finite("prior.upper", &prior.upper)?;
        self.finite("prior.nominal", &prior.nominal)?;
        for k in 0..INERTIAL {
            let (lower, nominal, upper) = (prior.lower[k], prior.nominal[k], prior.upper[k]);
            if !(lower <= nominal && nominal <= upper) {
                let reason = format!(
                    "entry {k} (of m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz): lower {lower}, nominal \
                     {nominal}, upper {upper}, expected lower <= nominal <= upper"
                );
                return Err(self.error("prior", reason));
            }
        }
        prior::exclusion(prior).map_or(Ok(()), |reason| Err(self.error("prior", reason)))
    }

    fn scene(&self, obstacles: &[Obstacle]) -> Result<Scene, ScenarioError> {
        let mut names = HashSet::new();
        let mut scene = Scene::default();
        for obstacle in obstacles {
            let field = |what: &str| format!("obstacles.{}.{what}", obstacle.name);
            if !names.insert(&obstacle.name) {
                return Err(self.error(field("name"), "the name is used by two obstacles"));
            }
            self.finite(&field("center_m"), &obstacle.center_m)?;
            self.finite(&field("rpy_rad"), &obstacle.rpy_rad)?;
            obstacle.size_m.iter().try_for_each(|&x| self.positive(&field("size_m"), x))?;
            let [roll, pitch, yaw] = obstacle.rpy_rad;
            let rotation = Rotation3::from_euler_angles(roll, pitch, yaw).into_inner();
            scene.obstacles.push(Zonotope3::cuboid(
                obstacle.name.clone(),
                obstacle.center_m.into(),
                obstacle.size_m.into(),
                &rotation,
            ));
        }
        Ok(scene)
    }

    fn truth(&self, payload: &Payload) -> Result<HiddenTruth, ScenarioError> {
        let [hx, hy, hz] = payload.first_moment_kg_m;
        let i = &payload.inertia_kg_m2;
        HiddenTruth::new([payload.mass_kg, hx, hy, hz, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz])
            .map_err(|reason| self.error("payload", format!("no rigid body has this inertia: {reason}")))
    }

    /// Refuses a configuration where the arm touches an obstacle or itself.
    fn free(&self, moment: &'static str, q: &[f64], task: &PublicTask) -> Result<(), ScenarioError> {
        let robot = &task.robot;
        let frames = robot.frames(q);
        let nearest = [robot.obstacle_clearance(&frames, &task.scene), robot.self_clearance(&frames)];
        for clearance in nearest.into_iter().flatten() {
            if clearance.distance > 0.0 {
                continue;
            }
            let what = match clearance.to {
                Obstruction::Obstacle(k) => format!("obstacle `{}`", task.scene.obstacles[k].name),
                Obstruction::Shape(k) => format!("its own `{}`", robot.shapes[k].name),
            };
            return Err(ScenarioError::Touching {
                path: self.path.to_path_buf(),
                moment,
                capsule: robot.shapes[clearance.shape].name.clone(),
                what,
                distance_m: clearance.distance,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
