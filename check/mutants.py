"""Mutations of the checker, each of which the tests must notice: `python3 check/mutants.py` (about half an hour).

Each drops or shrinks one term of the proof. It is applied to a copy of this folder, and the tests are run there.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
MUTANTS = [
    # What it does, file, text, replacement.
    ("products of forms lose their remainder", "forms.py", "a * b + square + ball(rest)", "a * b + square"),
    ("squares of time are centred wrongly", "forms.py", "a * b + square + ball(rest)", "a * b + ball(rest)"),
    ("sines lose their cubic part", "forms.py", "1 - quarter + ball(quarter), ball(x * x * x / 6)", "1 - quarter + ball(quarter), 0"),
    ("cosines lose their square part", "forms.py", "1 - quarter + ball(quarter)", "1 - quarter"),
    ("spread without the errors of position", "forms.py", "(abs(arb(self.t)) + _norm(self.e) + _norm(self.r))", "(abs(arb(self.t)) + _norm(self.r))"),
    ("spread without time", "forms.py", "(abs(arb(self.t)) + _norm(self.e) + _norm(self.r))", "(_norm(self.e) + _norm(self.r))"),
    ("the gyroscopic moment has another C", "dynamics.py", "minus(A, cross(w, b))), add(cross(b, times", "A), add(cross(b, times"),
    ("no rate of the axis", "dynamics.py", "swing = [w[1] * dqa[i], -w[0] * dqa[i]]", "swing = [0, 0]"),
    ("regressor with b and w exchanged", "dynamics.py", "[[w[r] * b[k] for k", "[[b[r] * w[k] for k"),
    ("curve without its square part", "tube.py", "Form(c[0] + c[2] / 2 + ball(rest), c[1])", "Form(c[0] + ball(rest), c[1])"),
    ("curve without its remainder", "tube.py", "Form(c[0] + c[2] / 2 + ball(rest), c[1])", "Form(c[0] + c[2] / 2, c[1])"),
    ("radius of e 3 % smaller", "check.py", "(root(2 * self.level / a) / tube[\"k_r\"]).upper() for a in self.lag", "(root(2 * self.level / a) / tube[\"k_r\"] * arb(0.97)).upper() for a in self.lag"),
    ("cells not extended by a tick", "tube.py", "arb(t1) + tube[\"h\"]", "arb(t1)"),
    ("no sensor error in q", "tube.py", "off_q = robot.sensors[\"position_rad\"] + fuzz(position)", "off_q = fuzz(position)"),
    ("no sensor error in dq", "tube.py", "off_dq = robot.sensors[\"velocity_rad_s\"] + fuzz(velocity, r_radius)", "off_dq = fuzz(velocity, r_radius)"),
    ("no rounding of torques", "tube.py", "torques.append((4 * ROUNDING * total).upper())", "torques.append(arb(0))"),
    ("no rounding of the law's power", "tube.py", "base = beta + ROUNDING * terms", "base = beta"),
    ("hold power without rounding", "tube.py", "    held += ROUNDING * (sum(", "    held += 0 * (sum("),
    ("hold power without misread r", "tube.py", "bounds[\"mismatch\"] + sum((off[\"r\"] * p for off, p in zip(cell.off, pull)), arb(0))", "bounds[\"mismatch\"] + arb(0)"),
    ("hold power without C r", "tube.py", "    held += h / 2 * turned * (bounds[\"rho\"] + bounds[\"norm\"])\n", ""),
    ("hold power without its own mismatch", "tube.py", "held = bounds[\"mismatch\"] + ", "held = "),
    ("drift without its rate", "tube.py", "(size(total) + each + read)", "read"),
    ("drift without the set's part", "tube.py", "(size(total) + each + read)", "(size(total) + read)"),
    ("drift without measurement errors", "tube.py", "(size(total) + each + read)", "(size(total) + each)"),
    ("drift without dr/dt through ddq_a", "tube.py", "(tube[\"k_r\"] * (pull[j] + coriolis[j]) + energy_rate * slope[j])", "(tube[\"k_r\"] * coriolis[j] + energy_rate * slope[j])"),
    ("drift without C r through ddq_a", "tube.py", "(tube[\"k_r\"] * (pull[j] + coriolis[j]) + energy_rate * slope[j])", "(tube[\"k_r\"] * pull[j] + energy_rate * slope[j])"),
    ("drift without dr/dt through dq", "tube.py", "(tube[\"k_r\"] * (pull[j] + coriolis[j]) + energy_rate * slope[j])", "(tube[\"k_r\"] * (pull[j] + coriolis[j]))"),
    ("dr/dt without C r", "tube.py", "energy_rate = bounds[\"rho\"] + bounds[\"norm\"] + turned", "energy_rate = bounds[\"rho\"] + bounds[\"norm\"]"),
    ("dr/dt without v", "tube.py", "energy_rate = bounds[\"rho\"] + bounds[\"norm\"] + turned", "energy_rate = bounds[\"rho\"] + turned"),
    ("slack without its position part", "tube.py", "slack = by_position + root(delta)", "slack = root(delta)"),
    ("slack without its speed part", "tube.py", "root(delta) * root(2 * (plan.level + by_position)) + delta / 2", "delta / 2"),
    ("slack without the square", "tube.py", "root(2 * (plan.level + by_position)) + delta / 2", "root(2 * (plan.level + by_position))"),
    ("acceleration without dr/dt", "tube.py", "size(cell.ddqa[j]) + energy_rate / plan.floor[j].sqrt()", "size(cell.ddqa[j])"),
    ("torque with 97 % of the robust part", "tube.py", "((nominal + v) * (1 + ROUNDING))", "((nominal + v * arb(0.97)) * (1 + ROUNDING))"),
    ("no far part of the robust torque", "tube.py", "largest(far, near)", "near"),
    ("no near part of the robust torque", "tube.py", "largest(far, near)", "far"),
    ("gain condition without the rest", "tube.py", "((1 / c + h * rest / z1**2)", "((1 / c)"),
    ("layer without its share", "tube.py", "share = arb(0.5) + (c - 1) ** 2 / (2 * (2 * c - 1))", "share = arb(0.5)"),
    ("no charge where the sign is in doubt", "tube.py", "plan.breakaway * (abs(c[COULOMB]) + g[COULOMB])", "g[COULOMB]"),
    ("no more than Coulomb friction to break away", "tube.py", "plan.breakaway * (abs(c[COULOMB]) + g[COULOMB])", "abs(c[COULOMB]) + g[COULOMB]"),
    ("gravity exactly as stated", "tube.py", "+ error[j] + tilted[j]", "+ error[j]"),
    ("drives do as they are told", "tube.py", "changed += misled[j] + robot", "changed += robot"),
    ("nothing unmodelled", "tube.py", "misled[j] + robot.drives[j][\"unmodelled_nm\"]", "misled[j]"),
    ("the joint bears the command alone", "tube.py", "joint.torque - command[j] - misled[j]", "joint.torque - command[j]"),
    ("gravity turned across only", "tube.py", " + size(dot(lever, gravity)) * (1 - angle.cos())", ""),
    ("rho without the drift", "tube.py", "+ charge + plan.tube[\"drift_nm\"][j] + error[j]", "+ charge + error[j]"),
    ("the set taken at 97 %", "tube.py", "each += size(y) * plan.radius[p]", "each += size(y) * plan.radius[p] * arb(0.97)"),
    ("the set taken at 97 % where signs are known", "tube.py", "y * (plan.radius[p] if lower(y) > 0", "y * (plan.radius[p] * arb(0.97) if lower(y) > 0"),
    ("the floor by links not proven", "tube.py", "    if not proven(low):\n        return arb(-1)\n", "    if not proven(low):\n        return low\n"),
    ("products of inertia not charged", "tube.py", "turning[a] + radius[p] * weight, turning[b] + radius[p] / weight", "turning[a], turning[b]"),
    ("first moments not charged", "tube.py", "moving[v] + off / arms[w], turning[w] + off * arms[w]", "moving[v], turning[w]"),
    ("distances without one radius", "robot.py", "/ dot(u, u).sqrt() - radii).lower()", "/ dot(u, u).sqrt() - radii * arb(0.9)).lower()"),
    ("obstacles without a generator", "robot.py", "for g in generators), arb(0))\n    return", "for g in generators[1:]), arb(0))\n    return"),
    ("obstacles that move stand still", "tube.py", "arb(cell.span[1]) + plan.tube[\"h\"]) if obstacle.moves else arb(0)", "arb(0)) * 0 if obstacle.moves else arb(0)"),
    ("obstacles that move 3 % slower", "check.py", "return (self.speed * (self.age + until)).upper()", "return (arb(0.97) * self.speed * (self.age + until)).upper()"),
    ("sightings are never old", "check.py", "self.speed * (self.age + until)", "self.speed * until"),
    ("what moves is where it was as the cell begins", "tube.py", "arb(cell.span[1]) + plan.tube", "arb(cell.span[0]) + plan.tube"),
    ("obstacles may jump from plan to plan", "check.py", "        for what in too_fast(plan, before):\n            raise Refused(what)\n", ""),
    ("strips without their half-width", "tube.py", "upper(mix(a.half, b.half)) + open_torque", "open_torque"),
    ("strips without what they leave open", "tube.py", "upper(mix(a.half, b.half)) + open_torque(plan, off)", "upper(mix(a.half, b.half))"),
    ("dropped columns of strips not charged", "check.py", "            half += sum((abs(x) * g for p, (x, g) in enumerate(zip(d, self.radius)) if p not in compared), arb(0))\n", ""),
    ("a switch may jump in speed", "check.py", "zip((\"position\", \"velocity\", \"acceleration\"), jump)", "zip((\"position\", \"acceleration\"), jump[::2])"),
    ("switches add nothing to V", "check.py", "excess = (((1 + excess).sqrt() + step) ** 2 - 1).upper()", "excess = arb(0)"),
]


def main():
    """Prints a line for each; gives the number of survivors."""
    survivors = 0
    wanted = sys.argv[1:]
    for title, file, text, other in MUTANTS:
        if wanted and not any(word in title for word in wanted):
            continue
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "check"
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            for name in ("robots", "tests", "docs"):
                (Path(folder) / name).symlink_to((HERE.parent / name).resolve())
            source = (copy / file).read_text()
            if source.count(text) != 1:
                print(f"{title}: found {source.count(text)} times in {file}", flush=True)
                survivors += 1
                continue
            (copy / file).write_text(source.replace(text, other))
            run = subprocess.run([sys.executable, "-m", "unittest", "discover", "-f", "-s", str(copy)], capture_output=True, text=True)
            failed = [line.split(":")[1].split("(")[0].strip() for line in run.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:"))]
            print(f"{title}: {failed[0] if failed else 'SURVIVES'}", flush=True)
            survivors += not failed
    print(f"{survivors} survive")
    return survivors


if __name__ == "__main__":
    sys.exit(min(main(), 1))
