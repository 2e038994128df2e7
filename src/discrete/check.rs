//! What a problem must be given.

use super::error::DiscreteError;
use super::mechanism::Mechanism;
use super::observe::wrapped;
use super::parameters::MechanismParameter;
use super::problem::{DiscreteForm, EncoderLog, OutsideImpulses, ResidualWeights, SoughtParameter};

fn refuse<T>(what: &str, reason: String) -> Result<T, DiscreteError> {
    Err(DiscreteError::Recording { what: what.into(), reason })
}

pub(super) fn log(mechanism: &Mechanism, log: &EncoderLog) -> Result<(), DiscreteError> {
    if !(log.step_s > 0.0 && log.step_s.is_finite()) {
        return refuse("step_s", format!("is {}, expected a number above 0", log.step_s));
    }
    if log.angles.len() < 3 || log.controls.len() != log.angles.len() {
        let (a, c) = (log.angles.len(), log.controls.len());
        return refuse(
            "log",
            format!("{a} angles and {c} controls, expected at least three, as many of each"),
        );
    }
    let (hinges, joints) = (mechanism.hinges().len(), mechanism.joints.len());
    for (k, (angles, controls)) in log.angles.iter().zip(&log.controls).enumerate() {
        if angles.len() != hinges {
            return refuse(
                "log",
                format!("sample {k} has {} angles, expected {hinges}, one a hinge", angles.len()),
            );
        }
        if controls.len() != joints || controls.iter().any(|u| !u.is_finite()) {
            return refuse("log", format!("sample {k} has no {joints} finite controls, one a joint"));
        }
    }
    if let Some(h) = (0..hinges).find(|&h| log.angles.iter().all(|a| !a[h].is_finite())) {
        return refuse("log", format!("hinge {} is never read", h + 1));
    }
    Ok(())
}

pub(super) fn unknowns(mechanism: &Mechanism, unknowns: &[SoughtParameter]) -> Result<(), DiscreteError> {
    for (i, u) in unknowns.iter().enumerate() {
        if !u.parameter.exists(mechanism) {
            return refuse("parameters", format!("{:?} is none that the mechanism has", u.parameter));
        }
        let name = u.parameter.name(mechanism);
        if unknowns[..i].iter().any(|other| other.parameter == u.parameter) {
            return refuse(&name, "is asked for twice".into());
        }
        if !(u.scale > 0.0 && u.scale.is_finite()) {
            return refuse(&name, format!("`scale` is {}, expected a number above 0", u.scale));
        }
        if !(u.lower <= u.start && u.start <= u.upper && u.start.is_finite()) {
            let (a, b) = (u.lower, u.upper);
            return refuse(&name, format!("`start` is {}, expected a number from {a} to {b}", u.start));
        }
        if u.prior.is_some_and(|[mean, deviation]| !(mean.is_finite() && deviation > 0.0)) {
            return refuse(&name, "`prior` needs a finite value and a deviation above 0".into());
        }
    }
    Ok(())
}

/// Readings that vary by no more than so many deviations of an encoder's reading (rms) say that nothing moves.
const AT_REST: f64 = 2.0;

/// Rms of the readings of hinge `h` about their mean, rad; 0 where there are none.
fn variation(log: &EncoderLog, h: usize) -> f64 {
    let read: Vec<f64> = log.angles.iter().map(|a| a[h]).filter(|a| a.is_finite()).collect();
    let Some(first) = read.first() else { return 0.0 };
    let off: Vec<f64> = read.iter().map(|a| wrapped(a - first)).collect();
    let count = off.len() as f64;
    let mean = off.iter().sum::<f64>() / count;
    (off.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// Some hinge must move where something is sought that only motion tells.
pub(super) fn motion(
    mechanism: &Mechanism,
    (log, angle_rad): (&EncoderLog, f64),
    unknowns: &[SoughtParameter],
) -> Result<(), DiscreteError> {
    use MechanismParameter::{Inertia, Rate, Shaft, Viscous};
    let moving = |u: &&SoughtParameter| matches!(u.parameter, Inertia(..) | Viscous(_) | Shaft(_) | Rate(_));
    let names: Vec<String> = unknowns.iter().filter(moving).map(|u| u.parameter.name(mechanism)).collect();
    let largest = (0..mechanism.hinges().len()).map(|h| variation(log, h)).fold(0.0, f64::max);
    if names.is_empty() || largest > AT_REST * angle_rad {
        return Ok(());
    }
    refuse(
        "log",
        format!(
            "nothing moves: readings vary by {largest:.1e} rad (rms), expected more than {AT_REST} times the encoder's {angle_rad:.1e} rad. \
             Nothing tells {}",
            names.join(", ")
        ),
    )
}

pub(super) fn weights(weights: &ResidualWeights) -> Result<(), DiscreteError> {
    for (name, value) in [("kappa", weights.kappa), ("angle_rad", weights.angle_rad)] {
        if !(value > 0.0 && value.is_finite()) {
            return refuse(name, format!("is {value}, expected a number above 0"));
        }
    }
    Ok(())
}

pub(super) fn form(
    mechanism: &Mechanism,
    impulses: OutsideImpulses,
    form: DiscreteForm,
) -> Result<(), DiscreteError> {
    if form == DiscreteForm::Impulses {
        return Ok(());
    }
    if impulses != OutsideImpulses::Twice {
        return refuse(
            "impulses",
            "changes of state as unknowns need impulses for velocities and configuration".into(),
        );
    }
    let rigid = |j: &&super::mechanism::HeldJoint| {
        j.compliance_m_n == 0.0 || j.rows() > 3 && j.compliance_rad_nm == 0.0
    };
    match mechanism.joints.iter().find(rigid) {
        Some(j) => refuse(&j.name, "changes of state as unknowns need a compliance above 0".into()),
        None => Ok(()),
    }
}
