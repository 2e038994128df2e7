//! What the solver keeps of each stage and for each thread, and the linearisation of a stage.

use crate::estimate::elimination::EliminationSpace;
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, StageValues, Trajectory};
use crate::estimate::riccati::Node;
use crate::estimate::stage::StageSize;
use crate::linear::dense::Mat;

/// A stage with what is computed for it.
pub(in crate::estimate) struct StageRecord {
    pub(in crate::estimate) node: Node,
    pub(super) values: StageValues,
    /// State and input of the trial step.
    pub(super) x: Vec<f64>,
    pub(super) u: Vec<f64>,
    pub(super) cost: f64,
    pub(super) violation: f64,
}

/// One thread's scratch space.
pub(super) struct ThreadStorage<W> {
    pub(super) workspace: W,
    pub(super) space: EliminationSpace,
    pub(super) transport: Mat,
    pub(super) jac: Mat,
    /// A tangent, and the state of the stage ahead.
    pub(super) tangent: Vec<f64>,
    pub(super) ahead: Vec<f64>,
    /// Steps do nothing but close gaps: to them the cost's slope counts as zero.
    pub(super) closing: bool,
    /// The first stage that failed, and how.
    pub(super) failure: Option<(usize, EstimateError)>,
}

impl<W> ThreadStorage<W> {
    /// Keeps a failure if it is that of the earliest stage so far: which thread came first must not matter.
    pub(super) fn fail(&mut self, stage: usize, failure: EstimateError) {
        if self.failure.as_ref().is_none_or(|(earlier, _)| stage < *earlier) {
            self.failure = Some((stage, failure));
        }
    }
}

impl StageRecord {
    /// Room for stage `k` among stages of `sizes`, with `nt` parameters.
    pub(super) fn new(sizes: &[StageSize], k: usize, nt: usize) -> Self {
        let next = sizes.get(k + 1);
        Self {
            node: Node::new(sizes[k], next.map_or(0, |s| s.tangent), nt),
            values: StageValues {
                cost: 0.0,
                next: vec![0.0; next.map_or(0, |s| s.state)],
                constraints: vec![0.0; sizes[k].constraints],
                memory: Vec::new(),
            },
            x: vec![0.0; sizes[k].state],
            u: vec![0.0; sizes[k].input],
            cost: 0.0,
            violation: 0.0,
        }
    }
}

impl<W> ThreadStorage<W> {
    pub(super) fn new(workspace: W) -> Self {
        Self {
            workspace,
            space: EliminationSpace::default(),
            transport: Mat::zeros(0, 0),
            jac: Mat::zeros(0, 0),
            tangent: Vec::new(),
            ahead: Vec::new(),
            closing: false,
            failure: None,
        }
    }
}

/// Linearises stage `k` and eliminates its constraints.
pub(super) fn linearise_stage<P: EstimationProblem>(
    problem: &P,
    now: &Trajectory,
    k: usize,
    thread: &mut ThreadStorage<P::Workspace>,
    record: &mut StageRecord,
) {
    let node = &mut record.node;
    node.clear();
    if let Err(reason) =
        problem.linearise(k, now.at(k), &mut thread.workspace, &mut node.model, &mut record.values)
    {
        thread.fail(k, EstimateError::Stage { stage: k, reason });
        return;
    }
    if let Some((what, found, expected)) = node.model.misshapen(node.size, node.next) {
        thread.fail(k, EstimateError::Size { what: format!("{what} of stage {k}"), found, expected });
        return;
    }
    if let Some(next) = now.xs.get(k + 1) {
        problem.difference(k + 1, &record.values.next, next, &mut node.model.gap);
        if problem.transport(k + 1, &record.values.next, next, &mut thread.workspace, &mut thread.transport) {
            node.model.transport(&thread.transport, &mut thread.jac);
        }
    }
    if !node.model.is_finite() {
        thread.fail(k, EstimateError::NotFinite { what: "the linearisation", stage: k });
        return;
    }
    record.cost = node.model.cost;
    let held =
        if node.model.substitution.active { &record.values.constraints } else { &node.model.con_value };
    let broken = held.iter().chain(&node.model.gap);
    record.violation = broken.map(|v| v.abs()).sum();
    node.condense(&mut thread.space, thread.closing);
}
