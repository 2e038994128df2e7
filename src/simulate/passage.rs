//! Where an obstacle goes: the truth about it, for the simulator alone.

use nalgebra::Vector3;

use super::faults::FastObstacle;

/// Way-points of an obstacle. Before the first it comes from where the scene has it at time 0, after the last it stays; between two it moves evenly.
#[derive(Debug, Clone, PartialEq)]
pub struct ObstaclePath {
    /// Index of the obstacle in the scene.
    obstacle: usize,
    /// Time (s, from 0 on, each after the one before), and how far it is then from where the scene has it (m).
    points: Vec<(f64, Vector3<f64>)>,
}

impl ObstaclePath {
    /// A path; `Err` names the way-point whose time is not after the one before.
    pub(crate) fn new(obstacle: usize, points: Vec<(f64, Vector3<f64>)>) -> Result<Self, usize> {
        let all: Vec<_> = std::iter::once((0.0, Vector3::zeros())).chain(points).collect();
        match all.windows(2).position(|pair| !(pair[0].0 < pair[1].0 && pair[1].0.is_finite())) {
            Some(late) => Err(late),
            None => Ok(Self { obstacle, points: all }),
        }
    }

    /// Largest speed, m/s, and the way-point that it leads to.
    pub(crate) fn fastest(&self) -> (f64, usize) {
        let speed = |pair: &[(f64, Vector3<f64>)]| (pair[1].1 - pair[0].1).norm() / (pair[1].0 - pair[0].0);
        let speeds = self.points.windows(2).map(speed).enumerate();
        speeds.fold((0.0, 0), |most, (k, speed)| if speed > most.0 { (speed, k) } else { most })
    }

    /// Index of the obstacle in the scene.
    pub(super) fn obstacle(&self) -> usize {
        self.obstacle
    }

    /// How far it is at time `t` (s) from where the scene has it, m; with a fault of speed.
    pub(super) fn offset(&self, t: f64, fault: Option<&FastObstacle>) -> Vector3<f64> {
        let t = fault.filter(|fault| fault.obstacle == self.obstacle).map_or(t, |fault| fault.hurried(t));
        let next = self.points.partition_point(|point| point.0 <= t);
        match (self.points.get(next.wrapping_sub(1)), self.points.get(next)) {
            (Some(a), Some(b)) => a.1 + (b.1 - a.1) * ((t - a.0) / (b.0 - a.0)),
            (Some(last), None) => last.1,
            _ => Vector3::zeros(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_evenly_from_point_to_point_and_stays() {
        let far = Vector3::new(0.0, -3.0, 0.0);
        let path = ObstaclePath::new(1, vec![(2.0, Vector3::zeros()), (4.0, far)]).unwrap();
        for (t, y) in [(0.0, 0.0), (2.0, 0.0), (3.0, -1.5), (4.0, -3.0), (9.0, -3.0)] {
            assert!((path.offset(t, None).y - y).abs() < 1e-12, "{t}");
        }
        assert_eq!(path.fastest(), (1.5, 1));
        let fault = FastObstacle { obstacle: 1, at_s: 3.0, factor: 2.0 };
        assert!((path.offset(3.25, Some(&fault)).y + 2.25).abs() < 1e-12);
        let other = FastObstacle { obstacle: 0, ..fault };
        assert!((path.offset(3.25, Some(&other)).y + 1.875).abs() < 1e-12);
    }

    #[test]
    fn times_that_do_not_follow_each_other_are_named() {
        let at = |times: &[f64]| ObstaclePath::new(0, times.iter().map(|t| (*t, Vector3::zeros())).collect());
        assert_eq!(at(&[0.0]), Err(0));
        assert_eq!(at(&[1.0, 1.0]), Err(1));
        assert_eq!(at(&[1.0, f64::NAN]), Err(1));
        assert!(at(&[]).is_ok());
    }
}
