//! What is known of a payload.

use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::robot::{Arm, FramedPayload};

use crate::border::{Fault, SureliftStatus, fault, input};

/// All numbers between two.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SureliftInterval {
    /// The smallest.
    pub lower: f64,
    /// The largest.
    pub upper: f64,
}

/// What is known of a payload alone, without what holds it, in a frame that moves with the hand. As long as the assumptions hold, the truth lies in each interval.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SureliftPayload {
    /// Mass, kg.
    pub mass_kg: SureliftInterval,
    /// Centre of mass (x, y, z), m; infinite where nothing bounds it, as the mass may be 0.
    pub com_m: [SureliftInterval; 3],
    /// I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the centre of mass, along the axes of the frame, kg m^2.
    pub inertia_kg_m2: [SureliftInterval; 6],
    /// An estimate of the mass, kg, of which nothing is proven; NaN where there is none.
    pub estimated_mass_kg: f64,
    /// The same of the centre of mass, m.
    pub estimated_com_m: [f64; 3],
    /// The same of the inertia, in the order of inertia_kg_m2.
    pub estimated_inertia_kg_m2: [f64; 6],
}

fn interval([lower, upper]: [f64; 2]) -> SureliftInterval {
    SureliftInterval { lower, upper }
}

/// What a set says of the payload in the frame of a link, or in the tool frame; `nominal` is an estimate of the whole last body.
pub(crate) fn of(
    arm: &Arm,
    frame: Option<&str>,
    set: &ParameterSet,
    nominal: Option<&[f64; INERTIAL]>,
) -> Result<SureliftPayload, Fault> {
    let body = set.body(arm.end_effector());
    let (bounds, middle) =
        ([body.lower(), body.upper()], std::array::from_fn(|k| 0.5 * (body.lower()[k] + body.upper()[k])));
    let found = FramedPayload::of_last_body(arm, frame, nominal.unwrap_or(&middle), Some(bounds), None)
        .map_err(input)?;
    let bounds = found.bounds.ok_or_else(|| {
        let words = "payload: no body fits the set, less what the empty hand may be";
        fault(SureliftStatus::Broken, words)
    })?;
    let estimate = found.estimate.filter(|_| nominal.is_some());
    let infinite = SureliftInterval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    Ok(SureliftPayload {
        mass_kg: interval(bounds.mass_kg),
        com_m: bounds.com_m.map_or([infinite; 3], |com| com.map(interval)),
        inertia_kg_m2: bounds.inertia_kg_m2.map(interval),
        estimated_mass_kg: estimate.map_or(f64::NAN, |body| body.mass_kg),
        estimated_com_m: estimate.map_or([f64::NAN; 3], |body| body.com_m),
        estimated_inertia_kg_m2: estimate.map_or([f64::NAN; 6], |body| body.inertia_kg_m2),
    })
}
