//! What the parameter vectors of a robot hold, and in which order: ten inertial parameters a body, then four a joint.

use serde::{Deserialize, Serialize};

/// Number of inertial parameters of one body: m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz.
pub const INERTIAL: usize = 10;
/// Number of parameters of one joint: those of [`JointParameters`].
pub const FRICTION: usize = 4;
/// Index of the Coulomb coefficient F_c (N m) among the joint parameters.
pub const COULOMB: usize = 0;
/// Index of the viscous coefficient F_v (N m s/rad) among the joint parameters.
pub const VISCOUS: usize = 1;
/// Index of the transmission inertia I_a (kg m^2) among the joint parameters.
pub const ARMATURE: usize = 2;
/// Index of the torque offset beta (N m) among the joint parameters.
pub const OFFSET: usize = 3;

/// Names of the inertial parameters of a body.
pub const PARAMETER_NAMES: [&str; INERTIAL] =
    ["m", "m c_x", "m c_y", "m c_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];

/// Units of [`PARAMETER_NAMES`].
pub const PARAMETER_UNITS: [&str; INERTIAL] =
    ["kg", "kg m", "kg m", "kg m", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2"];

/// Friction and transmission of one joint, tau_f = F_c sign(dq) + F_v dq + I_a ddq + beta: their values, or whatever there is one of
/// for each of them (a bound, a slope, a place in a vector).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let robot = surelift::robot::load_model("kinova_gen3_2f85")?;
/// let mut theta = robot.nominal_parameters();
/// theta[robot.joint_index(2).coulomb] *= 1.1;
/// println!("joint 3 rubs with {} N m", robot.joint_parameters(&theta, 2).coulomb);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct JointParameters<T = f64> {
    /// Coulomb friction F_c, N m, >= 0.
    pub coulomb: T,
    /// Viscous friction F_v, N m s/rad, >= 0.
    pub viscous: T,
    /// Transmission (rotor) inertia I_a seen at the joint, kg m^2, >= 0.
    pub armature: T,
    /// Constant torque offset beta, N m.
    pub offset: T,
}

impl<T: Copy> JointParameters<T> {
    /// From four numbers in the order of a parameter vector.
    pub fn from_array([coulomb, viscous, armature, offset]: [T; FRICTION]) -> Self {
        Self { coulomb, viscous, armature, offset }
    }

    /// The four numbers in the order of a parameter vector.
    pub fn to_array(self) -> [T; FRICTION] {
        [self.coulomb, self.viscous, self.armature, self.offset]
    }
}
