/* The data of the page in metres and seconds. Rows are written as what they differ from the row before. */
function decode(data) {
  function rows(list, width, unit) {
    var out = new Float64Array(list.length), sum = new Float64Array(width);
    for (var i = 0; i < list.length; i++) {
      sum[i % width] += list[i];
      out[i] = sum[i % width] * unit;
    }
    return out;
  }
  var unit = data.quantum_m, moving = [];
  var run = { shapes: data.shapes, moving: moving, obstacles: data.obstacles, plans: data.plans };
  data.shapes.forEach(function (shape, k) {
    shape.radius *= unit;
    if (shape.owner !== "base") moving.push(k);
  });
  var seen = 6 * data.shapes.length;
  data.obstacles.forEach(function (obstacle) {
    obstacle.center = obstacle.center.map(function (x) { return x * unit; });
    obstacle.faces = obstacle.faces.map(function (face) {
      var corners = [];
      for (var i = 0; i < face.length; i += 3) {
        corners.push([face[i] * unit, face[i + 1] * unit, face[i + 2] * unit]);
      }
      return corners;
    });
    /* Where its centre is in a pose. */
    obstacle.at = obstacle.moves ? seen : -1;
    if (obstacle.moves) seen += 3;
  });
  run.width = seen;
  run.t = rows(data.t_ms, 1, 1e-3);
  run.poses = rows(data.poses, seen, unit);
  data.plans.forEach(function (plan) {
    plan.width = 14 * moving.length;
    plan.rows = rows(plan.swept, plan.width, unit);
  });
  run.end = run.t[run.t.length - 1];
  /* The pose before time t, and how far it is to the next. */
  run.before = function (t) {
    var low = 0, high = run.t.length - 1;
    while (high - low > 1) {
      var middle = (low + high) >> 1;
      if (run.t[middle] <= t) low = middle; else high = middle;
    }
    var span = run.t[high] - run.t[low];
    var share = span > 0 ? Math.min(Math.max((t - run.t[low]) / span, 0), 1) : 0;
    return { low: low, high: high, share: share };
  };
  run.pose = function (t) {
    var at = run.before(t), out = new Float64Array(seen);
    for (var i = 0; i < seen; i++) {
      var a = run.poses[at.low * seen + i];
      out[i] = a + at.share * (run.poses[at.high * seen + i] - a);
    }
    return out;
  };
  /* The plan that is in force at time t; -1 before the first. */
  run.plan = function (t) {
    var found = -1;
    run.plans.forEach(function (plan, k) { if (plan.t <= t + 1e-9) found = k; });
    return found;
  };
  return run;
}
