//! A payload in words: what people know of a thing that they have not weighed, and the set of inertial parameters that follows.
//!
//! # The claim and its proof
//! The words say: the payload is made of matter of no negative density; all of it is in a box, B; its centre of mass is in a box, C; its mass is in an
//! interval, M. [`PayloadWords::set`] encloses the ten parameters of every such body. With l, u the bounds of B along one axis, c the
//! centre of mass and m the mass:
//! - x in `[l, u]` has x^2 <= (l + u) x - l u, a chord above a parabola, so that the second moment S_xx = ∫ x^2 dm is at most
//!   m ((l + u) c_x - l u); and S_xx >= m c_x^2 by Jensen's inequality;
//! - (x - l)(y - l') >= 0 and (u - x)(u' - y) >= 0 bound x y from below, (u - x)(y - l') >= 0 and (x - l)(u' - y) >= 0 from above; all are linear
//!   in x and y, so that S_xy = ∫ x y dm is bounded by m times the same, taken at c;
//! - I_xx = S_yy + S_zz, I_xy = -S_xy, and so on; the first moment is m c.
//!
//! Each is evaluated with outward-rounded intervals over M and C. Boxes of a link's frame are turned into the joint's by intervals too, and grow by a
//! nanometre, which is more than what rounding does to the link's place.
//!
//! A density between d and D, at each point of a shape of volume V that the payload fills, bounds the mass by d V and D V. With e the centre of the
//! shape, ∫ (x - e) dm = ∫ (x - e)(r - (d + D)/2) dV, at most (D - d)/2 ∫ |x - e| dV <= (D - d)/2 V s, where s^2 is the mean of
//! (x - e)^2 over the shape; since m >= d V, the centre of mass is within (D - d) s / (2 d) of e.

use std::path::{Path, PathBuf};

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

use super::arm::Arm;
use super::model::{NamedFrame, Placement};
use super::prior::PriorFault;
use crate::enclose::Interval;
use crate::inertia::pseudo::from_center_of_mass;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::scalar::Scalar;
use solid::Solid;

mod solid;

/// By how much boxes grow in the joint's frame, m.
const FRAME: f64 = 1e-9;
/// No payload is larger, m, or heavier, kg.
const LARGEST: f64 = 1e3;

/// A box along the axes of a frame, m.
type Region = [Interval; 3];

/// What is known of what the hand holds, without what holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadWords {
    /// Link of the URDF that moves with the hand, in whose frame the rest is stated; the tool frame if left out, which is the last link that is fixed to the
    /// hand.
    pub frame: Option<String>,
    /// The payload is at most as heavy, kg; follows from `density_kg_m3` if that is given.
    pub max_mass_kg: Option<f64>,
    /// It is at least as heavy, kg; 0 if left out.
    pub min_mass_kg: Option<f64>,
    /// Lower and upper corner of a box that holds its centre of mass, m; the whole payload's box if left out.
    pub com_box_m: Option<[[f64; 3]; 2]>,
    /// The middle of its box or cylinder, or the origin of its mesh, m; the frame's origin if left out.
    pub center_m: Option<[f64; 3]>,
    /// Full side lengths of a box that holds all of it, m.
    pub size_m: Option<[f64; 3]>,
    /// Radius and length of an upright cylinder (about the frame's z axis) that holds all of it, m; in place of `size_m`.
    pub cylinder_m: Option<[f64; 2]>,
    /// STL or OBJ file, from the folder of the file that names it: all of the payload is in the hull of its vertices; in place of `size_m`. `center_m` says where its
    /// origin is. With a density, it has to be closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<PathBuf>,
    /// Metres to one unit of the mesh; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh_scale: Option<f64>,
    /// Least and greatest density of a payload that fills its box, cylinder or mesh, kg/m^3, at each point of it; a least of 0 allows for hollows.
    pub density_kg_m3: Option<[f64; 2]>,
    /// A guess of its mass, kg: the estimate until something is learnt. `surelift identify` and campaigns refuse it.
    pub nominal_mass_kg: Option<f64>,
    /// A guess of its centre of mass, m; the middle of what is possible if left out.
    pub nominal_com_m: Option<[f64; 3]>,
}

/// The set that words describe: bounds of the ten parameters about and in the joint's frame, and a guess.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DescribedPayload {
    /// Lower bounds.
    pub lower: [f64; INERTIAL],
    /// Upper bounds.
    pub upper: [f64; INERTIAL],
    /// What is stated as nominal, if anything is.
    pub nominal: Option<[f64; INERTIAL]>,
}

/// What was said of a payload alone before anything was measured. What is told of it later keeps to that.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedPayload {
    /// Lower and upper bounds of its ten parameters, about and in the frame of the hand's joint.
    pub bounds: [[f64; INERTIAL]; 2],
    /// The link in whose frame it was said.
    pub frame: String,
    /// A box that holds its centre of mass, along the axes of that frame, m; lower bound first.
    pub com_m: [[f64; 2]; 3],
    /// Side lengths of a box that holds all of it, along the same axes, m.
    pub size_m: [f64; 3],
}

/// The links that move with the hand, and their frames in that of the hand's joint: what payloads are stated in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolFrames {
    /// The tool frame first.
    frames: Vec<NamedFrame>,
}

impl ToolFrames {
    /// Frames, the tool frame first.
    fn new(frames: Vec<NamedFrame>) -> Self {
        Self { frames }
    }

    /// Those of an arm. One whose description names no links has the frame of the hand's joint alone, by the name of its link.
    pub fn of(arm: &Arm) -> Self {
        let stated = &arm.description().tool_frames;
        if stated.is_empty() {
            let (name, placement) = (arm.joints[arm.end_effector()].link.clone(), Placement::identity());
            return Self::new(vec![NamedFrame { name, joint: Some(arm.end_effector()), placement }]);
        }
        Self::new(stated.clone())
    }

    /// The frame of that name, or the tool frame.
    ///
    /// # Errors
    /// [`PriorFault`] lists the frames that there are.
    pub fn get(&self, name: Option<&str>) -> Result<&NamedFrame, PriorFault> {
        let found = match name {
            Some(name) => self.frames.iter().find(|frame| frame.name == name),
            None => self.frames.first(),
        };
        found.ok_or_else(|| {
            let there: Vec<&str> = self.frames.iter().map(|frame| frame.name.as_str()).collect();
            let reason = format!(
                "no link `{}` moves with the hand, expected one of {}",
                name.unwrap_or(""),
                there.join(", ")
            );
            fault("frame", reason)
        })
    }
}

fn fault(field: &str, reason: impl Into<String>) -> PriorFault {
    PriorFault { field: format!("payload.{field}"), reason: reason.into() }
}

/// The words, checked, in the frame that they are stated in.
struct Checked {
    mass: Interval,
    region: Region,
    com: Region,
}

impl PayloadWords {
    /// The same words, where files that they name are relative to `folder`.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.mesh = self.mesh.map(|mesh| folder.join(mesh));
        self
    }

    /// The set of the payload alone, in the frame of the end effector's joint. Proof: the module's header.
    ///
    /// # Errors
    /// [`PriorFault`] names the key: numbers that are none, no such frame, words that no body fits, a guess that does not fit them.
    pub fn set(&self, frames: &ToolFrames) -> Result<DescribedPayload, PriorFault> {
        let frame = frames.get(self.frame.as_deref())?;
        let checked = self.checked()?;
        let placed = Checked {
            mass: checked.mass,
            region: turned(&frame.placement, &checked.region),
            com: turned(&frame.placement, &checked.com),
        };
        let bounds = placed.bounds();
        let (lower, upper) = (bounds.map(Interval::lower), bounds.map(Interval::upper));
        let nominal = self.guess(&checked, &frame.placement)?.map(|guess| {
            // A guess of a solid brick's inertia; rounding must not carry it out of the set.
            std::array::from_fn(|k| guess[k].clamp(lower[k], upper[k]))
        });
        Ok(DescribedPayload { lower, upper, nominal })
    }

    /// What the words say of the payload alone, for results to keep to: the bounds of [`PayloadWords::set`], and the centre of mass in the words' own frame.
    ///
    /// # Errors
    /// As [`PayloadWords::set`].
    pub fn stated(&self, frames: &ToolFrames) -> Result<StatedPayload, PriorFault> {
        let frame = frames.get(self.frame.as_deref())?.name.clone();
        let DescribedPayload { lower, upper, .. } = self.set(frames)?;
        let Checked { com, region, .. } = self.checked()?;
        let com_m = com.map(|axis| [axis.lower(), axis.upper()]);
        let size_m = region.map(|side| (side.upper() - side.lower()).next_up());
        Ok(StatedPayload { bounds: [lower, upper], frame, com_m, size_m })
    }

    /// The same for the whole last body: with what holds it, as uncertain as the robot's file says.
    ///
    /// # Errors
    /// As [`PayloadWords::set`].
    pub fn whole_body(&self, robot: &Arm) -> Result<DescribedPayload, PriorFault> {
        let own = self.set(&ToolFrames::of(robot))?;
        let hand = robot.end_effector();
        let (set, at) = (ParameterSet::around_nominal(robot), robot.body_range(hand));
        let link = |k: usize| Interval::new(set.lower()[at.start + k], set.upper()[at.start + k]);
        let sum: [Interval; INERTIAL] =
            std::array::from_fn(|k| Interval::new(own.lower[k], own.upper[k]) + link(k));
        let empty = &robot.joints[hand].inertia;
        Ok(DescribedPayload {
            lower: sum.map(Interval::lower),
            upper: sum.map(Interval::upper),
            nominal: own.nominal.map(|guess| {
                std::array::from_fn(|k| (guess[k] + empty[k]).clamp(sum[k].lower(), sum[k].upper()))
            }),
        })
    }

    fn checked(&self) -> Result<Checked, PriorFault> {
        self.check_numbers()?;
        let Solid { region, filled } = Solid::of(self)?;
        let mass = self.mass(filled.as_ref().map(|filled| filled.volume))?;
        let mut com = region;
        if let Some([lower, upper]) = self.com_box_m {
            for k in 0..3 {
                if !(lower[k] <= upper[k]) {
                    let reason = format!("{lower:?} to {upper:?}, expected the lower corner first");
                    return Err(fault("com_box_m", reason));
                }
                com[k] = meet(com[k], Interval::new(lower[k], upper[k])).ok_or_else(|| {
                    fault("com_box_m", "it lies outside of the payload: no density makes such a body")
                })?;
            }
        }
        if let (Some([least, most]), Some(filled)) =
            (self.density_kg_m3.filter(|[least, _]| *least > 0.0), &filled)
        {
            let share = (Interval::constant(most) - Interval::constant(least))
                / (Interval::constant(2.0) * Interval::constant(least));
            for k in 0..3 {
                let off = (share * Interval::new(0.0, filled.deviation[k])).sup_abs();
                com[k] = meet(com[k], filled.center[k] + Interval::new(-off, off)).ok_or_else(|| {
                    let reason = format!(
                        "no density from {least} to {most} kg/m^3 puts the centre of mass of this shape there"
                    );
                    fault("com_box_m", reason)
                })?;
            }
        }
        Ok(Checked { mass, region, com })
    }

    /// The mass that bounds and densities leave.
    fn mass(&self, volume: Option<Interval>) -> Result<Interval, PriorFault> {
        let least = self.min_mass_kg.unwrap_or(0.0);
        let stated = self.max_mass_kg.map(|most| Interval::new(least, most.max(least)));
        if let Some(most) = self.max_mass_kg
            && most < least
        {
            return Err(fault("max_mass_kg", format!("{most}, expected at least `min_mass_kg`, {least}")));
        }
        let Some(([light, heavy], volume)) = self.density_kg_m3.zip(volume) else {
            return stated.ok_or_else(|| {
                fault("max_mass_kg", "missing, expected the greatest mass, or `density_kg_m3`")
            });
        };
        if light > heavy {
            return Err(fault(
                "density_kg_m3",
                format!("{light} to {heavy}, expected the lower bound first"),
            ));
        }
        let dense = Interval::new(
            (volume * Interval::constant(light)).lower().max(0.0),
            (volume * Interval::constant(heavy)).upper(),
        );
        let stated = stated.unwrap_or_else(|| Interval::new(least, dense.upper().max(least)));
        meet(dense, stated).ok_or_else(|| {
            let (low, high) = (dense.lower(), dense.upper());
            let (least, most) = (stated.lower(), stated.upper());
            let reason = format!(
                "{light} to {heavy}: a payload of that shape has {low:.4} to {high:.4} kg, and {least} to {most} kg are stated; no density makes such a body"
            );
            fault("density_kg_m3", reason)
        })
    }

    /// A guess of the ten parameters: a solid brick of the stated mass about the stated centre.
    fn guess(&self, words: &Checked, frame: &Placement) -> Result<Option<[f64; INERTIAL]>, PriorFault> {
        if self.nominal_mass_kg.is_none() && self.nominal_com_m.is_none() {
            return Ok(None);
        }
        let mass = self.nominal_mass_kg.unwrap_or(words.mass.midpoint());
        if !words.mass.contains(mass) {
            let (least, most) = (words.mass.lower(), words.mass.upper());
            return Err(fault(
                "nominal_mass_kg",
                format!("{mass}, expected {least} to {most}, as the other words say"),
            ));
        }
        let com = self.nominal_com_m.unwrap_or(words.com.map(Interval::midpoint));
        if let Some(k) = (0..3).find(|&k| !words.com[k].contains(com[k])) {
            let (axis, x) = (["x", "y", "z"][k], com[k]);
            let (least, most) = (words.com[k].lower(), words.com[k].upper());
            return Err(fault(
                "nominal_com_m",
                format!("{axis} is {x}, expected {least} to {most}, as the other words say"),
            ));
        }
        let square = words.region.map(|side| (2.0 * side.radius()).powi(2));
        let [x, y, z] = square;
        let solid = Matrix3::from_diagonal(&Vector3::new(y + z, x + z, x + y)) * (mass / 12.0);
        let about = frame.rotation * solid * frame.rotation.transpose();
        Ok(Some(from_center_of_mass(mass, &frame.point(&com.into()), &about)))
    }

    /// Every number by itself.
    fn check_numbers(&self) -> Result<(), PriorFault> {
        let any = |key: &'static str, x: Option<&[f64]>| {
            let bad = x?.iter().find(|x| !(x.abs() <= LARGEST))?;
            Some(fault(key, format!("contains {bad}, expected finite numbers, at most {LARGEST}")))
        };
        let above = |key: &'static str, x: Option<&[f64]>| {
            let bad = x?.iter().find(|x| !(**x > 0.0 && **x <= LARGEST))?;
            Some(fault(key, format!("contains {bad}, expected numbers above 0, at most {LARGEST}")))
        };
        let from_zero = |key: &'static str, x: Option<&[f64]>, most: f64| {
            let bad = x?.iter().find(|x| !(**x >= 0.0 && **x <= most))?;
            Some(fault(key, format!("{bad}, expected a number from 0 to {most}")))
        };
        fn one(x: &Option<f64>) -> Option<&[f64]> {
            x.as_ref().map(std::slice::from_ref)
        }
        fn many<const N: usize>(x: &Option<[f64; N]>) -> Option<&[f64]> {
            x.as_ref().map(|x| &x[..])
        }
        let faults = [
            from_zero("min_mass_kg", one(&self.min_mass_kg), LARGEST),
            above("max_mass_kg", one(&self.max_mass_kg)),
            from_zero("density_kg_m3", many(&self.density_kg_m3), 1e5),
            any("com_box_m", self.com_box_m.as_ref().map(|corners| corners.as_flattened())),
            any("center_m", many(&self.center_m)),
            above("size_m", many(&self.size_m)),
            above("cylinder_m", many(&self.cylinder_m)),
            above("mesh_scale", one(&self.mesh_scale)),
            any("nominal_mass_kg", one(&self.nominal_mass_kg)),
            any("nominal_com_m", many(&self.nominal_com_m)),
        ];
        faults.into_iter().flatten().next().map_or(Ok(()), Err)
    }
}

/// What two intervals have in common.
fn meet(a: Interval, b: Interval) -> Option<Interval> {
    let (lower, upper) = (a.lower().max(b.lower()), a.upper().min(b.upper()));
    (lower <= upper).then(|| Interval::new(lower, upper))
}

/// A box along the axes of the joint that holds a box of the frame.
fn turned(frame: &Placement, region: &Region) -> Region {
    std::array::from_fn(|row| {
        let turned = (0..3).map(|k| Interval::constant(frame.rotation[(row, k)]) * region[k]);
        turned.fold(Interval::around(frame.translation[row], FRAME), |sum, x| sum + x)
    })
}

impl Checked {
    /// Bounds of the ten parameters (module header).
    fn bounds(&self) -> [Interval; INERTIAL] {
        let Self { mass, region, com } = self;
        let ends = |k: usize| [region[k].lower(), region[k].upper()].map(Interval::constant);
        // S_kk and S_kl.
        let square = |k: usize| {
            let [l, u] = ends(k);
            let most = (*mass * ((l + u) * com[k] - l * u)).upper().min((*mass * region[k].sqr()).upper());
            let least = (*mass * com[k].sqr()).lower().max(0.0);
            Interval::new(least, most.max(least))
        };
        let product = |k: usize, j: usize| {
            let ([l, u], [a, b]) = (ends(k), ends(j));
            let (x, y) = (com[k], com[j]);
            let above = [u * y + a * x - u * a, l * y + b * x - l * b].map(|bound| (*mass * bound).upper());
            let below = [l * y + a * x - l * a, u * y + b * x - u * b].map(|bound| (*mass * bound).lower());
            let (least, most) = (below[0].max(below[1]), above[0].min(above[1]));
            Interval::new(least, most.max(least))
        };
        let [x, y, z] = [0, 1, 2].map(square);
        let [m, hx, hy, hz] = [*mass, *mass * com[0], *mass * com[1], *mass * com[2]];
        [m, hx, hy, hz, y + z, -product(0, 1), x + z, -product(0, 2), -product(1, 2), x + y]
    }
}

#[cfg(test)]
mod tests;
