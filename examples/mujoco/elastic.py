"""Joints with a spring between transmission and link. MuJoCo has a degree of freedom more for each of them: the transmission, in the link's measure.

Friction, offset and what drives apply act on the transmission, and the spring alone carries the link. Nothing damps it.
"""

import mujoco
import numpy as np

# A body that moves must have a mass. The transmission's own inertia is the joint's `armature`.
SPECK_KG, SPECK_KG_M2 = 1e-6, 1e-12
# Rounds in which links sink into their springs: each leaves some hundredths of what the last one did.
SETTLING = 12


class Springs:
    """Of all joints, or of none where `setup` is none."""

    def __init__(self, setup, joints):
        self.joints, self.elastic = joints, setup is not None
        self.links = slice(0, joints)
        self.motors = slice(joints, 2 * joints) if self.elastic else self.links
        self.stiffness = setup["stiffness_nm_rad"] if self.elastic else None
        if self.elastic and not (np.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise ValueError(f"springs.stiffness_nm_rad: {self.stiffness}, expected a finite number above 0")
        self.encoders = self.motors if self.elastic and setup["encoders"] == "motor" else self.links

    def add_transmissions(self, spec):
        for j in range(self.joints if self.elastic else 0):
            body = spec.worldbody.add_body(name=f"transmission {j}", mass=SPECK_KG, inertia=[SPECK_KG_M2] * 3, explicitinertial=True)
            body.add_joint(name=f"transmission {j}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])

    def own_inertia(self, model, armature, viscous):
        """What is in proportion to the transmission's acceleration and speed."""
        model.dof_armature[:], model.dof_damping[:] = 0.0, 0.0
        model.dof_armature[self.motors], model.dof_damping[self.motors] = armature, viscous

    def start(self, model, data, q):
        """Encoders read q, and the springs carry the links."""
        data.qpos[self.links] = q
        for _ in range(SETTLING if self.elastic else 0):
            mujoco.mj_forward(model, data)
            bent = data.qfrc_bias[self.links] / self.stiffness
            if self.encoders == self.motors:
                data.qpos[self.links] = q - bent
            data.qpos[self.motors] = data.qpos[self.links] + bent

    def mass(self, whole):
        """The mass matrix, transmissions included, as rigid joints would have it."""
        links = whole[self.links, self.links]
        return links + whole[self.motors, self.motors] if self.elastic else links

    def push(self, data):
        """What the springs do in this state."""
        if self.elastic:
            twist = self.stiffness * (data.qpos[self.motors] - data.qpos[self.links])
            data.qfrc_passive[self.links] += twist
            data.qfrc_passive[self.motors] -= twist
