//! The tube of a plan, of whichever law: what others than law and proof ask of it.

use serde::Serialize;

use super::momentum::BoundedTube;
use super::tube::Tube;

#[cfg(any(feature = "verify", not(surelift_program)))]
mod read;

/// Constants of the law that a plan is proven for, and of its proof.
///
/// In files those of the first law stand by themselves, as they did when there was no other; those of another name their law.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TrackingTube {
    /// The first law, [`super::tube`].
    Energy(Tube),
    /// The second law, [`super::momentum`].
    Momentum(Box<BoundedTube>),
}

impl From<Tube> for TrackingTube {
    fn from(tube: Tube) -> Self {
        Self::Energy(tube)
    }
}

impl From<BoundedTube> for TrackingTube {
    fn from(tube: BoundedTube) -> Self {
        Self::Momentum(Box::new(tube))
    }
}

impl TrackingTube {
    /// The first law's constants, if it is of that.
    pub fn energy(&self) -> Option<&Tube> {
        match self {
            Self::Energy(tube) => Some(tube),
            Self::Momentum(_) => None,
        }
    }

    /// The first law's constants, to be changed, if it is of that.
    pub fn energy_mut(&mut self) -> Option<&mut Tube> {
        match self {
            Self::Energy(tube) => Some(tube),
            Self::Momentum(_) => None,
        }
    }

    /// The second law's, if it is of that.
    pub fn momentum(&self) -> Option<&BoundedTube> {
        match self {
            Self::Energy(_) => None,
            Self::Momentum(tube) => Some(tube),
        }
    }

    /// Becomes that of the first law, in the memory that it has if it was of it before.
    pub fn assign_energy(&mut self, other: &Tube) {
        match self {
            Self::Energy(tube) => tube.assign(other),
            Self::Momentum(_) => *self = Self::Energy(other.clone()),
        }
    }

    /// K_r, 1/s.
    pub fn k_r(&self) -> f64 {
        match self {
            Self::Energy(tube) => tube.gains.k_r,
            Self::Momentum(bounded) => bounded.tube.gains.k_r,
        }
    }

    /// The control period h, s.
    pub fn period_s(&self) -> f64 {
        match self {
            Self::Energy(tube) => tube.gains.period_s,
            Self::Momentum(bounded) => bounded.tube.timing.period_s,
        }
    }

    /// Bound of |e_j| at all times of the plan, rad; a joint that there is no bound for has none below infinity.
    pub fn e_radius(&self, j: usize) -> f64 {
        match self {
            Self::Energy(tube) => tube.e_radius(j),
            Self::Momentum(bounded) => bound(&bounded.bounds.position_error_rad, j),
        }
    }

    /// Bound of |e_j| once the desired motion rests, rad.
    pub fn rest_radius(&self, j: usize) -> f64 {
        match self {
            Self::Energy(tube) => tube.e_radius(j),
            Self::Momentum(bounded) => bound(&bounded.bounds.rest_error_rad, j),
        }
    }

    /// Bound of |r_j| at all times of the plan, rad/s.
    pub fn r_radius(&self, j: usize) -> f64 {
        match self {
            Self::Energy(tube) => tube.r_radius(j),
            Self::Momentum(bounded) => bound(&bounded.bounds.r_rad_s, j),
        }
    }

    /// Bounds of |ddq_j|, rad/s^2.
    pub fn acceleration_bound(&self) -> &[f64] {
        match self {
            Self::Energy(tube) => &tube.acceleration_bound,
            Self::Momentum(bounded) => &bounded.bounds.acceleration_rad_s2,
        }
    }

    /// Time on a curve of `duration_s` after so many control periods of its plan, s: past the end, the end. Both laws have the first of it, for the second it is
    /// a time of the plan's own clock, which its ticks need not keep.
    pub fn time_of_tick(&self, duration_s: f64, ticks: u64) -> f64 {
        (ticks as f64 * self.period_s()).min(duration_s)
    }
}

fn bound(list: &[f64], j: usize) -> f64 {
    list.get(j).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::fixture;
    use crate::reach::momentum::{CycleTiming, LawName, MomentumGains, MomentumTube, StateBounds};

    fn momentum() -> TrackingTube {
        let tube = MomentumTube {
            gains: MomentumGains { k_r: 4.0, kappa: 80.0 },
            timing: CycleTiming {
                period_s: 1e-3,
                latency_s: 1e-3,
                delay_s: 5e-4,
                jitter_s: 0.0,
                drive_lag_s: 0.0,
            },
            robust_nm: vec![0.1, 1.0 / 3.0],
            noise_nms: vec![0.1; 2],
            lag_nms2: vec![0.1; 2],
            sign_band_rad_s: vec![0.1; 2],
            start: None,
        };
        let bounds = StateBounds {
            position_error_rad: vec![2e-2; 2],
            rest_error_rad: vec![1e-2; 2],
            r_rad_s: vec![3e-2; 2],
            acceleration_rad_s2: vec![7.0; 2],
        };
        BoundedTube { law: LawName::Momentum, tube, bounds }.into()
    }

    #[test]
    fn both_laws_come_back_from_a_file_as_they_were() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let energy = fixture::tube(&robot);
        let text = serde_json::to_string(&TrackingTube::from(energy.clone())).unwrap();
        // As before there was another law.
        assert_eq!(text, serde_json::to_string(&energy).unwrap());
        assert_eq!(serde_json::from_str::<TrackingTube>(&text).unwrap(), energy.into());
        let tube = momentum();
        let text = serde_json::to_string(&tube).unwrap();
        assert!(text.starts_with(r#"{"law":"momentum","#), "{text}");
        assert_eq!(serde_json::from_str::<TrackingTube>(&text).unwrap(), tube);
        let refused = |text: &str| serde_json::from_str::<TrackingTube>(text).unwrap_err().to_string();
        assert!(refused(&text.replace("momentum", "magic")).contains("magic"));
        assert!(refused(&text.replace("kappa", "kapa")).contains("kapa"));
        assert!(refused(&text.replace(r#""law":"momentum","#, "")).contains("missing field `law`"));
        assert!(refused(r#"{"law": "momentum"}"#).contains("missing field `tube`"));
        assert!(refused(r#"{"law": "momentum", "layer_ticks": 2.0}"#).contains("nothing of another law"));
        assert!(refused(r#"{"layer_ticks": 2.0}"#).contains("missing field `gains`"));
    }

    #[test]
    fn others_are_told_what_each_law_has() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let (own, tube) = (fixture::tube(&robot), TrackingTube::from(fixture::tube(&robot)));
        for j in 0..robot.dof() {
            let radii = (tube.e_radius(j), tube.rest_radius(j), tube.r_radius(j));
            assert_eq!(radii, (own.e_radius(j), own.e_radius(j), own.r_radius(j)));
        }
        assert_eq!(tube.time_of_tick(1.0, 7), own.time_of_tick(1.0, 7));
        assert_eq!((tube.k_r(), tube.period_s()), (own.gains.k_r, own.gains.period_s));
        let tube = momentum();
        assert_eq!((tube.e_radius(1), tube.rest_radius(1), tube.r_radius(1)), (2e-2, 1e-2, 3e-2));
        assert_eq!((tube.k_r(), tube.period_s(), tube.e_radius(2)), (4.0, 1e-3, f64::INFINITY));
        assert_eq!((tube.time_of_tick(1.0, 500), tube.time_of_tick(1.0, 2000)), (0.5, 1.0));
    }
}
