//! What sets and proofs cost against the number of intervals, joints and obstacles, with a picture:
//! `cargo run --release --example cost -- docs/results/cost.svg`

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use nalgebra::{Matrix3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use surelift::certify::Problem;
use surelift::family::{FamilySets, TrajectoryFamily};
use surelift::inertia::ParameterSet;
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::reach::Tube;
use surelift::robot::{self, Arm, Scene, Zonotope3};
use surelift::trajectory::{Bezier, JointState};

/// The smallest of this many runs counts.
const RUNS: usize = 5;
/// Intervals, where their number is not what varies.
const INTERVALS: usize = 64;

/// A curve of the picture: label, and points of number and milliseconds.
type Curve = (&'static str, Vec<(f64, f64)>);

struct Case {
    robot: Arm,
    set: ParameterSet,
    tube: Tube,
    family: TrajectoryFamily,
    curve: Bezier,
}

impl Case {
    fn new(robot: Arm, start: &[f64]) -> Result<Self, Box<dyn Error>> {
        let set = ParameterSet::around_nominal(&robot);
        let end: Vec<f64> = start.iter().map(|q| q + 0.3).collect();
        let curve = Bezier::to_rest(&JointState::at_rest(start), &end, 3.0)?;
        let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 16)?;
        let family = TrajectoryFamily::new(curve.clone(), vec![std::f64::consts::PI / 24.0; start.len()])?;
        Ok(Self { robot, set, tube, family, curve })
    }

    /// Milliseconds for the sets of all k over `intervals` intervals.
    fn family_ms(&self, intervals: usize) -> f64 {
        match 3 * self.robot.dof() + 1 {
            0..=8 => self.sets_ms::<8>(intervals),
            9..=16 => self.sets_ms::<16>(intervals),
            17..=24 => self.sets_ms::<24>(intervals),
            _ => self.sets_ms::<40>(intervals),
        }
    }

    fn sets_ms<const N: usize>(&self, intervals: usize) -> f64 {
        let step = self.curve.duration_s / intervals as f64;
        fastest(|| {
            let prepared = PreparedSet::new(&self.robot, &self.set);
            let sets = (0..intervals).into_par_iter().map(|i| {
                let span = (i as f64 * step, ((i + 1) as f64 * step).min(self.curve.duration_s));
                let sets = FamilySets::<N>::new(&self.robot, &prepared, &self.tube, &self.family, span);
                sets.rho.iter().sum::<f64>()
            });
            sets.sum()
        })
    }

    /// Milliseconds for all constraints at one k over `intervals` intervals among `obstacles` boxes.
    fn proof_ms(&self, intervals: usize, obstacles: usize) -> Result<f64, Box<dyn Error>> {
        // All over the arm's reach; whether they are in its way makes no difference to the work.
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let mut brick = |k: usize| {
            let at = Vector3::from_fn(|_, _| draw.random_range(-1.2..1.2));
            let size = Vector3::from_fn(|_, _| draw.random_range(0.02..0.2));
            Zonotope3::cuboid(format!("box {k}"), at, size, &Matrix3::identity())
        };
        let scene = Scene { obstacles: (0..obstacles).map(&mut brick).collect() };
        let problem = Problem::new(&self.robot, &self.set, &scene, &self.tube, &self.curve)?;
        Ok(fastest(|| problem.survey(intervals).len() as f64))
    }
}

/// Milliseconds of the fastest run.
fn fastest(work: impl Fn() -> f64) -> f64 {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        std::hint::black_box(work());
        1e3 * start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// A serial arm of `n` equal links with alternating axes.
fn serial(n: usize) -> Result<Arm, Box<dyn Error>> {
    let mut urdf = "<robot name='serial'><link name='l0'/>".to_owned();
    let mut toml = format!("name = 'serial'\nurdf = 'serial.urdf'\nend_effector = 'j{n}'\n");
    toml += "[uncertainty]\nlink_ratio = 0.05\nfriction_ratio = 0.05\narmature_ratio = 0.05\n";
    toml +=
        "[sensors]\nposition_rad = 5e-6\nvelocity_rad_s = 5e-5\ntorque_ratio = 0.025\ntorque_abs_nm = 0.0\n";
    toml += "[control]\nk_r = 5.0\nalpha = 300.0\nv_max = 0.003\nperiod_s = 0.001\nstiction_speed_rad_s = 0.001\n";
    for k in 1..=n {
        let axis = if k % 2 == 0 { "0 1 0" } else { "0 0 1" };
        let height = if k == 1 { 0.0 } else { 0.15 };
        write!(
            urdf,
            "<link name='l{k}'><inertial><origin xyz='0 0 0.07'/><mass value='1'/><inertia ixx='0.004' iyy='0.004' \
             izz='0.001' ixy='0' ixz='0' iyz='0'/></inertial><collision><origin xyz='0 0 0.07'/><geometry><cylinder \
             radius='0.04' length='0.1'/></geometry></collision></link><joint name='j{k}' type='revolute'><parent link='l{}'/>\
             <child link='l{k}'/><origin xyz='0 0 {height}'/><axis xyz='{axis}'/><limit lower='-3' upper='3' velocity='2' \
             effort='90'/></joint>",
            k - 1
        )?;
        write!(toml, "[joints.j{k}]\ncoulomb = 0.3\nviscous = 8.0\narmature = 8.0\n")?;
    }
    urdf += "</robot>";
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("serial.urdf"), urdf)?;
    std::fs::write(folder.path().join("serial.toml"), toml)?;
    Ok(robot::load(folder.path().join("serial.toml"))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arm = Case::new(robot::load("kinova_gen3_2f85")?, &[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])?;
    let mut panels: Vec<(&str, Vec<Curve>)> = Vec::new();
    let counts = [8, 16, 32, 64, 128];
    let over = |ms: &dyn Fn(usize) -> Result<f64, Box<dyn Error>>, counts: &[usize]| {
        counts.iter().map(|&c| Ok((c as f64, ms(c)?))).collect::<Result<Vec<_>, Box<dyn Error>>>()
    };
    let family = over(&|c| Ok(arm.family_ms(c)), &counts)?;
    let proof = over(&|c| arm.proof_ms(c, 5), &counts)?;
    panels.push(("intervals (7 joints, 5 obstacles)", vec![("all k", family), ("one k, proof", proof)]));
    let joints = [2, 4, 6, 8, 10, 12];
    let arms = joints.iter().map(|&n| Case::new(serial(n)?, &vec![0.2; n])).collect::<Result<Vec<_>, _>>()?;
    let at = |n: usize| &arms[n / 2 - 1];
    let family = over(&|n| Ok(at(n).family_ms(INTERVALS)), &joints)?;
    let proof = over(&|n| at(n).proof_ms(INTERVALS, 5), &joints)?;
    panels.push(("joints (64 intervals, 5 obstacles)", vec![("all k", family), ("one k, proof", proof)]));
    let proof = over(&|c| arm.proof_ms(INTERVALS, c), &[0, 10, 25, 50, 100, 200])?;
    panels.push(("obstacles (7 joints, 64 intervals)", vec![("one k, proof", proof)]));
    for (title, curves) in &panels {
        for (label, points) in curves {
            let text: Vec<_> = points.iter().map(|(x, ms)| format!("{x}: {ms:.2}")).collect();
            println!("{title}, {label}, ms: {}", text.join(", "));
        }
    }
    let path = std::env::args().nth(1).ok_or("expected the path of the picture")?;
    std::fs::write(path, picture(&panels))?;
    Ok(())
}

/// The panels side by side, in milliseconds from zero.
fn picture(panels: &[(&str, Vec<Curve>)]) -> String {
    const COLOURS: [&str; 2] = ["#0b6e99", "#d9730d"];
    let mut svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 960 300' font-family='sans-serif' \
                   font-size='12'>\n<rect width='960' height='300' fill='white'/>\n"
        .to_owned();
    for (place, (title, curves)) in panels.iter().enumerate() {
        let left = 50.0 + 310.0 * place as f64;
        let all = || curves.iter().flat_map(|(_, points)| points);
        let right = all().map(|p| p.0).fold(0.0, f64::max);
        let top = all().map(|p| p.1).fold(0.0, f64::max);
        let x = |v: f64| left + 240.0 * v / right;
        let y = |v: f64| 250.0 - 200.0 * v / top;
        svg += &format!(
            "<text x='{left}' y='24'>ms against {title}</text>\n<path d='M{left} 50V250H{}' fill='none' stroke='#999'/>\n",
            left + 240.0
        );
        for share in [0.5, 1.0] {
            svg += &format!(
                "<text x='{}' y='{:.1}' text-anchor='end'>{:.0}</text>\n",
                left - 6.0,
                y(share * top) + 4.0,
                share * top
            );
            svg += &format!(
                "<text x='{:.1}' y='268' text-anchor='middle'>{}</text>\n",
                x(share * right),
                share * right
            );
        }
        for ((label, points), colour) in curves.iter().zip(COLOURS) {
            let path: Vec<_> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
            svg +=
                &format!("<path d='M{}' fill='none' stroke='{colour}' stroke-width='2'/>\n", path.join("L"));
            for p in points {
                svg += &format!("<circle cx='{:.1}' cy='{:.1}' r='3' fill='{colour}'/>\n", x(p.0), y(p.1));
            }
            let last = points[points.len() - 1];
            svg += &format!(
                "<text x='{:.1}' y='{:.1}' text-anchor='end' fill='{colour}'>{label}</text>\n",
                x(last.0),
                y(last.1) - 8.0
            );
        }
    }
    svg + "</svg>\n"
}
