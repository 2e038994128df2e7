//! Forms are as long as the robot's symbols need: 16, 32 or 64 of them. Every length is compiled on its own; most arms need the first alone.

/// `work` with the constant `N`, the length of forms that holds the symbols of `robot`.
///
/// Without the feature `many-joints` there is the shortest alone, and [`crate::reach::cell::MAX_JOINTS`] is 7: nobody comes here with more.
macro_rules! sized {
    ($robot:expr, $n:ident => $work:expr) => {
        match $crate::reach::symbols($robot.dof()) {
            #[cfg(feature = "many-joints")]
            17..=32 => {
                const $n: usize = 32;
                $work
            }
            #[cfg(feature = "many-joints")]
            33.. => {
                const $n: usize = 64;
                $work
            }
            _ => {
                const $n: usize = 16;
                $work
            }
        }
    };
}

pub(crate) use sized;

#[cfg(test)]
mod tests {
    use crate::reach::cell::{MAX_JOINTS, joints_fault, symbols};

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

    #[test]
    fn an_arm_that_no_form_holds_is_refused_by_name() {
        assert_eq!(joints_fault("long", MAX_JOINTS), None);
        let fault = joints_fault("long", MAX_JOINTS + 1).unwrap();
        assert!(fault.contains("robot 'long' has 32 joints, above 31"), "{fault}");
    }
}
