/* Drawing by WebGL. Null where the browser has none. */
function webglStage(canvas) {
  var options = { antialias: true, stencil: true, premultipliedAlpha: true };
  var gl = canvas.getContext("webgl", options);
  if (!gl) return null;
  var shade =
    "precision mediump float; varying vec3 n; varying vec3 toEye; uniform vec4 color; uniform float flatness;" +
    "void main() { vec3 u = normalize(n); float sun = max(dot(u, normalize(vec3(0.35, -0.45, 0.9))), 0.0);" +
    "float sky = 0.5 + 0.5 * u.z; float rim = 1.0 - abs(dot(u, normalize(toEye)));" +
    "vec3 c = color.rgb * mix(0.46 + 0.26 * sky + 0.40 * sun - 0.16 * rim, 1.0, flatness);" +
    "gl_FragColor = vec4(c * color.a, color.a); }";
  var capsuleShader =
    "attribute vec4 corner; uniform mat4 view; uniform vec3 a; uniform vec3 b; uniform vec2 radii; uniform vec3 eye;" +
    "uniform mat3 turn; uniform vec2 floorAt; varying vec3 n; varying vec3 toEye;" +
    "void main() { n = turn * corner.xyz; vec3 p = mix(a, b, corner.w) + mix(radii.x, radii.y, corner.w) * n;" +
    "if (floorAt.y > 0.5) { p.xy -= (p.z - floorAt.x) * vec2(0.2, -0.25); p.z = floorAt.x; }" +
    "toEye = eye - p; gl_Position = view * vec4(p, 1.0); }";
  var meshShader =
    "attribute vec3 place; attribute vec3 normal; uniform mat4 view; uniform vec3 moved; uniform vec3 eye;" +
    "varying vec3 n; varying vec3 toEye;" +
    "void main() { vec3 p = place + moved; n = normal; toEye = eye - p; gl_Position = view * vec4(p, 1.0); }";

  function program(vertex) {
    var made = gl.createProgram();
    [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, shade]].forEach(function (part) {
      var shader = gl.createShader(part[0]);
      gl.shaderSource(shader, part[1]);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    });
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) return null;
    var at = { program: made };
    var count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
    for (var i = 0; i < count; i++) {
      var name = gl.getActiveUniform(made, i).name;
      at[name] = gl.getUniformLocation(made, name);
    }
    ["corner", "place", "normal"].forEach(function (name) { at["_" + name] = gl.getAttribLocation(made, name); });
    return at;
  }
  var capsules = program(capsuleShader), meshes = program(meshShader);
  if (!capsules || !meshes) return null;

  function buffer(list) {
    var made = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, list instanceof Float32Array ? list : new Float32Array(list), gl.STATIC_DRAW);
    return { buffer: made, count: list.length / 6 };
  }
  var round = unitCapsule(28, 7), coarse = unitCapsule(14, 3), thin = unitCapsule(6, 1);
  var corner = buffer(round), corners = round.length / 4;
  var fixed = {}, sweptOf = -1, swept = null;

  /* Faces and edges of the obstacles, the grid, the axes and the path of the hand do not change. */
  function prepare(scene) {
    fixed.obstacles = scene.run.obstacles.map(function (obstacle) {
      var faces = [], edges = [];
      obstacle.faces.forEach(function (face) {
        var n = unit(cross(sub(face[1], face[0]), sub(face[2], face[1])));
        for (var k = 1; k + 1 < face.length; k++) {
          [face[0], face[k], face[k + 1]].forEach(function (p) { faces.push(p[0], p[1], p[2], n[0], n[1], n[2]); });
        }
        face.forEach(function (p, k) {
          [p, face[(k + 1) % face.length]].forEach(function (q) { edges.push(q[0], q[1], q[2], 0, 0, 1); });
        });
      });
      return { faces: buffer(faces), edges: buffer(edges) };
    });
    var grid = [];
    scene.grid.forEach(function (line) { line.forEach(function (p) { grid.push(p[0], p[1], p[2], 0, 0, 1); }); });
    fixed.grid = buffer(grid);
    fixed.axes = scene.axes.map(function (axis) {
      return buffer(capsuleMesh([[[0, 0, 0], axis.tip, [0.006, 0.006]]], thin));
    });
    var path = [];
    for (var k = 0; k + 1 < scene.path.length; k++) path.push([scene.path[k], scene.path[k + 1], [0.004, 0.004]]);
    fixed.path = buffer(capsuleMesh(path, thin));
    fixed.step = thin.length / 4;
  }

  function mesh(part, mode, color, camera, moved, flatness, first, count) {
    gl.useProgram(meshes.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, part.buffer);
    gl.disableVertexAttribArray(capsules._corner);
    gl.enableVertexAttribArray(meshes._place);
    gl.enableVertexAttribArray(meshes._normal);
    gl.vertexAttribPointer(meshes._place, 3, gl.FLOAT, false, 24, 0);
    gl.vertexAttribPointer(meshes._normal, 3, gl.FLOAT, false, 24, 12);
    gl.uniformMatrix4fv(meshes.view, false, camera.matrix);
    gl.uniform3fv(meshes.moved, moved || [0, 0, 0]);
    gl.uniform3fv(meshes.eye, camera.eye);
    gl.uniform4fv(meshes.color, color);
    gl.uniform1f(meshes.flatness, flatness);
    gl.drawArrays(mode, first || 0, count === undefined ? part.count : count);
  }

  function beginCapsules(camera, floorAt, shadow) {
    gl.useProgram(capsules.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, corner.buffer);
    gl.disableVertexAttribArray(meshes._place);
    gl.disableVertexAttribArray(meshes._normal);
    gl.enableVertexAttribArray(capsules._corner);
    gl.vertexAttribPointer(capsules._corner, 4, gl.FLOAT, false, 16, 0);
    gl.uniformMatrix4fv(capsules.view, false, camera.matrix);
    gl.uniform3fv(capsules.eye, camera.eye);
    gl.uniform2f(capsules.floorAt, floorAt, shadow ? 1 : 0);
  }

  function capsule(a, b, radius, color, flatness) {
    var axis = unit(sub(b, a)), side = frame(axis);
    gl.uniform3fv(capsules.a, a);
    gl.uniform3fv(capsules.b, b);
    gl.uniform2f(capsules.radii, radius, radius);
    gl.uniformMatrix3fv(capsules.turn, false, side[0].concat(side[1], axis));
    gl.uniform4fv(capsules.color, color);
    gl.uniform1f(capsules.flatness, flatness);
    gl.drawArrays(gl.TRIANGLES, 0, corners);
  }

  function arm(scene, color) {
    scene.capsules.forEach(function (link) { capsule(link.a, link.b, link.radius, color || link.color, color ? 1 : 0); });
  }

  function certified(scene, camera) {
    if (!scene.swept) return;
    if (sweptOf !== scene.swept.number) {
      if (swept) gl.deleteBuffer(swept.buffer);
      /* Flat sides round a circle: large enough to hold it. */
      var list = scene.swept.capsules().map(function (part) {
        return [part[0], part[1], part[2].map(function (radius) { return radius / Math.cos(Math.PI / 14); })];
      });
      swept = buffer(capsuleMesh(list, coarse));
      sweptOf = scene.swept.number;
    }
    /* Its surface alone: the nearest layer first into the depth buffer, then in colour. */
    gl.colorMask(false, false, false, false);
    mesh(swept, gl.TRIANGLES, [0, 0, 0, 1], camera, null, 0);
    gl.colorMask(true, true, true, true);
    mesh(swept, gl.TRIANGLES, scene.colors.swept, camera, null, 0.35);
  }

  function obstacles(scene, camera) {
    var order = scene.obstacles.map(function (obstacle, k) {
      var d = sub(obstacle.center, camera.eye);
      return [dot(d, d), k];
    }).sort(function (a, b) { return b[0] - a[0]; });
    gl.depthMask(false);
    gl.enable(gl.CULL_FACE);
    order.forEach(function (entry) {
      var obstacle = scene.obstacles[entry[1]], parts = fixed.obstacles[entry[1]], c = obstacle.color;
      mesh(parts.faces, gl.TRIANGLES, c, camera, obstacle.center, 0);
      mesh(parts.edges, gl.LINES, [c[0], c[1], c[2], 0.75], camera, obstacle.center, 1);
    });
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
  }

  function shadow(scene, camera) {
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    beginCapsules(camera, scene.floor + 0.002, true);
    arm(scene, scene.colors.shadow);
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
  }

  return {
    name: "webgl",
    draw: function (scene, camera) {
      if (!fixed.grid) prepare(scene);
      var back = scene.colors.back;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(back[0], back[1], back[2], 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.depthFunc(gl.LEQUAL);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      mesh(fixed.grid, gl.LINES, scene.colors.grid, camera, null, 1);
      shadow(scene, camera);
      scene.axes.forEach(function (axis, k) { mesh(fixed.axes[k], gl.TRIANGLES, axis.color, camera, null, 0.3); });
      beginCapsules(camera, 0, false);
      arm(scene, null);
      if (scene.showPath) {
        var past = scene.pathAt * fixed.step;
        mesh(fixed.path, gl.TRIANGLES, scene.colors.path, camera, null, 0.5, 0, past);
        mesh(fixed.path, gl.TRIANGLES, scene.colors.ahead, camera, null, 0.5, past, fixed.path.count - past);
      }
      obstacles(scene, camera);
      certified(scene, camera);
    }
  };
}
