//! Payload error under noise, against regressions (the tables of `benches/estimation.md`):
//!
//! ```text
//! cargo run --release --example estimation_noise -- walk 14     # 003 Table II: a Go1 walks for so many seconds
//! cargo run --release --example estimation_noise -- arm         # 000 Table II: a Gen3 with a payload
//! ```
//!
//! The regressions know the true friction and the contacts; the estimator knows the noise's size, which is added to all
//! positions (m, rad), velocities (m/s, rad/s) and torques (N m) alike.

use std::error::Error;

use nalgebra::{DMatrix, DVector};
use surelift::dynamics::{Axes, Workspace, torque_regressor};
use surelift::estimate::Sample;
use surelift::estimate::study::Study;
use surelift::identify::filter::LocalPolynomial;
use surelift::robot::{INERTIAL, Robot};

type Outcome<T> = Result<T, Box<dyn Error>>;

const NOISE: [f64; 4] = [0.0, 0.005, 0.01, 0.1];
/// The estimator cannot take no noise for granted.
const LEAST: f64 = 1e-4;
/// Samples left out at either end, where filters are short.
const ENDS: usize = 60;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    match (arguments.get(1).map(String::as_str), arguments.get(2)) {
        (Some("walk"), Some(seconds)) => walk(seconds.parse()?),
        (Some("arm"), _) => arm(),
        _ => Err("expected `walk SECONDS` or `arm`".into()),
    }
}

/// A shipped problem with other lines in the blocks of noise and deviations.
fn changed(name: &str, changes: &[(&str, String)]) -> Outcome<Study> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut text = std::fs::read_to_string(format!("{root}/scenarios/estimation/{name}.toml"))?;
    text = text.replace("robots/", &format!("{root}/robots/"));
    for (from, to) in changes {
        if !text.contains(from) {
            return Err(format!("{name}.toml holds no `{from}`").into());
        }
        text = text.replace(from, to);
    }
    let path = std::env::temp_dir().join(format!("surelift_{name}_{}.toml", std::process::id()));
    std::fs::write(&path, text)?;
    let study = Study::load(&path);
    std::fs::remove_file(&path)?;
    Ok(study?)
}

fn columns(samples: &[Sample], of: impl Fn(&Sample) -> &[f64]) -> Vec<Vec<f64>> {
    (0..of(&samples[0]).len()).map(|j| samples.iter().map(|s| of(s)[j]).collect()).collect()
}

/// Smoothed positions and velocities, and accelerations, from a Savitzky-Golay filter over `window_s`. A floating base's
/// pose is left as it is measured.
fn smoothed(study: &Study, window_s: f64) -> Outcome<Vec<(Vec<f64>, Vec<f64>, Vec<f64>)>> {
    let times: Vec<f64> = (0..study.samples.len()).map(|k| k as f64 * study.step_s).collect();
    let half = ((0.5 * window_s / study.step_s).round() as usize).max(2);
    let filter = LocalPolynomial::new(&times, half, 2)?;
    let dq = columns(&study.samples, |s| &s.dq);
    let speed: Vec<_> = dq.iter().map(|x| filter.values(x)).collect();
    let acceleration: Vec<_> = dq.iter().map(|x| filter.derivatives(x)).collect();
    let pose = study.robot.nq() - study.robot.nv() + if study.robot.has_free_flyer() { 6 } else { 0 };
    let place: Vec<_> = columns(&study.samples, |s| &s.q)
        .iter()
        .enumerate()
        .map(|(j, x)| if j < pose { x.clone() } else { filter.values(x) })
        .collect();
    let row = |of: &[Vec<f64>], k: usize| of.iter().map(|x| x[k]).collect::<Vec<f64>>();
    Ok((0..times.len()).map(|k| (row(&place, k), row(&speed, k), row(&acceleration, k))).collect())
}

/// Friction torques by parameters `p`.
fn friction(robot: &Robot, p: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for i in robot.first_actuated()..robot.bodies() {
        let at = robot.v_index(i);
        out[at] = surelift::dynamics::actuation::joint_friction(robot, p, i, v[at]).0;
    }
    out
}

/// Normal equations of ten unknowns.
struct Normal {
    a: DMatrix<f64>,
    b: DVector<f64>,
}

impl Normal {
    fn new() -> Self {
        Self { a: DMatrix::zeros(INERTIAL, INERTIAL), b: DVector::zeros(INERTIAL) }
    }

    fn add(&mut self, y: &DMatrix<f64>, r: &DVector<f64>) {
        self.a += y.tr_mul(y);
        self.b += y.tr_mul(r);
    }

    /// The least-squares solution of smallest norm.
    fn solve(self) -> Outcome<DVector<f64>> {
        let scale = self.a.amax();
        Ok(self.a.svd(true, true).solve(&self.b, 1e-12 * scale)?)
    }
}

/// Parameters of body `body` by regression of torques, with contact forces projected out.
fn torques(study: &Study, p: &[f64], body: usize, window_s: f64) -> Outcome<DVector<f64>> {
    let robot = &*study.robot;
    let (n, width) = (robot.nv(), INERTIAL * robot.bodies());
    let mut workspace = Workspace::new(robot);
    let mut rest = p[..robot.parameter_count()].to_vec();
    rest[INERTIAL * body..INERTIAL * (body + 1)].fill(0.0);
    let (mut tau, mut jacobian, mut regressor) = (vec![0.0; n], vec![0.0; 6 * n], vec![0.0; n * width]);
    let signals = smoothed(study, window_s)?;
    let mut normal = Normal::new();
    for k in ENDS..signals.len() - ENDS {
        let (q, v, a) = &signals[k];
        workspace.inverse_dynamics(robot, q, v, a, &rest, &mut tau);
        torque_regressor(robot, workspace.motion(), body..body + 1, &mut regressor);
        let loss = friction(robot, p, v);
        let mut y = DMatrix::from_fn(n, INERTIAL, |j, c| regressor[width * j + INERTIAL * body + c]);
        let mut r = DVector::from_fn(n, |j, _| study.samples[k].tau[j] - loss[j] - tau[j]);
        let phase = study.contacts.phases.iter().rfind(|p| p.from <= k);
        let standing: Vec<usize> = match phase {
            Some(phase) => (0..phase.active.len()).filter(|&c| phase.active[c]).collect(),
            None => Vec::new(),
        };
        if !standing.is_empty() {
            workspace.place(robot, q);
            let mut rows = DMatrix::zeros(3 * standing.len(), n);
            for (f, &c) in standing.iter().enumerate() {
                let name = &study.contacts.constraints[c].name;
                let frame = robot.frame_index(name).ok_or("a contact without a frame")?;
                workspace.frame_jacobian(
                    robot,
                    &robot.named_frames[frame],
                    Axes::WorldAligned,
                    &mut jacobian,
                );
                rows.rows_mut(3 * f, 3).copy_from(&DMatrix::from_row_slice(3, n, &jacobian[..3 * n]));
            }
            let gram = (&rows * rows.transpose()).cholesky().ok_or("contacts depend on each other")?;
            y -= rows.tr_mul(&gram.solve(&(&rows * &y)));
            r -= rows.tr_mul(&gram.solve(&(&rows * &r)));
        }
        normal.add(&y, &r);
    }
    normal.solve()
}

/// Parameters of body `body` by regression of energies over intervals of `window_s`: input work less friction is the
/// change of mechanical energy.
fn energies(study: &Study, p: &[f64], body: usize, window_s: f64) -> Outcome<DVector<f64>> {
    let robot = &*study.robot;
    let mut workspace = Workspace::new(robot);
    let every = ((window_s / study.step_s).round() as usize).max(1);
    let mut rest = p[..robot.parameter_count()].to_vec();
    rest[INERTIAL * body..INERTIAL * (body + 1)].fill(0.0);
    let mut energy = |s: &Sample| {
        let constant = workspace.energy(robot, &s.q, &s.dq, &rest).mechanical();
        let mut unit = vec![0.0; rest.len()];
        let row: Vec<f64> = (0..INERTIAL)
            .map(|c| {
                unit.fill(0.0);
                unit[INERTIAL * body + c] = 1.0;
                workspace.energy(robot, &s.q, &s.dq, &unit).mechanical()
            })
            .collect();
        (constant, row)
    };
    let mut normal = Normal::new();
    let mut work = 0.0;
    let mut before = energy(&study.samples[0]);
    for (k, pair) in study.samples.windows(2).enumerate() {
        let loss = friction(robot, p, &pair[0].dq);
        for j in 0..robot.nv() {
            work += (pair[0].tau[j] - loss[j]) * (pair[1].q[j] - pair[0].q[j]);
        }
        if (k + 1) % every == 0 {
            let now = energy(&pair[1]);
            let y = DMatrix::from_fn(1, INERTIAL, |_, c| now.1[c] - before.1[c]);
            normal.add(&y, &DVector::from_element(1, work - (now.0 - before.0)));
            (before, work) = (now, 0.0);
        }
    }
    normal.solve()
}

fn percent(estimate: f64, truth: f64) -> String {
    format!("{:.2} %", 100.0 * ((estimate - truth) / truth).abs())
}

fn walk(seconds: f64) -> Outcome<()> {
    const PAYLOAD: f64 = 7.2;
    println!("| noise | LS, 100 ms | LS, 10 ms | ours | deviation told | iterations | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for sigma in NOISE {
        let told = sigma.max(LEAST);
        let moving = format!("moving_s = [0.5, {}]", seconds - 0.7);
        let study = changed(
            "go1_walk",
            &[
                ("duration_s = 14.0", format!("duration_s = {seconds:?}")),
                ("moving_s = [0.5, 13.3]", moving),
                (
                    "q_rad = 1e-3\ndq_rad_s = 1e-2\ntau_nm = 0.1\n",
                    format!("q_rad = {sigma:?}\ndq_rad_s = {sigma:?}\ntau_nm = {sigma:?}\n"),
                ),
                (
                    "q_rad = { base = [inf, inf, inf, 1e-3, 1e-3, 1e-3], joints = 1e-3 }\ndq_rad_s = 1e-2\n",
                    format!(
                        "q_rad = {{ base = [inf, inf, inf, {told:?}, {told:?}, {told:?}], joints = {told:?} }}\ndq_rad_s = {told:?}\n"
                    ),
                ),
                ("joints = 0.1 }", format!("joints = {:?} }}", told.max(1e-2))),
                ("0.1, 0.1, 0.1, 0.1, 0.1, 0.1", "0.05, 0.05, 0.05, 0.05, 0.05, 0.05".into()),
            ],
        )?;
        let nominal = surelift::dynamics::actuation::extended_parameters(&study.robot);
        let mass = |x: &DVector<f64>| percent(x[0] - nominal[0], PAYLOAD);
        let (slow, fast) =
            (mass(&torques(&study, &nominal, 0, 0.1)?), mass(&torques(&study, &nominal, 0, 0.01)?));
        let result = study.run()?;
        let row = result.parameter("base", "m").ok_or("the torso is not estimated")?;
        println!(
            "| {sigma} | {slow} | {fast} | {} | {:.2} % | {} ({}) | {:.1} |",
            percent(row.estimate - nominal[0], PAYLOAD),
            100.0 * row.deviation.unwrap_or(f64::NAN) / PAYLOAD,
            result.iterations,
            result.status,
            result.seconds
        );
    }
    Ok(())
}

fn arm() -> Outcome<()> {
    const PAYLOAD: f64 = 3.62874;
    println!(
        "| noise | inverse dynamics, 100 ms | inverse dynamics, 20 ms | energy, 100 ms | ours | deviation told | iterations |"
    );
    println!("|---|---|---|---|---|---|---|");
    for sigma in NOISE {
        let told = sigma.max(LEAST);
        let noise = |x: f64| format!("q_rad = {x:?}\ndq_rad_s = {x:?}\ntau_nm = {x:?}\n");
        // Friction is the robot's own for all methods.
        let study = changed(
            "gen3_payload",
            &[
                (
                    "[simulate.noise]\nq_rad = 1e-4\ndq_rad_s = 2e-3\ntau_nm = 0.2\n",
                    format!("[simulate.noise]\n{}", noise(sigma)),
                ),
                (
                    "[deviations]\nq_rad = 1e-4\ndq_rad_s = 2e-3\ntau_nm = 0.2\n",
                    format!("[deviations]\n{}", noise(told)),
                ),
                ("value = 6.0", "value = 7.40648".into()),
            ],
        )?;
        let nominal = surelift::dynamics::actuation::extended_parameters(&study.robot);
        let body = study.robot.bodies() - 1;
        let own = nominal[study.robot.inertial_index(body)];
        let mass = |x: DVector<f64>| percent(x[0] - own, PAYLOAD);
        let slow = mass(torques(&study, &nominal, body, 0.1)?);
        let fast = mass(torques(&study, &nominal, body, 0.02)?);
        let energy = mass(energies(&study, &nominal, body, 0.1)?);
        let result = study.run()?;
        let row = result.parameter("bracelet_link", "m").ok_or("the last link is not estimated")?;
        println!(
            "| {sigma} | {slow} | {fast} | {energy} | {} | {:.2} % | {} ({}) |",
            percent(row.estimate - own, PAYLOAD),
            100.0 * row.deviation.unwrap_or(f64::NAN) / PAYLOAD,
            result.iterations,
            result.status
        );
    }
    Ok(())
}
