//! What models with and without the loop say of torques, and how the one without is identified.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use crate::dynamics::Workspace;
use crate::dynamics::actuation::joint_friction;
use crate::dynamics::constraint::reduced::ReducedDynamics;
use crate::estimate::{EstimateError, Solver, SolverOptions, Status};
use crate::multibody::{Deviations, Formulation, JointParameter, MultibodyProblem, ParameterMap};
use crate::recording::Sample;
use crate::robot::Model;
use crate::study::estimation::EstimationStudy;

/// Rounds in which the model without the loop learns how far its own torques are off.
const ROUNDS: usize = 3;

/// The whole robot in the middle of a sampling interval, with its loops closed, and what its motors gave.
pub(super) struct Moment {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    /// All joints' speeds by the motors', [`ReducedDynamics::g`].
    g: DMatrix<f64>,
    /// Degrees of freedom with a motor, and their torques, N m.
    motors: Vec<usize>,
    torque: Vec<f64>,
}

/// The middles of the intervals between true `states` (q, v), where differences are exact to the second order of the interval. Torques are held over
/// an interval, so its middle has the torque of its beginning.
pub(super) fn moments(
    robot: &Model,
    states: &[Vec<f64>],
    torques: &[Vec<f64>],
    step_s: f64,
) -> Result<Vec<Moment>, EstimateError> {
    let open = |e: &dyn std::fmt::Display| EstimateError::Recording {
        reason: format!("the motion to predict: {e}"),
    };
    let mut loops = ReducedDynamics::of_loops(robot).map_err(|e| open(&e))?;
    let (nq, motors) = (robot.nq(), loops.independent().to_vec());
    let mut all = Vec::with_capacity(states.len());
    for (pair, tau) in states.windows(2).zip(torques) {
        let middle = |k: usize| 0.5 * (pair[0][k] + pair[1][k]);
        let mut q: Vec<f64> = (0..nq).map(middle).collect();
        loops.close(robot, &mut q).map_err(|e| open(&e))?;
        let v: Vec<f64> = motors.iter().map(|&k| middle(nq + k)).collect();
        let a: Vec<f64> = motors.iter().map(|&k| (pair[1][nq + k] - pair[0][nq + k]) / step_s).collect();
        loops.place(robot, &q, &v, &a).map_err(|e| open(&e))?;
        all.push(Moment {
            v: loops.v().to_vec(),
            a: loops.a().to_vec(),
            g: loops.g().clone(),
            torque: motors.iter().map(|&k| tau[k]).collect(),
            motors: motors.clone(),
            q,
        });
    }
    Ok(all)
}

/// Torques of a tree of joints with friction, N m.
fn tree_torque(
    robot: &Model,
    workspace: &mut Workspace,
    p: &[f64],
    (q, v, a): (&[f64], &[f64], &[f64]),
) -> Vec<f64> {
    let mut tau = vec![0.0; robot.nv()];
    workspace.inverse_dynamics(robot, q, v, a, &p[..robot.parameter_count()], &mut tau);
    for i in robot.first_actuated()..robot.bodies() {
        let at = robot.v_index(i);
        tau[at] += joint_friction(robot, p, i, v[at]).0;
    }
    tau
}

/// Root mean square of each motor's torque.
pub(super) fn torque_sizes(moments: &[Moment]) -> Vec<f64> {
    rms(moments, |m, _| m.torque.clone())
}

/// Root mean square errors of the robot with its loops and the extended parameters `p`, motor by motor, N m.
pub(super) fn closed_errors(robot: &Model, p: &[f64], moments: &[Moment]) -> Vec<f64> {
    let mut workspace = Workspace::new(robot);
    rms(moments, |m, _| {
        let tree = tree_torque(robot, &mut workspace, p, (&m.q, &m.v, &m.a));
        let told = m.g.tr_mul(&DVector::from_vec(tree));
        told.iter().zip(&m.torque).map(|(a, b)| a - b).collect()
    })
}

fn rms(moments: &[Moment], mut error: impl FnMut(&Moment, usize) -> Vec<f64>) -> Vec<f64> {
    let count = moments.first().map_or(0, |m| m.torque.len());
    let mut sums = vec![0.0; count];
    for (k, moment) in moments.iter().enumerate() {
        sums.iter_mut().zip(error(moment, k)).for_each(|(sum, e)| *sum += e * e);
    }
    sums.iter().map(|s| (s / moments.len() as f64).sqrt()).collect()
}

/// A robot without its loops.
pub(super) struct ChainModel {
    pub robot: Arc<Model>,
    /// By its degree of freedom: that of the whole robot which moves alike, and that whose motor's torque it takes.
    pub places: Vec<usize>,
    pub motors: Vec<usize>,
}

impl ChainModel {
    /// Root mean square errors with the extended parameters `p`, by the whole robot's motors, N m.
    pub fn errors(&self, p: &[f64], moments: &[Moment]) -> Vec<f64> {
        let mut workspace = Workspace::new(&self.robot);
        let pick = |all: &[f64]| self.places.iter().map(|&k| all[k]).collect::<Vec<f64>>();
        rms(moments, |m, _| {
            let tau = tree_torque(&self.robot, &mut workspace, p, (&pick(&m.q), &pick(&m.v), &pick(&m.a)));
            let own = |dof: &usize| self.motors.iter().position(|k| k == dof).map_or(f64::NAN, |j| tau[j]);
            m.motors.iter().zip(&m.torque).map(|(dof, torque)| own(dof) - torque).collect()
        })
    }

    /// The problem's samples as this robot has them: positions and speeds by the loops' closure from those of the motors, torques of its motors.
    fn samples(&self, study: &EstimationStudy) -> Result<Vec<Sample>, EstimateError> {
        let robot = &*study.robot;
        let open = |e: &dyn std::fmt::Display| EstimateError::Recording {
            reason: format!("the samples' loops: {e}"),
        };
        let mut loops = ReducedDynamics::of_loops(robot).map_err(|e| open(&e))?;
        let motors = loops.independent().to_vec();
        let rest = vec![0.0; motors.len()];
        // From one sample to the next the closure stays on its branch.
        let mut q = study.samples[0].q.clone();
        let mut all = Vec::with_capacity(study.samples.len());
        for s in &study.samples {
            motors.iter().for_each(|&k| q[k] = s.q[k]);
            loops.close(robot, &mut q).map_err(|e| open(&e))?;
            loops.place(robot, &q, &loops.select(&s.dq), &rest).map_err(|e| open(&e))?;
            let pick = |from: &[f64], which: &[usize]| which.iter().map(|&k| from[k]).collect::<Vec<f64>>();
            let (q, dq) = (pick(&q, &self.places), pick(loops.v(), &self.places));
            all.push(Sample { t: s.t, q, dq, tau: pick(&s.tau, &self.motors) });
        }
        Ok(all)
    }

    /// What is identified, and the deviations of its prior. `driven` is the joint that takes the torque of the whole robot's joint `motor`.
    fn unknowns(
        &self,
        study: &EstimationStudy,
        (driven, motor): (usize, Option<usize>),
        links: &[usize],
    ) -> (ParameterMap, Vec<f64>) {
        let (mut map, mut deviations) = (ParameterMap::none(&self.robot), vec![]);
        let body = study.map.bodies[0];
        let ten = &study.deviations.theta[..study.deviations.theta.len().min(crate::inertia::INERTIAL)];
        for &link in links {
            map.bodies.push((link, body.1));
            deviations.extend_from_slice(ten);
        }
        let own = study
            .map
            .joints
            .iter()
            .zip(&study.deviations.theta[crate::inertia::INERTIAL * study.map.bodies.len()..]);
        for (&(_, which), deviation) in own.filter(|((joint, _), _)| Some(*joint) == motor) {
            let Some(motor) = motor else { continue };
            map.nominal[which.index(&self.robot, driven)] =
                study.map.nominal[which.index(&study.robot, motor)];
            map.joints.push((driven, which));
            deviations.push(*deviation);
        }
        if !map.joints.contains(&(driven, JointParameter::Armature)) {
            map.joints.push((driven, JointParameter::Armature));
            deviations.push(f64::INFINITY);
        }
        (map, deviations)
    }

    /// Identifies the model from the problem's samples; its extended parameters, and how the last search ended. How far torques may be off is what the
    /// round before left of them: told the sensors' noise alone, a model that is wrong would bend the motion instead.
    pub fn identify(
        &self,
        study: &EstimationStudy,
        (driven, motor): (usize, Option<usize>),
        links: &[usize],
    ) -> Result<(Vec<f64>, Status), EstimateError> {
        let samples = self.samples(study)?;
        let (map, theta) = self.unknowns(study, (driven, motor), links);
        let pick = |all: &[f64], which: &[usize]| which.iter().map(|&k| all[k]).collect::<Vec<f64>>();
        let d = &study.deviations;
        let mut deviations = Deviations {
            q: pick(&d.q, &self.motors),
            dq: pick(&d.dq, &self.motors),
            tau: pick(&d.tau, &self.motors),
            first_q: pick(&d.first_q, &self.motors),
            first_dq: pick(&d.first_dq, &self.motors),
            theta,
        };
        let options = SolverOptions { cautious: true, ..study.options };
        let mut p = map.nominal.clone();
        let (mut start, mut status) = (None::<Vec<f64>>, Status::Stalled);
        for _ in 0..ROUNDS {
            let problem = MultibodyProblem::new(
                self.robot.clone(),
                map.clone(),
                samples.clone(),
                study.step_s,
                &deviations,
            )?
            .formulated(Formulation::Inverse);
            let mut solver = Solver::new(&problem, options)?;
            let guess = start.as_ref().map_or_else(|| problem.guess(), |theta| problem.guess_at(theta));
            status = solver.solve(&guess)?.status;
            let found = solver.trajectory();
            map.fill(&self.robot, &found.theta, &mut p);
            start = Some(found.theta.clone());
            let noise = problem.noise(found)?;
            let steps = noise.iter().filter(|w| !w.is_empty());
            let count = steps.clone().count() as f64;
            for (j, deviation) in deviations.tau.iter_mut().enumerate() {
                let left = (steps.clone().map(|w| w[j] * w[j]).sum::<f64>() / count).sqrt();
                *deviation = left.max(d.tau[self.motors[j]]);
            }
        }
        Ok((p, status))
    }
}
