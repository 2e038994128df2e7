/* Drawing on a plain canvas where there is no WebGL: everything in small pieces, the farthest first. */
function flatStage(canvas) {
  var pen = canvas.getContext("2d");
  if (!pen) return null;
  function css(color, light) {
    var c = [0, 1, 2].map(function (k) { return Math.round(255 * Math.min(1, color[k] * light)); });
    return "rgba(" + c.join(",") + "," + color[3] + ")";
  }
  var sweptOf = -1, swept = [], layer = document.createElement("canvas");
  return {
    name: "canvas",
    draw: function (scene, camera) {
      var width = canvas.width, height = canvas.height, pieces = [];
      var scale = 0.5 * height / camera.tall;
      function place(p) { return onStage(camera, p, width, height); }
      function line(a, b, radius, color, light) {
        var p = place(a), q = place(b);
        if (p && q) pieces.push({ far: 0.5 * (p[2] + q[2]), line: [p, q], wide: radius, color: css(color, light) });
      }
      function stick(a, b, radius, color) {
        var d = sub(b, a), count = Math.max(1, Math.ceil(Math.sqrt(dot(d, d)) / 0.04));
        for (var k = 0; k < count; k++) {
          var ends = [k / count, (k + 1) / count].map(function (s) {
            return [a[0] + s * d[0], a[1] + s * d[1], a[2] + s * d[2]];
          });
          /* From the dark outline to the light along the middle. */
          [[1, 0.7], [0.8, 0.88], [0.45, 1.02]].forEach(function (ring) {
            line(ends[0], ends[1], radius * ring[0], color, ring[1]);
            pieces.length && (pieces[pieces.length - 1].far -= radius * (1 - ring[0]));
          });
        }
      }
      scene.grid.forEach(function (ends) { line(ends[0], ends[1], 0, scene.colors.grid, 1); });
      pieces.forEach(function (piece) { piece.far += 1000; });
      scene.axes.forEach(function (axis) { line([0, 0, 0], axis.tip, 0.006, axis.color, 1); });
      scene.capsules.forEach(function (link) { stick(link.a, link.b, link.radius, link.color); });
      if (scene.showPath) {
        for (var k = 0; k + 1 < scene.path.length; k++) {
          line(scene.path[k], scene.path[k + 1], 0.004, k < scene.pathAt ? scene.colors.path : scene.colors.ahead, 1);
        }
      }
      scene.obstacles.forEach(function (obstacle, k) {
        scene.run.obstacles[k].faces.forEach(function (face) {
          var n = cross(sub(face[1], face[0]), sub(face[2], face[1]));
          var at = face.map(function (p) { return [0, 1, 2].map(function (i) { return p[i] + obstacle.center[i]; }); });
          if (dot(n, sub(camera.eye, at[0])) <= 0) return;
          var seen = at.map(place);
          if (seen.indexOf(null) >= 0) return;
          var far = seen.reduce(function (sum, p) { return sum + p[2]; }, 0) / seen.length;
          pieces.push({ far: far, face: seen, color: css(obstacle.color, 0.75 + 0.3 * unit(n)[2]), edge: css(obstacle.color.slice(0, 3).concat(0.75), 1) });
        });
      });
      if (scene.swept) {
        if (sweptOf !== scene.swept.number) {
          swept = scene.swept.capsules();
          sweptOf = scene.swept.number;
        }
      }
      pieces.sort(function (a, b) { return b.far - a.far; });
      pen.fillStyle = css(scene.colors.back, 1);
      pen.fillRect(0, 0, width, height);
      pen.lineCap = "round";
      pen.lineJoin = "round";
      pieces.forEach(function (piece) {
        pen.beginPath();
        (piece.line || piece.face).forEach(function (p, k) { if (k) pen.lineTo(p[0], p[1]); else pen.moveTo(p[0], p[1]); });
        if (piece.line) {
          pen.strokeStyle = piece.color;
          pen.lineWidth = Math.max(1, 2 * piece.wide * scale / piece.line[0][2]);
        } else {
          pen.closePath();
          pen.fillStyle = piece.color;
          pen.fill();
          pen.strokeStyle = piece.edge;
          pen.lineWidth = 1;
        }
        pen.stroke();
      });
      if (!scene.swept) return;
      /* All of it at once in full colour, and then faintly over the rest. */
      layer.width = width;
      layer.height = height;
      var brush = layer.getContext("2d");
      brush.lineCap = "round";
      brush.strokeStyle = css(scene.colors.swept.slice(0, 3).concat(1), 1);
      swept.forEach(function (part) {
        var p = place(part[0]), q = place(part[1]);
        if (!p || !q) return;
        brush.lineWidth = 2 * Math.max(part[2][0], part[2][1]) * scale / (0.5 * (p[2] + q[2]));
        brush.beginPath();
        brush.moveTo(p[0], p[1]);
        brush.lineTo(q[0], q[1]);
        brush.stroke();
      });
      pen.globalAlpha = scene.colors.swept[3];
      pen.drawImage(layer, 0, 0);
      pen.globalAlpha = 1;
    }
  };
}
