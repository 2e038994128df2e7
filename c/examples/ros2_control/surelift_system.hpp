// An arm's hardware interface for ros2_control that follows proven plans, one tick a cycle. `docs/howto/ros2.md` says how it goes with the node.
//
// While no plan is followed, the arm's own drives hold it. What they are is for you to say: derive from `Drives`.

#ifndef SURELIFT_SYSTEM_HPP
#define SURELIFT_SYSTEM_HPP

#include "surelift.h"

#include <hardware_interface/system_interface.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <rclcpp/rclcpp.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace surelift {

using Vector = std::vector<double>;

// The arm itself. No call may take longer than a small part of the control period, or ask for memory.
class Drives {
public:
    virtual ~Drives() = default;
    // Positions (rad), velocities (rad/s) and efforts (N m), one a joint.
    virtual bool read(Vector &q, Vector &dq, Vector &effort) = 0;
    // Torques (N m) until the next cycle.
    virtual bool command(const Vector &tau) = 0;
    // The drives' own position loop holds the arm where it is.
    virtual bool hold() = 0;
};

class System : public hardware_interface::SystemInterface {
public:
    explicit System(std::unique_ptr<Drives> drives) : drives_(std::move(drives)) {}
    ~System() override {
        surelift_controller_close(controller_);
        close(next_);
        close(spent_);
        surelift_robot_close(robot_);
    }

    // The parameter `robot` of the <hardware> tag names the robot file. Joints are to come in its order.
    hardware_interface::CallbackReturn on_init(const hardware_interface::HardwareInfo &info) override {
        if (hardware_interface::SystemInterface::on_init(info) != hardware_interface::CallbackReturn::SUCCESS) {
            return hardware_interface::CallbackReturn::ERROR;
        }
        const auto file = info.hardware_parameters.find("robot");
        std::size_t joints = 0;
        if (file == info.hardware_parameters.end()) {
            return refuse("the parameter 'robot' is missing: the path of a robot file");
        }
        if (surelift_robot_load(file->second.c_str(), &robot_) != SURELIFT_STATUS_OK ||
            surelift_robot_dof(robot_, &joints) != SURELIFT_STATUS_OK ||
            surelift_robot_period(robot_, &period_s_) != SURELIFT_STATUS_OK) {
            return refuse(surelift_last_error());
        }
        if (info.joints.size() != joints) {
            return refuse("the robot file has another number of joints");
        }
        for (std::size_t j = 0; j < joints; ++j) {
            char name[256];
            if (surelift_robot_joint_name(robot_, j, name, sizeof name) != SURELIFT_STATUS_OK) {
                return refuse(surelift_last_error());
            }
            if (info.joints[j].name != name) {
                return refuse("joint '" + info.joints[j].name + "' stands where the robot file has '" + name + "'");
            }
        }
        for (Vector *vector : {&q_, &dq_, &effort_, &tau_}) {
            vector->assign(joints, 0.0);
        }
        return drives_->hold() ? hardware_interface::CallbackReturn::SUCCESS : refuse("the drives do not hold the arm");
    }

    std::vector<hardware_interface::StateInterface> export_state_interfaces() override {
        std::vector<hardware_interface::StateInterface> all;
        for (std::size_t j = 0; j < q_.size(); ++j) {
            const std::string &joint = info_.joints[j].name;
            all.emplace_back(joint, hardware_interface::HW_IF_POSITION, &q_[j]);
            all.emplace_back(joint, hardware_interface::HW_IF_VELOCITY, &dq_[j]);
            all.emplace_back(joint, hardware_interface::HW_IF_EFFORT, &effort_[j]);
        }
        return all;
    }

    // Nothing commands joints but a proven plan.
    std::vector<hardware_interface::CommandInterface> export_command_interfaces() override { return {}; }

    // For one thread of your own, such as that of a subscriber to the node's ~/plan_file: takes the plan of a file, once it is proven again from that file alone. It takes some time
    // and memory. The motion begins with the next cycle. False: why() says why.
    bool take_plan(const char *path) {
        if (follows_) {
            why_ = "a plan is followed already";
            return false;
        }
        close(spent_.exchange(0));
        SureliftPlan plan{};
        SureliftMargins margins;
        SureliftController controller{};
        const bool proven = surelift_plan_load(path, &plan) == SURELIFT_STATUS_OK &&
                            surelift_plan_verify(plan, &margins) == SURELIFT_STATUS_OK &&
                            surelift_plan_duration(plan, &duration_s_) == SURELIFT_STATUS_OK &&
                            surelift_controller_new(plan, &controller) == SURELIFT_STATUS_OK;
        why_ = proven ? "" : surelift_last_error();
        surelift_plan_close(plan);
        if (proven) {
            follows_ = true;
            next_ = controller.id;
        }
        return proven;
    }

    const std::string &why() const { return why_; }
    // Whether a plan is followed, or waits for the next cycle.
    bool follows() const { return follows_; }

    hardware_interface::return_type read(const rclcpp::Time &, const rclcpp::Duration &) override {
        return drives_->read(q_, dq_, effort_) ? hardware_interface::return_type::OK : hardware_interface::return_type::ERROR;
    }

    hardware_interface::return_type write(const rclcpp::Time &, const rclcpp::Duration &period) override {
        if (controller_.id == 0) {
            controller_.id = next_.exchange(0);
            if (controller_.id == 0) {
                return hardware_interface::return_type::OK;
            }
            ticks_ = 0;
            if (surelift_controller_check_start(controller_, q_.data(), dq_.data(), q_.size()) != SURELIFT_STATUS_OK) {
                // It stands elsewhere than where the proof begins: it is not released.
                end();
                return hardware_interface::return_type::ERROR;
            }
        } else {
            // A cycle that was left out is one tick too many: the controller notices, and stops.
            ticks_ += std::max(1L, std::lround(period.seconds() / period_s_));
        }
        return tick();
    }

private:
    // The arm rests where no joint is faster than this, rad/s.
    static constexpr double rests = 0.01;

    hardware_interface::return_type tick() {
        const double t = static_cast<double>(ticks_) * period_s_;
        const SureliftStatus status =
            surelift_controller_tick(controller_, t, q_.data(), dq_.data(), q_.size(), tau_.data(), nullptr);
        const bool stopped = status == SURELIFT_STATUS_BROKEN;
        if (status != SURELIFT_STATUS_OK && !stopped) {
            end();
            return hardware_interface::return_type::ERROR;
        }
        // Stopped, it is commanded until it rests: these torques bring it to rest.
        const auto still = [](double speed) { return std::abs(speed) < rests; };
        const bool over = (stopped || t > duration_s_) && std::all_of(dq_.begin(), dq_.end(), still);
        if (over) {
            const bool held = end();
            return held && !stopped ? hardware_interface::return_type::OK : hardware_interface::return_type::ERROR;
        }
        return drives_->command(tau_) ? hardware_interface::return_type::OK : hardware_interface::return_type::ERROR;
    }

    // Hands the arm back to its drives. The controller is closed by the other thread, as that gives back memory.
    bool end() {
        const bool held = drives_->hold();
        spent_ = controller_.id;
        controller_.id = 0;
        follows_ = false;
        return held;
    }

    static void close(std::uint64_t id) {
        if (id != 0) {
            surelift_controller_close(SureliftController{id});
        }
    }

    hardware_interface::CallbackReturn refuse(const std::string &why) {
        why_ = why;
        return hardware_interface::CallbackReturn::ERROR;
    }

    std::unique_ptr<Drives> drives_;
    SureliftRobot robot_{};
    SureliftController controller_{};
    std::atomic<std::uint64_t> next_{0}, spent_{0};
    std::atomic<bool> follows_{false};
    Vector q_, dq_, effort_, tau_;
    double period_s_ = 0.0, duration_s_ = 0.0;
    long ticks_ = 0;
    std::string why_;
};

}  // namespace surelift

#endif
