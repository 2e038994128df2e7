// Tries the example for ros2_control on a simulated arm, cycle by cycle as its controller manager would call it.
//
//     trial ROBOT.toml PLAN.json

#include "surelift_system.hpp"

#include <cstdio>
#include <stdexcept>

namespace {

using surelift::Vector;

void demand(bool holds, const char *what) {
    if (!holds) {
        throw std::runtime_error(std::string(what) + ": " + surelift_last_error());
    }
}

// Twenty steps of the semi-implicit Euler method a cycle; a held arm stands.
class Simulated : public surelift::Drives {
public:
    Simulated(SureliftRobot robot, Vector start, double period_s) : q(std::move(start)), dq(q.size()), ddq(q.size()), moving(q.size()), theta(14 * q.size()), step_s(period_s / 20.0) {
        demand(surelift_dynamics_new(robot, &dynamics) == SURELIFT_STATUS_OK, "storage");
        demand(surelift_robot_nominal_parameters(robot, theta.data(), theta.size()) == SURELIFT_STATUS_OK, "parameters");
    }
    ~Simulated() override { surelift_dynamics_close(dynamics); }

    bool read(Vector &q_out, Vector &dq_out, Vector &effort) override {
        q_out = q;
        dq_out = dq;
        std::fill(effort.begin(), effort.end(), 0.0);
        return true;
    }
    bool command(const Vector &tau) override {
        held = false;
        ++commands;
        const std::size_t n = q.size();
        for (int step = 0; step < 20; ++step) {
            for (std::size_t j = 0; j < n; ++j) {
                // Four parameters a joint follow ten a body: Coulomb and viscous friction come first.
                const double *friction = &theta[10 * n + 4 * j];
                moving[j] = tau[j] - friction[0] * std::clamp(dq[j] / 1e-3, -1.0, 1.0) - friction[1] * dq[j];
            }
            if (surelift_dynamics_forward(dynamics, q.data(), dq.data(), moving.data(), n, nullptr, 0, ddq.data()) != SURELIFT_STATUS_OK) {
                return false;
            }
            for (std::size_t j = 0; j < q.size(); ++j) {
                dq[j] += step_s * ddq[j];
                q[j] += step_s * dq[j];
            }
        }
        return true;
    }
    bool hold() override {
        held = true;
        std::fill(dq.begin(), dq.end(), 0.0);
        return true;
    }

    Vector q, dq;
    bool held = false;
    long commands = 0;

private:
    SureliftDynamics dynamics{};
    Vector ddq, moving, theta;
    double step_s;
};

// An arm at `start` in its interface.
struct Trial {
    Trial(const char *robot_file, const hardware_interface::HardwareInfo &info, SureliftRobot robot, const Vector &start, double period)
        : period_s(period), arm(new Simulated(robot, start, period)), system(std::unique_ptr<surelift::Drives>(arm)) {
        hardware_interface::HardwareInfo whole = info;
        whole.hardware_parameters["robot"] = robot_file;
        if (system.on_init(whole) != hardware_interface::CallbackReturn::SUCCESS) {
            throw std::runtime_error(system.why());
        }
    }
    // One cycle, after so many periods.
    bool cycle(int periods = 1) {
        const rclcpp::Time now;
        const rclcpp::Duration since(period_s * periods);
        using hardware_interface::return_type;
        return system.read(now, since) == return_type::OK && system.write(now, since) == return_type::OK;
    }

    double period_s;
    Simulated *arm;
    surelift::System system;
};

void run(const char *robot_file, const char *plan_file) {
    SureliftRobot robot{};
    SureliftPlan plan{};
    std::size_t n = 0;
    double period_s = 0.0, duration_s = 0.0;
    demand(surelift_robot_load(robot_file, &robot) == SURELIFT_STATUS_OK, "robot");
    demand(surelift_robot_dof(robot, &n) == SURELIFT_STATUS_OK, "dof");
    demand(surelift_robot_period(robot, &period_s) == SURELIFT_STATUS_OK, "period");
    demand(surelift_plan_load(plan_file, &plan) == SURELIFT_STATUS_OK, "plan");
    demand(surelift_plan_duration(plan, &duration_s) == SURELIFT_STATUS_OK, "duration");
    Vector start(n), end(n), rate(n), error(n);
    demand(surelift_plan_desired(plan, 0.0, start.data(), rate.data(), rate.data(), n) == SURELIFT_STATUS_OK, "start");
    demand(surelift_plan_desired(plan, duration_s, end.data(), rate.data(), rate.data(), n) == SURELIFT_STATUS_OK, "end");
    demand(surelift_plan_tube(plan, error.data(), rate.data(), n) == SURELIFT_STATUS_OK, "tube");
    hardware_interface::HardwareInfo info;
    for (std::size_t j = 0; j < n; ++j) {
        char name[64];
        demand(surelift_robot_joint_name(robot, j, name, sizeof name) == SURELIFT_STATUS_OK, "name");
        info.joints.push_back({name});
    }

    Trial whole(robot_file, info, robot, start, period_s);
    demand(whole.system.export_state_interfaces().size() == 3 * n, "state interfaces");
    demand(whole.cycle() && whole.arm->held && whole.arm->commands == 0, "no plan, no command");
    demand(!whole.system.take_plan("no/such/plan.json") && whole.system.why().find("no/such/plan.json") != std::string::npos, "no such plan");
    demand(whole.system.take_plan(plan_file), "the plan");
    demand(!whole.system.take_plan(plan_file), "one plan at a time");
    const long most = static_cast<long>(duration_s / period_s) + 1000;
    for (long cycles = 0; whole.system.follows(); ++cycles) {
        demand(cycles < most && whole.cycle(), "a cycle");
    }
    double farthest = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
        farthest = std::max(farthest, std::abs(whole.arm->q[j] - end[j]) / error[j]);
    }
    demand(whole.arm->held && farthest <= 1.0, "the arm ends where it was proven to end");
    std::printf("arrived: %.3f of the proven error\n", farthest);

    Vector elsewhere = start;
    elsewhere[0] += 0.1;
    Trial astray(robot_file, info, robot, elsewhere, period_s);
    demand(astray.system.take_plan(plan_file) && !astray.cycle() && astray.arm->commands == 0, "not released elsewhere");

    // A third of the way, a cycle is left out: the arm is brought to rest, then held.
    Trial late(robot_file, info, robot, start, period_s);
    demand(late.system.take_plan(plan_file), "the plan");
    const long third = static_cast<long>(duration_s / period_s / 3.0);
    for (long cycles = 0; cycles < third; ++cycles) {
        demand(late.cycle(), "a cycle");
    }
    demand(late.cycle(3), "the torques that stop it are commanded");
    bool told = false;
    for (long cycles = 0; late.system.follows(); ++cycles) {
        demand(cycles < most, "it comes to rest");
        told = !late.cycle();
    }
    demand(told && late.arm->held, "the end is told as an error");
    std::printf("stopped and held after %ld commands\n", late.arm->commands);

    info.joints[0].name = "another";
    try {
        Trial(robot_file, info, robot, start, period_s);
        throw std::logic_error("joints by other names were taken");
    } catch (const std::runtime_error &error_told) {
        demand(std::string(error_told.what()).find("another") != std::string::npos, "which joint");
    }
    surelift_plan_close(plan);
    surelift_robot_close(robot);
}

}  // namespace

int main(int count, char **words) {
    try {
        if (count != 3) {
            throw std::runtime_error("trial ROBOT.toml PLAN.json");
        }
        run(words[1], words[2]);
        return 0;
    } catch (const std::exception &fault) {
        std::fprintf(stderr, "%s\n", fault.what());
        return 1;
    }
}
