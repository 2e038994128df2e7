//! A tube as a file states it.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::TrackingTube;
use crate::reach::momentum::{BoundedTube, LawName, MomentumTube, StateBounds};
use crate::reach::motor_loops::MotorLoops;
use crate::reach::tube::Tube;
use crate::robot::Gains;

/// What may stand in a file: `law` says which of it has to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    law: Option<LawName>,
    tube: Option<MomentumTube>,
    bounds: Option<StateBounds>,
    gains: Option<Gains>,
    layer_ticks: Option<f64>,
    inertia_floor: Option<Vec<f64>>,
    lag_floor: Option<Vec<f64>>,
    drift_nm: Option<Vec<f64>>,
    hold_power_w: Option<f64>,
    energy_slack_j: Option<f64>,
    acceleration_bound: Option<Vec<f64>>,
    motor_loops: Option<Box<MotorLoops>>,
}

impl Fields {
    /// The first law's constants; nothing of the second's may stand there.
    fn energy<E: Error>(self) -> Result<Tube, E> {
        if self.tube.is_some() || self.bounds.is_some() {
            return Err(E::missing_field("law"));
        }
        let missing = E::missing_field;
        Ok(Tube {
            gains: self.gains.ok_or_else(|| missing("gains"))?,
            layer_ticks: self.layer_ticks.ok_or_else(|| missing("layer_ticks"))?,
            inertia_floor: self.inertia_floor.ok_or_else(|| missing("inertia_floor"))?,
            lag_floor: self.lag_floor.ok_or_else(|| missing("lag_floor"))?,
            drift_nm: self.drift_nm.ok_or_else(|| missing("drift_nm"))?,
            hold_power_w: self.hold_power_w.ok_or_else(|| missing("hold_power_w"))?,
            energy_slack_j: self.energy_slack_j.ok_or_else(|| missing("energy_slack_j"))?,
            acceleration_bound: self.acceleration_bound.ok_or_else(|| missing("acceleration_bound"))?,
            motor_loops: self.motor_loops,
        })
    }

    /// The second law's; nothing of the first's may stand there.
    fn momentum<E: Error>(self) -> Result<BoundedTube, E> {
        let lists = [&self.inertia_floor, &self.lag_floor, &self.drift_nm, &self.acceleration_bound];
        let numbers = [self.layer_ticks, self.hold_power_w, self.energy_slack_j];
        let others = lists.iter().any(|list| list.is_some()) || numbers.iter().any(Option::is_some);
        if others || self.gains.is_some() || self.motor_loops.is_some() {
            return Err(E::custom("law 'momentum' has `tube` and `bounds`, and nothing of another law"));
        }
        let tube = self.tube.ok_or_else(|| E::missing_field("tube"))?;
        let bounds = self.bounds.ok_or_else(|| E::missing_field("bounds"))?;
        Ok(BoundedTube { law: LawName::Momentum, tube, bounds })
    }
}

impl<'de> Deserialize<'de> for TrackingTube {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        match fields.law {
            None => fields.energy().map(Self::Energy),
            Some(LawName::Momentum) => fields.momentum().map(Self::from),
        }
    }
}
