//! Mesh files: STL, as text or binary, and Wavefront OBJ. Of an obstacle the vertices matter, since it is taken for their convex hull; of a
//! link the triangles do ([`slabs`], [`mod@union`]).

use std::path::Path;

use nalgebra::Vector3;

pub(super) mod find;
mod fit;
pub(super) mod slabs;
pub(super) mod union;

/// Three corners, m or in the unit of the file.
pub(super) type Triangle = [Vector3<f64>; 3];

/// Bytes of a binary STL before its first triangle, and of each triangle.
const HEAD: usize = 84;
const TRIANGLE: usize = 50;

/// The vertices of the mesh at `path`, in the file's unit; the reason if it cannot be read.
#[cfg(feature = "arm")]
pub(crate) fn vertices(path: &Path) -> Result<Vec<Vector3<f64>>, String> {
    Ok(Mesh::read(path)?.vertices)
}

/// The triangles of the mesh at `path`, in the file's unit; the reason if it cannot be read or has no faces.
pub(super) fn triangles(path: &Path) -> Result<Vec<Triangle>, String> {
    let mesh = Mesh::read(path)?;
    let at = path.display();
    match mesh.faces {
        Some(faces) if faces.is_empty() => Err(format!("{at}: holds no faces")),
        Some(faces) => Ok(faces.into_iter().map(|face| face.map(|k| mesh.vertices[k])).collect()),
        None if !mesh.vertices.len().is_multiple_of(3) => {
            let found = mesh.vertices.len();
            Err(format!("{at}: holds {found} vertices, expected three for each triangle"))
        }
        None => Ok(mesh.vertices.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect()),
    }
}

/// What a file holds.
struct Mesh {
    vertices: Vec<Vector3<f64>>,
    /// Corners of triangles, by vertex; `None` where each three vertices are one.
    faces: Option<Vec<[usize; 3]>>,
}

impl Mesh {
    fn read(path: &Path) -> Result<Self, String> {
        let at = path.display();
        let bytes = std::fs::read(path).map_err(|e| format!("{at}: cannot be read: {e}"))?;
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let (vertices, faces) = match extension.as_deref() {
            Some("stl") => match binary(&bytes) {
                Some(found) => (found, None),
                None => (text(&bytes, "vertex").map_err(|e| format!("{at}: {e}"))?, None),
            },
            Some("obj") => {
                let vertices = text(&bytes, "v").map_err(|e| format!("{at}: {e}"))?;
                let faces = faces(&bytes, vertices.len()).map_err(|e| format!("{at}: {e}"))?;
                (vertices, Some(faces))
            }
            _ => {
                return Err(format!(
                    "{at}: expected a file whose name ends in .stl or .obj; {}",
                    converted(path)
                ));
            }
        };
        if vertices.is_empty() {
            return Err(format!("{at}: holds no vertices"));
        }
        match vertices.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
            Some(k) => Err(format!("{at}: vertex {} is not finite", k + 1)),
            None => Ok(Self { vertices, faces }),
        }
    }
}

/// How to make a mesh of another format readable. No crate that is both small and complete reads COLLADA: one loses parts that a file places twice, and which
/// way is up; the other brings a calendar and a second reader of XML.
fn converted(path: &Path) -> String {
    let (from, to) = (path.display(), path.with_extension("stl"));
    format!("convert it (Assimp: assimp export {from} {}) and name the new file in its place", to.display())
}

/// The faces of an OBJ, each polygon as a fan of triangles about its first corner: together they hold the polygon, convex or not.
fn faces(bytes: &[u8], vertices: usize) -> Result<Vec<[usize; 3]>, String> {
    let mut found = Vec::new();
    // `text` has checked that this is text.
    let text = String::from_utf8_lossy(bytes);
    let mut seen = 0_i64;
    for (k, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let kind = words.next();
        seen += i64::from(kind == Some("v"));
        if kind != Some("f") {
            continue;
        }
        // `f 1/2/3`: the vertex comes first; a negative one counts from the last so far.
        let index = |word: &str| {
            let stated: i64 = word.split('/').next()?.parse().ok()?;
            let from_zero = if stated < 0 { seen + stated } else { stated - 1 };
            usize::try_from(from_zero).ok().filter(|k| *k < vertices)
        };
        let corners: Option<Vec<usize>> = words.map(index).collect();
        match corners {
            Some(corners) if corners.len() >= 3 => {
                found.extend(corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]));
            }
            _ => {
                let line = line.trim();
                return Err(format!("line {}: `{line}`, expected at least three of the vertices", k + 1));
            }
        }
    }
    Ok(found)
}

/// Binary STL, if the length is that of the number of triangles that it announces.
fn binary(bytes: &[u8]) -> Option<Vec<Vector3<f64>>> {
    let count = u32::from_le_bytes(bytes.get(80..HEAD)?.try_into().ok()?) as usize;
    let triangles = &bytes[HEAD..];
    if Some(triangles.len()) != count.checked_mul(TRIANGLE) {
        return None;
    }
    let number = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    // A triangle is its normal, three vertices, and two more bytes.
    let corners = triangles.chunks_exact(TRIANGLE).flat_map(|t| t[12..48].chunks_exact(12));
    Some(corners.map(|v| Vector3::new(number(v), number(&v[4..]), number(&v[8..]))).collect())
}

/// The numbers of all lines that begin with `word`.
fn text(bytes: &[u8], word: &str) -> Result<Vec<Vector3<f64>>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "neither text nor a binary STL whose length fits its number of triangles".to_owned())?;
    let mut found = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        if words.next() != Some(word) {
            continue;
        }
        let numbers: Vec<f64> = words.by_ref().take(3).map_while(|w| w.parse().ok()).collect();
        let [x, y, z] = numbers[..] else {
            return Err(format!("line {}: `{}`, expected three coordinates", k + 1, line.trim()));
        };
        found.push(Vector3::new(x, y, z));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &[u8]) -> Result<Vec<Vector3<f64>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        vertices(&path)
    }

    #[test]
    fn both_kinds_of_stl_and_obj_give_their_vertices() {
        let corners = [[0.0f32, 0.0, 0.0], [1.5, 0.0, 0.25], [0.0, -2.0, 0.0]];
        let expected: Vec<_> = corners.iter().map(|c| Vector3::from(c.map(f64::from))).collect();
        let mut stl = vec![b's'; 80];
        stl.extend(1u32.to_le_bytes());
        stl.extend([0u8; 12]);
        corners.iter().flatten().for_each(|x| stl.extend(x.to_le_bytes()));
        stl.extend([0u8; 2]);
        assert_eq!(read("a.STL", &stl).unwrap(), expected);
        let lines: String =
            corners.iter().map(|c| format!("  vertex {} {} {}\n", c[0], c[1], c[2])).collect();
        let text =
            format!("solid x\n facet normal 0 0 1\n outer loop\n{lines} endloop\n endfacet\nendsolid x\n");
        assert_eq!(read("a.stl", text.as_bytes()).unwrap(), expected);
        let lines: String = corners.iter().map(|c| format!("v {} {} {} 1.0\n", c[0], c[1], c[2])).collect();
        let text = format!("# a mesh\n{lines}vn 0 0 1\nf 1 2 3\n");
        assert_eq!(read("a.obj", text.as_bytes()).unwrap(), expected);
        assert_eq!(faces(text.as_bytes(), 3).unwrap(), [[0, 1, 2]]);
        let text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1/1/1 2//1 3 -1\n";
        assert_eq!(faces(text.as_bytes(), 4).unwrap(), [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |name: &str, content: &[u8], words: &str| {
            let reason = read(name, content).unwrap_err();
            assert!(reason.contains(name) && reason.contains(words), "{reason}");
        };
        refused("a.stl", b"", "no vertices");
        refused("a.stl", b"solid\nvertex 1 2\n", "line 2");
        refused("a.obj", b"v 1 x 2\n", "line 1");
        refused("a.obj", b"v 1 nan 2\n", "vertex 1 is not finite");
        refused("a.obj", b"v 1 inf 2\n", "not finite");
        refused("a.obj", b"v 0 0 0\nf 1 1\n", "line 2");
        refused("a.obj", b"v 0 0 0\nf 1 1 2\n", "expected at least three of the vertices");
        for name in ["a.ply", "a.dae", "mesh"] {
            refused(name, b"v 1 2 3\n", ".stl or .obj; convert it (Assimp: assimp export ");
        }
        refused("a.DAE", b"<COLLADA/>", "a.stl) and name the new file in its place");
        refused("a.stl", &[0xff; 200], "neither text nor");
        let mut cut = vec![0u8; 80];
        cut.extend(2u32.to_le_bytes());
        cut.extend([0xffu8; 50]);
        refused("a.stl", &cut, "neither text nor");
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            triangles(&folder.path().join(name)).unwrap_err()
        };
        assert!(of("a.stl", "vertex 0 0 0\nvertex 1 1 1\n").contains("three for each triangle"));
        assert!(of("a.obj", "v 0 0 0\nv 1 1 1\n").contains("no faces"));
        assert!(vertices(Path::new("nowhere/a.stl")).unwrap_err().contains("cannot be read"));
    }
}
