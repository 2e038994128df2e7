//! Terms of tubes that narrow, and of what a plan must be wide for when it takes over from another.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::*;
use crate::dynamics::truth;
use crate::reach::momentum::{Fall, MomentumPredecessor, WideStart, handover};

const FALL: Fall = Fall { hold_s: 0.1, rate_1_s: 4.0 };

/// A tube that falls to half of what it is at its start.
fn falling(case: &mut Case, momentum_fall: Fall, lag_fall: Fall) {
    let n = case.n();
    case.tube.robust_nm = (0..n).map(|j| 5.0 + j as f64).collect();
    case.tube.noise_nms = (0..n).map(|j| 0.02 + 0.01 * j as f64).collect();
    case.tube.lag_nms2 = (0..n).map(|j| 0.003 * (1 + j) as f64).collect();
    let wide = |list: &[f64]| -> Vec<f64> { list.iter().map(|x| 2.0 * x).collect() };
    case.tube.start = Some(WideStart {
        robust_nm: wide(&case.tube.robust_nm),
        noise_nms: wide(&case.tube.noise_nms),
        lag_nms2: wide(&case.tube.lag_nms2),
        sign_band_rad_s: wide(&case.tube.sign_band_rad_s),
        carried_nms: vec![],
        momentum_fall,
        lag_fall,
    });
}

fn reports(case: &Case, span: Span) -> (MomentumReport, MomentumReport) {
    let report = |tube: &MomentumTube| {
        let at = (Pieces::from(&case.curve), span);
        MomentumReport::new(&case.robot, &case.set, tube, at, &mut case.space()).unwrap()
    };
    let age_s = case.tube.timing.age_s();
    let Span::Between(t0, _) = span else { unreachable!() };
    (report(&case.tube), report(&case.tube.widest_from(t0 - 2.0 * age_s)))
}

#[test]
fn a_tube_that_narrows_pays_for_its_fall() {
    let case = case(0.3, |case| falling(case, FALL, Fall { rate_1_s: 3.0, ..FALL }));
    let tube = &case.tube;
    let (falling, still) = reports(&case, Span::Between(T, T));
    let rate = |of: &dyn Fn(f64) -> f64| {
        let t = T - 2.0 * tube.timing.age_s();
        (of(t - 1e-5) - of(t + 1e-5)) / 2e-5
    };
    let differ = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let paid = differ(&falling.needs.robust_nm, &still.needs.robust_nm);
    let exact =
        |j: usize| rate(&|t| tube.robust_at(j, t) / GAINS.kappa + tube.noise_at(j, t)) / still.reaction[j].0;
    near(&paid, exact, 1e-8);
    let paid = differ(&falling.needs.lag_nms2, &still.needs.lag_nms2);
    near(&paid, |j| rate(&|t| tube.lag_at(j, t)) / GAINS.k_r, 1e-9);
    assert!((0..7).all(|j| exact(j) > 0.01));
}

/// What is needed is asked of the least constants that the span's commands have, and its states are of the widest tube two ages before.
#[test]
fn a_span_reaches_from_two_ages_before_it_to_one_after() {
    let sudden = |hold_s: f64| Fall { hold_s, rate_1_s: 1e6 };
    let with = |hold_s: f64| {
        case(0.3, |case| {
            case.tube.timing.delay_s = 5e-3;
            falling(case, sudden(hold_s), sudden(hold_s));
        })
    };
    let (t0, t1) = (T, T + 0.02);
    let age_s = 5.1e-3;
    let still = |case: &Case| {
        let (report, _) = reports(case, Span::Between(t0, t1));
        (report.r_rad_s[1], report.position_error_rad[1])
    };
    let (wide, early, late) = (with(0.5), with(t0 - 1.9 * age_s), with(t0 - 2.1 * age_s));
    let (most, same, least) = (still(&wide), still(&early), still(&late));
    assert!((most.0 / same.0 - 1.0).abs() < 1e-9 && (most.1 / same.1 - 1.0).abs() < 1e-9);
    assert!(least.0 < 0.55 * most.0 && least.1 < 0.55 * most.1);
    // The other end.
    let left = |hold_s: f64| {
        let case = with(hold_s);
        let (report, _) = reports(&case, Span::Between(t0, t1));
        let least = report.needs.least_of(&case.tube);
        (least.robust_nm[2] / 14.0, least.lag_nms2[2] / 0.018, case.tube.shares_over(report.needs.span))
    };
    let (u, lag, shares) = left(t1 + 1.01 * age_s);
    assert!((u - 1.0).abs() < 1e-9 && (lag - 1.0).abs() < 1e-9 && shares == (1.0, 1.0));
    let (u, lag, shares) = left(t1 + 0.99 * age_s);
    assert!(u < 0.6 && lag < 0.6 && shares.0 < 0.1 && shares.1 < 0.1);
    // Where drives lag, for as much longer as they remember; until then only moments after the plan's end do.
    let lagging = |hold_s: f64| {
        let mut case = with(hold_s);
        case.tube.timing.drive_lag_s = 2e-3;
        let (report, _) = reports(&case, Span::Between(t0, t1));
        let least = report.needs.least_of(&case.tube);
        (report.r_rad_s[1], least.robust_nm[2] / 14.0)
    };
    let memory_s = 0.02;
    let (early, late) = (lagging(t0 - 1.9 * age_s - memory_s).0, lagging(t0 - 2.1 * age_s - memory_s).0);
    assert!(early > 1.9 * late, "{early} {late}");
    let (held, fallen) =
        (lagging(t1 + 1.01 * (age_s + memory_s)).1, lagging(t1 + 0.99 * (age_s + memory_s)).1);
    assert!((held - 1.0).abs() < 1e-9 && fallen < 0.6, "{held} {fallen}");
    // At rest after the plan it is what it ends as.
    let case = with(2.0);
    let at = (Pieces::from(&case.curve), Span::Rest);
    let report = MomentumReport::new(&case.robot, &case.set, &case.tube, at, &mut case.space()).unwrap();
    assert!(!report.needs.covered_by(&MomentumTube { robust_nm: vec![0.0; 7], ..case.tube.clone() }));
    assert_eq!(case.tube.shares_over(report.needs.span), (0.0, 0.0));
}

/// What a controller computes of a tube that narrows, against powers.
#[test]
fn the_tube_falls_as_it_is_said_to() {
    let case = case(0.3, |case| falling(case, FALL, Fall { hold_s: 0.2, rate_1_s: 3.0 }));
    let tube = &case.tube;
    let share = |t: f64, hold: f64, rate: f64| (1.0 + rate * (t - hold).max(0.0) / 8.0).powi(-8);
    for t in [-1.0, 0.0, 0.1, 0.15, 0.3, 1.0, 7.0] {
        let (momentum, lag) = (share(t, 0.1, 4.0), share(t, 0.2, 3.0));
        for j in 0..7 {
            let (u, noise) = (5.0 + j as f64, 0.02 + 0.01 * j as f64);
            let close = |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 1e-13, "{t}: {found}");
            close(tube.robust_at(j, t), u * (1.0 + momentum));
            close(tube.noise_at(j, t), noise * (1.0 + momentum));
            close(tube.lag_at(j, t), 0.003 * (1 + j) as f64 * (1.0 + lag));
            close(tube.sign_band_at(j, t), 0.05 * (1.0 + lag));
            let (widest, narrowest) = (tube.widest_from(t), tube.narrowest_until(t));
            assert!(
                widest.robust_nm[j] > tube.robust_at(j, t) && narrowest.robust_nm[j] < tube.robust_at(j, t)
            );
            assert!(widest.lag_nms2[j] > tube.lag_at(j, t) && narrowest.lag_nms2[j] < tube.lag_at(j, t));
        }
    }
    assert!((FALL.share(FALL.time_to(0.4)) - 0.4).abs() < 1e-12);
    assert_eq!(tube.robust_at(3, f64::INFINITY), 8.0);
}

#[test]
fn starts_that_are_none_are_named() {
    let good = case(0.3, |case| falling(case, FALL, FALL)).tube;
    assert_eq!(good.fault(7), None);
    let fault = |change: &dyn Fn(&mut WideStart)| {
        let mut tube = good.clone();
        change(tube.start.as_mut().unwrap());
        tube.fault(7).unwrap()
    };
    assert!(fault(&|s| s.robust_nm[3] = 7.9).contains("start robust_nm"));
    assert!(fault(&|s| s.noise_nms[3] = f64::NAN).contains("start noise_nms"));
    assert!(fault(&|s| s.lag_nms2[0] = f64::INFINITY).contains("start lag_nms2"));
    assert!(fault(&|s| s.sign_band_rad_s.clear()).contains("expected 7 values, found 0"));
    assert!(fault(&|s| s.momentum_fall.hold_s = 0.9e-4).contains("momentum_fall hold_s"));
    assert!(fault(&|s| s.lag_fall.hold_s = f64::NAN).contains("lag_fall hold_s"));
    assert!(
        fault(&|s| s.carried_nms = vec![0.1; 6]).contains("carried_nms: expected 7 values or none, found 6")
    );
    for bad in [f64::NAN, f64::INFINITY, -1e-9] {
        assert!(fault(&|s| s.carried_nms = vec![bad; 7]).contains("carried_nms: expected finite numbers"));
    }
    assert!(fault(&|s| s.lag_fall.rate_1_s = -1.0).contains("lag_fall rate_1_s"));
    assert!(fault(&|s| s.momentum_fall.rate_1_s = f64::INFINITY).contains("momentum_fall rate_1_s"));
}

/// A plan, and one that takes over from it with another centre of the set, another goal and a jump.
struct Chained {
    before: Case,
    set: PreparedSet,
    curve: Bezier,
}

/// The age and so the window, s.
const AGE_S: f64 = 2e-4;

fn chained(p: f64, lag: f64, jump: f64, change: impl FnOnce(&mut Case)) -> Chained {
    let before = case(1e-6, |case| {
        case.tube.timing.delay_s = AGE_S - 1e-4;
        case.tube.robust_nm = vec![0.0; 7];
        case.tube.noise_nms = (0..7).map(|j| p * (1.0 + 0.1 * j as f64)).collect();
        case.tube.lag_nms2 = (0..7).map(|j| lag * (2.0 - 0.1 * j as f64)).collect();
        change(case);
    });
    let theta: Vec<f64> = (before.set.center().iter().enumerate())
        .map(|(p, c)| c * if p % (INERTIAL + 1) < 2 { 1.4 } else { 1.1 })
        .collect();
    let set = PreparedSet::new(&before.robot, &ParameterSet::new(theta.clone(), theta).unwrap());
    let mut start = before.curve.state(T);
    for j in 0..7 {
        let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
        start.q[j] += sign * jump;
        start.dq[j] += sign * 30.0 * jump;
        start.ddq[j] += sign * 1e4 * jump;
    }
    let end: Vec<f64> = start.q.iter().map(|q| q - 0.2).collect();
    let curve = Bezier::to_rest(&start, &end, 0.8).unwrap();
    Chained { before, set, curve }
}

impl Chained {
    fn left(&self) -> super::super::Handover {
        let Case { robot, set, curve, tube } = &self.before;
        let before = MomentumPredecessor { set, tube, curve: curve.into(), at_s: T };
        handover::<Counted>(robot, &before, (&self.set, Pieces::from(&self.curve))).unwrap()
    }

    /// Radius, noise and lag that are needed with this K_r.
    fn needed_with(&self, k_r: f64) -> [Vec<f64>; 3] {
        let left = self.left();
        let needed = left.needed(&self.before.robot, k_r);
        [needed.radius_nms, needed.noise_nms, needed.lag_nms2].map(|list| list.to_vec())
    }

    /// The same with the K_r that the plan before has.
    fn needed(&self) -> [Vec<f64>; 3] {
        self.needed_with(self.before.tube.gains.k_r)
    }

    fn mass(&self, t: f64) -> DMatrix<f64> {
        self.before.mass_of(self.set.center(), &self.before.curve.state(T + t).q)
    }

    /// J at the switch.
    fn across(&self) -> DMatrix<f64> {
        self.mass(0.0) * self.before.mass(T).try_inverse().unwrap()
    }

    /// |M_0'| |Dr|, for jumps besides what the jerks make.
    fn apart(&self, jump: f64) -> DVector<f64> {
        let jerk = |curve: &Bezier, t: f64| -> Vec<f64> {
            let (a, b) = (curve.state(t).ddq, curve.state(t + 1e-5).ddq);
            a.iter().zip(b).map(|(a, b)| (b - a) / 1e-5).collect()
        };
        let (old, new) = (jerk(&self.before.curve, T), jerk(&self.curve, 0.0));
        let off = DVector::from_fn(7, |j, _| {
            let (w, turn) = (AGE_S, (new[j] - old[j]).abs());
            let position = jump * (1.0 + 30.0 * w + 1e4 * w * w / 2.0) + w * w * w * turn / 6.0;
            jump * (30.0 + 1e4 * w) + w * w * turn / 2.0 + 6.0 * position
        });
        self.mass(0.0).abs() * off
    }
}

/// At least the formula, and at most `room` of it more.
fn about(found: &[f64], formula: impl Fn(usize) -> f64, room: f64) {
    for (j, &found) in found.iter().enumerate() {
        let exact = formula(j);
        assert!(found >= exact * (1.0 - 1e-6), "joint {j}: {found} below {exact}");
        assert!(found <= exact * (1.0 + room) + 1e-9, "joint {j}: {found} for {exact}");
    }
}

#[test]
fn widths_are_carried_over_by_the_mass_matrices() {
    let (p, lag) = (1.0, 0.1);
    let chained = chained(p, lag, 0.0, |_| {});
    let ([radius, _, lag], across) = (chained.needed(), chained.across());
    about(&radius, |j| row(&across, j, |k| chained.before.tube.radius(k)), 0.03);
    about(&lag, |j| row(&across, j, |k| chained.before.tube.lag_nms2[k]), 0.03);
    // And the sets' centres matter.
    assert!((0..7).any(|j| across[(j, j)] > 1.15));
}

/// What an age adds: beside widths of none the desired motions that part, and beside motions that part the turning of both mass matrices.
#[test]
fn an_age_adds_what_motions_and_mass_matrices_change() {
    for jump in [0.0, 1e-5] {
        let chained = chained(0.0, 0.0, jump, |_| {});
        let ([radius, noise, _], apart) = (chained.needed(), chained.apart(jump));
        about(&radius, |j| apart[j], 0.02);
        about(&noise, |j| 2.0 * apart[j], 0.02);
    }
    let chained = chained(1.0, 0.1, 0.0, |_| {});
    let ([_, noise, _], across, apart) = (chained.needed(), chained.across(), chained.apart(0.0));
    let inverse = chained.before.mass(T).try_inverse().unwrap();
    let rate = (chained.mass(1e-5) - chained.mass(-1e-5)) / 2e-5;
    let (next, old) = (rate * &inverse, chained.before.mass_rate(T) * &inverse);
    let radius = |k: usize| chained.before.tube.radius(k);
    let turned = |j: usize| row(&next, j, radius) + row(&across, j, |k| row(&old, k, radius));
    about(&noise, |j| 2.0 * (AGE_S * turned(j) + apart[j]), 0.05);
}

#[test]
fn position_errors_are_carried_over_with_what_an_age_adds() {
    let jump = 1e-5;
    let chained = chained(0.0, 0.0, jump, |_| {});
    let position = jump * (1.0 + 30.0 * AGE_S + 1e4 * AGE_S * AGE_S / 2.0);
    let mass = chained.mass(0.0);
    about(&chained.needed()[2], |j| row(&mass, j, |_| position), 0.03);
}

/// What another K_r makes of position errors, and of what an age adds to those: of jumps and of the turning of both mass matrices.
#[test]
fn another_k_r_turns_position_errors_into_momenta() {
    for k_r in [2.0, 9.0] {
        let changed = (k_r - 6.0f64).abs();
        let wide = chained(0.0, 0.1, 0.0, |_| {});
        let ([radius, noise, lag], across) = (wide.needed_with(k_r), wide.across());
        let position = |k: usize| wide.before.tube.lag_nms2[k];
        about(&radius, |j| changed * row(&across, j, position), 0.03);
        about(&lag, |j| row(&across, j, position), 0.03);
        let inverse = wide.before.mass(T).try_inverse().unwrap();
        let rate = (wide.mass(1e-5) - wide.mass(-1e-5)) / 2e-5;
        let (next, old) = (rate * &inverse, wide.before.mass_rate(T) * &inverse);
        let turned = |j: usize| row(&next, j, position) + row(&across, j, |k| row(&old, k, position));
        let apart = wide.apart(0.0);
        about(&noise, |j| 2.0 * (changed * AGE_S * turned(j) + apart[j]), 0.05);
        let jump = 1e-5;
        let parted = chained(0.0, 0.0, jump, |_| {});
        let ([radius, noise, _], mass) = (parted.needed_with(k_r), parted.mass(0.0));
        let apart_rad = jump * (1.0 + 30.0 * AGE_S + 1e4 * AGE_S * AGE_S / 2.0);
        let apart = parted.apart(jump);
        let adds = |j: usize| apart[j] + changed * row(&mass, j, |_| apart_rad);
        about(&radius, adds, 0.03);
        about(&noise, |j| 2.0 * adds(j), 0.03);
    }
}

/// Position errors fade at K_r, and history must not fade faster than 1 / a; with lag, than the lemma's rate.
#[test]
fn k_r_may_change_where_position_errors_fade_slowly_enough() {
    let with = |k_r: f64, lag_s: f64| {
        let chained = chained(0.01, 0.001, 0.0, |case| {
            case.tube.gains.k_r = k_r;
            case.tube.timing.drive_lag_s = lag_s;
        });
        chained.left().k_r_may_change()
    };
    assert_eq!(with(4999.0, 0.0), Ok(()));
    assert!((with(5001.0, 0.0).unwrap_err() / 5000.0 - 1.0).abs() < 1e-12);
    // 2 / (a + 2 T + sqrt(a^2 + 4 T^2)) for a = T = 0.2 ms.
    let most = 2.0 / (AGE_S * (3.0 + 5f64.sqrt()));
    assert_eq!(with(0.999 * most, AGE_S), Ok(()));
    assert!((with(1.001 * most, AGE_S).unwrap_err() / most - 1.0).abs() < 1e-12);
}

#[test]
fn first_readings_are_off_by_what_sensors_and_the_motion_before_make() {
    let with = |case: &mut Case| {
        let sensors = Sensors { position_rad: 3e-4, velocity_rad_s: 4e-3, ..case.robot.sensors().clone() };
        case.robot = case.robot.with_sensors(sensors).unwrap();
        case.tube.timing.latency_s = case.tube.timing.delay_s;
        case.tube.timing.delay_s = 0.0;
    };
    let chained = chained(0.0, 0.0, 0.0, with);
    let (mass, state, apart) = (chained.mass(0.0), chained.before.curve.state(T), chained.apart(0.0));
    let latency = AGE_S - 1e-4;
    let slope = |i: usize| 0.5 * latency * (state.ddq[i].abs() + 6.0 * state.dq[i].abs());
    let formula = |j: usize| row(&mass, j, |i| 4e-3 + 6.0 * 3e-4 + slope(i)) + 2.0 * apart[j];
    about(&chained.needed()[1], formula, 0.03);
    // With another K_r the next law reads with that. Positions that the motions are apart by are thousandths of it.
    let slope = |i: usize| 0.5 * latency * (state.ddq[i].abs() + 20.0 * state.dq[i].abs());
    let formula = |j: usize| row(&mass, j, |i| 4e-3 + 20.0 * 3e-4 + slope(i)) + 2.0 * apart[j];
    about(&chained.needed_with(20.0)[1], formula, 0.03);
}

/// The plan before may have narrowed: what counts is how wide it was when the oldest readings were taken.
#[test]
fn a_plan_that_narrows_leaves_what_it_was_an_age_before() {
    let (fall, n) = (Fall { hold_s: T - 1.9 * AGE_S, rate_1_s: 1e6 }, 7);
    let narrows = |case: &mut Case| {
        case.tube.start = Some(WideStart {
            robust_nm: vec![0.0; n],
            noise_nms: vec![3.0; n],
            lag_nms2: vec![0.5; n],
            sign_band_rad_s: vec![0.05; n],
            carried_nms: vec![],
            momentum_fall: fall,
            lag_fall: fall,
        });
    };
    let chained = chained(1.0, 0.1, 0.0, narrows);
    let ([radius, _, lag], across) = (chained.needed(), chained.across());
    about(&radius, |j| row(&across, j, |_| 3.0), 0.03);
    about(&lag, |j| row(&across, j, |_| 0.5), 0.03);
}

/// Commands of the plan before differ from what the next one feeds forward by what the sets' centres make and by the robust torque; what is left of them by a lag turns
/// momenta by that times the lag, through the mass matrices, and by what the next robust torque asks besides.
#[test]
fn commands_that_drives_remember_turn_momenta_by_the_lag_times_the_torque() {
    const LAG_S: f64 = 2e-5;
    let drive = DriveBounds { error_nm: 0.0, error_ratio: 0.1, unmodelled_nm: 0.0, ..DriveBounds::IDEAL };
    let with = |lag_s: f64| {
        move |case: &mut Case| {
            case.robot = case.robot.with_drives(vec![drive; 7]).unwrap();
            case.tube.timing.drive_lag_s = lag_s;
            case.tube.robust_nm = (0..7).map(|j| 2.0 + f64::from(j)).collect();
        }
    };
    assert!(chained(0.01, 0.001, 0.0, with(0.0)).left().carried.is_none());
    let chained = chained(0.01, 0.001, 0.0, with(LAG_S));
    let left = chained.left();
    let carried = left.carried.as_ref().unwrap();
    let (before, state) = (&chained.before, chained.before.curve.state(T));
    let torque = |set: &PreparedSet| before.needed(set.center(), &state.q, &state.dq, &state.ddq);
    let apart = torque(&before.set) - torque(&chained.set);
    let coulomb = |set: &PreparedSet, j: usize| set.center()[before.robot.joint_index(j).coulomb].abs();
    let most: Vec<f64> = (0..7)
        .map(|j| {
            // Either law's friction may be left out, where its speed is in doubt.
            let dry = [1.0, -1.0].map(|sign| {
                let dry = if sign > 0.0 { coulomb(&before.set, j) } else { coulomb(&chained.set, j) };
                sign * dry * state.dq[j].signum()
            });
            let largest = dry.iter().map(|dry| (apart[j] + dry).abs()).fold(apart[j].abs(), f64::max);
            1.1 * (2.0 + j as f64 + largest)
        })
        .collect();
    // Motions of both curves over the window are not told apart.
    about(&carried.torque_nm, |j| most[j], 0.4);
    // M_0' M^-1 of the one body that the next set has.
    let next: Vec<f64> = (0..7).map(|j| 3.0 + 0.5 * j as f64).collect();
    let found = carried.impulse_nms(&next);
    let least = DMatrix::identity(7, 7);
    let exact = |j: usize| LAG_S * row(&least, j, |i| most[i] + 1.1 * next[i]);
    for (j, found) in found.iter().enumerate() {
        assert!(*found >= exact(j) * (1.0 - 1e-6), "joint {j}: {found} below {}", exact(j));
        assert!(*found <= 1.5 * exact(j) + 0.2 * LAG_S * most.iter().sum::<f64>(), "joint {j}: {found}");
    }
    assert!((carried.most_lag_nms2[3] / chained.needed()[2][3] - 4.0).abs() < 1e-9);
}

/// Bounds of 1 - F that hold for each body of a set: against dense inverses.
#[test]
fn entries_of_what_torques_do_hold_for_all_bodies() {
    let case = case(1.0, |_| {});
    let mut space = case.space();
    let cell = case.cell(&mut space);
    let bounds = coupling(&case.robot, &case.set, &cell, &mut space).unwrap().entries();
    let (mass, q) = (case.mass(T), case.curve.state(T).q);
    let mut most = DMatrix::<f64>::zeros(7, 7);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for _ in 0..200 {
        let theta = truth::consistent(&case.robot, case.set.set(), &mut rng);
        let entries = (&mass * case.mass_of(&theta, &q).try_inverse().unwrap()).abs();
        most = most.zip_map(&entries, f64::max);
    }
    for j in 0..7 {
        for i in 0..7 {
            let (found, some) = (bounds.at(j, i), most[(j, i)]);
            assert!(found >= some * (1.0 - 1e-9), "{j} {i}: {found} below {some}");
        }
    }
    assert!((0..7).all(|j| bounds.at(j, j) < 2.0));
}
