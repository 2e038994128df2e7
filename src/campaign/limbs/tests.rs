use nalgebra::DVector;

use super::laboratory::Sines;
use super::plant::Plant;
use super::*;
use crate::campaign::{Campaign, Journal, Shard};
use crate::dynamics::constraint::Constraint;
use crate::dynamics::constraint::reduced::{ReducedDynamics, motors_and_base};
use crate::robot::{configuration, load_model};

const HERE: &str = "./scenarios/campaigns/few.toml";

/// A small arm for half a second, each part as short as it may be.
const FEW: &str = r#"
schema = 1
name = "few"
kind = "limbs"
robot = "z1"
seeds = 2
[truth]
mass_share = 0.1
center_m = 0.01
friction_factor = 2.0
armature_factor = 1.2
offset_nm = 0.5
passive_friction = 0.02
stribeck_share = [0.1, 0.3]
stribeck_rad_s = [0.1, 0.3]
load_share = [0.005, 0.02]
[noise]
position_rad = 1e-4
velocity_rad_s = 5e-3
torque_nm = 0.1
[control]
period_s = 0.004
plant_steps = 1
[filter]
order = 4
cutoff_hz = 15.0
[excitation]
motions = 2
duration_s = 3.0
evaluations = 5
least_singular_value = 0.0
bandwidth_rad_s = 30.0
seed = 0
[prediction]
motions = 2
duration_s = 2.0
segments = 4
[tracking]
speeds_rad_s = [1.0]
range_share = 0.4
ramp_s = 0.5
duration_s = 1.0
bandwidth_rad_s = 15.0
"#;

fn campaign(text: &str) -> Result<LimbsCampaign, CampaignError> {
    LimbsCampaign::new(Path::new(HERE), crate::campaign::parse(Path::new(HERE), text).unwrap())
}

/// Digit's left leg by its files and with springs, and the springs.
fn leg() -> (Model, Model, Vec<SpringFile>) {
    let of = |name: &str| {
        let robot = load_model(name).unwrap();
        let has = |limb: &Limb| limb.model.joints.iter().any(|joint| joint.name == "left_knee");
        robot.limbs().into_iter().find(has).unwrap().model
    };
    let spring = |joint: &str, stiffness_nm_rad| SpringFile {
        joint: joint.to_owned(),
        stiffness_nm_rad,
        damping_nm_s_rad: 5.0,
    };
    let springs = vec![spring("left_shin", 6000.0), spring("left_heel_spring", 4375.0)];
    (of("digit"), of("scenarios/campaigns/digit_springs.toml"), springs)
}

fn truth_file() -> truth::LimbTruthFile {
    crate::campaign::parse::<LimbsFile>(Path::new(HERE), FEW).unwrap().truth
}

/// What is independent in a limb with springs: its motors, and they.
fn independent(body: &Model, springs: &[SpringFile]) -> Vec<usize> {
    let mut all = motors_and_base(body);
    let place = |spring: &SpringFile| body.joints.iter().position(|joint| joint.name == spring.joint);
    all.extend(springs.iter().filter_map(place));
    all.sort_unstable();
    all
}

fn reduced(body: &Model, independent: &[usize]) -> ReducedDynamics {
    let loops = (0..body.loops.len()).map(|i| Constraint::closure(body, i).in_plane(body)).collect();
    ReducedDynamics::new(body, loops, independent.to_vec()).unwrap()
}

/// Values of the motors in the places of all that is independent.
fn spread(body: &Model, independent: &[usize], motors: &[f64]) -> Vec<f64> {
    let own = motors_and_base(body);
    let value = |k: &usize| own.iter().position(|motor| motor == k).map_or(0.0, |m| motors[m]);
    independent.iter().map(value).collect()
}

/// One link, or two in its place: the same torques hold and move the limb.
#[test]
fn parts_of_a_link_are_as_wrong_as_the_link() {
    let (limb, body, springs) = leg();
    let truth = LimbTruth::draw(&truth_file(), &limb, 3, 0);
    let (motors, all) = (motors_and_base(&limb), independent(&body, &springs));
    let (mut rigid, mut soft) = (reduced(&limb, &motors), reduced(&body, &all));
    let mut q = configuration::neutral(&limb);
    motors.iter().zip([0.1, -0.2, 0.3, 0.15, -0.1, 0.2]).for_each(|(&k, x)| q[k] = x);
    rigid.close(&limb, &mut q).unwrap();
    let mut q_soft = configuration::neutral(&body);
    for (joint, x) in limb.joints.iter().zip(&q) {
        q_soft[body.joints.iter().position(|own| own.name == joint.name).unwrap()] = *x;
    }
    soft.close(&body, &mut q_soft).unwrap();
    let (v, a) = ([0.5, -0.4, 0.3, 0.6, -0.7, 0.2], [2.0, 1.0, -3.0, 2.5, -1.0, 4.0]);
    rigid.place(&limb, &q, &v, &a).unwrap();
    soft.place(&body, &q_soft, &spread(&body, &all, &v), &spread(&body, &all, &a)).unwrap();
    let one = rigid.torque(&limb, &truth.parameters(&limb)).unwrap();
    let two = soft.torque(&body, &truth.parameters(&body)).unwrap();
    assert!(one.amax() > 2.0, "{one}");
    for (m, &k) in motors_and_base(&body).iter().enumerate() {
        let there = all.binary_search(&k).unwrap();
        assert!((one[m] - two[there]).abs() < 1e-9, "{} {} {}", body.joints[k].name, one[m], two[there]);
    }
    // And it is not what the files say.
    let files = rigid.torque(&limb, &limb.nominal_parameters()).unwrap();
    assert!((files - one).amax() > 0.1);
}

/// Where the motors of a leg are after a tenth of a second under torques, against dry friction, springs and what depends on the load.
fn moved(body: &Model, springs: &[SpringFile], truth: &LimbTruth, steps: usize) -> Vec<f64> {
    let all = independent(body, springs);
    let mut reduced = reduced(body, &all);
    let mut q = configuration::neutral(body);
    reduced.close(body, &mut q).unwrap();
    let beyond = truth.beyond(body, &all, springs);
    let mut plant = Plant::new(body, reduced, truth.parameters(body), beyond, q);
    let u = spread(body, &all, &[4.0, -3.0, 40.0, -20.0, 6.0, -5.0]);
    for _ in 0..steps {
        plant.step(&u, 0.1 / steps as f64).unwrap();
    }
    let positions = plant.positions();
    motors_and_base(body).iter().map(|k| positions[all.binary_search(k).unwrap()]).collect()
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Long steps come near what short ones tell, with dry friction that depends on speed and load, stiff springs and closed loops.
#[test]
fn steps_converge_and_long_ones_are_stable() {
    let (limb, body, springs) = leg();
    let truth = LimbTruth::draw(&truth_file(), &limb, 5, 0);
    let exact = moved(&body, &springs, &truth, 800);
    let far = farthest(&exact, &[0.0; 6]);
    let errors = [25, 50, 100].map(|steps| farthest(&moved(&body, &springs, &truth, steps), &exact));
    println!("moved {far:.4} rad, errors {errors:?}");
    // Where dry friction changes its direction no rule keeps its order.
    assert!(
        far > 0.05 && errors.iter().all(|e| *e < 2e-3 * far) && errors[2] < 5e-4 * far,
        "{far} {errors:?}"
    );
    // Springs that hardly bend: the rigid leg. Stiffness does not make steps of 2 ms unstable.
    let stiff: Vec<SpringFile> = springs
        .iter()
        .map(|s| SpringFile { joint: s.joint.clone(), stiffness_nm_rad: 1e8, damping_nm_s_rad: 1e3 })
        .collect();
    let (rigid, bent) = (moved(&limb, &[], &truth, 50), moved(&body, &stiff, &truth, 50));
    assert!(farthest(&rigid, &bent) < 1e-4 * far, "{rigid:?} {bent:?}");
    assert!(farthest(&rigid, &exact) > 1e-3 * far, "springs make no difference");
}

/// Without friction and damping an arm that falls keeps its energy.
#[test]
fn a_plant_without_friction_keeps_its_energy() {
    let mut arm = load_model("z1").unwrap();
    for joint in &mut arm.joints {
        joint.friction.coulomb = 0.0;
        joint.friction.viscous = 0.0;
    }
    let all = motors_and_base(&arm);
    assert_eq!(all.len(), arm.nv());
    let theta = arm.nominal_parameters();
    let energy = |plant: &Plant<'_>| {
        let mut reduced = reduced(&arm, &all);
        let (q, v) = (plant.positions(), plant.velocities().to_vec());
        reduced.place(&arm, &q, &v, &vec![0.0; v.len()]).unwrap();
        let (mass, _) = reduced.mass_and_bias(&arm, &theta).unwrap();
        let v = DVector::from_vec(v);
        0.5 * v.dot(&(mass * &v))
    };
    // Work of gravity is what holds it at rest, along the way.
    let start = vec![0.7; arm.nq()];
    let mut plant = Plant::new(&arm, reduced(&arm, &all), theta.clone(), vec![], start);
    let (mut work, mut still) = (0.0, reduced(&arm, &all));
    let mut weight = |q: &[f64]| {
        let zero = vec![0.0; q.len()];
        still.place(&arm, q, &zero, &zero).unwrap();
        still.torque(&arm, &theta).unwrap()
    };
    for _ in 0..2000 {
        let before = plant.positions();
        plant.step(&vec![0.0; before.len()], 2.5e-4).unwrap();
        let after = plant.positions();
        let way = DVector::from_iterator(after.len(), after.iter().zip(&before).map(|(b, a)| b - a));
        work -= 0.5 * (weight(&before) + weight(&after)).dot(&way);
    }
    let kinetic = energy(&plant);
    println!("kinetic {kinetic}, work {work}");
    assert!(work > 0.01 && (kinetic - work).abs() < 1e-3 * work, "{kinetic} {work}");
}

#[test]
fn sines_have_their_speed_and_derivatives() {
    let sines = Sines::new(&[(-1.0, 1.0), (0.2, 0.6)], 0.5, 3.0, 1.0);
    let h = 1e-5;
    let mut fastest = [0.0f64; 2];
    for k in 0..300 {
        let t = 0.0131 * f64::from(k) + h;
        let (a, m, b) = (sines.at(t - h), sines.at(t), sines.at(t + h));
        for j in 0..2 {
            assert!(((b.q[j] - a.q[j]) / (2.0 * h) - m.dq[j]).abs() < 1e-6, "{t}");
            assert!(((b.dq[j] - a.dq[j]) / (2.0 * h) - m.ddq[j]).abs() < 1e-4, "{t}");
            if t > 1.0 {
                fastest[j] = fastest[j].max(m.dq[j].abs());
            }
        }
    }
    assert!(fastest.iter().all(|v| *v <= 3.0 && *v > 2.9), "{fastest:?}");
    let start = sines.at(0.0);
    assert!((start.q[1] - 0.4).abs() < 1e-15 && start.dq.iter().chain(&start.ddq).all(|x| *x == 0.0));
}

/// What motors cannot follow is slowed down, whole limbs together, to where the weakest one has a tenth left; what they can is as fast as it was asked for.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn sines_are_as_fast_as_motors_can_at_length() {
    let (mut limb, _, _) = leg();
    let file = crate::campaign::parse::<LimbsFile>(Path::new(HERE), FEW).unwrap();
    let reached = |limb: &Model, speed: f64| {
        let drawn = LimbTruth::draw(&file.truth, limb, 1, 0);
        let lab = Laboratory::new(limb, limb, (&drawn, &[]), (&file.control, &file.noise)).unwrap();
        let (sines, reached) = lab.sines(0.9, speed, (1.0, 5.0))?;
        let loads = lab.loads(&|t| sines.at(t), 5.0)?;
        Ok::<_, String>((reached, loads.into_iter().fold(0.0, f64::max)))
    };
    let (slow, load) = reached(&limb, 1.8).unwrap();
    assert!(slow == 1.8 && load < 0.9, "{slow} {load}");
    let (fast, load) = reached(&limb, 5.0).unwrap();
    println!("5 rad/s: {fast} rad/s at a load of {load}");
    assert!(fast > 3.0 && fast < 5.0 && load > 0.88 && load <= 0.9, "{fast} {load}");
    // A motor that cannot hold its limb.
    let hip = limb.joints.iter_mut().find(|joint| joint.limits.torque > 0.0).unwrap();
    hip.limits.torque = 0.1;
    assert!(reached(&limb, 5.0).unwrap_err().contains("at no speed"));
}

/// An arm is identified; shards give what a whole campaign gives.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_is_put_to_the_test_and_shards_agree_at_length() {
    let few = campaign(FEW).unwrap();
    let keys = few.trial_keys();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
    let whole = few.run(&|_, _| ()).unwrap();
    let results = &whole.files.iter().find(|(name, _)| name == "results.json").unwrap().1;
    let results: serde_json::Value = serde_json::from_str(results).unwrap();
    for trial in results["trials"].as_array().unwrap() {
        let motors = trial["motors"].as_array().unwrap();
        assert_eq!(motors.len(), 6);
        for motor in motors {
            let torque = |key: &str| motor["torque_nm"][key].as_f64().unwrap();
            // No parameters leave less than the least, and noise is in it.
            for key in ["identified", "friction", "maker", "truth"] {
                assert!(torque(key) >= torque("least") * (1.0 - 1e-9), "{key}");
            }
            assert!(torque("least") > 0.08 && torque("identified") < torque("maker"), "{motor}");
        }
    }
    assert!(whole.passed && whole.verdict.contains("nothing was promised"), "{}", whole.verdict);
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), false).unwrap();
    assert_eq!(few.run_shard("2/2".parse::<Shard>().unwrap(), &journal, &|_, _| ()).unwrap(), 1);
    let rest = few.go_on(&journal, &|_, _| ()).unwrap();
    assert_eq!((rest.summary, rest.files), (whole.summary, whole.files));
    // What cannot be kept is said.
    let promise = "[promise]\ntorque_factor = 1e-3\nprediction_factor = 1e-3\ntracking_share = 1e3\nlooped_deg = 1.0\nopen_deg = 1e3\n";
    let strict = campaign(&format!("{FEW}{promise}")).unwrap();
    let told = strict.sum_up(vec![few.make(0).unwrap()]).unwrap();
    assert!(
        !told.passed
            && told.verdict.contains(
                "torque errors above 0.001 of what noise and friction outside the class leave: 6 of 6"
            ),
        "{}",
        told.verdict
    );
}

#[test]
fn bad_campaigns_name_the_field() {
    for (from, to, field) in [
        ("seeds = 2", "seeds = 0", "`seeds`"),
        ("\"z1\"", "\"no_such\"", "no_such"),
        ("mass_share = 0.1", "mass_share = 1.0", "`truth.mass_share`"),
        ("center_m = 0.01", "center_m = nan", "`truth.center_m`"),
        ("friction_factor = 2.0", "friction_factor = 0.5", "`truth.friction_factor`"),
        (
            "[0.1, 0.3]\nstribeck_rad_s = [0.1, 0.3]",
            "[0.1, 0.3]\nstribeck_rad_s = [0.3, 0.1]",
            "`truth.stribeck_rad_s`",
        ),
        ("load_share = [0.005, 0.02]", "load_share = [0.005, inf]", "`truth.load_share`"),
        ("torque_nm = 0.1", "torque_nm = -0.1", "`noise.torque_nm`"),
        ("period_s = 0.004", "period_s = 0.0", "`control.period_s`"),
        ("cutoff_hz = 15.0", "cutoff_hz = 125.0", "`filter.cutoff_hz`"),
        ("order = 4", "order = 0", "`filter.order`"),
        ("plant_steps = 1", "plant_steps = 0", "`control.plant_steps`"),
        ("speeds_rad_s = [1.0]", "speeds_rad_s = [1.0, nan]", "`tracking.speeds_rad_s[1]`"),
        ("range_share = 0.4", "range_share = 1.0", "`tracking.range_share`"),
        ("ramp_s = 0.5", "ramp_s = 2.0", "`tracking.duration_s`"),
        ("segments = 4", "segments = 400", "`prediction.segments`"),
    ] {
        assert!(FEW.contains(from), "{from}");
        let told = campaign(&FEW.replace(from, to)).unwrap_err().to_string();
        assert!(told.contains(field) && told.contains("few.toml"), "{field}: {told}");
    }
    let promise = "[promise]\ntorque_factor = 1.2\nprediction_factor = 3.0\ntracking_share = nan\nlooped_deg = 4.0\nopen_deg = 1.0\n";
    assert!(
        campaign(&format!("{FEW}{promise}")).unwrap_err().to_string().contains("`promise.tracking_share`")
    );
    let spring = |robot: &str, joint: &str, stiffness: &str| {
        let text = format!(
            "{FEW}[[springs]]\nlabel = \"soft\"\nrobot = \"{robot}\"\n\
             spring = [{{ joint = \"{joint}\", stiffness_nm_rad = {stiffness}, damping_nm_s_rad = 1.0 }}]\n"
        );
        campaign(&text).unwrap_err().to_string()
    };
    assert!(spring("z1", "elbow", "100.0").contains("has no joint `elbow`"));
    assert!(spring("panda", "elbow", "100.0").contains("lacks joint"));
    assert!(spring("z1", "elbow", "-1.0").contains("`springs[0].spring[0].stiffness_nm_rad`"));
}

/// Recordings of all limbs of the campaign's Digit, one after the other as `surelift identify --robot digit` reads them: each limb follows its exciting motions.
fn recordings(digit: &LimbsCampaign, seed: u64) -> Vec<Vec<crate::recording::Sample>> {
    let held = load_model("digit").unwrap().with_base_held();
    let names: Vec<&str> = motors_and_base(&held).iter().map(|&j| held.joints[j].name.as_str()).collect();
    let ExcitingFile { motions, duration_s, evaluations, seed: drawing, .. } = digit.file.excitation;
    let mut all: Vec<Vec<crate::recording::Sample>> = vec![vec![]; motions];
    for (place, limb) in digit.limbs.iter().map(|limb| &limb.model).enumerate() {
        let drawn = LimbTruth::draw(&digit.file.truth, limb, seed, place as u64);
        let plant = (&digit.file.control, &digit.file.noise);
        let lab = Laboratory::new(limb, limb, (&drawn, &[]), plant).unwrap();
        let exciting = digit.motions(limb, (motions, duration_s, evaluations, drawing)).unwrap();
        for (k, whole) in all.iter_mut().enumerate() {
            let noise = 1000 * (100 * seed + place as u64) + k as u64;
            let (own, _) = digit.record(&lab, &exciting, k..k + 1, noise).unwrap();
            if whole.is_empty() {
                let none = vec![0.0; names.len()];
                let at_rest =
                    |t| crate::recording::Sample { t, q: none.clone(), dq: none.clone(), tau: none.clone() };
                *whole = own.log.samples.iter().map(|sample| at_rest(sample.t)).collect();
            }
            for (to, from) in whole.iter_mut().zip(&own.log.samples) {
                for (m, &joint) in lab.motors.iter().enumerate() {
                    let at = names.iter().position(|name| *name == limb.joints[joint].name).unwrap();
                    (to.q[at], to.dq[at], to.tau[at]) = (from.q[m], from.dq[m], from.tau[m]);
                }
            }
        }
    }
    all
}

fn csv(samples: &[crate::recording::Sample]) -> String {
    let motors = samples[0].q.len();
    let names = ["q", "dq", "tau"].iter().flat_map(|name| (1..=motors).map(move |j| format!("{name}{j}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    for sample in samples {
        let numbers = std::iter::once(&sample.t).chain(&sample.q).chain(&sample.dq).chain(&sample.tau);
        text += "\n";
        text += &numbers.map(f64::to_string).collect::<Vec<_>>().join(",");
    }
    text + "\n"
}

/// Both legs and both arms of the campaign's Digit (seed 1) from its six recordings of 2 s. `SURELIFT_LOGS=FOLDER` keeps these, so that `surelift identify` can read them.
#[test]
#[ignore = "simulates six motions of a whole Digit first: a minute"]
fn legs_and_arms_are_learnt_from_six_recordings() {
    let path = Path::new("scenarios/campaigns/digit.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let digit = LimbsCampaign::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    let recordings = recordings(&digit, 1);
    if let Some(folder) = std::env::var_os("SURELIFT_LOGS") {
        for (k, samples) in recordings.iter().enumerate() {
            std::fs::write(Path::new(&folder).join(format!("{}.csv", k + 1)), csv(samples)).unwrap();
        }
    }
    let log = |(k, samples): (usize, Vec<_>)| {
        let log = MeasurementLog::of_samples(PathBuf::from(format!("motion {k}")), samples).unwrap();
        MotorLog { log, passive: false }
    };
    let logs: Vec<MotorLog> = recordings.into_iter().enumerate().map(log).collect();
    let robot = load_model("digit").unwrap();
    let study = LimbStudy {
        robot: &robot,
        logs: &logs,
        validation: None,
        unknown: LimbUnknown::Everything,
        smoothing: digit.smoothing(),
        passive_tolerance: PASSIVE_RAD,
        exponents: false,
    };
    let start = std::time::Instant::now();
    let found = study.run().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    for limb in &found.limbs {
        println!("{}: gap {:.1e}, {} rounds, {:?}", limb.name, limb.duality_gap, limb.rounds, limb.belief);
        assert!(limb.duality_gap < 1e-3);
    }
    println!("learnt in {seconds:.1} s");
}
