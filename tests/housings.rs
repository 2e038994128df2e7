//! The promise: the Gen3's collision primitives contain the maker's meshes.
//!
//! The meshes are not ours to ship. The PyPI package `robosuite` 1.5 holds them as STL files, in
//! `robosuite/models/assets/robots/kinova3/meshes`; name that folder to run this:
//! `GEN3_MESHES=FOLDER cargo test --release --test housings -- --ignored`. With those of 1.5.2 it passes.

use std::path::Path;

use nalgebra::Vector3;
use surelift::robot::{Arm, CollisionPart, Primitive, load};

/// What single-precision coordinates of a mesh may be off, m.
const STORED: f64 = 1e-7;
/// How often a triangle may be cut in two.
const DEPTH: usize = 24;

type Triangle = [Vector3<f64>; 3];

/// The triangles of a binary STL file, m.
fn triangles(path: &Path) -> Vec<Triangle> {
    let bytes = std::fs::read(path).unwrap();
    let count = u32::from_le_bytes(bytes[80..84].try_into().unwrap()) as usize;
    let number = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let corner = |at: usize| Vector3::new(number(at), number(at + 4), number(at + 8));
    (0..count).map(|k| 84 + 50 * k + 12).map(|at| [corner(at), corner(at + 12), corner(at + 24)]).collect()
}

/// A capsule that is the union of a cylinder and the spheres at its ends, which follow it in the list.
struct Round {
    a: Vector3<f64>,
    b: Vector3<f64>,
    radius: f64,
}

/// The parts of a link as such unions; checked that they are.
fn rounds(robot: &Arm, link: &str) -> Vec<Round> {
    let own: Vec<&CollisionPart> = robot.parts().iter().filter(|part| part.link == link).collect();
    own.chunks(3)
        .map(|chunk| {
            let [cylinder, start, end] = chunk else { panic!("{link}: a cylinder and two spheres") };
            let sphere = |part: &CollisionPart| match part.collision.primitive {
                Primitive::Sphere { radius } => (part.collision.placement.translation, radius),
                other => panic!("{link}: {other:?}, expected a sphere"),
            };
            let ((a, r), (b, s)) = (sphere(start), sphere(end));
            let Primitive::Cylinder { radius, length } = cylinder.collision.primitive else {
                panic!("{link}: expected a cylinder")
            };
            let axis = cylinder.collision.placement.rotation * Vector3::z() * (0.5 * length);
            let middle = cylinder.collision.placement.translation;
            let off = (middle + axis - b).norm().min((middle - axis - b).norm());
            assert!(r == radius && s == radius && off < 5e-6, "{link}: {off}");
            Round { a, b, radius: radius - 1e-5 }
        })
        .collect()
}

fn holds(round: &Round, p: &Vector3<f64>) -> bool {
    let along = round.b - round.a;
    let share = ((p - round.a).dot(&along) / along.norm_squared()).clamp(0.0, 1.0);
    (round.a + along * share - p).norm() + STORED <= round.radius
}

/// Whether the union contains the triangle: a convex member holds all corners, or both halves are contained.
fn contained(rounds: &[Round], triangle: &Triangle, depth: usize) -> bool {
    if rounds.iter().any(|round| triangle.iter().all(|p| holds(round, p))) {
        return true;
    }
    if depth == 0 || triangle.iter().any(|p| !rounds.iter().any(|round| holds(round, p))) {
        return false;
    }
    let side = |k: usize| (triangle[(k + 1) % 3] - triangle[k]).norm();
    let longest = (0..3).fold(0, |l, k| if side(k) > side(l) { k } else { l });
    let [p, q, r] = [0, 1, 2].map(|k| triangle[(longest + k) % 3]);
    let middle = 0.5 * (p + q);
    contained(rounds, &[p, middle, r], depth - 1) && contained(rounds, &[middle, q, r], depth - 1)
}

#[test]
#[ignore = "needs the maker's meshes: see the header"]
fn the_arms_primitives_contain_the_makers_meshes() {
    let folder = std::env::var("GEN3_MESHES").expect("GEN3_MESHES names the folder of the STL files");
    for name in ["kinova_gen3", "kinova_gen3_2f85"] {
        let robot = load(name).unwrap();
        for link in [
            "base_link",
            "shoulder_link",
            "half_arm_1_link",
            "half_arm_2_link",
            "forearm_link",
            "spherical_wrist_1_link",
            "spherical_wrist_2_link",
            "bracelet_link",
        ] {
            let file = if link == "bracelet_link" { "bracelet_with_vision_link" } else { link };
            let mesh = triangles(&Path::new(&folder).join(file).with_extension("stl"));
            let own = rounds(&robot, link);
            assert!(mesh.len() > 1000 && !own.is_empty());
            let out = mesh.iter().filter(|triangle| !contained(&own, triangle, DEPTH)).count();
            assert_eq!(out, 0, "{name}: {out} of {} triangles of {link} stick out", mesh.len());
            // Half a millimetre less would not do.
            let thin: Vec<Round> =
                own.into_iter().map(|round| Round { radius: round.radius - 5e-4, ..round }).collect();
            assert!(mesh.iter().any(|triangle| !contained(&thin, triangle, DEPTH)), "{link}: room to spare");
        }
    }
}
