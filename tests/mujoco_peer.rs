//! The promise: an arm that another program simulates runs the whole loop over two pipes (`examples/mujoco/`), and whatever that program does wrong is told
//! in words. No Python here: the other end is a thread that speaks the protocol and knows the arm's dynamics.

#[path = "../examples/mujoco/arm.rs"]
mod arm;
#[path = "../examples/mujoco/momentum.rs"]
mod momentum;
#[path = "../examples/mujoco/peer.rs"]
mod peer;
#[path = "../examples/mujoco/setup.rs"]
mod setup;
#[path = "../examples/mujoco/truth.rs"]
mod truth;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use surelift::control::MotorCommand;
use surelift::dynamics::Workspace;
use surelift::horizon::{self, Hardware, Outcome, Reading, RunOptions, Task};
use surelift::inertia::ParameterSet;
use surelift::robot::{Arm, TimingBounds};
use surelift::scenario::Scenario;

use arm::PeerArm;
use peer::{Peer, PeerError};
use setup::Setup;
use truth::{Draw, Effect, Truth};

const PATIENCE: Duration = Duration::from_secs(20);
const STEPS: usize = 4;
/// The other end's own steps in each of these.
const FINE: usize = 5;

fn task(name: &str) -> Task {
    Scenario::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap().split().0
}

fn drawn(task: &Task, seed: u64) -> Truth {
    let draw = Draw { seed, beyond: None, off_axis_m: None, springs: None };
    truth::draw(task, "my_arm.urdf", STEPS, &draw).unwrap()
}

/// What the other end does at its `at`-th request of torques.
#[derive(Clone, Copy, PartialEq)]
enum Whim {
    None,
    Ends,
    Nan,
    Short,
    Refuses,
    Sleeps,
    Text,
    Huge,
    Earlier,
    Unordered,
    Pushes,
}

/// The other end: an arm without friction below the stiction speed's ends, and the protocol.
struct FakePeer {
    robot: Arm,
    theta: Vec<f64>,
    dynamics: Workspace,
    setup: Setup,
    q: Vec<f64>,
    dq: Vec<f64>,
    ticks: usize,
    /// By how many fine steps the clock is ahead of whole periods.
    shift: isize,
    /// Commands on their way, and in how many fine steps they act.
    coming: VecDeque<(usize, Vec<f64>)>,
    /// None while the arm is held.
    acting: Option<Vec<f64>>,
    /// What loops in the motors were told, as it came: q_ref, dq_ref, K_r, gains, limits.
    loops: Option<Vec<f64>>,
    /// After each fine step, the newest last.
    past: Vec<(Vec<f64>, Vec<f64>)>,
    /// Beside the commands, N m.
    push: f64,
    whim: (Whim, u64),
}

impl FakePeer {
    /// Serves until it is told to end, or does as its whim is.
    fn serve(mut self, requests: PipeReader, mut answers: PipeWriter) -> std::io::Result<()> {
        let mut from = BufReader::new(requests);
        let mut line = String::new();
        from.read_line(&mut line)?;
        assert_eq!(serde_json::from_str::<Setup>(&line).unwrap(), self.setup);
        let n = self.q.len();
        say(&mut answers, b'j', format!("{{\"joints\": {n}}}").as_bytes())?;
        let mut asked = 0;
        loop {
            let mut kind = [0];
            from.read_exact(&mut kind)?;
            match kind[0] {
                b'c' | b'l' => {
                    let told = kind[0] == b'l';
                    let mut bytes = vec![0; 8 * if told { 5 * n + 1 } else { n }];
                    from.read_exact(&mut bytes)?;
                    let mut tau: Vec<f64> =
                        bytes.chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect();
                    assert!(tau.iter().all(|x| x.is_finite()), "a command of {tau:?}");
                    let loops = tau.split_off(n);
                    self.loops = told.then_some(loops);
                    let answer = self.command(&tau);
                    if self.whim.0 == Whim::Pushes && asked == self.whim.1 {
                        self.push = 200.0;
                    } else if self.whim.0 != Whim::None && asked == self.whim.1 {
                        return self.misbehave(answer, &mut answers);
                    }
                    asked += 1;
                    numbers(&mut answers, &answer)?;
                }
                b'h' => {
                    let answer = self.hold();
                    numbers(&mut answers, &answer)?;
                }
                b'q' => numbers(&mut answers, &[self.q.clone(), self.dq.clone()].concat())?,
                b'x' => return say(&mut answers, b'j', br#"{"touched": [], "least_m": null}"#),
                other => panic!("request {other}"),
            }
        }
    }

    fn misbehave(&self, mut answer: Vec<f64>, answers: &mut PipeWriter) -> std::io::Result<()> {
        match self.whim.0 {
            Whim::None | Whim::Ends | Whim::Pushes => Ok(()),
            Whim::Earlier => {
                answer[4 * self.q.len()] = 0.1;
                numbers(answers, &answer)
            }
            Whim::Unordered => {
                let n = self.q.len();
                let steps = 4 * n + 1 + n * n + 2;
                answer[steps + 2 * n + 1] = answer[steps];
                numbers(answers, &answer)
            }
            Whim::Nan => {
                answer[2] = f64::NAN;
                numbers(answers, &answer)
            }
            Whim::Short => numbers(answers, &answer[1..]),
            Whim::Refuses => say(answers, b'e', b"the sky is falling"),
            Whim::Text => say(answers, b'j', b"{}"),
            Whim::Huge => answers.write_all(&[b's', 255, 255, 255, 255]),
            Whim::Sleeps => {
                thread::sleep(Duration::from_millis(600));
                Ok(())
            }
        }
    }

    /// Fine steps in a time, s.
    fn fine(&self, s: f64) -> usize {
        (s * (STEPS * FINE) as f64 / self.setup.period_s).round() as usize
    }

    /// Ages and delays are at one end of their bounds and the other by turns, and so is the jitter at every other tick.
    fn command(&mut self, tau: &[f64]) -> Vec<f64> {
        let (n, odd, step) = (self.q.len(), self.ticks % 2, self.setup.period_s / (STEPS * FINE) as f64);
        let timing = self.setup.timing;
        let delay = odd * self.fine(timing.command_delay_max_s);
        let before = self.coming.back().map_or(0, |(before, _)| *before);
        self.coming.push_back((delay.max(before), tau.to_vec()));
        let length = self.next_length();
        let (mut path, mut sum, mut most) = (vec![], vec![0.0; n], vec![0.0f64; n]);
        for k in 0..length {
            while self.coming.front().is_some_and(|(at, _)| *at == 0) {
                self.acting = self.coming.pop_front().map(|(_, tau)| tau);
            }
            self.coming.iter_mut().for_each(|(at, _)| *at -= 1);
            let applied = match self.acting.clone() {
                Some(tau) => self.with_loops(tau),
                None => self.holding(),
            };
            for j in 0..n {
                sum[j] += applied[j] / length as f64;
                most[j] = if applied[j].abs() > most[j].abs() { applied[j] } else { most[j] };
            }
            if self.acting.is_some() {
                self.step(&applied, step);
            }
            self.past.push((self.q.clone(), self.dq.clone()));
            if (k + 1) % FINE == 0 || k + 1 == length {
                path.push((k + 1) as f64 * step);
                path.extend(self.q.iter().chain(&self.dq));
            }
        }
        self.answer((&sum, &most), path, odd * self.fine(timing.reading_age_max_s))
    }

    /// What drives apply when asked for `tau`: their loops read the arm at each fine step.
    fn with_loops(&self, mut tau: Vec<f64>) -> Vec<f64> {
        let n = tau.len();
        for (j, tau) in tau.iter_mut().enumerate() {
            let Some(told) = &self.loops else { continue };
            let r = told[n + j] - self.dq[j] + told[2 * n] * (told[j] - self.q[j]);
            let (gain, limit) = (told[2 * n + 1 + j], told[3 * n + 1 + j]);
            *tau += (gain * r).clamp(-limit, limit);
        }
        tau
    }

    fn next_length(&mut self) -> usize {
        let jitter = self.fine(self.setup.timing.jitter_max_s) as isize;
        let longer = if self.ticks % 4 < 2 { jitter } else { -jitter };
        self.ticks += 1;
        self.shift += longer;
        (STEPS * FINE).saturating_add_signed(longer)
    }

    fn step(&mut self, applied: &[f64], step: f64) {
        let mut moved = applied.to_vec();
        moved[0] += self.push;
        for (j, moved) in moved.iter_mut().enumerate() {
            let own = self.robot.joint_parameters(&self.theta, j);
            let sign = (self.dq[j] / self.setup.stiction_speed_rad_s).clamp(-1.0, 1.0);
            *moved -= own.coulomb * sign + own.viscous * self.dq[j] + own.offset;
        }
        let mut ddq = vec![0.0; applied.len()];
        let Self { robot, theta, dynamics, q, dq, .. } = self;
        dynamics.forward_dynamics(robot, q, dq, &moved, theta, &mut ddq);
        for j in 0..q.len() {
            dq[j] += step * ddq[j];
            q[j] += step * dq[j];
        }
    }

    fn holding(&mut self) -> Vec<f64> {
        let n = self.q.len();
        let (zeros, mut tau) = (vec![0.0; n], vec![0.0; n]);
        self.dynamics.inverse_dynamics(&self.robot, &self.q, &zeros, &zeros, &self.theta, &mut tau);
        tau
    }

    fn hold(&mut self) -> Vec<f64> {
        let length = self.next_length();
        self.dq.fill(0.0);
        (self.acting, self.loops) = (None, None);
        self.coming.clear();
        let tau = self.holding();
        let mut path = vec![length as f64 * self.setup.period_s / (STEPS * FINE) as f64];
        path.extend(self.q.iter().chain(&self.dq));
        self.past.extend(vec![(self.q.clone(), self.dq.clone()); length]);
        self.answer((&tau, &tau), path, 0)
    }

    /// The mass matrix column by column: what unit accelerations ask for, without gravity and speed. The reading is so many fine steps old.
    fn answer(&mut self, (mean, most): (&[f64], &[f64]), path: Vec<f64>, age: usize) -> Vec<f64> {
        let n = self.q.len();
        let (zeros, rest, mut mass) = (vec![0.0; n], self.holding(), vec![0.0; n * n]);
        for j in 0..n {
            let (mut unit, mut column) = (zeros.clone(), zeros.clone());
            unit[j] = 1.0;
            self.dynamics.inverse_dynamics(&self.robot, &self.q, &zeros, &unit, &self.theta, &mut column);
            for i in 0..n {
                mass[n * i + j] = column[i] - rest[i];
            }
        }
        let (q, dq) = self.past[self.past.len() - 1 - age].clone();
        let shift = self.shift as f64 / (STEPS * FINE) as f64;
        let t = (self.ticks as f64 + shift) * self.setup.period_s;
        let least = vec![f64::INFINITY, 0.0];
        [q, dq, mean.to_vec(), most.to_vec(), vec![t], mass, least, path].concat()
    }
}

fn say(answers: &mut PipeWriter, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    answers.write_all(&[&[kind], (bytes.len() as u32).to_le_bytes().as_slice(), bytes].concat())
}

fn numbers(answers: &mut PipeWriter, all: &[f64]) -> std::io::Result<()> {
    say(answers, b's', &all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

/// An arm of this task whose other end has a whim.
fn connected<'a>(
    task: &'a Task,
    truth: &Truth,
    whim: (Whim, u64),
) -> (PeerArm<'a>, JoinHandle<std::io::Result<()>>) {
    let ((reads_requests, requests), (answers, writes_answers)) = (pipe().unwrap(), pipe().unwrap());
    let fake = FakePeer {
        robot: task.robot.clone(),
        theta: truth.theta.clone(),
        dynamics: Workspace::new(&task.robot),
        setup: truth.setup.clone(),
        q: task.start.clone(),
        dq: vec![0.0; task.robot.dof()],
        ticks: 0,
        shift: 0,
        coming: VecDeque::new(),
        acting: None,
        loops: None,
        past: vec![],
        push: 0.0,
        whim,
    };
    let served = thread::spawn(move || fake.serve(reads_requests, writes_answers));
    let patience = if whim.0 == Whim::Sleeps { Duration::from_millis(200) } else { PATIENCE };
    let peer = Peer::connect(answers, requests, &truth.setup, patience).unwrap();
    (PeerArm::new(&task.robot, truth.theta.clone(), peer).unwrap(), served)
}

fn options() -> RunOptions {
    RunOptions { method: "ours".to_owned(), seed: 0, timed: false }
}

#[test]
fn an_arm_behind_two_pipes_runs_the_whole_loop() {
    let task = task("examples/my_arm/first_move.toml");
    let truth = drawn(&task, 2);
    assert_ne!(truth.theta, task.robot.nominal_parameters());
    let (mut arm, served) = connected(&task, &truth, (Whim::None, 0));
    let record = horizon::run(&task, &mut arm, &options(), &mut ()).unwrap();
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    let (seen, farewell) = arm.end().unwrap();
    served.join().unwrap().unwrap();
    assert!(seen.violations().is_empty() && seen.violated_s.is_none(), "{seen:?}");
    // It was looked at, and there was something to see.
    assert!(0.0 < seen.energy && seen.energy < 1.0 && 0.0 < seen.tube && seen.tube < 1.0, "{seen:?}");
    assert!(0.0 < seen.acceleration && seen.acceleration < 1.0 && seen.momentum == 0.0, "{seen:?}");
    assert!(seen.speed > 0.01 && seen.torque > 0.01 && seen.position_rad.is_finite(), "{seen:?}");
    assert_eq!(farewell.touched, []);
}

/// A task whose arm is late.
fn late_task() -> Task {
    let mut task = task("examples/my_arm/first_move.toml");
    let timing = TimingBounds {
        reading_age_max_s: 5e-4,
        command_delay_max_s: 4e-4,
        jitter_max_s: 1e-4,
        ..TimingBounds::EXACT
    };
    task.robot = task.robot.with_timing(timing).unwrap();
    task
}

#[test]
fn an_arm_that_is_late_runs_the_whole_loop_by_its_own_stamps() {
    let task = late_task();
    let truth = drawn(&task, 2);
    let (mut arm, served) = connected(&task, &truth, (Whim::None, 0));
    let record = horizon::run(&task, &mut arm, &options(), &mut ()).unwrap();
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    // Two ticks are longer by 0.1 ms, and two are shorter.
    let ticks = |k: usize| (record.log[k + 1].t - record.log[k].t) * 1e3;
    let lengths: Vec<f64> = (0..8).map(ticks).collect();
    assert!(lengths.iter().all(|x| ((x - 1.0).abs() - 0.1).abs() < 1e-9), "{lengths:?}");
    let (seen, _) = arm.end().unwrap();
    served.join().unwrap().unwrap();
    assert!(seen.violations().is_empty() && seen.violated_s.is_none(), "{seen:?}");
    assert!(0.0 < seen.momentum && seen.momentum < 1.0 && 0.0 < seen.tube && seen.tube < 1.0, "{seen:?}");
    assert!(0.0 < seen.acceleration && seen.acceleration < 1.0 && seen.energy == 0.0, "{seen:?}");
}

/// A task whose arm has loops in its motors: they read it as often as the other end steps finely.
fn task_with_motor_loops() -> Task {
    let mut task = task("examples/my_arm/first_move.toml");
    let timing = TimingBounds {
        motor_loop_age_max_s: task.robot.gains().period_s / (STEPS * FINE) as f64,
        ..TimingBounds::EXACT
    };
    task.robot = task.robot.with_timing(timing).unwrap();
    task
}

#[test]
fn an_arm_with_loops_in_its_motors_runs_the_whole_loop() {
    let task = task_with_motor_loops();
    let truth = drawn(&task, 2);
    let (mut arm, served) = connected(&task, &truth, (Whim::None, 0));
    let record = horizon::run(&task, &mut arm, &options(), &mut ()).unwrap();
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    let (seen, _) = arm.end().unwrap();
    served.join().unwrap().unwrap();
    assert!(seen.violations().is_empty() && seen.violated_s.is_none(), "{seen:?}");
    assert!(0.0 < seen.energy && seen.energy < 1.0 && 0.0 < seen.tube && seen.tube < 1.0, "{seen:?}");
    assert!(0.0 < seen.acceleration && seen.acceleration < 1.0 && seen.momentum == 0.0, "{seen:?}");
}

#[test]
fn what_loops_in_the_motors_are_told_goes_out_in_its_order() {
    let task = task_with_motor_loops();
    let truth = drawn(&task, 2);
    let n = task.robot.dof();
    let ((reads_requests, requests), (answers, mut writes_answers)) = (pipe().unwrap(), pipe().unwrap());
    let end = thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let mut from = BufReader::new(reads_requests);
        from.read_line(&mut String::new())?;
        say(&mut writes_answers, b'j', format!("{{\"joints\": {n}}}").as_bytes())?;
        from.read_exact(&mut [0])?;
        numbers(&mut writes_answers, &vec![0.0; 2 * n])?;
        let mut request = vec![0; 1 + 8 * (5 * n + 1)];
        from.read_exact(&mut request)?;
        say(&mut writes_answers, b'e', b"that will do")?;
        Ok(request)
    });
    let peer = Peer::connect(answers, requests, &truth.setup, PATIENCE).unwrap();
    let mut arm = PeerArm::new(&task.robot, truth.theta.clone(), peer).unwrap();
    assert!(arm.has_motor_loops());
    let all: Vec<f64> = (0..5 * n).map(|k| 0.1 * k as f64 - 0.7).collect();
    let part = |k: usize| &all[k * n..(k + 1) * n];
    let loops = MotorCommand {
        position_rad: part(1),
        velocity_rad_s: part(2),
        k_r: 8.0,
        gain_nms_rad: part(3),
        limit_nm: part(4),
    };
    let mut measured = vec![0.0; n];
    assert!(!arm.command_loops(part(0), &loops, &mut measured) && measured[0].is_nan());
    let sent = [part(0), part(1), part(2), &[8.0], part(3), part(4)].concat();
    let bytes: Vec<u8> = sent.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(end.join().unwrap().unwrap(), [b"l".as_slice(), &bytes].concat());
    let text = arm.end().unwrap_err().to_string();
    assert_eq!(text, "the peer refuses a command with loops in the motors: that will do");
}

#[test]
fn a_late_arm_that_is_pushed_out_of_its_tube_is_seen() {
    let task = late_task();
    let truth = drawn(&task, 2);
    let (mut arm, served) = connected(&task, &truth, (Whim::Pushes, 300));
    let record = horizon::run(&task, &mut arm, &options(), &mut ()).unwrap();
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    let (seen, _) = arm.end().unwrap();
    served.join().unwrap().unwrap();
    assert!(seen.momentum > 1.0 && seen.acceleration > 1.0, "{seen:?}");
    let violations = seen.violations();
    assert!(violations.contains(&"tube") && violations.contains(&"acceleration"), "{violations:?}");
}

#[test]
fn what_leaves_its_bounds_is_seen() {
    let task = task("examples/my_arm/first_move.toml");
    let truth = drawn(&task, 2);
    let (mut arm, served) = connected(&task, &truth, (Whim::None, 0));
    let n = task.robot.dof();
    // Nobody follows anything: the arm is thrown at full torque until a limit is passed.
    let (mut reading, mut measured) = (Reading::new(n), vec![0.0; n]);
    let most: Vec<f64> = task.robot.joints.iter().map(|joint| 1.01 * joint.limits.torque).collect();
    for _ in 0..3000 {
        arm.read(&mut reading);
        assert!(arm.command(&most, &mut measured));
    }
    let outside = ParameterSet::around_nominal(&task.robot);
    let (lower, upper) = (outside.lower().iter().map(|x| x + 10.0), outside.upper().iter().map(|x| x + 10.0));
    arm.set_claimed(&ParameterSet::new(lower.collect(), upper.collect()).unwrap());
    arm.set_claimed(&outside);
    let (seen, _) = arm.end().unwrap();
    served.join().unwrap().unwrap();
    assert_eq!(seen.sets, (2, 1));
    let violations = seen.violations();
    for what in ["torque limit", "speed limit"] {
        assert!(violations.contains(&what), "{what}: {seen:?}");
    }
    assert_eq!(seen.violated_s, Some(task.robot.gains().period_s));
}

/// The error of a run whose other end misbehaves at its 300th command.
fn failure(whim: Whim) -> PeerError {
    let task = task("examples/my_arm/first_move.toml");
    let truth = drawn(&task, 2);
    let (mut arm, served) = connected(&task, &truth, (whim, 300));
    let record = horizon::run(&task, &mut arm, &options(), &mut ()).unwrap();
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    let failure = arm.end().unwrap_err();
    served.join().unwrap().unwrap();
    failure
}

#[test]
fn an_end_that_dies_or_answers_nonsense_ends_the_run_and_is_named() {
    for (whim, expected) in [
        (Whim::Ends, "ended before it answered a command"),
        (Whim::Nan, "NaN as number 3 of 52, expected a finite one"),
        (Whim::Short, "408 bytes, expected 24 numbers of 8 and 7 for each step"),
        (Whim::Earlier, "the next tick at 0.1 s, expected later than"),
        (Whim::Unordered, "a step at 0.00025 s of its tick, expected one later than 0.00025 s"),
        (Whim::Refuses, "refuses a command: the sky is falling"),
        (Whim::Text, "kind 'j', expected 's'"),
        (Whim::Huge, "4294967295 bytes, expected at most"),
        (Whim::Sleeps, "did not answer a command within 0.2 s"),
    ] {
        let text = failure(whim).to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_process_that_does_not_play_along_is_named() {
    let task = task("examples/my_arm/first_move.toml");
    let truth = drawn(&task, 2);
    let start = |command: &mut Command| match Peer::start(command, &truth.setup, PATIENCE) {
        Ok(_) => panic!("{command:?} made an arm"),
        Err(error) => error.to_string(),
    };
    let text = start(&mut Command::new("surelift-has-no-such-program"));
    assert!(text.contains("cannot start `surelift-has-no-such-program`"), "{text}");
    let text = start(Command::new("sh").args(["-c", "echo no module named mujoco >&2; exit 3"]));
    assert!(text.contains("its setup") && text.contains("exit status: 3"), "{text}");
    assert!(text.contains("no module named mujoco"), "{text}");
    let text = start(Command::new("sh").args(["-c", r#"printf 'j\020\000\000\000{"joints": 1234}'; cat"#]));
    assert!(text.contains("1234 joints, expected 3"), "{text}");
    let text = start(Command::new("sh").args(["-c", r"printf 'e\002\000\000\000no'; cat"]));
    assert!(text.contains("the peer refuses its setup: no"), "{text}");
}

#[test]
fn draws_are_within_their_bounds_reach_them_and_pass_them_where_asked() {
    let task = task("scenarios/dumbbell_c_8lb.toml");
    let (robot, prior) = (&task.robot, task.prior_set().unwrap());
    let own = ParameterSet::around_nominal(robot);
    let (mut masses, mut at_an_end) = (vec![], 0);
    for seed in 0..20 {
        for off_axis_m in [None, Some([0.04, 0.12])] {
            let draw = Draw { seed, beyond: None, off_axis_m, springs: None };
            let truth = truth::draw(&task, "gen3.urdf", STEPS, &draw).unwrap();
            assert!(prior.contains(&truth.theta), "seed {seed}");
            let body = &truth.theta[robot.body_range(robot.end_effector())];
            let aside = (body[1].powi(2) + body[2].powi(2)).sqrt();
            assert!(off_axis_m.is_none() || aside > 1e-3, "seed {seed}: {aside} kg m");
            masses.push(body[0]);
            let share = |k: usize| (truth.theta[k] - own.lower()[k]) / (own.upper()[k] - own.lower()[k]);
            let first = share(robot.friction_index(0));
            at_an_end += usize::from(!(1e-6..1.0 - 1e-6).contains(&first));
            let angle = angle_deg(&truth.setup.gravity, &robot.gravity.into());
            assert!(angle <= robot.uncertainty().gravity_direction_deg, "{angle} degrees");
        }
    }
    assert_eq!(at_an_end, 20, "every other seed");
    let spread = masses.iter().fold((f64::MAX, 0.0_f64), |(l, u), &m| (l.min(m), u.max(m)));
    assert!(spread.0 < 2.0 && spread.1 > 4.5, "{spread:?}");
    let beyond = |effect, times| {
        let draw = Draw { seed: 0, beyond: Some((effect, times)), off_axis_m: None, springs: None };
        truth::draw(&task, "gen3.urdf", STEPS, &draw).unwrap()
    };
    let heavy = beyond(Effect::Payload, 2.0).theta[robot.body_range(robot.end_effector()).start];
    assert!(heavy > prior.body(robot.end_effector()).mass().upper + 3.0, "{heavy} kg");
    let (nominal, at) = (robot.nominal_parameters(), robot.friction_index(2));
    let rubs = beyond(Effect::Friction, 5.0).theta[at] / nominal[at];
    assert!(((rubs - 1.0).abs() - 0.25).abs() < 1e-6, "{rubs}");
    let lean = angle_deg(&beyond(Effect::Tilt, 2.0).setup.gravity, &robot.gravity.into());
    assert!((lean - 0.4).abs() < 1e-6, "{lean} degrees");
    let sticks = &beyond(Effect::Breakaway, 5.0).setup.joints[0];
    assert!((sticks.breakaway - 2.0).abs() < 1e-6, "{}", sticks.breakaway);
    assert!((beyond(Effect::Velocity, 2.0).setup.velocity_rad_s - 1e-4).abs() < 1e-9);
}

#[test]
fn times_are_drawn_as_the_file_bounds_them_and_pass_only_bounds_that_are_there() {
    let task = late_task();
    let drawn = |beyond| {
        let draw = Draw { seed: 3, beyond, off_axis_m: None, springs: None };
        truth::draw(&task, "my_arm.urdf", STEPS, &draw).map(|truth| truth.setup.timing)
    };
    let near = |a: f64, b: f64| a <= b && a > (1.0 - 1e-6) * b || a == b;
    let timing = drawn(None).unwrap();
    assert!(near(timing.reading_age_max_s, 5e-4) && near(timing.command_delay_max_s, 4e-4), "{timing:?}");
    assert!(near(timing.jitter_max_s, 1e-4) && timing.drive_lag_max_s == 0.0, "{timing:?}");
    let times = |effect| drawn(Some((effect, 3.0))).unwrap();
    assert!(near(times(Effect::ReadingAge).reading_age_max_s, 1.5e-3));
    assert!(near(times(Effect::ReadingAge).command_delay_max_s, 4e-4));
    assert!(near(times(Effect::CommandDelay).command_delay_max_s, 1.2e-3));
    assert!(near(times(Effect::Jitter).jitter_max_s, 3e-4));
    assert!(near(times(Effect::All).jitter_max_s, 3e-4));
    assert_eq!(times(Effect::All).motor_loop_age_max_s, 0.0);
    let loops = task_with_motor_loops();
    let draw = Draw { seed: 3, beyond: Some((Effect::MotorLoopAge, 20.0)), off_axis_m: None, springs: None };
    let setup = truth::draw(&loops, "my_arm.urdf", STEPS, &draw).unwrap().setup;
    assert!(near(setup.timing.motor_loop_age_max_s, 1e-3) && setup.timing.jitter_max_s == 0.0);
    let again: Setup = serde_json::from_str(&serde_json::to_string(&setup).unwrap()).unwrap();
    assert_eq!(again, setup);
    assert_eq!(again.joints[1].torque_limit_nm, loops.robot.joints[1].limits.torque);
    let text = drawn(Some((Effect::MotorLoopAge, 3.0))).unwrap_err();
    assert!(text.contains("`motor_loop_age_max_s` is 0"), "{text}");
    let text = drawn(Some((Effect::DriveLag, 3.0))).unwrap_err();
    assert_eq!(
        text,
        "beyond: `drive_lag_max_s` is 0 in the file of robot `my_arm`, expected a bound to pass"
    );
    let text = drawn(Some((Effect::Jitter, 10.0))).unwrap_err();
    assert!(text.contains("`jitter_max_s`") && text.contains("less than its period of 0.001 s"), "{text}");
}

/// Angle between two vectors, degrees.
fn angle_deg(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let (a, b) = (nalgebra::Vector3::from(*a), nalgebra::Vector3::from(*b));
    a.angle(&b).to_degrees()
}
