/* What an arm's driver in C or C++ has to offer, so that a job in Python moves the arm: `surelift.NativeArm("libmyarm.so")`.
 *
 * A shared library exports `surelift_driver_open`. No call of Python, and no lock of Python's, is in the control cycle then.
 *
 * In each control period the library calls `read` once, then one of `command` and `hold`. These make the rhythm: they return when the next period begins.
 * All numbers are SI: rad (m for a joint that slides), s, N m (N). Vectors have one number a joint. No exception of C++ may leave a function.
 *
 * Threads: `surelift_driver_open` is called where the NativeArm is made, all others in the control thread, one at a time.
 */

#ifndef SURELIFT_DRIVER_H
#define SURELIFT_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of SureliftDriver. A driver gives the number that it was compiled with. */
#define SURELIFT_DRIVER_VERSION 1

typedef struct SureliftDriver {
    /* SURELIFT_DRIVER_VERSION. */
    uint32_t version;
    /* Handed to every function. */
    void *arm;
    /* Time of the newest reading on a clock that never goes back, s; its zero may be anywhere. It is asked behind each `read`. NULL: each period counts as even. Under the momentum law a tick
     * that comes later than the robot's file allows (`jitter_max_s`) ends the proof, and the arm is stopped. Without a clock nobody can tell. */
    double (*time)(void *arm);
    /* Copies the newest positions and velocities, at once. False if the arm is lost: it is stopped then as well as can be. */
    bool (*read)(void *arm, double *q, double *dq);
    /* Sends torques, and returns when the next control period begins. Writes what the torque sensors say of this period. Whether that is of use. */
    bool (*command)(void *arm, const double *tau, double *measured);
    /* Lets the arm's own drives hold it where it stands; otherwise as `command`. */
    bool (*hold)(void *arm, double *measured);
    /* The hand is to close, or to open. Returns at once. May be NULL. */
    void (*gripper)(void *arm, bool closes);
    /* No plan is followed any more: brakes may be put on. May be NULL. */
    void (*stop_begins)(void *arm);
    /* The job is over; the arm's own drives have to hold it. Nothing is called any more. May be NULL. */
    void (*close)(void *arm);
} SureliftDriver;

/* Fills `driver` for an arm of so many joints and this control period, s; `config` is the text that NativeArm was given. 0 if it did. With anything else a reason, UTF-8 and ended by a
 * zero byte, is in the `room` bytes at `reason`, and nothing is called any more. */
int surelift_driver_open(const char *config, size_t joints, double period_s, SureliftDriver *driver, char *reason, size_t room);

#ifdef __cplusplus
}
#endif

#endif
