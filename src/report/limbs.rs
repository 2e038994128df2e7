//! The report on limbs that were learnt from the motors' side: `summary.json`, `report.html`, and tables as CSV files.

use std::path::Path;

use super::ReportError;
use super::figure::figure;
use super::html::{document, escape};
use super::study::{csv, table};
use super::table::align;
use super::write::{check_files, write_named};
use crate::study::limbs::{LimbFinding, LimbFindings, LimbUnknown, LinkBelief, MotorFinding};

/// The files of the report.
pub const FILES: [&str; 5] =
    ["summary.json", "motors.csv", "parameters.csv", "base_parameters.csv", "report.html"];

const MOTORS: [&str; 7] = [
    "limb",
    "motor",
    "error_nm",
    "error_of_model_nm",
    "predicted_error_nm",
    "predicted_error_of_model_nm",
    "predicted_error_by_friction_nm",
];

/// What a study may leave beside its report: lines of a robot TOML, and the whole robot as it was learnt.
pub const FURTHER: [&str; 3] = ["robot_lines.toml", "learnt.toml", "learnt.urdf"];

/// Checks that `folder` can take the report: it is new, empty, or holds an earlier one and nothing else.
///
/// # Errors
/// [`ReportError::Destination`].
pub fn check_destination(folder: &Path) -> Result<(), ReportError> {
    check_files(folder, &known())
}

/// All files that a report may have.
fn known() -> Vec<&'static str> {
    FILES.into_iter().chain(FURTHER).collect()
}

/// Writes the report, all of it or nothing; beside it the texts that `further` has for [`FURTHER`].
///
/// # Errors
/// [`ReportError`] for a folder that is in use, or whatever goes wrong while writing.
pub fn write(
    folder: &Path,
    findings: &LimbFindings,
    further: [Option<String>; FURTHER.len()],
) -> Result<(), ReportError> {
    let json = serde_json::to_string_pretty(findings)
        .map_err(|source| ReportError::Json { path: folder.join(FILES[0]), source })?;
    let mut files = vec![
        (FILES[0], json + "\n"),
        (FILES[1], csv(&motor_rows(findings, |x| x.to_string()))?),
        (FILES[2], csv(&parameter_rows(findings))?),
        (FILES[3], csv(&base_rows(findings))?),
        (FILES[4], page(findings)),
    ];
    files.extend(FURTHER.into_iter().zip(further).filter_map(|(name, text)| Some((name, text?))));
    write_named(folder, &known(), &files)
}

fn motor_rows(findings: &LimbFindings, number: impl Fn(f64) -> String) -> Vec<Vec<String>> {
    let mut rows = vec![MOTORS.map(str::to_owned).to_vec()];
    for limb in &findings.limbs {
        rows.extend(limb.motors.iter().map(|motor| {
            let optional = |x: Option<f64>| x.map_or(String::new(), &number);
            vec![
                limb.name.clone(),
                motor.joint.clone(),
                number(motor.fit_rms_nm),
                number(motor.model_rms_nm),
                optional(motor.validation_rms_nm),
                optional(motor.validation_model_rms_nm),
                optional(motor.validation_apart_rms_nm),
            ]
        }));
    }
    rows
}

fn parameter_rows(findings: &LimbFindings) -> Vec<Vec<String>> {
    let heading = ["limb", "parameter", "unit", "model", "estimate", "deviation"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for limb in &findings.limbs {
        rows.extend(limb.parameters.iter().map(|p| {
            let numbers = [p.model, p.estimate, p.deviation].map(|x| x.to_string());
            [vec![limb.name.clone(), p.name.clone(), p.unit.to_owned()], numbers.to_vec()].concat()
        }));
    }
    rows
}

fn base_rows(findings: &LimbFindings) -> Vec<Vec<String>> {
    let mut rows = vec![["limb", "base_parameter"].map(str::to_owned).to_vec()];
    for limb in &findings.limbs {
        rows.extend(limb.base.combinations.iter().map(|text| vec![limb.name.clone(), text.clone()]));
    }
    rows
}

/// A limb in one sentence.
fn sentence(limb: &LimbFinding) -> String {
    let gap = limb.base.gap.map_or("full rank".to_owned(), |gap| format!("gap {}", figure(gap)));
    format!(
        "{}: {} of {} parameters can be told apart ({gap}, condition number {}); optimum to within {} (duality gap, in half squared \
         deviations); {} samples, {} % of them outliers{}{}{}{}",
        limb.name,
        limb.base.rank,
        limb.parameters.len(),
        figure(limb.base.condition_number),
        figure(limb.duality_gap),
        limb.samples,
        figure(100.0 * limb.outliers),
        limb.belief.as_ref().map_or(String::new(), told_links),
        still(limb),
        exponents(limb),
        at_rest(limb),
    )
}

/// Which motors rub more at rest.
fn at_rest(limb: &LimbFinding) -> String {
    let told = |motor: &MotorFinding| {
        let rest = motor.rest_friction.as_ref()?;
        Some(format!(
            "{} by {:.2} N m, which falls within {:.2} rad/s",
            motor.joint, rest.excess_nm, rest.rate_rad_s
        ))
    };
    match limb.motors.iter().filter_map(told).collect::<Vec<_>>().join(", ") {
        all if all.is_empty() => all,
        all => format!("; friction is larger at rest, which robot files cannot say: {all}"),
    }
}

/// Exponents of viscous friction, where they were sought.
fn exponents(limb: &LimbFinding) -> String {
    let told = |exponent: f64| if exponent == 1.0 { "1".to_owned() } else { format!("{exponent:.2}") };
    let all = limb.motors.iter().filter_map(|m| Some(format!("{} {}", m.joint, told(m.friction_exponent?))));
    match all.collect::<Vec<_>>().join(", ") {
        all if all.is_empty() => all,
        all => format!("; exponents of viscous friction: {all}"),
    }
}

/// Which motors stand still, and what helps.
fn still(limb: &LimbFinding) -> String {
    match limb.still.join(", ") {
        names if names.is_empty() => names,
        names => format!(
            "; {names} stood still in all recordings, so that nothing of their friction and little of the links was learnt: `surelift excite` finds motions \
             that tell"
        ),
    }
}

/// Which links are told, and why.
fn told_links(belief: &LinkBelief) -> String {
    match belief.learnt_share {
        0.0 => "; the links told are the files': of what can be learnt, nothing predicts a motor of the recordings that were left out clearly better and \
                none worse"
            .to_owned(),
        share => format!(
            "; {} % of what was learnt of the first {} links is told, as recordings that were left out are predicted best so, and no motor worse than \
             with the files' links",
            figure(100.0 * share),
            belief.links
        ),
    }
}

fn unknown(findings: &LimbFindings) -> &'static str {
    match findings.unknown {
        LimbUnknown::Friction => "friction",
        LimbUnknown::Links => "links",
        LimbUnknown::Everything => "everything",
    }
}

/// Whether passive joints were measured; nothing where each joint has a motor.
fn passive(findings: &LimbFindings, before: &str) -> String {
    let every = findings.limbs.iter().all(|limb| limb.motors.len() == limb.joints.len());
    let words = match findings.passive_measured {
        _ if every => return String::new(),
        true => "passive joints measured, and on the proven branch in every sample",
        false => "passive joints not measured in every log: their positions follow from the motors'",
    };
    format!("{before}{words}")
}

/// The closing text on the terminal.
pub fn closing(findings: &LimbFindings) -> String {
    let rule = "─".repeat(72);
    let mut rows = motor_rows(findings, figure);
    rows[0] = ["limb", "motor", "error, N m RMS", "of the model", "predicted", "by the model", "by friction"]
        .map(str::to_owned)
        .to_vec();
    let limbs: String = findings.limbs.iter().map(|limb| format!("  {}\n", sentence(limb))).collect();
    let delay = findings.delay.as_ref().map_or(String::new(), |words| format!("  {words}\n"));
    format!(
        "{rule}\n  {} · {}{}\n{rule}\n{}{rule}\n{limbs}{delay}  Estimates carry no guarantee.\n",
        findings.robot,
        unknown(findings),
        passive(findings, " · "),
        align(&rows)
    )
}

fn page(findings: &LimbFindings) -> String {
    let numbers = |x: Option<f64>| x.map_or("–".to_owned(), figure);
    let motors = findings.limbs.iter().flat_map(|limb| {
        limb.motors.iter().map(|motor| {
            vec![
                escape(&limb.name),
                escape(&motor.joint),
                figure(motor.fit_rms_nm),
                figure(motor.model_rms_nm),
                numbers(motor.validation_rms_nm),
                numbers(motor.validation_model_rms_nm),
                numbers(motor.validation_apart_rms_nm),
            ]
        })
    });
    let head = ["limb", "motor", "error", "of the model", "predicted", "by the model", "by friction alone"];
    let motors = table("Torque errors, N m RMS", &head, motors);
    let limbs: String = findings.limbs.iter().map(limb_section).collect();
    let body = format!(
        "<div class=\"head\"><div><div class=\"brand\">surelift identify</div><h1>{}</h1></div></div>\
         <p>Learnt: {}{}. Estimates carry no guarantee.</p>{motors}{limbs}",
        escape(&findings.robot),
        unknown(findings),
        passive(findings, "; ")
    );
    let footer = format!(
        "surelift {} · figures in summary.json and the CSV files beside it",
        env!("CARGO_PKG_VERSION")
    );
    document(&format!("{} · limbs identified", escape(&findings.robot)), &body, &footer)
}

fn limb_section(limb: &LimbFinding) -> String {
    let rows = limb.parameters.iter().map(|p| {
        let numbers = [p.model, p.estimate, p.deviation].map(figure);
        [vec![escape(&p.name), p.unit.to_owned()], numbers.to_vec()].concat()
    });
    let parameters =
        table("Parameters", &["parameter", "unit", "model", "estimate", "standard deviation"], rows);
    let base: String =
        limb.base.combinations.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    format!(
        "<h2>{}</h2><p>{}.</p>{parameters}<h3>Base parameters</h3><ul>{base}</ul>",
        escape(&limb.name),
        escape(&sentence(limb))
    )
}
