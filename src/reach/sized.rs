//! Forms are as long as the robot's symbols need: 16, 32 or 64 of them.

/// `work` with the constant `N`, the length of forms that holds the symbols of `robot`.
///
/// Without the feature `forms-of-32` there are two lengths, and proofs of 8 to 15 joints are made in the longer one. A longer form bounds the same but for rounding: what it has more is zero.
macro_rules! sized {
    ($robot:expr, $n:ident => $work:expr) => {
        match $crate::reach::symbols($robot.dof()) {
            0..=16 => {
                const $n: usize = 16;
                $work
            }
            #[cfg(feature = "forms-of-32")]
            17..=32 => {
                const $n: usize = 32;
                $work
            }
            _ => {
                const $n: usize = 64;
                $work
            }
        }
    };
}

pub(crate) use sized;

#[cfg(test)]
mod tests {
    use crate::reach::cell::{MAX_JOINTS, symbols};

    struct Arm(usize);

    impl Arm {
        fn dof(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn forms_are_the_shortest_that_hold_all_symbols() {
        for dof in 1..=MAX_JOINTS {
            let (length, needed) = (sized!(Arm(dof), N => N), symbols(dof));
            assert!(length >= needed && (length == 16 || length < 2 * needed), "{dof} joints: {length}");
        }
    }
}
