// What the example uses of ros2_control, declared as its version for ROS 2 Jazzy does, so that the example compiles where no ROS is.
#pragma once

#include <rclcpp/rclcpp.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace hardware_interface {

enum class return_type : unsigned char { OK = 0, ERROR = 1, DEACTIVATE = 2 };
enum class CallbackReturn : unsigned char { SUCCESS = 97, FAILURE = 98, ERROR = 99 };

struct ComponentInfo {
    std::string name;
};

struct HardwareInfo {
    std::string name;
    std::unordered_map<std::string, std::string> hardware_parameters;
    std::vector<ComponentInfo> joints;
};

class Handle {
public:
    Handle(const std::string &prefix, const std::string &interface, double *value) : name_(prefix + "/" + interface), value_(value) {}
    const std::string &get_name() const { return name_; }
    double get_value() const { return *value_; }

private:
    std::string name_;
    double *value_;
};
using StateInterface = Handle;
using CommandInterface = Handle;

class SystemInterface {
public:
    virtual ~SystemInterface() = default;
    virtual CallbackReturn on_init(const HardwareInfo &info) {
        info_ = info;
        return CallbackReturn::SUCCESS;
    }
    virtual std::vector<StateInterface> export_state_interfaces() = 0;
    virtual std::vector<CommandInterface> export_command_interfaces() = 0;
    virtual return_type read(const rclcpp::Time &time, const rclcpp::Duration &period) = 0;
    virtual return_type write(const rclcpp::Time &time, const rclcpp::Duration &period) = 0;

protected:
    HardwareInfo info_;
};

}  // namespace hardware_interface
