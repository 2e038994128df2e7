/* The C interface of surelift: certified motions, robust tracking and guaranteed payload identification for robot arms.
 *
 * Every function gives a status, but for three that give texts of the library. What it finds goes through pointers, which come last. With any other
 * status than SURELIFT_STATUS_OK these are left as they were (surelift_controller_tick says where it differs), and surelift_last_error has the reason.
 *
 * Ownership: a SureliftRobot and the like are numbers that stand for objects of the library. A copy stands for the same object. Whoever has made one closes it,
 * once. What is made from an object lives on when that is closed. The library keeps no pointer after a call has ended.
 *
 * Lengths and units: vectors come with their length, which has to be that of the robot. All numbers are SI: rad (m for a prismatic joint), s, N m, kg.
 * Pointers are to as many numbers as is said; vectors that are written may overlap those that are read. Texts are UTF-8 and end with a zero byte.
 *
 * Threads: any function may be called from any thread. Robots, sets and plans never change, so many threads may use one. Where an object serves one call at a
 * time, the second gets SURELIFT_STATUS_BUSY.
 */

#ifndef SURELIFT_H
#define SURELIFT_H

/* Made by cbindgen from c/src: SURELIFT_WRITE=1 cargo test --release --package surelift-c --test header */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// First number of the version that this header belongs to.
#define SURELIFT_VERSION_MAJOR 0

// Second number of the version that this header belongs to.
#define SURELIFT_VERSION_MINOR 1

// Third number of the version that this header belongs to.
#define SURELIFT_VERSION_PATCH 0

// How a call ended.
typedef enum SureliftStatus {
    // As asked.
    SURELIFT_STATUS_OK = 0,
    // What was given makes no sense: numbers that are none, files that cannot be read, names that nothing has. Nothing has happened.
    SURELIFT_STATUS_INPUT = 1,
    // A pointer is null, or to an address that no number of its kind can have.
    SURELIFT_STATUS_POINTER = 2,
    // A vector has another length than it has to have.
    SURELIFT_STATUS_SIZE = 3,
    // A handle is null, closed, or of another kind.
    SURELIFT_STATUS_HANDLE = 4,
    // The object is at work in another thread.
    SURELIFT_STATUS_BUSY = 5,
    // What was asked for could not be proven, so it was not done.
    SURELIFT_STATUS_NOT_PROVEN = 6,
    // An assumption does not hold: nothing that was proven counts any more.
    SURELIFT_STATUS_BROKEN = 7,
    // A fault of the library. The object that was called is not to be used any more; close it.
    SURELIFT_STATUS_PANIC = 8,
} SureliftStatus;

// Why a controller has stopped the arm.
typedef enum SureliftStop {
    // It has not.
    SURELIFT_STOP_NONE = 0,
    // The tracking errors are larger than was proven: something assumed is wrong.
    SURELIFT_STOP_TUBE = 1,
    // The time of a tick goes back, is no number, or leaves a tick out.
    SURELIFT_STOP_CLOCK = 2,
    // The law asks a joint for more than its limit, which was proven never to happen.
    SURELIFT_STOP_SATURATION = 3,
    // A reading of a joint is no number.
    SURELIFT_STOP_READING = 4,
    // Torque or speed of a joint swings to and fro.
    SURELIFT_STOP_CHATTER = 5,
} SureliftStop;

// A robot arm: model, limits, shapes, sensors and gains. It never changes, so any number of threads may use it at once.
typedef struct SureliftRobot {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftRobot;

// Storage for the dynamics of an arm. It serves one call at a time: each thread has its own.
typedef struct SureliftDynamics {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftDynamics;

// A set of parameter vectors: what may be true of an arm and what it holds. It never changes, so any number of threads may use it at once.
typedef struct SureliftSet {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftSet;

// All numbers between two.
typedef struct SureliftInterval {
    // The smallest.
    double lower;
    // The largest.
    double upper;
} SureliftInterval;

// What is known of a payload alone, without what holds it, in a frame that moves with the hand. As long as the assumptions hold, the truth lies in each interval.
typedef struct SureliftPayload {
    // Mass, kg.
    struct SureliftInterval mass_kg;
    // Centre of mass (x, y, z), m; infinite where nothing bounds it, as the mass may be 0.
    struct SureliftInterval com_m[3];
    // I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the centre of mass, along the axes of the frame, kg m^2.
    struct SureliftInterval inertia_kg_m2[6];
    // An estimate of the mass, kg, of which nothing is proven; NaN where there is none.
    double estimated_mass_kg;
    // The same of the centre of mass, m.
    double estimated_com_m[3];
    // The same of the inertia, in the order of inertia_kg_m2.
    double estimated_inertia_kg_m2[6];
} SureliftPayload;

// Obstacles that stand still, in the base frame. Where a function takes a scene, one with id 0 stands for a world without obstacles.
typedef struct SureliftScene {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftScene;

// A motion with all that its proof needs: robot, set, obstacles, constants of the controller. It never changes, so any number of threads may use it at once.
typedef struct SureliftPlan {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftPlan;

// What is proven of a plan at its tightest place: how far it stays from its limits, for every time, every parameter of the set and every tracking error.
typedef struct SureliftMargins {
    // From a limit of position, rad; infinite where no joint has any.
    double position_rad;
    // From a limit of speed, rad/s.
    double velocity_rad_s;
    // From a limit of torque, N m.
    double torque_nm;
    // From obstacles and of links from one another, m; infinite where there is nothing to meet.
    double collision_m;
    // Of the conditions of the tracking tube, as a share.
    double tube;
} SureliftMargins;

// A controller that follows one plan. It serves one call at a time, from any thread.
typedef struct SureliftController {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftController;

// What a controller says of a tick.
typedef struct SureliftTick {
    // Largest value of the tube's energy function V that the set allows at the measured state, J; 0 once it is stopped.
    double energy_j;
    // Value that V has at least, J.
    double energy_floor_j;
    // Whether a torque was cut at its limit.
    bool saturated;
    // Why it has stopped the arm, if it has.
    enum SureliftStop stop;
    // Which joint is to blame, counted from 0; -1 for none.
    int32_t joint;
} SureliftTick;

// Narrows what the arm may hold from what a control loop measures. One thread may push while another updates; two that push at once, or two that update at once, are in each other's way: the second gets
// SURELIFT_STATUS_BUSY.
typedef struct SureliftIdentifier {
    // The library's number for it; 0 for none.
    uint64_t id;
} SureliftIdentifier;

// What an update says of itself.
typedef struct SureliftUpdate {
    // Windows of measurements that it has used.
    size_t windows;
    // Rows of data in use.
    size_t rows;
    // Condition number of the last body's regressor over all windows so far, in SI units; infinite while it is singular.
    double condition_number;
    // How long it took, ms.
    double update_ms;
} SureliftUpdate;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that is loaded, such as "0.1.0". It is to be that of the header: while the first number is 0, any other second number may be another interface.
// The text is the library's, and lives as long as it.
const char *surelift_version(void);

// Why the last call of this thread that did not end with `SURELIFT_STATUS_OK` ended so: a text in UTF-8, empty if there was none, cut after 2047 bytes. It belongs to the library
// and stays until the next such call of this thread, or the thread's end.
const char *surelift_last_error(void);

// A word for a status, such as "not proven"; "unknown" for a number that is none. The text is the library's, and lives as long as it.
const char *surelift_status_name(int32_t status);

// Loads an arm: from a robot file (TOML), or by the name of one that ships, such as "kinova_gen3_2f85". `*robot` is to be closed by surelift_robot_close.
enum SureliftStatus surelift_robot_load(const char *path,
                                        struct SureliftRobot *robot);

// Closes an arm. What was made from it stays as it is.
enum SureliftStatus surelift_robot_close(struct SureliftRobot robot);

// The number of joints: `dof`.
enum SureliftStatus surelift_robot_dof(struct SureliftRobot robot, size_t *dof);

// The number of parameters: ten inertial ones a body, m (kg), m c (kg m; x, y, z), I_xx, I_xy, I_yy, I_xz, I_yz, I_zz (kg m^2), about and in the frame of the joint that moves the body; then
// four a joint: Coulomb friction (N m), viscous friction (N m s/rad), transmission inertia (kg m^2), torque offset (N m).
enum SureliftStatus surelift_robot_parameter_count(struct SureliftRobot robot,
                                                   size_t *count);

// Index of the body that holds things: its ten parameters begin at 10 times that.
enum SureliftStatus surelift_robot_end_effector(struct SureliftRobot robot, size_t *body);

// The control period, s.
enum SureliftStatus surelift_robot_period(struct SureliftRobot robot, double *period_s);

// The nominal parameters, `n` of them, in the order of surelift_robot_parameter_count.
enum SureliftStatus surelift_robot_nominal_parameters(struct SureliftRobot robot, double *theta, size_t n);

// Limits of the joints, `n` = dof each: positions (rad, or m; infinite where a joint has none), speeds (rad/s) and torques (N m).
enum SureliftStatus surelift_robot_limits(struct SureliftRobot robot,
                                          double *lower,
                                          double *upper,
                                          double *velocity,
                                          double *torque,
                                          size_t n);

// The name of the arm, in UTF-8, into `size` bytes, its zero byte included.
enum SureliftStatus surelift_robot_name(struct SureliftRobot robot, char *name, size_t size);

// The name of a joint, counted from 0, in UTF-8, into `size` bytes, its zero byte included.
enum SureliftStatus surelift_robot_joint_name(struct SureliftRobot robot, size_t joint, char *name, size_t size);

// Makes storage for the dynamics of an arm. `*dynamics` is to be closed by surelift_dynamics_close. The calls with it ask for no memory.
enum SureliftStatus surelift_dynamics_new(struct SureliftRobot robot,
                                          struct SureliftDynamics *dynamics);

// Lets go of the storage.
enum SureliftStatus surelift_dynamics_close(struct SureliftDynamics dynamics);

// Inverse dynamics (recursive Newton-Euler): the torques `tau` (N m) of positions `q` (rad), velocities `v` (rad/s) and accelerations `a` (rad/s^2), `n` = dof each, with transmission
// inertia, without friction and offsets. `theta`: `parameters` parameters in the order of surelift_robot_parameter_count; null for the nominal ones.
enum SureliftStatus surelift_dynamics_rnea(struct SureliftDynamics dynamics,
                                           const double *q,
                                           const double *v,
                                           const double *a,
                                           size_t n,
                                           const double *theta,
                                           size_t parameters,
                                           double *tau);

// Forward dynamics: the accelerations `a` (rad/s^2) that torques `tau` (N m) cause at positions `q` (rad) and velocities `v` (rad/s), `n` = dof each. Friction and offsets are for the caller
// to take from `tau`. `theta` as in surelift_dynamics_rnea.
enum SureliftStatus surelift_dynamics_forward(struct SureliftDynamics dynamics,
                                              const double *q,
                                              const double *v,
                                              const double *tau,
                                              size_t n,
                                              const double *theta,
                                              size_t parameters,
                                              double *a);

// The mass matrix (kg m^2) at positions `q` (rad, `n` = dof), n * n numbers row by row, with transmission inertia. `theta` as in surelift_dynamics_rnea.
enum SureliftStatus surelift_dynamics_mass_matrix(struct SureliftDynamics dynamics,
                                                  const double *q,
                                                  size_t n,
                                                  const double *theta,
                                                  size_t parameters,
                                                  double *mass);

// What the arm's file says may be true of it, with nothing in its hand. `*set` is to be closed by surelift_set_close.
enum SureliftStatus surelift_set_around_nominal(struct SureliftRobot robot, struct SureliftSet *set);

// The set of all vectors between two, `n` parameters each in the order of surelift_robot_parameter_count. `*set` is to be closed by surelift_set_close.
enum SureliftStatus surelift_set_new(const double *lower,
                                     const double *upper,
                                     size_t n,
                                     struct SureliftSet *set);

// What is left of a set by a prior's file (TOML): what is believed of the last body, or of a payload in words. `*narrowed` is to be closed by surelift_set_close; it may be where `set` is, which
// stays open all the same.
enum SureliftStatus surelift_set_with_prior(struct SureliftSet set,
                                            const char *path,
                                            struct SureliftRobot robot,
                                            struct SureliftSet *narrowed);

// Closes a set. What was made from it stays as it is.
enum SureliftStatus surelift_set_close(struct SureliftSet set);

// The smallest and the largest values of each parameter, `n` each.
enum SureliftStatus surelift_set_bounds(struct SureliftSet set, double *lower, double *upper, size_t n);

// What a set says of a payload: see SureliftPayload. `frame` is the name of a link that moves with the hand; null for the tool frame. There is no estimate.
enum SureliftStatus surelift_set_payload(struct SureliftSet set,
                                         struct SureliftRobot robot,
                                         const char *frame,
                                         struct SureliftPayload *payload);

// A scene without obstacles. `*scene` is to be closed by surelift_scene_close.
enum SureliftStatus surelift_scene_new(struct SureliftScene *scene);

// Closes a scene. Plans that were proven in it keep their obstacles.
enum SureliftStatus surelift_scene_close(struct SureliftScene scene);

// Puts a box with sides along the axes of the base into a scene: its centre and its full side lengths (x, y, z; m). `name` stands in messages. Plans that exist know nothing of it.
enum SureliftStatus surelift_scene_add_box(struct SureliftScene scene,
                                           const char *name,
                                           const double *center_m,
                                           const double *size_m);

// Reads a plan from a file (JSON), as surelift_plan_save and `surelift run` write them. It is not proven by being read: call surelift_plan_verify. `*plan` is to be closed by
// surelift_plan_close.
enum SureliftStatus surelift_plan_load(const char *path,
                                       struct SureliftPlan *plan);

// Writes a plan into a file (JSON), which `surelift verify` and check/check.py prove again. What was there is replaced when all is written.
enum SureliftStatus surelift_plan_save(struct SureliftPlan plan,
                                       const char *path);

// Proves a motion from rest, for an arm whose parameters lie in `set`, among the obstacles of `scene`, and fits the constants of the controller to it. It takes tens of milliseconds, and all cores.
//
// `points`: control points of quintic Bezier curves, rad; pieces * n * 6 numbers: b_0 .. b_5 of the first joint on the first piece, then of the second joint, and so on, then the next piece; `n` = dof.
// `durations_s`: one a piece, s. Pieces join without a jump of position, velocity or acceleration. The first begins and the last one ends at rest: b_0 = b_1 = b_2, and b_3 = b_4 = b_5.
//
// SURELIFT_STATUS_NOT_PROVEN names the constraint that could not be proven. `*plan` is to be closed by surelift_plan_close.
enum SureliftStatus surelift_plan_certify(struct SureliftRobot robot,
                                          struct SureliftSet set,
                                          struct SureliftScene scene,
                                          const double *points,
                                          size_t n,
                                          const double *durations_s,
                                          size_t pieces,
                                          struct SureliftPlan *plan);

// The same for the one-piece motion from rest at `start` to rest at `end` (rad, `n` = dof each) in `duration_s`.
enum SureliftStatus surelift_plan_certify_to_rest(struct SureliftRobot robot,
                                                  struct SureliftSet set,
                                                  struct SureliftScene scene,
                                                  const double *start,
                                                  const double *end,
                                                  size_t n,
                                                  double duration_s,
                                                  struct SureliftPlan *plan);

// Proves a plan again, from what it holds alone. One that starts in motion needs the plan before it, and is refused here: `surelift verify` proves chains of plans.
enum SureliftStatus surelift_plan_verify(struct SureliftPlan plan,
                                         struct SureliftMargins *margins);

// Closes a plan. Controllers that follow it go on.
enum SureliftStatus surelift_plan_close(struct SureliftPlan plan);

// What was proven when the plan was made. Of a plan from a file it is what the file says.
enum SureliftStatus surelift_plan_margins(struct SureliftPlan plan, struct SureliftMargins *margins);

// How long a plan takes, s.
enum SureliftStatus surelift_plan_duration(struct SureliftPlan plan, double *duration_s);

// Desired positions (rad), velocities (rad/s) and accelerations (rad/s^2), `n` = dof each, `t` seconds after the plan's start; at its ends before and after it.
enum SureliftStatus surelift_plan_desired(struct SureliftPlan plan,
                                          double t,
                                          double *q,
                                          double *dq,
                                          double *ddq,
                                          size_t n);

// Of each joint, `n` = dof: how far it may be from where it is desired (rad), and the largest acceleration that the tube promises (rad/s^2): what an identifier needs.
enum SureliftStatus surelift_plan_tube(struct SureliftPlan plan,
                                       double *tracking_error_rad,
                                       double *acceleration_rad_s2,
                                       size_t n);

// Makes a controller that follows `plan` from its start, where the arm is at rest. The plan is not proven again: one from a file is to be verified before. Plans of the momentum law, and those
// that start in motion, are refused. `*controller` is to be closed by surelift_controller_close.
enum SureliftStatus surelift_controller_new(struct SureliftPlan plan,
                                            struct SureliftController *controller);

// Closes a controller. Nobody commands then: the arm is to rest, held by its own drives.
enum SureliftStatus surelift_controller_close(struct SureliftController controller);

// Whether the arm stands where its plan starts: positions `q` (rad) and velocities `dq` (rad/s) as measured, `n` = dof each, before the first tick. SURELIFT_STATUS_BROKEN says that the arm is not to
// be released: the proof begins elsewhere.
enum SureliftStatus surelift_controller_check_start(struct SureliftController controller,
                                                    const double *q,
                                                    const double *dq,
                                                    size_t n);

// The torques for the tick `t` seconds after the plan's start, to be held until the next tick.
//
// `q`: positions (rad), `dq`: velocities (rad/s), both as measured, `tau`: torques (N m); `n` = dof each. The first tick is at 0, and ticks follow one another by the control period. After the plan's
// end the arm is held there. `*tick` may be null.
//
// SURELIFT_STATUS_BROKEN says that the arm is stopped, as an assumption does not hold: `tau` and `*tick` are written all the same, and bring the arm to rest when they are commanded, tick by tick. Readings
// that are no numbers and times that are none stop it so. It is never taken back. With any other status but SURELIFT_STATUS_OK `tau` is left as it was, and the arm's own brakes are to be used.
//
// It asks for no memory and takes a few microseconds. It waits for nobody.
enum SureliftStatus surelift_controller_tick(struct SureliftController controller,
                                             double t,
                                             const double *q,
                                             const double *dq,
                                             size_t n,
                                             double *tau,
                                             struct SureliftTick *tick);

// Makes an identifier for the last body of an arm. `prior`: what may be true beforehand. `acceleration_rad_s2`: the largest acceleration of each joint, `n` = dof, as surelift_plan_tube has it of the
// plan that is followed; 0 while the arm stands. `window_s`: how long a window of measurements is, s, rounded to whole control periods; 0.1 serves.
// `*identifier` is to be closed by surelift_identifier_close.
enum SureliftStatus surelift_identifier_new(struct SureliftRobot robot,
                                            struct SureliftSet prior,
                                            const double *acceleration_rad_s2,
                                            size_t n,
                                            double window_s,
                                            struct SureliftIdentifier *identifier);

// Closes an identifier. Sets that were taken from it stay.
enum SureliftStatus surelift_identifier_close(struct SureliftIdentifier identifier);

// Replaces the largest accelerations (rad/s^2, `n` = dof) for the measurements from now on: call it when the plan changes.
enum SureliftStatus surelift_identifier_set_acceleration(struct SureliftIdentifier identifier,
                                                         const double *acceleration_rad_s2,
                                                         size_t n);

// Takes the measurements of one tick: its time `t` (s), and positions `q` (rad, continuous), velocities `dq` (rad/s) and torques `tau` (N m, held from this tick to the next), `n` = dof each. Ticks follow
// one another by the control period. SURELIFT_STATUS_BROKEN: a joint moved farther than its bounds allow. A tick that is refused leaves the identifier as it was.
//
// It takes a few microseconds and some memory. It waits for an update for no longer than that needs to take a list.
enum SureliftStatus surelift_identifier_push(struct SureliftIdentifier identifier,
                                             double t,
                                             const double *q,
                                             const double *dq,
                                             const double *tau,
                                             size_t n);

// The same for the first tick after some that are missing. The window in progress is left out.
enum SureliftStatus surelift_identifier_resume(struct SureliftIdentifier identifier,
                                               double t,
                                               const double *q,
                                               const double *dq,
                                               const double *tau,
                                               size_t n);

// Learns from the windows that are full; without any, nothing changes. `*update` may be null. SURELIFT_STATUS_BROKEN: no parameters of the prior explain the measurements, so an assumption is false;
// the set is as it was, and no more can be learnt from these.
//
// It takes up to a second or so, so it belongs in a thread of its own.
enum SureliftStatus surelift_identifier_update(struct SureliftIdentifier identifier,
                                               struct SureliftUpdate *update);

// What may be true after the last update. It waits for none that is under way. `*set` is to be closed by surelift_set_close.
enum SureliftStatus surelift_identifier_set(struct SureliftIdentifier identifier,
                                            struct SureliftSet *set);

// What is known of the payload after the last update: see SureliftPayload. It waits for none that is under way. `frame` is the name of a link that moves with the hand; null for the tool frame.
enum SureliftStatus surelift_identifier_payload(struct SureliftIdentifier identifier,
                                                const char *frame,
                                                struct SureliftPayload *payload);

// The proof of the present set, as JSON, into a file that `surelift verify --set` reads. It needs the measurements of all windows, so it grows with them.
enum SureliftStatus surelift_identifier_save_proof(struct SureliftIdentifier identifier,
                                                   const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SURELIFT_H */
