"""Rigid-body dynamics for any kind of number of forms.py (docs/proof.md, section 3).

Everything is in the frame of the body it belongs to. Rates of vectors are those seen from the base, written in body axes; with
w the angular velocity, b the auxiliary one (of dq_a), A the rate of b, a that of the origin's auxiliary velocity minus
gravity, the force and the moment about the origin that a body needs are

    f = m a + A x h + b x (w x h),      n = I (A - w x b) + b x (I w) + h x a.
"""

from forms import add, back, cross, dot, minus, scaled, sin_cos

PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


class Posture:
    """Rotations of the joints at q, and the unit motions of each joint, carried to each body it moves."""

    def __init__(self, robot, q):
        self.joints, index = robot.joints, {joint: i for i, joint in enumerate(robot.joints)}
        self.parent = [index[joint.parent] if joint.parent else None for joint in robot.joints]
        self.turns = [sin_cos(x) if joint.rotates else (0, 1) for joint, x in zip(robot.joints, q)]
        # Origin of a joint's frame in its parent's.
        self.lever = [
            joint.origin if joint.rotates else add(joint.origin, [row[2] * x for row in joint.turn])
            for joint, x in zip(robot.joints, q)
        ]
        # units[i][j] = (velocity of body i's origin, its angular velocity) for unit speed of joint j.
        self.units = []
        for i, joint in enumerate(robot.joints):
            parent, here = self.parent[i], {}
            for j, (u, z) in (self.units[parent] if parent is not None else {}).items():
                here[j] = (self.turn(i, add(u, cross(z, self.lever[i]))), self.turn(i, z))
            here[i] = ([0, 0, 0], [0, 0, 1]) if joint.rotates else ([0, 0, 1], [0, 0, 0])
            self.units.append(here)

    def turn(self, i, x):
        """A vector in the axes of body i's parent, in those of body i."""
        y, (s, c) = back(self.joints[i].turn, x), self.turns[i]
        return [c * y[0] + s * y[1], c * y[1] - s * y[0], y[2]]

    def sweep(self, gravity, dq, dqa, ddqa):
        """(w, b, A, a) of each body."""
        out, still = [], ([0, 0, 0], [0, 0, 0], [0, 0, 0], [-g for g in gravity])
        for i, joint in enumerate(self.joints):
            w, b, A, a = out[self.parent[i]] if self.parent[i] is not None else still
            axis = [row[2] for row in joint.turn]
            moved = cross(w, self.lever[i])
            if not joint.rotates:
                moved = add(moved, scaled(axis, dq[i]))
            a = add(a, add(cross(A, self.lever[i]), cross(b, moved)))
            w, b, A, a = (self.turn(i, x) for x in (w, b, A, a))
            # The axis turns with the body: its rate is w x z.
            swing = [w[1] * dqa[i], -w[0] * dqa[i]]
            if joint.rotates:
                A = [A[0] + swing[0], A[1] + swing[1], A[2] + ddqa[i]]
                w, b = [w[0], w[1], w[2] + dq[i]], [b[0], b[1], b[2] + dqa[i]]
            else:
                a = [a[0] + swing[0], a[1] + swing[1], a[2] + ddqa[i]]
            out.append((w, b, A, a))
        return out

    def regressor(self, motion):
        """Y[j][i]: the ten numbers by which the parameters of body i enter the torque of joint j; only for bodies it moves."""
        rows = [{} for _ in self.joints]
        for i, (w, b, A, a) in enumerate(motion):
            # f's part of h is F h, with F = [A x] + w b' - (b.w) 1; the moment's part of inertia uses G = A - w x b.
            bw, G = dot(b, w), minus(A, cross(w, b))
            F = [[w[r] * b[k] for k in range(3)] for r in range(3)]
            for k in range(3):
                F[k][k] = F[k][k] - bw
            for r, k, x in ((0, 1, -A[2]), (0, 2, A[1]), (1, 0, A[2]), (1, 2, -A[0]), (2, 0, -A[1]), (2, 1, A[0])):
                F[r][k] = F[r][k] + x
            moments = []
            for k, l in PAIRS:
                # (E x) for the unit inertia E of entries k l and l k.
                times = lambda x: [x[l] if r == k else x[k] if r == l else 0 for r in range(3)]
                moments.append(add(times(G), cross(b, times(w))))
            for j, (u, z) in self.units[i].items():
                first = add(back(F, u), cross(a, z))
                rows[j][i] = [dot(u, a)] + first + [dot(z, moment) for moment in moments]
        return rows

    def torques(self, theta, motion):
        """Torques of the links alone, for ten parameters a body."""
        out = [0] * len(self.joints)
        for i, (w, b, A, a) in enumerate(motion):
            m, h, inertia = theta[10 * i], theta[10 * i + 1 : 10 * i + 4], theta[10 * i + 4 : 10 * i + 10]
            f = add(scaled(a, m), add(cross(A, h), cross(b, cross(w, h))))
            n = add(times(inertia, minus(A, cross(w, b))), add(cross(b, times(inertia, w)), cross(h, a)))
            for j, (u, z) in self.units[i].items():
                out[j] = out[j] + dot(u, f) + dot(z, n)
        return out

    def mass(self, theta):
        """Entries {(i, j): M_ij}, j <= i, of the links' mass matrix; others are zero."""
        out = {}
        for i, units in enumerate(self.units):
            m, h, inertia = theta[10 * i], theta[10 * i + 1 : 10 * i + 4], theta[10 * i + 4 : 10 * i + 10]
            for j, (u, z) in units.items():
                f, n = add(scaled(u, m), cross(z, h)), add(times(inertia, z), cross(h, u))
                for k, (v, y) in units.items():
                    if k >= j:
                        out[k, j] = out.get((k, j), 0) + dot(v, f) + dot(y, n)
        return out


def times(inertia, x):
    """Inertia (xx, xy, yy, xz, yz, zz) times a vector."""
    xx, xy, yy, xz, yz, zz = inertia
    return [xx * x[0] + xy * x[1] + xz * x[2], xy * x[0] + yy * x[1] + yz * x[2], xz * x[0] + yz * x[1] + zz * x[2]]
