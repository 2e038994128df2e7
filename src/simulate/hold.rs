//! What the ground under a foot can hold.

/// What keeps a foot where it stands: friction, and a sole's size. The ground pushes and does not pull.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Coefficient of friction of the ground.
    pub friction: f64,
    /// Half length and half width of a rigid foot's sole along the axes of the world, m, its frame in the middle. `None`: a point, or a sole that neither tilts nor turns whatever happens.
    pub sole_m: Option<[f64; 2]>,
}

impl Hold {
    /// Of the friction cone, and of the way from the middle of a sole to its edge, what a force (N, along the axes of the world) asks for that may be off by `error`, to the worse; for a sole with
    /// its moment about its frame (N m). 1 is the limit; without a force upwards both are infinite.
    ///
    /// A sole that turns about the vertical slips too. Let its corners bear the weight as the centre of pressure has it, at r_i from there with normal forces n_i. Each takes its part of the
    /// force along the ground, and s n_i across r_i, in proportion to its length. These have no sum, because the sum of n_i r_i is zero; their moment is s times the sum of n_i r_i^2 by the largest r_i. No
    /// corner slips if |f_t| / f_n + s <= mu.
    pub fn shares(&self, force: &[f64], error: &[f64]) -> [f64; 2] {
        let (friction, pressure) = self.parts(force, error);
        [&friction[..], &pressure[..]].map(|all| all.iter().copied().fold(0.0, f64::max))
    }

    /// Functions of which [`Hold::shares`] are the largest, and which are smooth but where the centre of pressure crosses a sole's axis: one for each choice of signs.
    pub fn parts(&self, force: &[f64], error: &[f64]) -> ([f64; 8], [f64; 4]) {
        let normal = force[2] - error[2];
        if !(normal > 0.0) {
            return ([f64::INFINITY; 8], [f64::INFINITY; 4]);
        }
        let sign = |i: usize, bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
        let off = |k: usize, sign: f64| sign * force[k] + error[k];
        let along: [f64; 8] = std::array::from_fn(|i| off(0, sign(i, 0)).hypot(off(1, sign(i, 1))));
        let slips = |along: f64| along / (self.friction * normal);
        let Some([x, y]) = self.sole_m else { return (along.map(slips), [0.0; 4]) };
        let centre = |k: usize, sign: f64| off(k, sign) / normal;
        let pressure = [centre(4, 1.0) / x, centre(4, -1.0) / x, centre(3, 1.0) / y, centre(3, -1.0) / y];
        if !pressure.iter().all(|share| *share < 1.0) {
            return (along.map(slips), pressure);
        }
        let [off_x, off_y] = [4, 3].map(|k| centre(k, 1.0).max(centre(k, -1.0)));
        // About the centre of pressure, which is at (-m_y, m_x) / f_n.
        let turns = force[5] + (force[4] * force[1] + force[3] * force[0]) / normal;
        let unsure = error[5] + off_x.hypot(off_y) * error[0].hypot(error[1]);
        let farthest = (x + off_x).hypot(y + off_y);
        let squares = x * x - off_x * off_x + y * y - off_y * off_y;
        let friction = std::array::from_fn(|i| {
            let turns = sign(i, 2) * turns + unsure + along[i] * error[3].hypot(error[4]) / normal;
            slips(along[i] + turns * farthest / squares)
        });
        (friction, pressure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [f64; 6] = [0.0; 6];

    #[test]
    fn a_point_slips_or_lifts() {
        let hold = Hold { friction: 0.5, sole_m: None };
        assert_eq!(hold.shares(&[3.0, -4.0, 20.0], &NONE), [0.5, 0.0]);
        // Off to the worse.
        assert_eq!(hold.shares(&[2.0, -3.0, 21.0], &[1.0, 1.0, 1.0]), [0.5, 0.0]);
        for force in [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, f64::NAN]] {
            assert_eq!(hold.shares(&force, &NONE), [f64::INFINITY; 2]);
        }
    }

    #[test]
    fn a_sole_tilts_at_its_edge_and_turns_about_its_middle() {
        let hold = Hold { friction: 0.5, sole_m: Some([0.3, 0.4]) };
        let [friction, pressure] = hold.shares(&[0.0, 0.0, 10.0, 2.0, -1.5, 0.0], &NONE);
        assert!((friction - 0.0).abs() < 1e-15 && (pressure - 0.5).abs() < 1e-15, "{friction} {pressure}");
        assert!((hold.shares(&[0.0, 0.0, 10.0, 0.0, 3.0, 0.0], &NONE)[1] - 1.0).abs() < 1e-15);
        // Corners half a metre from the middle bear 2.5 N each, and hold 1.25 N: 2.5 N m in all.
        assert!((hold.shares(&[0.0, 0.0, 10.0, 0.0, 0.0, -2.5], &NONE)[0] - 1.0).abs() < 1e-15);
        assert!(
            (hold.shares(&[0.0, 0.0, 10.0, 0.0, 0.0, 1.5], &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0])[0] - 1.0).abs()
                < 1e-15
        );
    }

    /// Forces at the corners within their cones make what counts as held: moments about the middle that are told agree with those of the corners' forces.
    #[test]
    fn what_counts_as_held_is_held_by_corners() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(1);
        let (hold, [x, y]) = (Hold { friction: 0.6, sole_m: Some([0.1, 0.06]) }, [0.1, 0.06]);
        for _ in 0..200 {
            let mut draw = |most: f64| rng.random_range(-most..=most);
            let (normal, off, along, turn) =
                (500.0, [draw(0.08), draw(0.05)], [draw(100.0), draw(100.0)], draw(20.0));
            let force = [
                along[0],
                along[1],
                normal,
                off[1] * normal,
                -off[0] * normal,
                turn + off[0] * along[1] - off[1] * along[0],
            ];
            let [share, _] = hold.shares(&force, &NONE);
            // The corners' forces of the argument.
            let (mut worst, mut sum) = (0.0f64, [0.0; 3]);
            let squares = x * x - off[0] * off[0] + y * y - off[1] * off[1];
            for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let n = 0.25 * normal * (1.0 + a * off[0] / x) * (1.0 + b * off[1] / y);
                let r = [a * x - off[0], b * y - off[1]];
                let across = turn / (normal * squares);
                let f = [n * (along[0] / normal - across * r[1]), n * (along[1] / normal + across * r[0])];
                worst = worst.max(f[0].hypot(f[1]) / (hold.friction * n));
                sum = [sum[0] + f[0], sum[1] + f[1], sum[2] + r[0] * f[1] - r[1] * f[0]];
            }
            assert!((sum[0] - along[0]).abs() < 1e-9 && (sum[1] - along[1]).abs() < 1e-9);
            assert!((sum[2] - turn).abs() < 1e-9, "{} {turn}", sum[2]);
            assert!(worst <= share * (1.0 + 1e-12), "{worst} {share}");
        }
    }
}
