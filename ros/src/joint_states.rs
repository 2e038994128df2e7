//! What the arm says of itself: `sensor_msgs/JointState`, its joints by their names, whatever cannot be understood refused by name.

use thiserror::Error;

use crate::messages::{JointState, Stamp};

/// What is wrong with a joint state. It is not used.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum JointStateFault {
    #[error("`{field}` has {found} entries, expected {expected}, one for each name")]
    Length { field: &'static str, found: usize, expected: usize },
    #[error("joint '{0}' is missing, while others of the arm are there")]
    Missing(String),
    #[error("joint '{0}' is named twice")]
    Twice(String),
    #[error("joint '{joint}': {field} is {value}, expected a finite number")]
    NotFinite { joint: String, field: &'static str, value: f64 },
    #[error("time went from {before} ns to {now} ns, expected a later stamp than the one before")]
    Backwards { before: i64, now: i64 },
}

/// One joint state, in the order of the arm's joints.
#[derive(Debug, Clone, PartialEq)]
pub struct JointReading {
    /// As it came; commands are stamped with it.
    pub stamp: Stamp,
    /// Seconds since the first one.
    pub t: f64,
    /// Positions, rad (m).
    pub q: Vec<f64>,
    /// Velocities, rad/s (m/s).
    pub dq: Vec<f64>,
    /// Mean torques since the reading before, N m (N), if any are measured.
    pub effort: Option<Vec<f64>>,
}

/// Takes joint states of one arm.
pub struct JointStateReader {
    joints: Vec<String>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl JointStateReader {
    /// For joints of these names, in the model's order.
    pub fn new(joints: Vec<String>) -> Self {
        Self { joints, first_ns: None, last_ns: None }
    }

    /// Forgets the time: the next stamp may be any, and time begins anew with it.
    pub fn forget(&mut self) {
        (self.first_ns, self.last_ns) = (None, None);
    }

    /// The reading in a message; `None` if it names none of the arm's joints, as that of a gripper.
    ///
    /// # Errors
    /// [`JointStateFault`] names what is wrong; the message counts for nothing then.
    pub fn read(&mut self, message: &JointState) -> Result<Option<JointReading>, JointStateFault> {
        let Some(places) = self.places(&message.name)? else { return Ok(None) };
        let count = message.name.len();
        let q = self.picked("position", &message.position, &places, count)?;
        let dq = self.picked("velocity", &message.velocity, &places, count)?;
        let measured = !message.effort.is_empty();
        let effort = measured.then(|| self.picked("effort", &message.effort, &places, count)).transpose()?;
        let now = message.header.stamp.nanoseconds();
        if let Some(before) = self.last_ns.filter(|before| now <= *before) {
            return Err(JointStateFault::Backwards { before, now });
        }
        self.last_ns = Some(now);
        let first = *self.first_ns.get_or_insert(now);
        let t = (now - first) as f64 / 1e9;
        Ok(Some(JointReading { stamp: message.header.stamp, t, q, dq, effort }))
    }

    /// Where each of the arm's joints stands among `names`.
    fn places(&self, names: &[String]) -> Result<Option<Vec<usize>>, JointStateFault> {
        let mut places = Vec::with_capacity(self.joints.len());
        let mut missing = None;
        for joint in &self.joints {
            let mut found = names.iter().enumerate().filter(|(_, name)| *name == joint);
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => return Err(JointStateFault::Twice(joint.clone())),
                (Some((place, _)), None) => places.push(place),
                (None, _) => missing = missing.or(Some(joint)),
            }
        }
        match missing {
            Some(_) if places.is_empty() => Ok(None),
            Some(joint) => Err(JointStateFault::Missing(joint.clone())),
            None => Ok(Some(places)),
        }
    }

    fn picked(
        &self,
        field: &'static str,
        values: &[f64],
        places: &[usize],
        expected: usize,
    ) -> Result<Vec<f64>, JointStateFault> {
        if values.len() != expected {
            return Err(JointStateFault::Length { field, found: values.len(), expected });
        }
        let picked: Vec<f64> = places.iter().map(|&place| values[place]).collect();
        match picked.iter().position(|x| !x.is_finite()) {
            Some(j) => {
                Err(JointStateFault::NotFinite { joint: self.joints[j].clone(), field, value: picked[j] })
            }
            None => Ok(picked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Header;

    fn reader() -> JointStateReader {
        JointStateReader::new(["a", "b"].map(str::to_owned).to_vec())
    }

    fn message(nanosec: u32, names: &[&str], numbers: [&[f64]; 3]) -> JointState {
        let [position, velocity, effort] = numbers.map(<[f64]>::to_vec);
        JointState {
            header: Header { stamp: Stamp { sec: 7, nanosec }, frame_id: String::new() },
            name: names.iter().map(|name| (*name).to_owned()).collect(),
            position,
            velocity,
            effort,
        }
    }

    #[test]
    fn joints_are_found_by_name_and_others_left_out() {
        let mut reader = reader();
        let first = message(0, &["b", "finger", "a"], [&[2.0, 9.0, 1.0], &[4.0, 9.0, 3.0], &[]]);
        let read = reader.read(&first).unwrap().unwrap();
        assert_eq!((read.t, read.q, read.dq, read.effort), (0.0, vec![1.0, 2.0], vec![3.0, 4.0], None));
        let second = message(1_000_000, &["a", "b"], [&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]]);
        let read = reader.read(&second).unwrap().unwrap();
        assert_eq!((read.t, read.effort), (1e-3, Some(vec![5.0, 6.0])));
        assert_eq!(reader.read(&message(0, &["finger"], [&[1.0], &[1.0], &[]])), Ok(None));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_by_name() {
        let mut reader = reader();
        let fine: &[f64] = &[1.0, 2.0];
        let good = |nanosec| message(nanosec, &["a", "b"], [fine, fine, fine]);
        reader.read(&good(500)).unwrap();
        let cases: [(JointState, &str); 9] = [
            (message(600, &["a"], [&[1.0], &[1.0], &[1.0]]), "joint 'b' is missing"),
            (message(600, &["a", "b", "a"], [&[1.0; 3], &[1.0; 3], &[]]), "joint 'a' is named twice"),
            (message(600, &["a", "b"], [&[1.0], fine, fine]), "`position` has 1 entries, expected 2"),
            (message(600, &["a", "b"], [fine, &[], fine]), "`velocity` has 0 entries, expected 2"),
            (message(600, &["a", "b"], [fine, fine, &[1.0; 3]]), "`effort` has 3 entries, expected 2"),
            (message(600, &["a", "b"], [fine, &[1.0, f64::NAN], fine]), "joint 'b': velocity is NaN"),
            (message(600, &["a", "b"], [&[f64::INFINITY, 1.0], fine, fine]), "joint 'a': position is inf"),
            (good(400), "from 7000000500 ns to 7000000400 ns"),
            (good(500), "expected a later stamp"),
        ];
        for (bad, told) in cases {
            let fault = reader.read(&bad).unwrap_err().to_string();
            assert!(fault.contains(told), "{fault}");
        }
        // None of them counted.
        assert_eq!(reader.read(&good(600)).unwrap().unwrap().t, 100e-9);
        reader.forget();
        assert!(reader.read(&good(300)).unwrap().is_some());
    }
}
