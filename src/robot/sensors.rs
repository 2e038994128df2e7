//! What the sensors may get wrong.

use serde::{Deserialize, Serialize};

/// Bounds on what the sensors may get wrong (assumption A2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensors {
    /// |measured q - q| <= this, rad.
    pub position_rad: f64,
    /// |measured dq - dq| <= this, rad/s.
    pub velocity_rad_s: f64,
    /// |measured tau - tau| <= torque_ratio |tau| + torque_abs_nm.
    pub torque_ratio: f64,
    /// Absolute part of the torque bound, N m.
    pub torque_abs_nm: f64,
    /// The same joint by joint, N m (N), where torque sensors are not all alike: holds in place of `torque_abs_nm`. None where they are.
    /// A robot TOML states it with its joints (`[joints.NAME.torque_sensor]`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torque_abs_of_joints_nm: Vec<f64>,
}

/// Bounds on what the torque sensor of one joint may get wrong: |measured tau - tau| <= ratio |tau| + abs_nm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TorqueSensor {
    /// The part in proportion to the torque, below 1.
    pub ratio: f64,
    /// The absolute part, N m (N).
    pub abs_nm: f64,
}

impl TorqueSensor {
    /// Most that a reading of the torque `tau` (N m) is off by, N m; rounded to nearest, for what proves nothing.
    pub fn error_nm(self, tau: f64) -> f64 {
        self.ratio * tau.abs() + self.abs_nm
    }

    /// Most that the torque is away from its reading `measured`, N m; rounded to nearest.
    ///
    /// |measured - tau| <= ratio |tau| + abs_nm and |tau| <= |measured| + |measured - tau| give |measured - tau| (1 - ratio) <=
    /// ratio |measured| + abs_nm.
    pub fn error_of_reading_nm(self, measured: f64) -> f64 {
        self.error_nm(measured) / (1.0 - self.ratio)
    }
}

impl Sensors {
    /// Sensors without errors.
    pub const PERFECT: Self = Self {
        position_rad: 0.0,
        velocity_rad_s: 0.0,
        torque_ratio: 0.0,
        torque_abs_nm: 0.0,
        torque_abs_of_joints_nm: Vec::new(),
    };

    /// The torque sensor of joint `j`.
    pub fn torque(&self, j: usize) -> TorqueSensor {
        let abs_nm = self.torque_abs_of_joints_nm.get(j).copied().unwrap_or(self.torque_abs_nm);
        TorqueSensor { ratio: self.torque_ratio, abs_nm }
    }

    /// The absolute parts of the torque bounds in words, N m: one figure, or one a joint.
    pub fn torque_abs_words(&self) -> String {
        match &self.torque_abs_of_joints_nm[..] {
            [] => self.torque_abs_nm.to_string(),
            own => own.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
        }
    }

    /// The same with torque sensors that are all like `sensor`.
    #[must_use]
    pub fn with_torque(self, sensor: TorqueSensor) -> Self {
        let TorqueSensor { ratio, abs_nm } = sensor;
        Self { torque_ratio: ratio, torque_abs_nm: abs_nm, torque_abs_of_joints_nm: vec![], ..self }
    }

    /// The same with the errors of torque sensors times `factor`, which may make bounds that are none.
    #[must_use]
    pub fn with_torque_errors_times(mut self, factor: f64) -> Self {
        self.torque_ratio *= factor;
        self.torque_abs_nm *= factor;
        self.torque_abs_of_joints_nm.iter_mut().for_each(|abs| *abs *= factor);
        self
    }

    /// The first bound of an arm of `joints` joints that is none, by its name, and what was expected.
    pub fn fault(&self, joints: usize) -> Option<(&'static str, String)> {
        let all = [
            ("position_rad", self.position_rad),
            ("velocity_rad_s", self.velocity_rad_s),
            ("torque_ratio", self.torque_ratio),
            ("torque_abs_nm", self.torque_abs_nm),
        ];
        let own = self.torque_abs_of_joints_nm.iter().map(|x| ("torque_abs_of_joints_nm", *x));
        let bad = all.into_iter().chain(own).find(|(_, x)| !(*x >= 0.0 && x.is_finite()));
        if let Some((what, x)) = bad {
            return Some((what, format!("{x}, expected a finite number not below 0")));
        }
        let found = self.torque_abs_of_joints_nm.len();
        (found != 0 && found != joints).then(|| {
            let expected = format!("{found}, expected one for each of the {joints} joints, or none");
            ("torque_abs_of_joints_nm", expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uneven() -> Sensors {
        Sensors {
            torque_ratio: 0.025,
            torque_abs_nm: 0.3,
            torque_abs_of_joints_nm: vec![0.3, 0.15],
            ..Sensors::PERFECT
        }
    }

    #[test]
    fn joints_have_their_own_torque_sensors_where_they_are_stated() {
        let sensors = uneven();
        assert_eq!((sensors.torque(0).abs_nm, sensors.torque(1).abs_nm), (0.3, 0.15));
        let alike = TorqueSensor { ratio: 0.0, abs_nm: 0.2 };
        let even = sensors.clone().with_torque(alike);
        assert_eq!((even.torque(0), even.torque(1)), (alike, alike));
        let twice = sensors.with_torque_errors_times(2.0);
        assert_eq!(twice.torque(1), TorqueSensor { ratio: 0.05, abs_nm: 0.3 });
        assert_eq!(twice.torque_abs_nm, 0.6);
    }

    #[test]
    fn a_torque_may_be_as_far_from_its_reading_as_its_own_error_is_large() {
        let sensor = TorqueSensor { ratio: 0.2, abs_nm: 1.0 };
        for measured in [-10.0f64, 0.0, 3.0] {
            let torque = measured.abs() + sensor.error_of_reading_nm(measured);
            assert!((torque - sensor.error_nm(torque) - measured.abs()).abs() < 1e-12);
        }
    }

    #[test]
    fn bounds_that_are_none_are_named() {
        assert_eq!(uneven().fault(2), None);
        let fault = |change: &dyn Fn(&mut Sensors)| {
            let mut sensors = uneven();
            change(&mut sensors);
            sensors.fault(2).unwrap().0
        };
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            assert_eq!(fault(&|s| s.velocity_rad_s = bad), "velocity_rad_s");
            assert_eq!(fault(&|s| s.torque_abs_of_joints_nm[1] = bad), "torque_abs_of_joints_nm");
        }
        assert_eq!(uneven().fault(3).unwrap().1, "2, expected one for each of the 3 joints, or none");
    }
}
