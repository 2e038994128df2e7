//! The payload that a run or a study found, as others take it: makers' calls, inertial elements of model files, ranges for simulations.
//!
//! Each is about the payload alone, without the hand, in the frame that [`FramedPayload::frame`] names. Calls of makers take figures in the frame of their flange,
//! so have results told in that: `frame` of the prior. Sources: Universal Robots' script manual (`set_target_payload`: inertia about the centre of gravity, along the axes
//! of the tool flange), `franka_msgs/SetLoad` and libfranka (`setLoad`: column-major, 9 numbers), Kinova's Kortex API (`ToolConfiguration`: mass and centre alone), the URDF, MJCF and SDF
//! references (`<inertial>`: about the centre of mass; MJCF's `fullinertia` has xx, yy, zz, xy, xz, yz).

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

use super::figure::{above, below};
use crate::robot::{FramedBody, FramedPayload};

/// What the payload is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadFormat {
    /// A call of Universal Robots' script language.
    Ur,
    /// A call of libfranka.
    Franka,
    /// Mass and centre of a tool configuration of Kinova's Kortex API, as JSON.
    Kinova,
    /// The `<inertial>` element of a URDF link.
    Urdf,
    /// The `<inertial>` element of a MuJoCo body.
    Mjcf,
    /// The `<inertial>` element of an SDF link.
    Sdf,
    /// Proven intervals as JSON, for simulations that draw bodies at random.
    Ranges,
}

impl PayloadFormat {
    /// All of them, by the names that [`FromStr`] takes.
    pub const ALL: [(&'static str, Self); 7] = [
        ("ur", Self::Ur),
        ("franka", Self::Franka),
        ("kinova", Self::Kinova),
        ("urdf", Self::Urdf),
        ("mjcf", Self::Mjcf),
        ("sdf", Self::Sdf),
        ("ranges", Self::Ranges),
    ];
}

impl FromStr for PayloadFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
        let names = || Self::ALL.map(|(name, _)| name).join(", ");
        found.ok_or_else(|| format!("`{text}`, expected one of {}", names()))
    }
}

impl fmt::Display for PayloadFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, format)| format == self).map_or("", |(name, _)| *name);
        f.write_str(name)
    }
}

/// Why there is no payload to be written.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The file cannot be read.
    #[error("`{path}`: {source}")]
    Read {
        /// The file.
        path: String,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// It is no summary of a run or a study.
    #[error("`{path}`: {source}")]
    Parse {
        /// The file.
        path: String,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// It tells of no payload.
    #[error(
        "`{path}`: there is no `payload_alone`; expected the folder of a run that held something, or of `surelift identify --unknown payload` or `all`"
    )]
    NoPayload {
        /// The file.
        path: String,
    },
    /// What is to be written is not known.
    #[error("the payload in frame '{frame}' cannot be written as {format}: {reason}")]
    Unknown {
        /// Frame of the payload.
        frame: String,
        /// What was asked for.
        format: PayloadFormat,
        /// What is missing.
        reason: &'static str,
    },
}

/// The payload of a folder of results: of a run, or of a study of recordings.
///
/// # Errors
/// [`ExportError`] names the file, and what is wrong with it.
pub fn read(folder: &Path) -> Result<FramedPayload, ExportError> {
    #[derive(Deserialize)]
    struct Told {
        payload_alone: Option<FramedPayload>,
    }
    let file = folder.join("summary.json");
    let path = file.display().to_string();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(source) => return Err(ExportError::Read { path, source }),
    };
    let told: Told = match serde_json::from_str(&text) {
        Ok(told) => told,
        Err(source) => return Err(ExportError::Parse { path, source }),
    };
    told.payload_alone.ok_or(ExportError::NoPayload { path })
}

/// The payload as text of that format, which ends with a line break. Estimates are written to all digits; what is proven of them stands in a comment, where there are any.
///
/// # Errors
/// [`ExportError::Unknown`] where the estimate has no mass, or where ranges are asked for that nothing has proven.
pub fn write(payload: &FramedPayload, format: PayloadFormat) -> Result<String, ExportError> {
    let unknown = |reason| ExportError::Unknown { frame: payload.frame.clone(), format, reason };
    if format == PayloadFormat::Ranges {
        return ranges(payload).map_err(unknown);
    }
    let body = payload.estimate.ok_or_else(|| unknown("the estimate has no mass above 0"))?;
    let FramedBody { mass_kg: m, com_m: [x, y, z], inertia_kg_m2: [xx, xy, yy, xz, yz, zz] } = body;
    let said = comment(payload);
    let marked = |mark: &str| said.lines().map(|line| format!("{mark} {line}\n")).collect::<String>();
    let xml = format!("<!--\n{said}-->\n");
    Ok(match format {
        PayloadFormat::Ur => {
            marked("#")
                + &format!("set_target_payload({m}, [{x}, {y}, {z}], [{xx}, {yy}, {zz}, {xy}, {xz}, {yz}])\n")
        }
        PayloadFormat::Franka => {
            marked("//")
                + &format!(
                    "robot.setLoad({m}, {{{{{x}, {y}, {z}}}}}, {{{{{xx}, {xy}, {xz}, {xy}, {yy}, {yz}, {xz}, {yz}, {zz}}}}});\n"
                )
        }
        PayloadFormat::Kinova => {
            let told = serde_json::json!({ "tool_mass": m, "tool_mass_center": { "x": x, "y": y, "z": z } });
            format!("{told:#}\n")
        }
        PayloadFormat::Urdf => {
            xml + &format!(
                "<inertial>\n  <origin xyz=\"{x} {y} {z}\" rpy=\"0 0 0\"/>\n  <mass value=\"{m}\"/>\n  \
                 <inertia ixx=\"{xx}\" ixy=\"{xy}\" ixz=\"{xz}\" iyy=\"{yy}\" iyz=\"{yz}\" izz=\"{zz}\"/>\n</inertial>\n"
            )
        }
        PayloadFormat::Mjcf => {
            xml + &format!(
                "<inertial pos=\"{x} {y} {z}\" mass=\"{m}\" fullinertia=\"{xx} {yy} {zz} {xy} {xz} {yz}\"/>\n"
            )
        }
        PayloadFormat::Sdf => {
            let moments: String = [("xx", xx), ("xy", xy), ("xz", xz), ("yy", yy), ("yz", yz), ("zz", zz)]
                .iter()
                .map(|(name, value)| format!("<i{name}>{value}</i{name}>"))
                .collect();
            xml + &format!(
                "<inertial>\n  <pose>{x} {y} {z} 0 0 0</pose>\n  <mass>{m}</mass>\n  <inertia>{moments}</inertia>\n</inertial>\n"
            )
        }
        PayloadFormat::Ranges => String::new(),
    })
}

/// What is to be said beside an estimate: its frame, and what is proven of it.
fn comment(payload: &FramedPayload) -> String {
    // Two hyphens would end a comment.
    let frame = payload.frame.replace("--", "- -").replace(['\n', '\r'], " ");
    let mut text =
        format!("Payload without the hand, in frame '{frame}'. Inertia about the centre of mass, kg m^2.\n");
    if payload.mended {
        text += "The estimate was no body that can exist; this is the nearest one of its mass and centre.\n";
    }
    let Some(bounds) = &payload.bounds else {
        return text + "An estimate: nothing is proven of it.\n";
    };
    let range = |name: &str, [low, high]: [f64; 2], unit: &str| {
        format!("  {name}: {} to {} {unit}\n", below(low), above(high))
    };
    text += "Proven, as long as the assumptions hold:\n";
    text += &range("mass", bounds.mass_kg, "kg");
    for (name, bounds) in ["x", "y", "z"].iter().zip(bounds.com_m.into_iter().flatten()) {
        text += &range(name, bounds, "m");
    }
    for (name, bounds) in SIX.iter().zip(bounds.inertia_kg_m2) {
        text += &range(&format!("I_{name}"), bounds, "kg m^2");
    }
    text
}

/// Names of six moments, in their order.
const SIX: [&str; 6] = ["xx", "xy", "yy", "xz", "yz", "zz"];

fn ranges(payload: &FramedPayload) -> Result<String, &'static str> {
    let bounds = payload.bounds.as_ref().ok_or("nothing is proven of it")?;
    let com =
        bounds.com_m.ok_or("it may weigh nothing, so nothing bounds its centre; let the arm learn longer")?;
    let moments: serde_json::Map<_, _> = (SIX.iter().zip(bounds.inertia_kg_m2))
        .map(|(name, range)| (format!("i{name}"), serde_json::json!(range)))
        .collect();
    let told = serde_json::json!({
        "frame": payload.frame,
        "about": "Proven intervals, lower bound first. Not every combination is a body that can exist: draw, and drop what is none.",
        "mass_kg": bounds.mass_kg,
        "com_m": com,
        "inertia_about_com_kg_m2": moments,
    });
    Ok(format!("{told:#}\n"))
}

#[cfg(test)]
mod tests;
