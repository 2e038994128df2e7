//! What a simulated limb is like where the robot's files are wrong: drawn for each link and joint.

use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Deserialize;

use super::plant::Beyond;
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::inertia::{FRICTION, INERTIAL, JointParameters};
use crate::robot::Model;

/// How far the truth is from the robot's files, and what of it no parameters describe.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct LimbTruthFile {
    /// Largest error of a link's mass, as a share; its inertia about its centre changes with it.
    pub mass_share: f64,
    /// Largest error of a link's centre of mass along each axis, m.
    pub center_m: f64,
    /// Motors' Coulomb and viscous friction and armature are up to so many times the files', or as many times less: a factor each, >= 1.
    pub friction_factor: f64,
    /// The same of armatures.
    pub armature_factor: f64,
    /// Largest offset of a motor's torque, N m.
    pub offset_nm: f64,
    /// Largest Coulomb friction of a joint without motor beyond the files', N m; as much viscous friction, N m s/rad.
    pub passive_friction: f64,
    /// Outside the model class: least and largest share by which a motor's dry friction is larger at rest (Stribeck).
    pub stribeck_share: [f64; 2],
    /// Least and largest speed at which that has fallen to 1/e, rad/s.
    pub stribeck_rad_s: [f64; 2],
    /// Outside the model class: least and largest dry friction as a share of the torque that a motor gives.
    pub load_share: [f64; 2],
}

impl LimbTruthFile {
    /// The first number that is none of its kind, and what was expected.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        let share = |name, x: f64| (!(0.0..1.0).contains(&x)).then_some((name, x, "a share from 0, below 1"));
        let factor =
            |name, x: f64| (!(1.0..=100.0).contains(&x)).then_some((name, x, "a factor from 1 to 100"));
        let size = |name, x: f64| (!(x >= 0.0 && x.is_finite())).then_some((name, x, "a finite number >= 0"));
        let found = share("mass_share", self.mass_share)
            .or(size("center_m", self.center_m))
            .or(factor("friction_factor", self.friction_factor))
            .or(factor("armature_factor", self.armature_factor))
            .or(size("offset_nm", self.offset_nm))
            .or(size("passive_friction", self.passive_friction));
        if let Some((name, x, expected)) = found {
            return Some((name, format!("is {x}, expected {expected}")));
        }
        let pairs = [
            ("stribeck_share", self.stribeck_share, 0.0),
            ("stribeck_rad_s", self.stribeck_rad_s, 1e-3),
            ("load_share", self.load_share, 0.0),
        ];
        let wrong = |(_, [least, most], floor): &(_, [f64; 2], f64)| {
            !(*least >= *floor && least <= most && most.is_finite())
        };
        let (name, pair, floor) = pairs.into_iter().find(wrong)?;
        Some((name, format!("is {pair:?}, expected two increasing finite numbers from {floor} on")))
    }
}

/// A spring of the robot that the files take for rigid.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct SpringFile {
    /// The joint.
    pub joint: String,
    /// Stiffness, N m/rad.
    pub stiffness_nm_rad: f64,
    /// Damping, N m s/rad.
    pub damping_nm_s_rad: f64,
}

/// The truth of a limb, by the joints that its files know.
pub(super) struct LimbTruth {
    names: Vec<String>,
    /// Factor of the mass, and where the centre of mass moves, m, of each link.
    links: Vec<(f64, Vector3<f64>)>,
    friction: Vec<JointParameters>,
    /// Zero for joints without motor.
    beyond: Vec<Beyond>,
}

/// A factor between 1 / most and most, its logarithm uniform.
fn factor(draw: &mut impl RngExt, most: f64) -> f64 {
    (most.ln() * draw.random_range(-1.0..=1.0)).exp()
}

impl LimbTruth {
    /// Draws the truth of `limb` by its files.
    pub(super) fn draw(file: &LimbTruthFile, limb: &Model, seed: u64, stream: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        draw.set_stream(stream);
        let motors = motors_and_base(limb);
        let mut truth = Self { names: vec![], links: vec![], friction: vec![], beyond: vec![] };
        for (k, joint) in limb.joints.iter().enumerate() {
            truth.names.push(joint.name.clone());
            let mut uniform = |most: f64| most * draw.random_range(-1.0..=1.0);
            let mass = 1.0 + uniform(file.mass_share);
            truth.links.push((mass, Vector3::from_fn(|_, _| uniform(file.center_m))));
            let mut own = joint.friction;
            let mut beyond = Beyond::default();
            if motors.binary_search(&k).is_ok() {
                own.coulomb *= factor(&mut draw, file.friction_factor);
                own.viscous *= factor(&mut draw, file.friction_factor);
                own.armature *= factor(&mut draw, file.armature_factor);
                own.offset += file.offset_nm * draw.random_range(-1.0..=1.0);
                let mut within = |[least, most]: [f64; 2]| draw.random_range(least..=most);
                beyond.excess_nm = own.coulomb * within(file.stribeck_share);
                beyond.rate_rad_s = within(file.stribeck_rad_s);
                beyond.load = within(file.load_share);
            } else {
                own.coulomb += file.passive_friction * draw.random_range(0.0..=1.0);
                own.viscous += file.passive_friction * draw.random_range(0.0..=1.0);
            }
            truth.friction.push(own);
            truth.beyond.push(beyond);
        }
        truth
    }

    /// Parameters of `limb`: itself, or the limb with joints in the place of its springs. A part of a link that the files take for one is as wrong as the whole.
    pub(super) fn parameters(&self, limb: &Model) -> Vec<f64> {
        let mut theta = limb.nominal_parameters();
        let mut errors: Vec<(f64, Vector3<f64>)> = vec![];
        for (k, joint) in limb.joints.iter().enumerate() {
            let place = self.names.iter().position(|name| *name == joint.name);
            let error = match (place, joint.parent) {
                (Some(place), _) => self.links[place],
                (None, Some(parent)) => {
                    let (mass, moved) = errors[parent];
                    (mass, joint.placement.rotation.transpose() * moved)
                }
                (None, None) => (1.0, Vector3::zeros()),
            };
            errors.push(error);
            let body = wrong_body(&joint.inertia, error);
            theta[limb.body_range(k)].copy_from_slice(&body);
            if let Some(place) = place {
                let at = limb.friction_index(k);
                theta[at..at + FRICTION].copy_from_slice(&self.friction[place].to_array());
            }
        }
        theta
    }

    /// What is outside the model class at the joints `which` of `limb`, springs with it.
    pub(super) fn beyond(&self, limb: &Model, which: &[usize], springs: &[SpringFile]) -> Vec<Beyond> {
        let own = |&k: &usize| {
            let name = &limb.joints[k].name;
            if let Some(spring) = springs.iter().find(|spring| spring.joint == *name) {
                return Beyond {
                    stiffness_nm_rad: spring.stiffness_nm_rad,
                    damping_nm_s_rad: spring.damping_nm_s_rad,
                    ..Beyond::default()
                };
            }
            self.names.iter().position(|known| known == name).map_or(Beyond::default(), |k| self.beyond[k])
        };
        which.iter().map(own).collect()
    }
}

/// A body with another mass, its centre of mass moved.
fn wrong_body(body: &[f64; INERTIAL], (mass, moved): (f64, Vector3<f64>)) -> [f64; INERTIAL] {
    let mut wrong = body.map(|x| mass * x);
    if wrong[0] == 0.0 {
        return wrong;
    }
    let steiner = |c: Vector3<f64>| wrong[0] * (Matrix3::identity() * c.norm_squared() - c * c.transpose());
    let center = Vector3::new(wrong[1], wrong[2], wrong[3]) / wrong[0];
    let more = steiner(center + moved) - steiner(center);
    let first = (center + moved) * wrong[0];
    wrong[1..4].copy_from_slice(first.as_slice());
    for (k, (row, column)) in [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)].into_iter().enumerate() {
        wrong[4 + k] += more[(row, column)];
    }
    wrong
}
