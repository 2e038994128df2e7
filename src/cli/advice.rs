//! What to do about a run that came to a safe stop: every refusal ends with a sentence that a person can act on.

use crate::horizon::Outcome;
use crate::report::Summary;

/// How to find out what is provable, and what more needs.
const ASK: &str = "`surelift robot limits ROBOT` tells the heaviest unknown payload that is provable at this control period, and which period, \
                   transmission inertia, velocity bound or age of readings a heavier one needs; `surelift robot tune ROBOT --scenario SCENARIO` looks \
                   for gains of an arm that is on time";

/// What refusals say, the first that fits, and what that means. `{room}` is what is wanting, in the constraint's unit.
const MEANINGS: [(&[&str], &str); 12] = [
    (
        &[
            "tube gain condition",
            "tube hold_power_w",
            "tube drift_nm",
            "needs a robust torque",
            "is too high for readings",
        ],
        "For this control period too little is known of what is held, or the joints have too little inertia. {ask}.",
    ),
    (&["tube energy_slack_j"], "Velocities are measured too coarsely for these gains. {ask}."),
    (
        &["inertia_floor", "the mass matrix"],
        "The links alone are not known well enough to bear the proof: state the transmission inertia (`armature`), or know the payload better. {ask}.",
    ),
    (
        &["tube acceleration_bound"],
        "Accelerations are larger than the tube allows: slower plans (timing.t_f_s) or nearer ones (range_rad) have smaller ones. {ask}.",
    ),
    (
        &["Torque constraint"],
        "The torque limits leave no room for all that may be held; {room} N m (N) more would do. Slower plans (timing.t_f_s) or nearer ones \
         (range_rad) need less. {ask}.",
    ),
    (
        &["Velocity constraint"],
        "The speed limits leave no room; {room} rad/s (m/s) more would do. Slower plans (timing.t_f_s) or nearer ones (range_rad) need less.",
    ),
    (
        &["Position constraint"],
        "The position limits leave no room for the tracking errors; {room} rad (m) more would do. Move the start or the goal away from the \
         limits, or find gains whose tube is smaller (`surelift robot tune ROBOT` with a smaller --growth-mm).",
    ),
    (
        &["Collision constraint"],
        "Two shapes are too near for the tracking errors; {room} m more room would do. Move the start, the goal or the obstacle, draw the shapes \
         closer ([[capsules]]), or find gains whose tube is smaller (`surelift robot tune ROBOT` with a smaller --growth-mm).",
    ),
    (
        &["does not start where", "does not follow the plan", "starts in motion"],
        "Plans have to begin where the arm is: a plan of your own begins at rest, or with the motion and the constants of the one before.",
    ),
    (
        &["gravity alone takes"],
        "The arm cannot hold there what may be in its hand: a start or goal nearer to the base, a lighter payload (max_mass_kg), or larger torque \
         limits would do. {ask}.",
    ),
    (
        &["no way to the goal", "given path cannot be proven"],
        "Look at the page for what stands in the way: move the goal or the path, draw the shapes closer ([[capsules]]), or find gains whose tube \
         is smaller (`surelift robot tune ROBOT` with a smaller --growth-mm).",
    ),
    (
        &["the goal was not reached", "goal_tolerance_rad"],
        "More plans (timing.max_plans), farther ones (carry.range_rad) or a wider goal_tolerance_rad would do; `surelift robot tune ROBOT` with a \
         smaller --growth-mm looks for gains whose tube is smaller.",
    ),
];

/// What to do about a run that came to a safe stop.
pub(super) fn advice(summary: &Summary) -> Option<String> {
    if summary.outcome != Outcome::SafeStop {
        return None;
    }
    let reason = summary.reason.as_deref().unwrap_or_default();
    // Who asked needs no advice; and some reasons say themselves what would do.
    if reason.starts_with("asked to stop") || reason.contains("no plan would reach the goal") {
        return None;
    }
    let out_of_time = |reason: &String| reason.ends_with("in time") || reason.contains("later than t_p");
    let late = summary.plans.iter().filter(|plan| plan.reason.as_ref().is_some_and(out_of_time)).count();
    if late > 0 {
        return Some(format!(
            "{late} plans were not ready in time: the machine is slow or busy. --untimed plans without deadlines."
        ));
    }
    if !summary.waits.is_empty() {
        return Some(
            "Something that moves was too near for too long. Shorter plans (timing.t_f_s, t_p_s) need less room; timing.patience_s is how \
             long the arm waits."
                .to_owned(),
        );
    }
    let last = summary.plans.iter().rev().find_map(|plan| plan.reason.as_deref()).unwrap_or_default();
    let none = summary.plans.iter().all(|plan| !plan.certified);
    let beginning = if none { "No plan could be proven at all. " } else { "" };
    Some(format!(
        "{beginning}{}",
        meaning(reason).or_else(|| meaning(last)).unwrap_or_else(|| format!("{ASK}."))
    ))
}

/// What a refusal means, in plain words, with what is wanting where it says so.
fn meaning(reason: &str) -> Option<String> {
    let (_, sentence) =
        MEANINGS.iter().find(|(words, _)| words.iter().any(|words| reason.contains(words)))?;
    let wanting = reason.rsplit_once("margin -").map(|(_, figure)| figure.trim());
    let sentence = match wanting.filter(|figure| figure.parse::<f64>().is_ok_and(f64::is_finite)) {
        Some(figure) => sentence.replace("{room}", figure),
        None => sentence
            .replace("; {room} N m (N) more would do", "")
            .replace("; {room} m more room would do", "")
            .replace("; {room} rad/s (m/s) more would do", "")
            .replace("; {room} rad (m) more would do", ""),
    };
    Some(sentence.replace("{ask}", ASK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{Body, ConstraintFamily, ConstraintIndex, Refusal, Shortfall, StartRefusal};
    use crate::plan::momentum_fit::MomentumRefusal;
    use crate::plan::propose::ProposeError;
    use crate::robot::{Scene, load};

    /// Families of all constraints. Who adds a constraint adds it here: the match has no last resort.
    fn family(place: ConstraintIndex) -> (ConstraintFamily, &'static [&'static str]) {
        let limits = &["robot limits", "robot tune"][..];
        match place {
            ConstraintIndex::Joint(0) => (ConstraintFamily::Position, &["position limits", "0.2500 rad"]),
            ConstraintIndex::Joint(1) => (ConstraintFamily::Velocity, &["speed limits", "0.2500 rad/s"]),
            ConstraintIndex::Joint(_) => {
                (ConstraintFamily::Torque, &["torque limits", "0.2500 N m", "robot limits"])
            }
            ConstraintIndex::Pair(..) => {
                (ConstraintFamily::Collision, &["too near", "0.2500 m", "robot tune"])
            }
            ConstraintIndex::HoldPower
            | ConstraintIndex::EnergySlack
            | ConstraintIndex::Gain
            | ConstraintIndex::Floor
            | ConstraintIndex::Drift(_)
            | ConstraintIndex::Acceleration(_)
            | ConstraintIndex::MotorLoops
            | ConstraintIndex::LoopRate(_)
            | ConstraintIndex::MassMatrix
            | ConstraintIndex::Robust(_)
            | ConstraintIndex::Noise(_)
            | ConstraintIndex::Lag(_)
            | ConstraintIndex::SignBand(_)
            | ConstraintIndex::State(..)
            | ConstraintIndex::Uncovered
            | ConstraintIndex::Arithmetic => (ConstraintFamily::Tube, limits),
        }
    }

    fn stopped(reason: &str) -> Summary {
        let mut summary = crate::report::tests::record().summary;
        (summary.outcome, summary.reason) = (Outcome::SafeStop, Some(reason.to_owned()));
        (summary.waits, summary.broken) = (vec![], vec![]);
        summary
            .plans
            .iter_mut()
            .for_each(|plan| (plan.certified, plan.reason) = (false, Some(reason.to_owned())));
        summary
    }

    #[test]
    fn no_room_that_could_be_had_is_not_told_as_a_figure() {
        let reason = "Torque constraint of joint 'a' at 0 s: margin -inf";
        let said = advice(&stopped(reason)).unwrap();
        assert!(said.contains("leave no room for all that may be held.") && !said.contains("inf"), "{said}");
    }

    fn told(reason: &str, words: &[&str]) {
        // As the end of a run has it, and as the last of several refusals.
        for reason in
            [reason.to_owned(), format!("3 plans in a row could not be certified; the last: {reason}")]
        {
            let said = advice(&stopped(&reason)).expect(&reason);
            assert!(words.iter().all(|word| said.contains(word)), "{reason}: {said}");
            assert!(
                said.ends_with('.') && !said.contains('{') && !said.contains("margin"),
                "{reason}: {said}"
            );
        }
    }

    #[test]
    fn every_refusal_of_the_certifier_ends_with_what_is_provable_or_needed() {
        let robot = load("kinova_gen3_2f85").unwrap();
        let scene = Scene::default().with_box("post", [1.0, 0.0, 0.0], [0.1; 3]);
        let places = [
            ConstraintIndex::Joint(0),
            ConstraintIndex::Joint(1),
            ConstraintIndex::Joint(2),
            ConstraintIndex::Pair(0, Body::Obstacle(0)),
            ConstraintIndex::Pair(0, Body::Shape(5)),
            ConstraintIndex::HoldPower,
            ConstraintIndex::EnergySlack,
            ConstraintIndex::Gain,
            ConstraintIndex::Floor,
            ConstraintIndex::Drift(3),
            ConstraintIndex::Acceleration(3),
            ConstraintIndex::MassMatrix,
            ConstraintIndex::Robust(3),
            ConstraintIndex::Noise(3),
            ConstraintIndex::Lag(3),
            ConstraintIndex::SignBand(3),
            ConstraintIndex::Uncovered,
        ];
        for place in places {
            let (family, words) = family(place);
            let refusal =
                Shortfall { family, place, t0: 0.0, t1: 0.1, margin: -0.25 }.refusal(&robot, &scene);
            told(&ProposeError::Unproven(Some(refusal)).to_string(), words);
        }
        let starts = [
            StartRefusal::Moving { joint: "a".into(), what: "velocity", found: 1.0 },
            StartRefusal::Constant { what: "alpha".into(), found: 1.0, expected: "2".into() },
            StartRefusal::Jump { joint: "a".into(), what: "position", jump: 1.0, ticks: 2 },
        ];
        for start in starts {
            told(&Refusal::Start(start).to_string(), &["begin where the arm is"]);
        }
        told(
            &Refusal::Unsupported("inertia_floor of joint 'a': expected 0 < 0".into()).to_string(),
            &["armature"],
        );
    }

    #[test]
    fn every_other_refusal_ends_so_too() {
        let momentum = [
            MomentumRefusal::Unsupported("the robot has no joints".into()),
            MomentumRefusal::MassMatrix,
            MomentumRefusal::Gain { kappa: 9.0, age_ms: 3.0, lag_ms: 0.0, most: 8.0 },
            MomentumRefusal::Diverges { joint: "a".into(), robust_nm: 1e4 },
        ];
        for refusal in momentum {
            told(&refusal.to_string(), &["robot limits", "robot tune"]);
        }
        told(
            "no way to the goal: at the start gravity alone takes up to 122 % of it",
            &["max_mass_kg", "robot limits"],
        );
        told("no way to the goal: at the goal 'hand' touches obstacle 'post'", &["move the goal"]);
        told(
            "the given path cannot be proven, and was not begun; the arm rests at its start: x",
            &["the path"],
        );
        told("the goal was not reached within 60 plans", &["timing.max_plans", "goal_tolerance_rad"]);
        told("something that nobody foresaw", &["robot limits", "robot tune"]);
        // A run that could be planned and was not is told of too.
        let mut late = stopped("the goal was not reached within 60 plans");
        late.plans[0].certified = true;
        assert!(!advice(&late).unwrap().contains("at all"));
        late.plans[0].reason = Some("no trajectory could be proven in time".to_owned());
        assert!(advice(&late).unwrap().contains("--untimed"));
        assert_eq!(advice(&stopped("no plan would reach the goal, so none is begun; widen that")), None);
        // Who asked for the end needs no advice, nor does who succeeded.
        assert_eq!(advice(&stopped("asked to stop: the arm came to rest along its plan")), None);
        late.outcome = Outcome::Success;
        assert_eq!(advice(&late), None);
    }
}
