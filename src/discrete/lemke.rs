//! Linear complementarity problems by Lemke's method with the lexicographic ratio test: slow, and sure to end.
//!
//! For those who check the faster way that steps are taken (`complementarity`). Find z >= 0 with w = M z + q >= 0 and z'w = 0.
//! Ties of the ratio test are broken by the rows of the basis' inverse, so that no basis comes twice (Cottle, Pang and Stone 1992).

/// Why there is no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LemkeFailure {
    /// The path ended in a ray: there need not be a solution.
    Ray,
    /// Rounding let the path go on for too long.
    Limit,
}

/// What of a column counts as zero.
const ZERO: f64 = 1e-11;

/// Solves for z; `m` is row-major, q.len() squared.
///
/// # Errors
/// [`LemkeFailure`].
pub fn lemke(m: &[f64], q: &[f64]) -> Result<Vec<f64>, LemkeFailure> {
    let n = q.len();
    let mut z = vec![0.0; n];
    if q.iter().all(|x| *x >= 0.0) {
        return Ok(z);
    }
    let mut tableau = Tableau::new(m, q);
    let mut row = tableau.smallest((0..n).collect(), |_| 1.0);
    let mut entering = 2 * n;
    for _ in 0..100 * (n + 1) {
        let leaving = tableau.exchange(row, entering);
        if leaving == 2 * n {
            for (i, &variable) in tableau.basis.iter().enumerate() {
                if (n..2 * n).contains(&variable) {
                    z[variable - n] = tableau.rows[i][2 * n + 1].max(0.0);
                }
            }
            return Ok(z);
        }
        entering = if leaving < n { leaving + n } else { leaving - n };
        let candidates: Vec<usize> = (0..n).filter(|&i| tableau.rows[i][entering] > ZERO).collect();
        if candidates.is_empty() {
            return Err(LemkeFailure::Ray);
        }
        row = tableau.smallest(candidates, |row| row[entering]);
    }
    Err(LemkeFailure::Limit)
}

/// w - M z - e z_0 = q: columns (w, z, z_0, right-hand side).
struct Tableau {
    rows: Vec<Vec<f64>>,
    basis: Vec<usize>,
}

impl Tableau {
    fn new(m: &[f64], q: &[f64]) -> Self {
        let n = q.len();
        let row = |i: usize| {
            let mut row = vec![0.0; 2 * n + 2];
            row[i] = 1.0;
            for j in 0..n {
                row[n + j] = -m[n * i + j];
            }
            (row[2 * n], row[2 * n + 1]) = (-1.0, q[i]);
            row
        };
        Self { rows: (0..n).map(row).collect(), basis: (0..n).collect() }
    }

    /// The row among `candidates` whose (right-hand side, basis' inverse) over its divisor is lexicographically least.
    fn smallest(&self, mut candidates: Vec<usize>, divisor: impl Fn(&[f64]) -> f64) -> usize {
        let n = self.rows.len();
        for column in std::iter::once(2 * n + 1).chain(0..n) {
            if candidates.len() == 1 {
                break;
            }
            let ratio = |i: usize| self.rows[i][column] / divisor(&self.rows[i]);
            let least = candidates.iter().map(|&i| ratio(i)).fold(f64::INFINITY, f64::min);
            let slack = ZERO * (1.0 + least.abs());
            candidates.retain(|&i| ratio(i) <= least + slack);
        }
        candidates[0]
    }

    /// Brings `entering` into the basis in `row`; the variable that leaves.
    fn exchange(&mut self, row: usize, entering: usize) -> usize {
        let pivot = self.rows[row][entering];
        self.rows[row].iter_mut().for_each(|x| *x /= pivot);
        let line = self.rows[row].clone();
        for (i, other) in self.rows.iter_mut().enumerate() {
            let factor = other[entering];
            if i != row && factor != 0.0 {
                for (x, y) in other.iter_mut().zip(&line) {
                    *x -= factor * y;
                }
                other[entering] = 0.0;
            }
        }
        std::mem::replace(&mut self.basis[row], entering)
    }
}
