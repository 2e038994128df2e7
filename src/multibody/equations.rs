//! What is known of parameters besides their priors: total mass, mirror images, symmetric bodies ([3, Sec. VI]).
//!
//! All are linear in the physical parameters of the estimated bodies; the equations h_p(theta) = 0 of the parameters follow by
//! the chain rule. They are scaled by the nominal bodies, so that a mass in grammes and one in tonnes weigh alike.

use super::parameters::ParameterMap;
use crate::estimate::ParameterModel;
use crate::inertia::INERTIAL;
use crate::robot::Model;

/// A plane through the origin of a link's frame, by the axis that it is normal to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plane {
    /// Normal to x.
    X,
    /// Normal to y.
    Y,
    /// Normal to z.
    Z,
}

impl Plane {
    /// What mirroring does to (m, h, I): signs, in the order of the physical parameters.
    fn signs(self) -> [f64; INERTIAL] {
        let flip = |axis: usize| if axis == self as usize { -1.0 } else { 1.0 };
        let (x, y, z) = (flip(0), flip(1), flip(2));
        [1.0, x, y, z, 1.0, x * y, 1.0, x * z, y * z, 1.0]
    }
}

/// An equation between parameters of estimated bodies; bodies by their place in [`ParameterMap::bodies`].
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterEquation {
    /// The bodies weigh so much together, kg.
    TotalMass(Vec<usize>, f64),
    /// The second body is the first one's mirror image, in their own frames: ten equations.
    Mirror(usize, usize, Plane),
    /// The body is its own mirror image: four equations.
    Symmetric(usize, Plane),
}

impl ParameterEquation {
    /// Number of equations.
    pub fn count(&self) -> usize {
        match self {
            ParameterEquation::TotalMass(..) => 1,
            ParameterEquation::Mirror(..) => INERTIAL,
            ParameterEquation::Symmetric(..) => 4,
        }
    }

    /// Visits the equations: their terms (body, physical parameter, factor), and the constant that they equal.
    fn each(&self, mut visit: impl FnMut(&[(usize, usize, f64)], f64)) {
        match self {
            ParameterEquation::TotalMass(bodies, mass) => {
                let terms: Vec<_> = bodies.iter().map(|&b| (b, 0, 1.0)).collect();
                visit(&terms, *mass);
            }
            ParameterEquation::Mirror(a, b, plane) => {
                for (i, sign) in plane.signs().into_iter().enumerate() {
                    visit(&[(*a, i, sign), (*b, i, -1.0)], 0.0);
                }
            }
            ParameterEquation::Symmetric(b, plane) => {
                for (i, _) in plane.signs().into_iter().enumerate().filter(|(_, s)| *s < 0.0) {
                    visit(&[(*b, i, 1.0)], 0.0);
                }
            }
        }
    }

    /// Writes values and gradients from row `first` on.
    pub(super) fn write(
        &self,
        robot: &Model,
        map: &ParameterMap,
        theta: &[f64],
        first: usize,
        out: &mut ParameterModel,
    ) {
        let mut row = first;
        self.each(|terms, constant| {
            // The size of what is compared.
            let mut scale = constant.abs();
            for &(b, i, _) in terms {
                let at = robot.body_range(map.bodies[b].0);
                let nominal = &map.nominal[at];
                let own = if i == 0 {
                    nominal[0]
                } else if i < 4 {
                    nominal[0] * 0.1
                } else {
                    nominal[0] * 0.01
                };
                scale = scale.max(own);
            }
            let gradient = out.equalities.col_mut(row);
            gradient.fill(0.0);
            let mut value = -constant;
            for &(b, i, factor) in terms {
                let at = INERTIAL * b;
                let mut c = [0.0; INERTIAL];
                c.copy_from_slice(&theta[at..at + INERTIAL]);
                value += factor * map.bodies[b].1.physical(&c)[i];
                let block = map.block(theta, b);
                for (k, slope) in block.row(i).iter().enumerate() {
                    gradient[at + k] += factor * slope / scale;
                }
            }
            out.equality_values[row] = value / scale;
            row += 1;
        });
    }
}
