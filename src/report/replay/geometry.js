/* Vectors, the camera, and meshes of capsules. Meshes are lists of [x y z, normal] by vertex, three vertices a triangle. */
function sub(a, b) { return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; }
function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}
function unit(a) {
  var length = Math.sqrt(dot(a, a));
  return length > 1e-12 ? [a[0] / length, a[1] / length, a[2] / length] : [0, 0, 1];
}
/* Two directions that are at right angles to each other and to the axis. */
function frame(axis) {
  var other = Math.abs(axis[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  var u = unit(cross(other, axis));
  return [u, cross(axis, u)];
}

/* Circles of latitude of a ball, both hemispheres: [height, radius, which end]. */
function rings(halves) {
  var list = [];
  for (var end = 0; end < 2; end++) {
    for (var k = 0; k <= halves; k++) {
      var angle = 0.5 * Math.PI * (end === 0 ? k / halves - 1 : k / halves);
      list.push([Math.sin(angle), Math.cos(angle), end]);
    }
  }
  return list;
}

/* A capsule of unit radii about the z-axis: vertices [normal, end] for a shader that places the ends. */
function unitCapsule(around, halves) {
  var list = rings(halves), out = [];
  function vertex(ring, k) {
    var angle = 2 * Math.PI * k / around;
    out.push(ring[1] * Math.cos(angle), ring[1] * Math.sin(angle), ring[0], ring[2]);
  }
  for (var r = 0; r + 1 < list.length; r++) {
    for (var k = 0; k < around; k++) {
      vertex(list[r], k); vertex(list[r], k + 1); vertex(list[r + 1], k + 1);
      vertex(list[r], k); vertex(list[r + 1], k + 1); vertex(list[r + 1], k);
    }
  }
  return new Float32Array(out);
}

/* Capsules [a, b, radii] as one mesh of vertices [place, normal]. */
function capsuleMesh(list, mesh) {
  var out = new Float32Array(list.length * mesh.length / 4 * 6), at = 0;
  list.forEach(function (capsule) {
    var a = capsule[0], b = capsule[1], axis = unit(sub(b, a)), side = frame(axis), u = side[0], v = side[1];
    for (var i = 0; i < mesh.length; i += 4) {
      var x = mesh[i], y = mesh[i + 1], z = mesh[i + 2], end = mesh[i + 3];
      var from = end ? b : a, radius = capsule[2][end];
      for (var k = 0; k < 3; k++) {
        var n = u[k] * x + v[k] * y + axis[k] * z;
        out[at + k] = from[k] + radius * n;
        out[at + 3 + k] = n;
      }
      at += 6;
    }
  });
  return out;
}

/* All that the certificate of a plan covers, as capsules [a, b, radii]: between the ends of each cell as many as leave no gaps. */
function sweptCapsules(run, plan) {
  var list = [];
  run.moving.forEach(function (shape, m) {
    var radius = run.shapes[shape].radius;
    for (var cell = 0; cell < plan.cells; cell++) {
      var at = cell * plan.width + 14 * m, row = plan.rows.subarray(at, at + 14);
      var way = 0;
      for (var end = 0; end < 2; end++) {
        var from = [row[3 * end], row[3 * end + 1], row[3 * end + 2]];
        var to = [row[6 + 3 * end], row[7 + 3 * end], row[8 + 3 * end]];
        var d = sub(to, from);
        way = Math.max(way, Math.sqrt(dot(d, d)));
      }
      var steps = Math.min(Math.max(Math.ceil(way / (0.6 * radius)), 1), 4);
      for (var k = 0; k < steps + (cell + 1 === plan.cells ? 1 : 0); k++) {
        var share = k / steps;
        var p = [0, 1, 2, 3, 4, 5].map(function (i) { return row[i] + share * (row[6 + i] - row[i]); });
        list.push([p.slice(0, 3), p.slice(3), [radius + row[12], radius + row[13]]]);
      }
    }
  });
  return list;
}

/* Column-major products of 4 by 4 matrices, and the camera's. */
function times(a, b) {
  var out = new Float32Array(16);
  for (var c = 0; c < 4; c++) {
    for (var r = 0; r < 4; r++) {
      var sum = 0;
      for (var k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
  }
  return out;
}

function cameraOf(view, aspect) {
  var ce = Math.cos(view.elevation), se = Math.sin(view.elevation);
  var back = [ce * Math.cos(view.azimuth), ce * Math.sin(view.azimuth), se];
  var eye = [0, 1, 2].map(function (k) { return view.target[k] + view.distance * back[k]; });
  var right = unit(cross([0, 0, 1], back)), up = cross(back, right);
  var look = new Float32Array([
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1
  ]);
  /* The narrower side of the stage sees 36 degrees. */
  var near = 0.02 * view.distance, far = 20 * view.distance + 10;
  var tall = Math.tan(0.5 * 36 * Math.PI / 180) / Math.min(1, aspect);
  var lens = new Float32Array([
    1 / (tall * aspect), 0, 0, 0, 0, 1 / tall, 0, 0, 0, 0, (far + near) / (near - far), -1,
    0, 0, 2 * far * near / (near - far), 0
  ]);
  return { eye: eye, right: right, up: up, back: back, tall: tall, matrix: times(lens, look) };
}

/* Where a point is on a stage of this size, in its units, and how far away; null behind the eye. */
function onStage(camera, p, width, height) {
  var m = camera.matrix, w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15];
  if (w < 1e-3) return null;
  var x = (m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w;
  var y = (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w;
  return [0.5 * width * (1 + x), 0.5 * height * (1 - y), w];
}
