// Times Pinocchio's rigid-body algorithms on the models and states of workload files (see workload.py), one thread.
//
//   pinocchio SECONDS FILE...
//
// prints one line `ROBOT ALGORITHM NANOSECONDS CHECKSUM` a figure: the fastest of the batches that fit into SECONDS,
// divided by the number of states in a batch, and a weighted sum of the results, by which the driver sees that both
// sides computed the same.
//
// Header-only on purpose: models are put together here joint by joint, so that every instruction is compiled with this
// machine's flags. The wheel's own shared library is built for any x86-64 and could not be mixed with AVX code anyway.

#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace pin = pinocchio;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

struct State {
    VectorXd q, v, a, tau;
};

struct Workload {
    std::string robot;
    pin::Model model;
    std::vector<State> states;
};

static double number(std::istream& in) {
    double x;
    if (!(in >> x)) {
        std::fprintf(stderr, "workload: a number is missing\n");
        std::exit(2);
    }
    return x;
}

static pin::JointModel joint(std::istream& in) {
    std::string kind;
    in >> kind;
    if (kind == "free_flyer") return pin::JointModelFreeFlyer();
    if (kind == "rx") return pin::JointModelRX();
    if (kind == "ry") return pin::JointModelRY();
    if (kind == "rz") return pin::JointModelRZ();
    if (kind == "ru") {
        const double x = number(in), y = number(in), z = number(in);
        return pin::JointModelRevoluteUnaligned(x, y, z);
    }
    std::fprintf(stderr, "workload: unknown joint `%s`\n", kind.c_str());
    std::exit(2);
}

static Workload read(const char* path) {
    std::ifstream in(path);
    std::string word;
    Workload work;
    in >> word >> work.robot >> word;
    const int joints = int(number(in));
    for (int j = 0; j < joints; ++j) {
        const auto parent = pin::JointIndex(number(in));
        const pin::JointModel model = joint(in);
        pin::SE3 placement = pin::SE3::Identity();
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) placement.rotation()(r, c) = number(in);
        for (int r = 0; r < 3; ++r) placement.translation()[r] = number(in);
        pin::Inertia::Vector10 parameters;
        for (int k = 0; k < 10; ++k) parameters[k] = number(in);
        const auto id = work.model.addJoint(parent, model, placement, "j" + std::to_string(j));
        work.model.appendBodyToJoint(id, pin::Inertia::FromDynamicParameters(parameters));
    }
    in >> word;
    const int states = int(number(in));
    const auto vector = [&](int n) {
        VectorXd x(n);
        for (int k = 0; k < n; ++k) x[k] = number(in);
        return x;
    };
    for (int s = 0; s < states; ++s) {
        State state;
        state.q = vector(work.model.nq);
        state.v = vector(work.model.nv);
        state.a = vector(work.model.nv);
        state.tau = vector(work.model.nv);
        work.states.push_back(state);
    }
    return work;
}

// Sum of all entries, row by row, each times a number that depends on its place.
template <typename Matrix>
static double weigh(const Matrix& m) {
    double sum = 0;
    int k = 0;
    for (int r = 0; r < m.rows(); ++r)
        for (int c = 0; c < m.cols(); ++c) sum += std::sin(double(++k)) * m(r, c);
    return sum;
}

// The fastest batch: nanoseconds per state.
template <typename Work>
static double fastest(const Workload& work, double seconds, Work&& run) {
    double best = std::numeric_limits<double>::infinity();
    const auto begin = Clock::now();
    for (auto now = begin; std::chrono::duration<double>(now - begin).count() < seconds;) {
        for (const State& s : work.states) run(s);
        const auto end = Clock::now();
        best = std::min(best, std::chrono::duration<double, std::nano>(end - now).count());
        now = end;
    }
    return best / double(work.states.size());
}

template <typename Work, typename Result>
static void report(const Workload& work, const char* algorithm, double ns, Work&& run, Result&& result) {
    double check = 0;
    for (const State& s : work.states) {
        run(s);
        check += result(s);
    }
    std::printf("%s %s %.2f %.17g\n", work.robot.c_str(), algorithm, ns, check);
}

static MatrixXd symmetric(const MatrixXd& upper) {
    return upper.selfadjointView<Eigen::Upper>();
}

static void measure(const Workload& work, double seconds) {
    const pin::Model& model = work.model;
    pin::Data data(model);
    const auto one = [&](const char* name, auto run, auto result) {
        report(work, name, fastest(work, seconds, run), run, result);
    };
    // Where the library offers two ways, the faster one counts.
    const auto either = [&](const char* name, auto first, auto second, auto result) {
        const double ns = std::min(fastest(work, seconds, first), fastest(work, seconds, second));
        report(work, name, ns, first, result);
    };
    one("rnea", [&](const State& s) { pin::rnea(model, data, s.q, s.v, s.a); },
        [&](const State&) { return weigh(data.tau); });
    either("crba", [&](const State& s) { pin::crba(model, data, s.q, pin::Convention::LOCAL); },
           [&](const State& s) { pin::crba(model, data, s.q, pin::Convention::WORLD); },
           [&](const State&) { return weigh(symmetric(data.M)); });
    either("aba", [&](const State& s) { pin::aba(model, data, s.q, s.v, s.tau, pin::Convention::LOCAL); },
           [&](const State& s) { pin::aba(model, data, s.q, s.v, s.tau, pin::Convention::WORLD); },
           [&](const State&) { return weigh(data.ddq); });

    VectorXd theta(10 * (model.njoints - 1));
    for (int j = 1; j < model.njoints; ++j)
        theta.segment<10>(10 * (j - 1)) = model.inertias[size_t(j)].toDynamicParameters();
    one("torque_regressor", [&](const State& s) { pin::computeJointTorqueRegressor(model, data, s.q, s.v, s.a); },
        [&](const State&) { return weigh(VectorXd(data.jointTorqueRegressor * theta)); });

    // The matrices are cleared once, as the library asks.
    MatrixXd dq = MatrixXd::Zero(model.nv, model.nv), dv = dq;
    pin::Data::RowMatrixXs minv = pin::Data::RowMatrixXs::Zero(model.nv, model.nv);
    MatrixXd mass = dq;
    one("rnea_derivatives",
        [&](const State& s) { pin::computeRNEADerivatives(model, data, s.q, s.v, s.a, dq, dv, mass); },
        [&](const State&) { return weigh(dq) + weigh(dv) + weigh(symmetric(mass)); });
    one("aba_derivatives",
        [&](const State& s) { pin::computeABADerivatives(model, data, s.q, s.v, s.tau, dq, dv, minv); },
        [&](const State&) { return weigh(dq) + weigh(dv) + weigh(symmetric(minv)); });
}

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: pinocchio SECONDS FILE...\n");
        return 2;
    }
    for (int k = 2; k < count; ++k) measure(read(arguments[k]), std::atof(arguments[1]));
}
