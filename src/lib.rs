//! surelift: a robot arm picks up something of unknown inertia, and knows with a proof that it is safe.
//!
//! The question is which torques M(q; theta) ddq + C(q, dq; theta) dq + g(q; theta) + friction will be asked for, where
//! the arm will be, and what it may touch, for *every* theta of a set that measurements make smaller as the arm moves.
//!
//! # Five types
//! - [`robot::Arm`] is the arm: joints, limits, friction, capsules that cover its links, sensor bounds, gains.
//! - [`inertia::ParameterSet`] is what may be true of it: an interval for each inertial and friction parameter.
//! - [`trajectory::Bezier`] is a motion; with its tube, set, scene and robot it is a [`plan::Plan`], one JSON file.
//! - [`certify::Certificate`] is the proof that a motion is safe for the whole set, for all times and tracking errors;
//!   [`certify::Refusal`] is the constraint, time and place that could not be proven instead.
//! - [`identify::Identifier`] turns measurements into a smaller set that still holds the truth.
//!
//! ```
//! use std::sync::Arc;
//! use surelift::certify::{Partition, Problem, Start, certify};
//! use surelift::control::{Controller, Measured, RobustController};
//! use surelift::dynamics::Workspace;
//! use surelift::identify::{Identifier, IdentifierOptions};
//! use surelift::inertia::ParameterSet;
//! use surelift::plan::tube_fit;
//! use surelift::recording::Sample;
//! use surelift::robot::{self, Scene};
//! use surelift::trajectory::{Bezier, JointState};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The robot, and everything that may be true of it: 5 % on each link, and up to 1.8 kg more in the hand.
//! let robot = Arc::new(robot::load("kinova_gen3_2f85")?);
//! let (mut lower, mut upper) = ([-0.1; 10], [0.1; 10]);
//! lower[..4].copy_from_slice(&[1.2, -0.1, -0.1, -0.5]);
//! upper[..4].copy_from_slice(&[3.0, 0.1, 0.1, -0.1]);
//! let hand = robot.end_effector();
//! let possible = ParameterSet::around_nominal(&robot).with_body(hand, &lower, &upper)?;
//!
//! // The identifier starts from what physics leaves of that.
//! let guess = tube_fit::initial(&robot);
//! let bound = guess.acceleration_bound.clone();
//! let mut identifier = Identifier::new(robot.clone(), &possible, bound, IdentifierOptions::default())?;
//! let set = identifier.set().clone();
//!
//! // A trajectory of your own making, a tube for the controller, and the proof. No proof: no motion.
//! let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
//! let curve = Bezier::to_rest(&start, &[0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2], 3.0)?;
//! let tube = tube_fit::fit(&robot, &set, &curve, &guess, 16)?;
//! let scene = Scene::default();
//! let certificate = certify(&Problem::new(&robot, &set, &scene, &tube, &curve)?, &Start::Rest, Partition::default())?;
//! println!("{:?} N m to spare at {}", certificate.torque.value, certificate.torque.at);
//!
//! // The control loop at 1 kHz, here with an arm that follows exactly in place of yours.
//! identifier.set_acceleration_bound(tube.acceleration_bound.clone())?;
//! let mut controller = RobustController::new(robot.clone(), &set, &tube);
//! let (mut dynamics, truth) = (Workspace::new(&robot), robot.nominal_parameters());
//! let (mut desired, mut tau) = (start, vec![0.0; robot.dof()]);
//! for tick in 0..1500 {
//!     let t = tick as f64 * robot.gains().period_s;
//!     curve.evaluate(t, &mut desired);
//!     let (q, dq) = (desired.q.clone(), desired.dq.clone());
//!     controller.tick(t, Measured { q: &q, dq: &dq }, &desired, &mut tau);
//!     // A real arm moves as `tau` makes it; the sensors of this one read what its motion needs in the middle of the tick.
//!     curve.evaluate(t + 0.5 * robot.gains().period_s, &mut desired);
//!     dynamics.inverse_dynamics(&robot, &desired.q, &desired.dq, &desired.ddq, &truth, &mut tau);
//!     for (j, torque) in tau.iter_mut().enumerate() {
//!         let friction = &robot.joints[j].friction;
//!         *torque += friction.coulomb * desired.dq[j].signum() + friction.viscous * desired.dq[j];
//!     }
//!     identifier.push(Sample { t, q, dq, tau: tau.clone() })?;
//! }
//!
//! // What the measurements leave possible, proven; the next plan is made for this smaller set.
//! let update = identifier.update()?;
//! let mass = update.set.body(hand).mass();
//! println!("between {} and {} kg", mass.lower, mass.upper);
//! assert!(mass.half_width() < 0.5);
//! # Ok(())
//! # }
//! ```
//!
//! # Rooms
//! [`horizon`] is the receding-horizon loop over an arm ([`horizon::Hardware`]); a [`job`] is several such tasks in a row, called from a program; [`scenario`] runs it in simulation, and `cli`
//! (a default feature) is the program around it. [`plan`]
//! proposes trajectories and is not trusted; [`certify`] decides, with [`reach`] (sets over time), [`enclose`]
//! (arithmetic that is never wrong by a rounding) and [`dynamics`] (written once for any [`scalar`]). [`control`] holds
//! the law whose tracking tube [`reach::tube`] proves. [`simulate`] is the plant, which alone knows the truth;
//! [`report`] writes down what happened. A [`recording`] is what [`identify`], [`regression`] and [`multibody`] (by the solver of
//! [`estimate`]) learn from; a [`study`] does so with all of them.
//!
//! # Features
//! - `arm` (default): all that is about an arm. Without it, [`dynamics`], [`inertia`], [`scalar`], [`enclose`], [`trajectory`] and
//!   the [`robot::Model`] remain, for dynamics alone; two features add to them:
//! - `urdf`: models from files ([`robot::load_model`]);
//! - `rand`: random configurations ([`robot::configuration::random()`]).
//! - `cli` (default): the program.
//! - `studies` (default): what is done at a desk: estimates ([`estimate`], [`multibody`]), studies of recordings ([`study`], [`discrete`]),
//!   exciting motions, tuning, calibration ([`calibrate`]) and campaigns. Without it, compiling takes half of the time; the program runs scenarios and verifies proofs.
//! - `many-joints` (default): proofs of arms of 8 to 31 joints; without it an arm has 7 at most, and the machine code is 7 % less.
//! - `mcap` (default): recordings in MCAP files.
//! - `inari`: a second, independently written arithmetic to verify proofs with.
//!
//! What the guarantee assumes is in `docs/concepts/guarantee.md`; each proof stands in the documentation of the module that relies on it.
#![deny(missing_docs)]
// `src/main.rs` says why.
#![cfg(not(surelift_program))]
// The default build tells what is dead. What studies alone call is there for them.
#![cfg_attr(all(feature = "arm", not(feature = "studies")), allow(dead_code))]

#[cfg(all(test, not(feature = "arm")))]
compile_error!("the tests need the feature `arm`");

#[cfg(feature = "arm")]
pub mod benchmark;
#[cfg(feature = "studies")]
pub mod calibrate;
#[cfg(feature = "studies")]
pub mod campaign;
#[cfg(feature = "arm")]
pub mod certify;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "arm")]
pub mod control;
#[cfg(feature = "studies")]
pub mod discrete;
pub mod dynamics;
pub mod enclose;
#[cfg(feature = "studies")]
pub mod estimate;
#[cfg(feature = "urdf")]
mod extend;
#[cfg(feature = "arm")]
pub mod family;
#[cfg(feature = "arm")]
pub mod horizon;
#[cfg(feature = "arm")]
pub mod identify;
pub mod inertia;
#[cfg(feature = "arm")]
pub mod job;
pub mod linear;
#[cfg(feature = "studies")]
pub mod multibody;
#[cfg(feature = "arm")]
pub mod plan;
#[cfg(feature = "arm")]
pub mod prelude;
#[cfg(feature = "arm")]
pub mod reach;
#[cfg(feature = "arm")]
pub mod recording;
#[cfg(feature = "arm")]
pub mod regression;
#[cfg(feature = "arm")]
pub mod report;
pub mod robot;
pub mod scalar;
#[cfg(feature = "arm")]
pub mod scenario;
#[cfg(feature = "arm")]
pub mod simulate;
#[cfg(feature = "studies")]
pub mod study;
pub mod trajectory;
#[cfg(feature = "studies")]
pub mod tune;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
