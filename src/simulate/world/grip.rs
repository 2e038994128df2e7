//! What happens to the things that the hand takes and lets go of.

use std::sync::Arc;

use super::super::contact::Contacts;
use super::super::object::{self, SimulatedObject};
use super::super::truth::HiddenTruth;
use super::World;
use crate::robot::{Arm, Scene};

impl World {
    /// A world of an arm at rest at `start` with an empty hand, which takes these things one after the other, each time that it closes
    /// ([`crate::horizon::Hardware::gripper`]). What it lets go of is gone: the auditor looks
    /// at the first scene alone.
    pub fn with_objects(
        robot: Arc<Arm>,
        scene: Scene,
        start: &[f64],
        objects: Vec<SimulatedObject>,
        seed: u64,
    ) -> Self {
        let mut world = Self::new(robot, scene, start, HiddenTruth::nothing(), seed);
        world.objects.waiting = objects.into();
        world
    }

    /// The hand holds the next thing, or nothing.
    pub(super) fn grip(&mut self, closes: bool) {
        let at = self.robot.body_range(self.robot.end_effector());
        let mut theta = self.plant.theta().to_vec();
        if closes && self.objects.held.is_none() {
            let Some(thing) = self.objects.waiting.pop_front() else { return };
            let held = thing.in_hand(&theta[at.clone()], &object::tool_of(&self.robot));
            self.objects.empty = theta[at.clone()].to_vec();
            theta[at].copy_from_slice(&held);
            self.contacts = object::holding(&self.robot, &thing)
                .map_or(Contacts::new(&self.robot), |arm| Contacts::new(&arm));
            self.objects.held = Some(thing);
        } else if !closes && self.objects.held.take().is_some() {
            theta[at].copy_from_slice(&self.objects.empty);
            self.contacts = Contacts::new(&self.robot);
        }
        self.plant.change(theta);
    }
}
