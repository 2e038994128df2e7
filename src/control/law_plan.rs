//! What a controller needs of a certified plan beside the constants of its tube, prepared so that taking over asks for no memory in a tick.

use std::sync::Arc;

use crate::reach::{PreparedSet, TrackingTube};
use crate::trajectory::PiecewiseBezier;

use super::MomentumPlan;

/// Of the law that the plan is proven for.
#[derive(Debug, Clone)]
pub enum LawPlan {
    /// The first law: the set as the proof had it.
    Energy(Arc<PreparedSet>),
    /// The second law: set, tube and desired motion.
    Momentum(Arc<MomentumPlan>),
}

impl LawPlan {
    /// Of a plan along `curve` with this tube, proven for `set`.
    pub fn new(set: Arc<PreparedSet>, tube: &TrackingTube, curve: &PiecewiseBezier) -> Self {
        match tube {
            TrackingTube::Energy(_) => Self::Energy(set),
            TrackingTube::Momentum(bounded) => {
                let (tube, curve) = (bounded.tube.clone(), curve.clone());
                Self::Momentum(Arc::new(MomentumPlan { set, tube, curve }))
            }
        }
    }

    /// The set as the proof had it.
    pub fn set(&self) -> &Arc<PreparedSet> {
        match self {
            Self::Energy(set) => set,
            Self::Momentum(plan) => &plan.set,
        }
    }
}
