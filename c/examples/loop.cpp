// A control loop at 1 kHz in C++: it has a motion proven, tracks it, and learns what the arm holds. `docs/howto/c.md` says how it is compiled.
//
//     loop examples/my_arm/my_arm.toml
//
// The arm is simulated here. In its place stand your drives and sensors.

#include "surelift.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Vector = std::vector<double>;

// Everything that the library says no to.
void check(SureliftStatus status) {
    if (status != SURELIFT_STATUS_OK) {
        throw std::runtime_error(std::string(surelift_status_name(status)) + ": " + surelift_last_error());
    }
}

// Something of the library's, closed when it goes out of scope.
template <class T, SureliftStatus (*close)(T)> class Owned {
public:
    Owned() = default;
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() {
        if (it.id != 0) {
            close(it);
        }
    }
    operator T() const { return it; }
    T *place() { return &it; }

private:
    T it{};
};

using Robot = Owned<SureliftRobot, surelift_robot_close>;
using Set = Owned<SureliftSet, surelift_set_close>;
using Scene = Owned<SureliftScene, surelift_scene_close>;
using Plan = Owned<SureliftPlan, surelift_plan_close>;
using Controller = Owned<SureliftController, surelift_controller_close>;
using Identifier = Owned<SureliftIdentifier, surelift_identifier_close>;
using Dynamics = Owned<SureliftDynamics, surelift_dynamics_close>;

// What the gripper holds: a block of 0.4 kg. Forearm, gripper and block together, about the elbow: m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz. Only the simulation sees it.
constexpr std::array<double, 10> truth = {1.5, 0.0, -0.309, 0.002, 0.0797, 0.0, 0.0009, 0.0, 0.0006, 0.0798};
constexpr double block_kg = 0.4;
// What is believed of them: between these.
constexpr std::array<double, 10> least = {1.04, -0.02, -0.36, -0.02, 0.040, -0.01, 0.0004, -0.002, -0.01, 0.040};
constexpr std::array<double, 10> most = {1.65, 0.02, -0.17, 0.02, 0.095, 0.01, 0.0040, 0.002, 0.01, 0.095};

// The simulated arm: ten steps of the semi-implicit Euler method a tick.
class Arm {
public:
    Arm(SureliftRobot robot, const Vector &start, const Vector &parameters, double period_s)
        : q(start), dq(start.size()), theta(parameters), step_s(period_s / 10.0), moving(start.size()), ddq(start.size()) {
        check(surelift_dynamics_new(robot, dynamics.place()));
    }

    // Holds the torques for one tick.
    void command(const Vector &tau) {
        const std::size_t n = q.size();
        for (int step = 0; step < 10; ++step) {
            for (std::size_t j = 0; j < n; ++j) {
                // Four parameters a joint follow ten a body: Coulomb and viscous friction come first.
                const double *friction = &theta[10 * n + 4 * j];
                const double sign = std::clamp(dq[j] / 1e-3, -1.0, 1.0);
                moving[j] = tau[j] - friction[0] * sign - friction[1] * dq[j];
            }
            check(surelift_dynamics_forward(dynamics, q.data(), dq.data(), moving.data(), n, theta.data(), theta.size(),
                                            ddq.data()));
            for (std::size_t j = 0; j < n; ++j) {
                dq[j] += step_s * ddq[j];
                q[j] += step_s * dq[j];
            }
        }
    }

    Vector q, dq;

private:
    Dynamics dynamics;
    Vector theta;
    double step_s;
    Vector moving, ddq;
};

// Learns beside the loop, from what that has pushed.
class Learner {
public:
    explicit Learner(SureliftIdentifier of) : identifier(of), thread([this] { learn(); }) {}
    Learner(const Learner &) = delete;
    Learner &operator=(const Learner &) = delete;
    ~Learner() {
        done = true;
        thread.join();
    }

private:
    void learn() {
        while (!done) {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            SureliftPayload payload;
            if (surelift_identifier_update(identifier, nullptr) != SURELIFT_STATUS_OK ||
                surelift_identifier_payload(identifier, nullptr, &payload) != SURELIFT_STATUS_OK) {
                std::printf("nothing is learnt: %s\n", surelift_last_error());
                return;
            }
            std::printf("the gripper holds %.3f to %.3f kg\n", payload.mass_kg.lower, payload.mass_kg.upper);
        }
    }

    SureliftIdentifier identifier;
    std::atomic<bool> done{false};
    std::thread thread;
};

// The robot's own set, but for what is believed of the last body.
void believe(const Robot &robot, Set &set) {
    Set nominal;
    check(surelift_set_around_nominal(robot, nominal.place()));
    std::size_t count = 0, body = 0;
    check(surelift_robot_parameter_count(robot, &count));
    check(surelift_robot_end_effector(robot, &body));
    Vector lower(count), upper(count);
    check(surelift_set_bounds(nominal, lower.data(), upper.data(), count));
    std::copy(least.begin(), least.end(), lower.begin() + static_cast<std::ptrdiff_t>(10 * body));
    std::copy(most.begin(), most.end(), upper.begin() + static_cast<std::ptrdiff_t>(10 * body));
    check(surelift_set_new(lower.data(), upper.data(), count, set.place()));
}

// One tick after the other until the plan is over. Gives the longest time that the controller took, us.
double follow(const Plan &plan, const Controller &controller, const Identifier &identifier, Arm &arm, double period_s) {
    using Clock = std::chrono::steady_clock;
    const std::size_t n = arm.q.size();
    double duration_s = 0.0, longest_us = 0.0;
    check(surelift_plan_duration(plan, &duration_s));
    check(surelift_controller_check_start(controller, arm.q.data(), arm.dq.data(), n));
    Vector tau(n);
    const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(period_s));
    auto next = Clock::now();
    const auto ticks = static_cast<long>(duration_s / period_s);
    for (long tick = 0; tick < ticks; ++tick) {
        const double t = static_cast<double>(tick) * period_s;
        const Vector q = arm.q, dq = arm.dq;
        const auto begun = Clock::now();
        const SureliftStatus status =
            surelift_controller_tick(controller, t, q.data(), dq.data(), n, tau.data(), nullptr);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
        longest_us = std::max(longest_us, took.count());
        // A broken assumption: these torques bring the arm to rest. An application goes on commanding until it stands.
        if (status != SURELIFT_STATUS_BROKEN) {
            check(status);
        }
        arm.command(tau);
        check(status);
        check(surelift_identifier_push(identifier, t, q.data(), dq.data(), tau.data(), n));
        next += period;
        std::this_thread::sleep_until(next);
    }
    return longest_us;
}

int run(const char *path) {
    if (std::string(surelift_version()) != std::to_string(SURELIFT_VERSION_MAJOR) + "." +
                                               std::to_string(SURELIFT_VERSION_MINOR) + "." +
                                               std::to_string(SURELIFT_VERSION_PATCH)) {
        throw std::runtime_error(std::string("the library has version ") + surelift_version());
    }
    Robot robot;
    check(surelift_robot_load(path, robot.place()));
    double period_s = 0.0;
    std::size_t count = 0, body = 0;
    check(surelift_robot_period(robot, &period_s));
    check(surelift_robot_parameter_count(robot, &count));
    check(surelift_robot_end_effector(robot, &body));

    // The proof. No proof: no motion.
    Set set;
    believe(robot, set);
    Scene scene;
    check(surelift_scene_new(scene.place()));
    const double center[] = {0.45, 0.0, -0.1}, size[] = {0.06, 0.06, 0.1};
    check(surelift_scene_add_box(scene, "post", center, size));
    const Vector start = {-0.8, 0.6, 0.9}, end = {-0.4, 1.4, -1.5};
    Plan plan;
    check(surelift_plan_certify_to_rest(robot, set, scene, start.data(), end.data(), start.size(), 3.0, plan.place()));
    SureliftMargins margins;
    check(surelift_plan_verify(plan, &margins));
    std::printf("proven: %.2f N m and %.3f m to spare\n", margins.torque_nm, margins.collision_m);

    // What learns needs to know how fast the arm may accelerate: the proof says.
    Vector error(start.size()), acceleration(start.size());
    check(surelift_plan_tube(plan, error.data(), acceleration.data(), start.size()));
    Identifier identifier;
    check(surelift_identifier_new(robot, set, acceleration.data(), acceleration.size(), 0.1, identifier.place()));

    Vector theta(count);
    check(surelift_robot_nominal_parameters(robot, theta.data(), count));
    std::copy(truth.begin(), truth.end(), theta.begin() + static_cast<std::ptrdiff_t>(10 * body));
    Arm arm(robot, start, theta, period_s);
    Controller controller;
    check(surelift_controller_new(plan, controller.place()));
    double longest_us = 0.0;
    {
        Learner learner(identifier);
        longest_us = follow(plan, controller, identifier, arm, period_s);
    }
    for (std::size_t j = 0; j < end.size(); ++j) {
        if (!(std::abs(arm.q[j] - end[j]) <= error[j])) {
            throw std::runtime_error("joint " + std::to_string(j) + " is farther off than was proven");
        }
    }
    check(surelift_identifier_update(identifier, nullptr));
    SureliftPayload payload;
    check(surelift_identifier_payload(identifier, nullptr, &payload));
    const auto [lower, upper] = payload.mass_kg;
    std::printf("the arm is where it should be; the longest tick took %.0f us\n", longest_us);
    std::printf("payload: %.3f to %.3f kg, in truth %.3f kg\n", lower, upper, block_kg);
    return lower <= block_kg && block_kg <= upper ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s ROBOT.toml\n", argc > 0 ? argv[0] : "loop");
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
