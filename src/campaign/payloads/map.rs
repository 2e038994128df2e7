//! Pictures of what is provable: for each arm a panel for each velocity error, delays to the right, control rates upwards, and the mass in each place.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::CampaignError;
use super::{PayloadMap, Place, Provable};
use crate::report::figure::{below, figure};

/// A place, and the room beside and above the places of a panel, pixels.
const CELL: (i32, i32) = (64, 40);
const LEFT: i32 = 70;
const ABOVE: i32 = 34;
const BELOW: i32 = 48;
/// Masses between which the shade grows, kg: lighter ones are pale, heavier ones dark.
const SHADES_KG: (f64, f64) = (0.02, 20.0);
const PALE: RGBColor = RGBColor(0xe8, 0xf1, 0xfa);
const DARK: RGBColor = RGBColor(0x14, 0x4f, 0x8a);
const NOTHING: RGBColor = RGBColor(0xf3, 0xf0, 0xec);

/// Name and content of the pictures.
pub(super) fn figures(map: &PayloadMap, found: &[Provable]) -> Result<Vec<(String, String)>, CampaignError> {
    let draw = |arm: usize| {
        let label = map.label(arm);
        let name = format!("{}.svg", label.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        match picture(map, found, arm) {
            Ok(svg) => Ok((name, svg)),
            Err(error) => Err(CampaignError::Trials(format!("the picture of `{label}`: {error}"))),
        }
    };
    (0..map.arms.len()).map(draw).collect()
}

fn picture(map: &PayloadMap, found: &[Provable], arm: usize) -> Result<String, Box<dyn std::error::Error>> {
    let file = &map.file;
    let panels = file.velocity_errors_rad_s.len();
    let wide = LEFT + CELL.0 * file.delays_ms.len() as i32 + 12;
    let high = ABOVE + CELL.1 * file.rates_hz.len() as i32 + BELOW;
    let mut svg = String::new();
    {
        let size = ((wide * panels as i32) as u32, high as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        for (velocity, area) in root.split_evenly((1, panels)).iter().enumerate() {
            let shown = map.places().zip(found).filter(|(p, _)| p.arm == arm && p.velocity == velocity);
            panel(area, map, (arm, velocity), &shown.collect::<Vec<_>>())?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    map: &PayloadMap,
    (arm, velocity): (usize, usize),
    shown: &[(Place, &Provable)],
) -> Result<(), Box<dyn std::error::Error>> {
    let file = &map.file;
    let (small, middle) = (centred(12, &BLACK), LEFT + CELL.0 * file.delays_ms.len() as i32 / 2);
    let bottom = ABOVE + CELL.1 * file.rates_hz.len() as i32;
    let title = format!(
        "{}, velocities within {} rad/s",
        map.label(arm),
        figure(file.velocity_errors_rad_s[velocity])
    );
    area.draw(&Text::new(title, (middle, ABOVE / 2), centred(13, &BLACK)))?;
    for (i, ms) in file.delays_ms.iter().enumerate() {
        let at = (LEFT + CELL.0 * i as i32 + CELL.0 / 2, bottom + 12);
        area.draw(&Text::new(figure(*ms), at, small.clone()))?;
    }
    let delay =
        if map.arms[arm].timing().has_motor_loops() { "age of loop readings, ms" } else { "delay, ms" };
    area.draw(&Text::new(delay, (middle, bottom + 32), small.clone()))?;
    for (i, hz) in file.rates_hz.iter().enumerate() {
        let at = (LEFT - 34, bottom - CELL.1 * i as i32 - CELL.1 / 2);
        area.draw(&Text::new(format!("{} Hz", figure(*hz)), at, small.clone()))?;
    }
    for (place, found) in shown {
        let (x, y) = (LEFT + CELL.0 * place.delay as i32, bottom - CELL.1 * (place.rate as i32 + 1));
        let corners = [(x + 1, y + 1), (x + CELL.0 - 1, y + CELL.1 - 1)];
        let (fill, text) = shades(found.kg);
        area.draw(&Rectangle::new(corners, fill.filled()))?;
        let words = if found.kg.is_nan() { below(found.kg) } else { format!("{} kg", below(found.kg)) };
        area.draw(&Text::new(words, (x + CELL.0 / 2, y + CELL.1 / 2), centred(12, &text)))?;
    }
    Ok(())
}

/// Text about its place.
fn centred(size: i32, colour: &RGBColor) -> TextStyle<'_> {
    let style = TextStyle::from(("sans-serif", size)).color(colour);
    style.pos(Pos::new(HPos::Center, VPos::Center))
}

/// Colours of a place and of its text.
fn shades(kg: f64) -> (RGBColor, RGBColor) {
    if kg.is_nan() {
        return (NOTHING, BLACK);
    }
    let (least, most) = SHADES_KG;
    let share = ((kg / least).ln() / (most / least).ln()).clamp(0.0, 1.0);
    let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
    let fill = RGBColor(mix(PALE.0, DARK.0), mix(PALE.1, DARK.1), mix(PALE.2, DARK.2));
    (fill, if share > 0.5 { WHITE } else { BLACK })
}
