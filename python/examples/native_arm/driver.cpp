// A driver for `surelift.NativeArm`: here of an arm that the C library simulates. In place of the simulation stand your drives and sensors.
//
// `docs/howto/python.md` says how it is compiled. The text of NativeArm has the robot, the positions at which it stands, rad, and where the ball's centre is once the hand holds it, m, in the frame
// of the last body: "kinova_gen3_2f85 0 0.3 3.1 -1.8 0 0.5 1.5 0 0 -0.3".

#include "surelift.h"
#include "surelift_driver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Vector = std::vector<double>;

// Everything that the library says no to.
void check(SureliftStatus status) {
    if (status != SURELIFT_STATUS_OK) {
        throw std::runtime_error(surelift_last_error());
    }
}

// Steps of the simulation in a control period.
constexpr int steps = 10;
// What the hand takes.
constexpr double ball_kg = 0.5, radius_m = 0.02;

class Arm {
public:
    Arm(const char *config, std::size_t joints, double period)
        : q(joints), dq(joints), period_s(period), moving(joints), ddq(joints), rest(joints) {
        std::istringstream words(config);
        std::string name;
        words >> name;
        for (double &position : q) {
            words >> position;
        }
        for (double &coordinate : center) {
            words >> coordinate;
        }
        if (!words) {
            throw std::runtime_error("config '" + std::string(config) + "': expected a robot, " + std::to_string(joints) +
                                     " positions, rad, and a ball's centre, three numbers, m");
        }
        check(surelift_robot_load(name.c_str(), &robot));
        std::size_t count = 0;
        check(surelift_robot_parameter_count(robot, &count));
        check(surelift_robot_end_effector(robot, &hand));
        empty.resize(count);
        check(surelift_robot_nominal_parameters(robot, empty.data(), count));
        theta = empty;
        check(surelift_dynamics_new(robot, &dynamics));
    }
    Arm(const Arm &) = delete;
    Arm &operator=(const Arm &) = delete;
    ~Arm() {
        surelift_dynamics_close(dynamics);
        surelift_robot_close(robot);
    }

    std::size_t joints() const { return q.size(); }

    // When the newest reading was there. This arm's time goes on with its simulation, whatever the clock says; a real one's comes with the reading.
    double time_s() const { return passed_s; }

    void read(double *positions, double *velocities) {
        std::copy(q.begin(), q.end(), positions);
        std::copy(dq.begin(), dq.end(), velocities);
    }

    bool command(const double *tau) {
        const std::size_t n = q.size();
        for (int step = 0; step < steps; ++step) {
            for (std::size_t j = 0; j < n; ++j) {
                // Four parameters a joint follow ten a body: Coulomb and viscous friction come first.
                const double *friction = &theta[10 * n + 4 * j];
                moving[j] = tau[j] - friction[0] * std::clamp(dq[j] / 1e-3, -1.0, 1.0) - friction[1] * dq[j];
            }
            if (surelift_dynamics_forward(dynamics, q.data(), dq.data(), moving.data(), n, theta.data(), theta.size(), ddq.data()) !=
                SURELIFT_STATUS_OK) {
                return false;
            }
            for (std::size_t j = 0; j < n; ++j) {
                dq[j] += period_s / steps * ddq[j];
                q[j] += period_s / steps * dq[j];
            }
        }
        wait();
        return true;
    }

    // The drives' own brakes.
    bool hold(double *measured) {
        std::fill(dq.begin(), dq.end(), 0.0);
        const bool known = surelift_dynamics_rnea(dynamics, q.data(), dq.data(), rest.data(), q.size(), theta.data(), theta.size(),
                                                  measured) == SURELIFT_STATUS_OK;
        wait();
        return known;
    }

    void gripper(bool closes) {
        theta = empty;
        if (!closes) {
            return;
        }
        // m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the body's frame.
        const auto [x, y, z] = center;
        const double own = 0.4 * radius_m * radius_m;
        const double ball[10] = {1.0, x, y, z, own + y * y + z * z, -x * y, own + x * x + z * z, -x * z, -y * z, own + x * x + y * y};
        for (std::size_t k = 0; k < 10; ++k) {
            theta[10 * hand + k] += ball_kg * ball[k];
        }
    }

private:
    void wait() {
        passed_s += period_s;
        next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(period_s));
        // After a long pause the rhythm begins anew.
        next = std::max(next, Clock::now());
        std::this_thread::sleep_until(next);
    }

    Vector q, dq;
    std::array<double, 3> center{};
    double period_s;
    Vector moving, ddq, rest, empty, theta;
    std::size_t hand = 0;
    SureliftRobot robot{};
    SureliftDynamics dynamics{};
    double passed_s = 0.0;
    Clock::time_point next = Clock::now();
};

Arm &of(void *arm) { return *static_cast<Arm *>(arm); }

} // namespace

extern "C" int surelift_driver_open(const char *config, std::size_t joints, double period_s, SureliftDriver *driver, char *reason,
                                    std::size_t room) {
    try {
        auto arm = std::make_unique<Arm>(config, joints, period_s);
        *driver = SureliftDriver{};
        driver->version = SURELIFT_DRIVER_VERSION;
        driver->time = [](void *arm) { return of(arm).time_s(); };
        driver->read = [](void *arm, double *q, double *dq) {
            of(arm).read(q, dq);
            return true;
        };
        driver->command = [](void *arm, const double *tau, double *measured) {
            const bool done = of(arm).command(tau);
            std::copy(tau, tau + of(arm).joints(), measured);
            return done;
        };
        driver->hold = [](void *arm, double *measured) { return of(arm).hold(measured); };
        driver->gripper = [](void *arm, bool closes) { of(arm).gripper(closes); };
        driver->close = [](void *arm) { delete static_cast<Arm *>(arm); };
        driver->arm = arm.release();
        return 0;
    } catch (const std::exception &error) {
        std::snprintf(reason, room, "%s", error.what());
        return 1;
    }
}
