//! The payload as a drawing: the ellipsoid of equal density that has its inertia, and where its centre of mass may be.

use nalgebra::{Matrix2, Matrix3, SymmetricEigen, Vector3};

use super::html::escape;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::{check_physical, pseudo_inertia};

/// Side of the drawing, CSS pixels.
const SIDE: f64 = 300.0;
/// Share of the side that the largest body spans; the rest is for the marks.
const FILL: f64 = 0.8;
/// Points on an outline: every 5 degrees, so that its sides are not seen.
const POINTS: usize = 72;

/// A body as an ellipsoid: { x : (x - center)' shape^-1 (x - center) <= 1 }, m.
struct Ellipsoid {
    center: Vector3<f64>,
    shape: Matrix3<f64>,
}

impl Ellipsoid {
    /// The solid ellipsoid of equal density with these inertial parameters: its second moments about its centre are
    /// m shape / 5. `None` for what no rigid body has.
    fn of(theta: &[f64]) -> Option<Self> {
        let theta: &[f64; INERTIAL] = theta.try_into().ok()?;
        check_physical(theta).ok()?;
        let (j, mass) = (pseudo_inertia(theta), theta[0]);
        let center = Vector3::new(theta[1], theta[2], theta[3]) / mass;
        let moments = j.fixed_view::<3, 3>(0, 0) / mass - center * center.transpose();
        Some(Self { center, shape: 5.0 * moments })
    }

    /// Outline of the shadow along the axis that is neither `a` nor `b`.
    fn outline(&self, a: usize, b: usize) -> Vec<[f64; 2]> {
        let s = &self.shape;
        let eigen = SymmetricEigen::new(Matrix2::new(s[(a, a)], s[(a, b)], s[(b, a)], s[(b, b)]));
        let axis = |k: usize| eigen.eigenvectors.column(k) * eigen.eigenvalues[k].max(0.0).sqrt();
        let (first, second) = (axis(0), axis(1));
        (0..POINTS)
            .map(|k| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / POINTS as f64).sin_cos();
                let p = first * cos + second * sin;
                [self.center[a] + p[0], self.center[b] + p[1]]
            })
            .collect()
    }
}

/// What is drawn: ten inertial parameters each.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    /// An estimate.
    pub estimate: &'a [f64],
    /// The truth, where it is known.
    pub truth: Option<&'a [f64]>,
    /// A box that holds the centre of mass, m, where there is one.
    pub center: Option<[[f64; 2]; 3]>,
    /// What the frame's origin is called.
    pub origin: &'a str,
}

/// The box that ten lower and upper bounds leave the centre of mass, where the mass is above 0.
pub(super) fn center_box(lower: &[f64], upper: &[f64]) -> Option<[[f64; 2]; 3]> {
    let range = |k: usize| center_range(lower, upper, k).map(|(low, high)| [low, high]);
    Some([range(0)?, range(1)?, range(2)?])
}

/// Range of the centre of mass along axis `k`, h_k / m, over the intervals of both, m > 0.
fn center_range(lower: &[f64], upper: &[f64], k: usize) -> Option<(f64, f64)> {
    let (light, heavy) = (lower[0], upper[0]);
    let (low, high) = (lower[1 + k], upper[1 + k]);
    let ends = [low / light, low / heavy, high / light, high / heavy];
    (light > 0.0 && ends.iter().all(|x| x.is_finite())).then(|| {
        let fold = |of: fn(f64, f64) -> f64| ends.iter().copied().reduce(of).unwrap_or(f64::NAN);
        (fold(f64::min), fold(f64::max))
    })
}

/// Two figures, seen along y and along x of its frame: the estimate, the truth if it is known, and the box that holds
/// the centre of mass, with what to call the first and the last. Empty where the estimate is no body.
pub(super) fn figures(caption: &str, payload: &Shown, estimate_by: &str, box_of: &str) -> String {
    let Some(estimate) = Ellipsoid::of(payload.estimate) else { return String::new() };
    let truth = payload.truth.and_then(Ellipsoid::of);
    let views = [("x", 0, "along y"), ("y", 1, "along x")];
    let drawn = views.map(|(name, a, along)| {
        let svg = view(payload, &estimate, truth.as_ref(), a, name);
        let known = if truth.is_some() { "<span><i class=\"truth\"></i>truth</span>" } else { "" };
        let key = format!(
            "<span><i class=\"c0\"></i>{}</span>{known}<span><i class=\"c1\"></i>{}</span>",
            escape(estimate_by),
            escape(box_of)
        );
        format!("<figure><h3>{caption}, seen {along}</h3><div class=\"key\">{key}</div>{svg}</figure>")
    });
    format!("<div class=\"grid\">{}</div>", drawn.concat())
}

/// Where points of a view's plane, m, come to lie in its picture.
struct Placing {
    scale: f64,
    middle: [f64; 2],
}

impl Placing {
    /// Such that all points are in the picture; `None` where they take no room or are not finite.
    fn of(all: impl Iterator<Item = [f64; 2]>) -> Option<Self> {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for point in all {
            for k in 0..2 {
                (low[k], high[k]) = (low[k].min(point[k]), high[k].max(point[k]));
            }
        }
        let span = (high[0] - low[0]).max(high[1] - low[1]);
        let middle = [0, 1].map(|k| 0.5 * (low[k] + high[k]));
        (span > 0.0 && span.is_finite()).then(|| Self { scale: FILL * SIDE / span, middle })
    }

    fn place(&self, p: [f64; 2]) -> (f64, f64) {
        let from = |k: usize| self.scale * (p[k] - self.middle[k]);
        (0.5 * SIDE + from(0), 0.5 * SIDE - from(1))
    }

    fn polygon(&self, points: &[[f64; 2]], style: &str) -> String {
        let places = points.iter().map(|p| self.place(*p));
        let list: String = places.map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
        format!("<polygon points=\"{}\" {style}/>", list.trim_end())
    }

    /// The frame's origin, and a tenth of a metre with the axes' names.
    fn marks(&self, name: &str, origin: &str) -> String {
        let (x, y) = self.place([0.0, 0.0]);
        let joint = format!(
            "<path d=\"M{:.1} {y:.1}h10M{x:.1} {:.1}v10\" stroke=\"#5B6472\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#5B6472\">{}</text>",
            x - 5.0,
            y - 5.0,
            x + 8.0,
            y - 6.0,
            escape(origin)
        );
        let tenth = 0.1 * self.scale;
        let ruler = format!(
            "<path d=\"M10 {0:.1}h{tenth:.1}\" stroke=\"#5B6472\" stroke-width=\"2\"/>\
             <text x=\"10\" y=\"{1:.1}\" fill=\"#5B6472\">0.1 m; {name} to the right, z up</text>",
            SIDE - 10.0,
            SIDE - 16.0
        );
        joint + &ruler
    }
}

/// One view: axis `a` (called `name`) to the right, z upwards.
fn view(payload: &Shown, estimate: &Ellipsoid, truth: Option<&Ellipsoid>, a: usize, name: &str) -> String {
    let outlines: Vec<Vec<[f64; 2]>> =
        [Some(estimate), truth].into_iter().flatten().map(|e| e.outline(a, 2)).collect();
    let boxed = payload.center.map(|center| [a, 2].map(|k| (center[k][0], center[k][1])));
    let boxed = boxed.map(|[x, z]| (x, z));
    // Everything drawn, and the frame's origin.
    let corners = boxed.map(|(x, z)| [[x.0, z.0], [x.1, z.1]]);
    let all = outlines.iter().flatten().copied().chain(corners.into_iter().flatten()).chain([[0.0, 0.0]]);
    let Some(placing) = Placing::of(all) else { return String::new() };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" class=\"body\" aria-label=\"inertia ellipsoid\" \
         font-size=\"9\">"
    );
    let styles = [
        "fill=\"currentColor\" fill-opacity=\"0.14\" stroke=\"currentColor\" stroke-width=\"1.5\" class=\"c0\"",
        "fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\" class=\"truth\"",
    ];
    for (outline, style) in outlines.iter().zip(styles) {
        svg += &placing.polygon(outline, style);
    }
    if let Some((x, z)) = boxed {
        let corners = [[x.0, z.0], [x.1, z.0], [x.1, z.1], [x.0, z.1]];
        let style = "fill=\"currentColor\" fill-opacity=\"0.25\" stroke=\"currentColor\" class=\"c1\"";
        svg += &placing.polygon(&corners, style);
    }
    if let Some(truth) = truth {
        let (x, y) = placing.place([truth.center[a], truth.center[2]]);
        svg +=
            &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"currentColor\" class=\"truth\"/>");
    }
    svg + &placing.marks(name, payload.origin) + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: [f64; INERTIAL] = [4.9136, -4e-5, 9e-5, -0.76737, 0.1502, 0.0, 0.1354, 0.0, 0.0, 0.01944];

    #[test]
    fn a_solid_ellipsoid_is_drawn_as_itself() {
        // Semi-axes 0.1, 0.05, 0.2 at (0.02, 0, -0.3), 3 kg.
        let (m, axes, c) = (3.0, [0.1, 0.05, 0.2], Vector3::new(0.02, 0.0, -0.3));
        let s: [f64; 3] = axes.map(|a| m * a * a / 5.0);
        let about = Matrix3::from_diagonal(&Vector3::new(s[1] + s[2], s[0] + s[2], s[0] + s[1]));
        let theta = crate::inertia::pseudo::from_center_of_mass(m, &c, &about);
        let outline = Ellipsoid::of(&theta).unwrap().outline(0, 2);
        for [x, z] in outline {
            assert!((((x - 0.02) / 0.1).powi(2) + ((z + 0.3) / 0.2).powi(2) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_box_holds_every_center_and_the_figure_has_its_parts() {
        let (lower, upper) = (TRUTH.map(|x| x - 0.01), TRUTH.map(|x| x + 0.02));
        let center = center_box(&lower, &upper);
        let payload = Shown { estimate: &TRUTH, truth: Some(&TRUTH), center, origin: "tool<0>" };
        let [low, high] = center.unwrap()[2];
        for (m, h) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let pick = |k: usize, side: usize| [lower[k], upper[k]][side];
            let c = pick(3, h) / pick(0, m);
            assert!(low <= c && c <= high);
        }
        let html = figures("Payload", &payload, "estimate", "box");
        assert_eq!(html.matches("<svg").count(), 2);
        // Estimate, truth and box in each.
        assert_eq!((html.matches("<polygon").count(), html.matches(">truth<").count()), (6, 2));
        assert!(!html.contains("NaN") && html.contains(">tool&lt;0&gt;</text>"));
        let unknown = figures("Payload", &Shown { truth: None, ..payload }, "estimate", "box");
        assert_eq!((unknown.matches("<polygon").count(), unknown.matches(">truth<").count()), (4, 0));
        let mut none = TRUTH;
        none[0] = -1.0;
        assert_eq!(figures("Payload", &Shown { estimate: &none, ..payload }, "estimate", "box"), "");
        let mut massless = lower;
        massless[0] = 0.0;
        assert!(center_box(&massless, &upper).is_none());
    }
}
