#pragma once

namespace rclcpp {

class Time {};

class Duration {
public:
    explicit Duration(double s) : s_(s) {}
    double seconds() const { return s_; }

private:
    double s_;
};

}  // namespace rclcpp
