//! A contact-aided extended Kalman filter of a legged robot's base, after [27]: what a smoother's localisation is compared with.
//!
//! The IMU's readings drive the state (place r and velocity v of the IMU, its attitude R, the places p of the feet, biases of accelerometer and gyroscope);
//! feet that stand keep their places. Encoders tell where a foot is from the IMU, R'(p - r), and, as leg odometry does, joint speeds tell that it does not
//! move: R'v = -(J dq + omega x s). Attitude errors are in the IMU's own axes. It knows no inertia, no torque and no dynamics of the robot.
//!
//! What a foot's touching down does to the velocity no accelerometer's sample shows, so the velocity is set free there by a stated deviation; a foot that
//! touches down gets its place from the legs, with the covariance that follows.

use nalgebra::{DMatrix, DVector, Matrix3, Matrix6, Rotation3, UnitQuaternion, Vector3};
use serde::Deserialize;

use crate::dynamics::{Axes, FrameDerivatives, Workspace};
use crate::robot::{Model, Placement};

/// Places of the parts of the state's error: r, v, attitude, biases of accelerometer and gyroscope, feet.
const R: usize = 0;
const V: usize = 3;
const PHI: usize = 6;
const ACCELEROMETER: usize = 9;
const GYROSCOPE: usize = 12;
const FEET: usize = 15;

/// A filter: what it believes of noise that no problem file states.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct FilterFile {
    /// Its name in tables.
    pub label: String,
    /// Random walk of a standing foot, m / sqrt(s).
    pub slip: f64,
    /// Deviation of the change of velocity where a foot touches down, m/s.
    pub impact_m_s: f64,
    /// Deviation of the accelerometer's bias at the beginning, m/s^2.
    #[serde(default)]
    pub accelerometer_bias_m_s2: f64,
    /// Deviation of the gyroscope's bias at the beginning, rad/s.
    #[serde(default)]
    pub gyroscope_bias_rad_s: f64,
    /// Random walk of the accelerometer's bias, m/s^2 / sqrt(s).
    #[serde(default)]
    pub accelerometer_walk: f64,
    /// Random walk of the gyroscope's bias, rad/s / sqrt(s).
    #[serde(default)]
    pub gyroscope_walk: f64,
}

impl FilterFile {
    /// The first number that is none of its kind, and what was expected.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let all = [
            ("slip", self.slip),
            ("impact_m_s", self.impact_m_s),
            ("accelerometer_bias_m_s2", self.accelerometer_bias_m_s2),
            ("gyroscope_bias_rad_s", self.gyroscope_bias_rad_s),
            ("accelerometer_walk", self.accelerometer_walk),
            ("gyroscope_walk", self.gyroscope_walk),
        ];
        let wrong = |(_, x): &(_, f64)| !(*x >= 0.0 && x.is_finite());
        all.into_iter().find(wrong).map(|(name, x)| (name, format!("is {x}, expected a finite number >= 0")))
    }
}

/// Standard deviations of single readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct SensorNoise {
    /// Encoders, rad, and joint speeds, rad/s.
    pub q: f64,
    pub dq: f64,
    /// Gyroscope, rad/s, and accelerometer, m/s^2.
    pub rate: f64,
    pub force: f64,
}

/// Where the base is believed to be.
#[derive(Debug, Clone)]
pub(super) struct BaseEstimate {
    /// Its place, m, and attitude.
    pub place: Vector3<f64>,
    pub attitude: UnitQuaternion<f64>,
    /// Its velocity and angular velocity in its own axes, m/s and rad/s.
    pub velocity: Vector3<f64>,
    pub rate: Vector3<f64>,
    /// Covariance of its place, m^2, along the world's axes.
    pub covariance: Matrix3<f64>,
}

/// A foot from the IMU, in its axes: place s, J dq + omega x s, and their covariance by encoders, speeds and gyroscope.
struct LegReading {
    s: Vector3<f64>,
    rate: Vector3<f64>,
    covariance: Matrix6<f64>,
}

/// The filter with its state.
pub(super) struct ContactAidedFilter<'a> {
    robot: &'a Model,
    file: FilterFile,
    noise: SensorNoise,
    /// The IMU's frame, and the feet's.
    imu: usize,
    feet: Vec<usize>,
    standing: Vec<bool>,
    workspace: Workspace,
    slopes: FrameDerivatives,
    r: Vector3<f64>,
    v: Vector3<f64>,
    attitude: Rotation3<f64>,
    places: Vec<Vector3<f64>>,
    accelerometer: Vector3<f64>,
    gyroscope: Vector3<f64>,
    p: DMatrix<f64>,
}

/// [x]: the matrix of the cross product with `x`.
fn cross(x: &Vector3<f64>) -> Matrix3<f64> {
    x.cross_matrix()
}

impl<'a> ContactAidedFilter<'a> {
    /// A filter that begins at rest with the base at `q` (x, y, z, quaternion; standard deviations `first` of x, y, z in m and about them in rad, along the
    /// base's axes, `first_speed` m/s), no foot standing.
    pub fn new(
        robot: &'a Model,
        (imu, feet): (usize, Vec<usize>),
        (file, noise): (FilterFile, SensorNoise),
        q: &[f64],
        (first, first_speed): ([f64; 6], f64),
    ) -> Self {
        let base = UnitQuaternion::new_normalize(nalgebra::Quaternion::new(q[6], q[3], q[4], q[5]))
            .to_rotation_matrix();
        let mount = robot.named_frames[imu].placement;
        let mut p = DMatrix::zeros(FEET + 3 * feet.len(), FEET + 3 * feet.len());
        // From the base's error to the IMU's: dr_imu = R (dr - [l] dphi), dphi_imu = M' dphi with M the IMU's axes in the base.
        let mut turn = Matrix6::zeros();
        turn.fixed_view_mut::<3, 3>(0, 0).copy_from(base.matrix());
        turn.fixed_view_mut::<3, 3>(0, 3).copy_from(&(-base.matrix() * cross(&mount.translation)));
        turn.fixed_view_mut::<3, 3>(3, 3).copy_from(&mount.rotation.transpose());
        let own = turn * Matrix6::from_diagonal(&first.map(|x| x * x).into()) * turn.transpose();
        for (r, c) in (0..6).flat_map(|r| (0..6).map(move |c| (r, c))) {
            let place = |k: usize| if k < 3 { R + k } else { PHI + k - 3 };
            p[(place(r), place(c))] = own[(r, c)];
        }
        for k in 0..3 {
            p[(V + k, V + k)] = first_speed.powi(2);
            p[(ACCELEROMETER + k, ACCELEROMETER + k)] = file.accelerometer_bias_m_s2.powi(2);
            p[(GYROSCOPE + k, GYROSCOPE + k)] = file.gyroscope_bias_rad_s.powi(2);
        }
        Self {
            robot,
            file,
            noise,
            imu,
            standing: vec![false; feet.len()],
            places: vec![Vector3::zeros(); feet.len()],
            feet,
            workspace: Workspace::new(robot),
            slopes: FrameDerivatives::new(robot),
            r: Vector3::new(q[0], q[1], q[2]) + base * mount.translation,
            v: Vector3::zeros(),
            attitude: base * Rotation3::from_matrix_unchecked(mount.rotation),
            accelerometer: Vector3::zeros(),
            gyroscope: Vector3::zeros(),
            p,
        }
    }

    fn mount(&self) -> Placement {
        self.robot.named_frames[self.imu].placement
    }

    /// Moves on by `h` s under the IMU's angular rate (rad/s, of the interval) and specific force (m/s^2, of its middle).
    pub fn propagate(&mut self, h: f64, rate: &Vector3<f64>, force: &Vector3<f64>) {
        let (omega, force) = (rate - self.gyroscope, force - self.accelerometer);
        let half = Rotation3::from_scaled_axis(0.5 * h * omega);
        let middle = self.attitude * half;
        let acceleration = middle * force + self.robot.gravity;
        let whole = Rotation3::from_scaled_axis(h * omega);
        let (by_turn, by_bias) =
            (-(middle.matrix() * cross(&force)) * half.matrix().transpose(), -middle.matrix());
        self.r += h * self.v + 0.5 * h * h * acceleration;
        self.v += h * acceleration;
        self.attitude *= whole;
        let n = self.p.nrows();
        let mut f = DMatrix::identity(n, n);
        let mut put = |r: usize, c: usize, m: Matrix3<f64>| f.fixed_view_mut::<3, 3>(r, c).copy_from(&m);
        put(R, V, h * Matrix3::identity());
        put(R, PHI, 0.5 * h * h * by_turn);
        put(R, ACCELEROMETER, 0.5 * h * h * by_bias);
        put(V, PHI, h * by_turn);
        put(V, ACCELEROMETER, h * by_bias);
        put(PHI, PHI, whole.matrix().transpose());
        put(PHI, GYROSCOPE, -h * Matrix3::identity());
        self.p = &f * &self.p * f.transpose();
        let add = |p: &mut DMatrix<f64>, at: (usize, usize), x: f64| {
            (0..3).for_each(|k| p[(at.0 + k, at.1 + k)] += x)
        };
        // A reading's noise acts for the whole interval; rotations leave it as it is.
        let force = self.noise.force.powi(2);
        add(&mut self.p, (R, R), 0.25 * h.powi(4) * force);
        add(&mut self.p, (R, V), 0.5 * h.powi(3) * force);
        add(&mut self.p, (V, R), 0.5 * h.powi(3) * force);
        add(&mut self.p, (V, V), h * h * force);
        add(&mut self.p, (PHI, PHI), (h * self.noise.rate).powi(2));
        add(&mut self.p, (ACCELEROMETER, ACCELEROMETER), h * self.file.accelerometer_walk.powi(2));
        add(&mut self.p, (GYROSCOPE, GYROSCOPE), h * self.file.gyroscope_walk.powi(2));
        for (i, _) in self.standing.iter().enumerate().filter(|(_, stands)| **stands) {
            add(&mut self.p, (FEET + 3 * i, FEET + 3 * i), h * self.file.slip.powi(2));
        }
    }

    /// What the legs tell of foot `i` with joints at `q`, `dq` (whole vectors; the base's part is not looked at).
    fn leg(&mut self, i: usize, q: &[f64], dq: &[f64], rate: &Vector3<f64>) -> LegReading {
        let (robot, n, mount) = (self.robot, self.robot.nv(), self.mount());
        let omega = mount.rotation * (rate - self.gyroscope);
        let (mut q, mut v) = (q.to_vec(), dq.to_vec());
        q[..7].copy_from_slice(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        v[..6].copy_from_slice(&[0.0, 0.0, 0.0, omega.x, omega.y, omega.z]);
        self.workspace.place_moving(robot, &q, &v, &vec![0.0; n]);
        let frame = &robot.named_frames[self.feet[i]];
        let apart = self.workspace.frame_placement(frame).translation - mount.translation;
        let moves = self.workspace.frame_velocity(frame, Axes::WorldAligned);
        self.workspace.frame_derivatives(robot, frame, Axes::WorldAligned, &mut self.slopes);
        let to_imu = mount.rotation.transpose();
        let (s, rate) = (
            to_imu * apart,
            to_imu * (Vector3::new(moves[0], moves[1], moves[2]) - omega.cross(&mount.translation)),
        );
        let mut covariance = Matrix6::zeros();
        for c in 6..n {
            let column = |m: &[f64]| to_imu * Vector3::new(m[c], m[n + c], m[2 * n + c]);
            let (place, moved) = (column(&self.slopes.jacobian), column(&self.slopes.velocity_by_q));
            let by_q = nalgebra::Vector6::new(place.x, place.y, place.z, moved.x, moved.y, moved.z);
            let by_dq = nalgebra::Vector6::new(0.0, 0.0, 0.0, place.x, place.y, place.z);
            covariance += self.noise.q.powi(2) * by_q * by_q.transpose()
                + self.noise.dq.powi(2) * by_dq * by_dq.transpose();
        }
        let mut turned = covariance.fixed_view_mut::<3, 3>(3, 3);
        turned += self.noise.rate.powi(2) * cross(&s) * cross(&s).transpose();
        LegReading { s, rate, covariance }
    }

    /// Corrects the state by the encoders (whole vectors `q`, `dq`) of all feet that stand, with the gyroscope's reading.
    pub fn correct(&mut self, q: &[f64], dq: &[f64], rate: &Vector3<f64>) {
        for i in 0..self.feet.len() {
            if !self.standing[i] {
                continue;
            }
            let LegReading { s, rate: moves, covariance } = self.leg(i, q, dq, rate);
            let back = self.attitude.inverse();
            let (place, speed) = (back * (self.places[i] - self.r), back * self.v);
            let apart = [s - place, -moves - speed];
            let mut h = DMatrix::zeros(6, self.p.nrows());
            let mut put = |r: usize, c: usize, m: Matrix3<f64>| h.fixed_view_mut::<3, 3>(r, c).copy_from(&m);
            put(0, R, -back.matrix());
            put(0, FEET + 3 * i, *back.matrix());
            put(0, PHI, cross(&place));
            put(3, V, *back.matrix());
            put(3, PHI, cross(&speed));
            // The reading took omega with the bias that is believed: what is wrong with it turns the foot.
            put(3, GYROSCOPE, cross(&s));
            let y = DVector::from_iterator(6, apart.iter().flat_map(|x| x.iter().copied()));
            self.update(&h, &y, &DMatrix::from_fn(6, 6, |r, c| covariance[(r, c)]));
        }
    }

    /// One Kalman correction, in Joseph's form.
    fn update(&mut self, h: &DMatrix<f64>, y: &DVector<f64>, noise: &DMatrix<f64>) {
        let ph = &self.p * h.transpose();
        // A sum of a covariance and of one that has no nullspace: three joints move a foot along all axes.
        let Some(factor) = (h * &ph + noise).cholesky() else { return };
        let gain = factor.solve(&ph.transpose()).transpose();
        let rest = DMatrix::identity(self.p.nrows(), self.p.nrows()) - &gain * h;
        self.p = &rest * &self.p * rest.transpose() + &gain * noise * gain.transpose();
        let d = gain * y;
        let part = |k: usize| Vector3::new(d[k], d[k + 1], d[k + 2]);
        self.r += part(R);
        self.v += part(V);
        self.attitude *= Rotation3::from_scaled_axis(part(PHI));
        self.accelerometer += part(ACCELEROMETER);
        self.gyroscope += part(GYROSCOPE);
        self.places.iter_mut().enumerate().for_each(|(i, p)| *p += part(FEET + 3 * i));
    }

    /// A new phase of contact. A foot that touches down gets its place by the legs; where the robot `moves`, its velocity is set free there.
    pub fn enter(&mut self, active: &[bool], (q, dq, rate): (&[f64], &[f64], &Vector3<f64>), moves: bool) {
        let mut touches = false;
        for (i, now) in active.iter().enumerate() {
            if *now && !self.standing[i] {
                touches = true;
                let LegReading { s, covariance, .. } = self.leg(i, q, dq, rate);
                self.place_foot(i, &s, &covariance.fixed_view::<3, 3>(0, 0).into_owned());
            }
            self.standing[i] = *now;
        }
        if touches && moves {
            (0..3).for_each(|k| self.p[(V + k, V + k)] += self.file.impact_m_s.powi(2));
        }
    }

    /// p = r + R s of foot `i`, with what that means for the covariance.
    fn place_foot(&mut self, i: usize, s: &Vector3<f64>, covariance: &Matrix3<f64>) {
        let (at, n, turn) = (FEET + 3 * i, self.p.nrows(), *self.attitude.matrix());
        self.places[i] = self.r + turn * s;
        let mut f = DMatrix::identity(n, n);
        f.fixed_view_mut::<3, 3>(at, at).fill(0.0);
        f.fixed_view_mut::<3, 3>(at, R).copy_from(&Matrix3::identity());
        f.fixed_view_mut::<3, 3>(at, PHI).copy_from(&(-turn * cross(s)));
        self.p = &f * &self.p * f.transpose();
        let mut own = self.p.fixed_view_mut::<3, 3>(at, at);
        own += turn * covariance * turn.transpose();
    }

    /// Where the base is by the present state; `rate` is the gyroscope's reading.
    pub fn base(&self, rate: &Vector3<f64>) -> BaseEstimate {
        let mount = self.mount();
        let attitude = self.attitude * Rotation3::from_matrix_unchecked(mount.rotation.transpose());
        let omega = mount.rotation * (rate - self.gyroscope);
        // r_base = r - R M' l: an error of the attitude turns the lever l about the IMU.
        let lever = mount.rotation.transpose() * mount.translation;
        let by_turn = self.attitude.matrix() * cross(&lever);
        let part = |r: usize, c: usize| self.p.fixed_view::<3, 3>(r, c).into_owned();
        let mixed = part(R, PHI) * by_turn.transpose();
        BaseEstimate {
            place: self.r - self.attitude * lever,
            attitude: UnitQuaternion::from_rotation_matrix(&attitude),
            velocity: attitude.inverse() * self.v - omega.cross(&mount.translation),
            rate: omega,
            covariance: part(R, R)
                + mixed
                + mixed.transpose()
                + by_turn * part(PHI, PHI) * by_turn.transpose(),
        }
    }
}
