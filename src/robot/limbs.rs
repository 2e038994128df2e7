//! A robot with its base held, taken apart: limbs that share nothing but the base move one another in no way.

use super::model::{Model, NamedFrame};

/// Joints that hang together, as a robot of their own on the same base.
#[derive(Debug, Clone, PartialEq)]
pub struct Limb {
    /// The limb; its frames and loops are those that touch no other.
    pub model: Model,
    /// Index in the whole robot of each of its joints.
    pub joints: Vec<usize>,
}

impl Model {
    /// The limbs of this robot with its base held ([`Model::with_base_held`]), in the order of their first joints: trees on the
    /// base, with those that a loop holds together in one. Loops to the base belong to the limb at their other end.
    pub fn limbs(&self) -> Vec<Limb> {
        let held = self.with_base_held();
        let mut limb_of: Vec<usize> = Vec::with_capacity(held.joints.len());
        for (i, joint) in held.joints.iter().enumerate() {
            limb_of.push(joint.parent.map_or(i, |parent| limb_of[parent]));
        }
        let carriers = |index: usize| {
            let closure = &held.loops[index];
            [closure.frame_a, closure.frame_b].map(|frame| held.named_frames[frame].joint)
        };
        for index in 0..held.loops.len() {
            if let [Some(a), Some(b)] = carriers(index) {
                let (kept, gone) = (limb_of[a].min(limb_of[b]), limb_of[a].max(limb_of[b]));
                limb_of.iter_mut().filter(|limb| **limb == gone).for_each(|limb| *limb = kept);
            }
        }
        let mut roots = limb_of.clone();
        roots.sort_unstable();
        roots.dedup();
        roots.iter().map(|&root| held.limb(root, &limb_of)).collect()
    }

    /// The limb of this robot with its base held that the joint of that name belongs to.
    pub fn limb_of(&self, joint: &str) -> Option<Limb> {
        self.limbs().into_iter().find(|limb| limb.model.joints.iter().any(|own| own.name == joint))
    }

    /// This robot without the joints `left_out` (indices) and all that they carry, and without the loops and frames that touch these: what is left of a
    /// linkage whose loop a model leaves out. A closure's other end hangs free then.
    pub fn without_joints(&self, left_out: &[usize]) -> Limb {
        const KEPT: usize = 0;
        const GONE: usize = 1;
        let mut part_of: Vec<usize> = Vec::with_capacity(self.joints.len());
        for (i, joint) in self.joints.iter().enumerate() {
            let gone = left_out.contains(&i) || joint.parent.is_some_and(|parent| part_of[parent] == GONE);
            part_of.push(if gone { GONE } else { KEPT });
        }
        let mut rest = self.limb(KEPT, &part_of);
        let names: Vec<&str> = left_out.iter().map(|&i| self.joints[i].name.as_str()).collect();
        rest.model.name = format!("{} without {}", self.name, names.join(", "));
        rest
    }

    /// The joints whose limb is `root`, renumbered.
    fn limb(&self, root: usize, limb_of: &[usize]) -> Limb {
        let joints: Vec<usize> = (0..self.joints.len()).filter(|&i| limb_of[i] == root).collect();
        let place = |joint: usize| joints.binary_search(&joint).ok();
        let mut model = self.clone();
        model.name = format!("{}: {}", self.name, self.joints[root].name);
        model.joints = joints.iter().map(|&i| self.joints[i].clone()).collect();
        model.joints.iter_mut().for_each(|joint| joint.parent = joint.parent.and_then(place));
        let carried = |frame: &NamedFrame| frame.joint.is_none_or(|joint| place(joint).is_some());
        let belongs = |frame: usize| carried(&self.named_frames[frame]);
        let frames: Vec<usize> = (0..self.named_frames.len()).filter(|&frame| belongs(frame)).collect();
        model.named_frames = frames.iter().map(|&frame| self.named_frames[frame].clone()).collect();
        model.link_frames.retain(carried);
        for frame in model.named_frames.iter_mut().chain(&mut model.link_frames) {
            frame.joint = frame.joint.and_then(place);
        }
        let found = |frame: usize| frames.binary_search(&frame).ok();
        model.loops.retain(|closure| {
            let ends = [closure.frame_a, closure.frame_b];
            ends.iter().all(|&f| belongs(f)) && ends.iter().any(|&f| self.named_frames[f].joint.is_some())
        });
        for closure in &mut model.loops {
            closure.frame_a = found(closure.frame_a).unwrap_or(0);
            closure.frame_b = found(closure.frame_b).unwrap_or(0);
        }
        model.thrusts.retain(|thrust| belongs(thrust.frame));
        for thrust in &mut model.thrusts {
            thrust.frame = found(thrust.frame).unwrap_or(0);
        }
        Limb { model, joints }
    }
}

#[cfg(all(test, feature = "urdf"))]
mod tests {
    use crate::robot::load_model;

    #[test]
    fn digit_has_two_legs_and_two_arms() {
        let digit = load_model("digit").unwrap();
        let held = digit.with_base_held();
        let limbs = digit.limbs();
        let sizes: Vec<_> =
            limbs.iter().map(|limb| (limb.model.joints.len(), limb.model.loops.len())).collect();
        assert_eq!(sizes, [(15, 3), (4, 0), (15, 3), (4, 0)]);
        for limb in &limbs {
            for (own, &whole) in limb.model.joints.iter().zip(&limb.joints) {
                let joint = &held.joints[whole];
                assert_eq!((&own.name, &own.inertia), (&joint.name, &joint.inertia));
                let name = |model: &crate::robot::Model, parent: Option<usize>| {
                    parent.map(|p| model.joints[p].name.clone())
                };
                assert_eq!(name(&limb.model, own.parent), name(&held, joint.parent));
            }
            for closure in &limb.model.loops {
                let name = |model: &crate::robot::Model, frame: usize| model.named_frames[frame].name.clone();
                let same = held.loops.iter().find(|other| other.name == closure.name).unwrap();
                assert_eq!(name(&limb.model, closure.frame_a), name(&held, same.frame_a));
                assert_eq!(name(&limb.model, closure.frame_b), name(&held, same.frame_b));
            }
        }
        let leg = digit.limb_of("right_A2").unwrap();
        assert_eq!(leg.joints, limbs[2].joints);
        assert!(digit.limb_of("right_A3").is_none());
        assert_eq!(load_model("kinova_gen3").unwrap().limbs().len(), 1);
    }

    #[test]
    fn without_its_crank_a_leg_is_a_chain() {
        let leg = load_model("b1_leg").unwrap();
        let crank = leg.joints.iter().position(|j| j.name == "FL_crank_joint").unwrap();
        let chain = leg.without_joints(&[crank]);
        // The rod hangs on the crank, and the loop on the rod.
        let names: Vec<_> = chain.model.joints.iter().map(|j| j.name.as_str()).collect();
        assert_eq!(names, ["FL_hip_joint", "FL_thigh_joint", "FL_calf_joint"]);
        assert_eq!((chain.joints.as_slice(), chain.model.loops.len()), (&[0, 1, 2][..], 0));
        assert!(chain.model.named_frames.iter().all(|f| f.name != "rod_end"));
        assert_eq!(leg.without_joints(&[]).model.loops.len(), 1);
    }
}
