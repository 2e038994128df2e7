/* The controls: time, camera, what is shown. */
var root = document.querySelector(".replay");
var run = decode(JSON.parse(document.getElementById("replay-data").textContent));
var canvas = root.querySelector("canvas"), stage = webglStage(canvas);
if (!stage) {
  /* A canvas that has been asked for WebGL gives nothing else. */
  var fresh = canvas.cloneNode(true);
  canvas.parentNode.replaceChild(fresh, canvas);
  canvas = fresh;
  stage = flatStage(canvas);
}
function find(name) { return root.querySelector(name); }
var slider = find(".time"), clock = find(".clock"), play = find(".play"), speed = find(".speed"), say = find(".say");
var labels = find(".labels"), showSwept = find(".swept"), showPath = find(".trail"), showNames = find(".names");
var now = 0, playing = false, last = 0, asked = false, colors = null, drawn = 0;
var PHASES = { excite: "learning", carry: "carrying", path: "on the given path" };

/* What is where: the hand's path, all that the arm needs, and the lowest of all. */
function survey() {
  var hand = run.moving.length ? run.moving[run.moving.length - 1] : 0, path = [];
  var low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], floor = 0;
  var step = Math.max(1, Math.ceil(run.t.length / 400));
  function within(p, radius) {
    for (var k = 0; k < 3; k++) {
      low[k] = Math.min(low[k], p[k] - radius);
      high[k] = Math.max(high[k], p[k] + radius);
    }
  }
  for (var i = 0; i < run.t.length; i++) {
    run.shapes.forEach(function (shape, k) {
      for (var end = 0; end < 2; end++) {
        var at = i * run.width + 6 * k + 3 * end, p = [run.poses[at], run.poses[at + 1], run.poses[at + 2]];
        within(p, shape.radius);
        if (k === hand && end === 1 && i % step === 0) path.push([p[0], p[1], p[2], run.t[i]]);
      }
    });
  }
  floor = Math.min(0, low[2]);
  run.obstacles.forEach(function (obstacle) {
    obstacle.faces.forEach(function (face) {
      face.forEach(function (p) { floor = Math.min(floor, obstacle.center[2] + p[2]); });
    });
  });
  floor = Math.max(floor, low[2] - 1.5);
  /* In sight: all that the arm takes, down to the floor. */
  low[2] = Math.max(floor, low[2] - 0.3);
  var reach = 0.5 * Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
  var center = [0, 1, 2].map(function (k) { return 0.5 * (low[k] + high[k]); });
  return { path: path, floor: floor, reach: Math.max(reach, 0.2), center: center };
}
var seen = survey();
var first = { azimuth: -0.95, elevation: 0.42, distance: 4.5 * seen.reach, target: seen.center };
var view = null;
function reset() {
  view = { azimuth: first.azimuth, elevation: first.elevation, distance: first.distance, target: first.target.slice() };
}
reset();

function grid() {
  var lines = [], step = seen.reach > 1.5 ? 0.5 : 0.25, half = Math.ceil(1.9 * seen.reach / step) * step, z = seen.floor;
  for (var x = -half; x <= half + 1e-9; x += step) {
    lines.push([[x, -half, z], [x, half, z]], [[-half, x, z], [half, x, z]]);
  }
  return lines;
}

function readColors() {
  var style = getComputedStyle(document.documentElement);
  function color(name, alpha) {
    var hex = style.getPropertyValue(name).trim().replace("#", "");
    if (hex.length === 3) hex = hex.replace(/./g, "$&$&");
    return [0, 2, 4].map(function (k) { return parseInt(hex.substr(k, 2), 16) / 255; }).concat(alpha);
  }
  function mix(a, b, share) { return a.map(function (x, k) { return x + share * (b[k] - x); }); }
  var card = color("--card", 1), ink = color("--ink", 1), dark = card[0] < 0.5;
  var link = dark ? [0.66, 0.70, 0.76, 1] : [0.80, 0.83, 0.87, 1];
  colors = {
    back: card, grid: color("--line", 1), shadow: [0, 0, 0, dark ? 0.45 : 0.13],
    links: [link, mix(link, ink, dark ? 0.22 : 0.16)], base: mix(link, dark ? card : ink, 0.3),
    payload: color("--c1", 1), still: color("--c5", dark ? 0.34 : 0.30), moving: color("--c4", 0.45),
    path: color("--c2", 1), ahead: mix(color("--c2", 1), card, 0.62), swept: color("--c0", dark ? 0.30 : 0.24),
    axes: [[0.80, 0.27, 0.25, 1], [0.25, 0.62, 0.33, 1], [0.25, 0.45, 0.85, 1]]
  };
}

var still = { grid: grid(), axes: [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(function (u) {
  return u.map(function (x) { return 0.3 * seen.reach * x; });
}) };

function sceneAt(t) {
  var pose = run.pose(t), number = run.plan(t), plan = run.plans[number], owners = 0;
  var scene = { run: run, colors: colors, grid: still.grid, floor: seen.floor, path: seen.path, showPath: showPath.checked };
  scene.axes = still.axes.map(function (tip, k) { return { tip: tip, color: colors.axes[k] }; });
  scene.capsules = run.shapes.map(function (shape, k) {
    var color = shape.owner === "payload" ? colors.payload : shape.owner === "base" ? colors.base : colors.links[owners++ % 2];
    return { a: [pose[6 * k], pose[6 * k + 1], pose[6 * k + 2]], b: [pose[6 * k + 3], pose[6 * k + 4], pose[6 * k + 5]], radius: shape.radius, color: color };
  });
  scene.obstacles = run.obstacles.map(function (obstacle) {
    var at = obstacle.at, center = at < 0 ? obstacle.center : [pose[at], pose[at + 1], pose[at + 2]];
    return { center: center, color: obstacle.moves ? colors.moving : colors.still };
  });
  scene.pathAt = 0;
  while (scene.pathAt + 1 < seen.path.length && seen.path[scene.pathAt + 1][3] <= t) scene.pathAt++;
  if (showSwept.checked && plan) {
    scene.swept = { number: number, capsules: function () { return sweptCapsules(run, plan); } };
  }
  return scene;
}

function label(text, p, camera) {
  var at = onStage(camera, p, canvas.clientWidth, canvas.clientHeight);
  if (!at) return;
  var span = document.createElement("span");
  span.textContent = text;
  span.style.transform = "translate(" + at[0].toFixed(1) + "px," + at[1].toFixed(1) + "px) translate(-50%,-50%)";
  labels.appendChild(span);
}

function draw() {
  asked = false;
  var ratio = Math.min(window.devicePixelRatio || 1, 2);
  var width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  if (!colors) readColors();
  var scene = sceneAt(now), camera = cameraOf(view, width / height);
  stage.draw(scene, camera);
  labels.textContent = "";
  still.axes.forEach(function (tip, k) {
    label("xyz"[k], tip.map(function (x) { return 1.13 * x; }), camera);
  });
  if (showNames.checked) {
    scene.obstacles.forEach(function (obstacle, k) { label(run.obstacles[k].name, obstacle.center, camera); });
    scene.capsules.forEach(function (link, k) {
      if (run.shapes[k].owner !== "payload") return;
      label(run.shapes[k].name, [0, 1, 2].map(function (i) { return 0.5 * (link.a[i] + link.b[i]); }), camera);
    });
  }
  drawn++;
  root.setAttribute("data-frames", drawn);
}
function ask() {
  if (!asked) {
    asked = true;
    requestAnimationFrame(draw);
  }
}

var follow = followPlots(seek);
function seek(t) {
  now = Math.min(Math.max(t, 0), run.end);
  slider.value = Math.round(1000 * now);
  clock.textContent = now.toFixed(2) + " s";
  slider.setAttribute("aria-valuetext", now.toFixed(2) + " seconds");
  var plan = run.plans[run.plan(now)], words = "before the first plan";
  if (plan) {
    words = "plan " + (plan.number === null ? "?" : plan.number) + ", " + (PHASES[plan.phase] || plan.phase);
    if (now > plan.t + plan.duration + 1e-9) words = "at rest after " + words;
  }
  say.textContent = "";
  var bold = document.createElement("b");
  bold.textContent = now.toFixed(2) + " s";
  say.appendChild(bold);
  say.appendChild(document.createTextNode("  " + words));
  root.setAttribute("data-t", now.toFixed(3));
  follow(now);
  ask();
}

var ICONS = ["M3 1.5v13l11-6.5z", "M3 1.5h3.5v13H3zM9.5 1.5H13v13H9.5z"];
function setPlaying(on) {
  playing = on;
  if (on && now >= run.end - 1e-3) seek(0);
  play.setAttribute("aria-label", on ? "Pause" : "Play");
  play.querySelector("path").setAttribute("d", ICONS[on ? 1 : 0]);
  last = 0;
  if (on) requestAnimationFrame(tick);
}
function tick(time) {
  if (!playing) return;
  if (last) seek(now + Math.min(time - last, 250) * 1e-3 * Number(speed.value));
  last = time;
  if (now >= run.end) setPlaying(false); else requestAnimationFrame(tick);
}

slider.max = Math.round(1000 * run.end);
slider.addEventListener("input", function () { setPlaying(false); seek(Number(slider.value) * 1e-3); });
play.addEventListener("click", function () { setPlaying(!playing); });
[showSwept, showPath, showNames].forEach(function (box) { box.addEventListener("change", ask); });
[].forEach.call(root.querySelectorAll("[data-seek]"), function (button) {
  button.addEventListener("click", function () { setPlaying(false); seek(Number(button.getAttribute("data-seek"))); });
});

function zoom(factor) {
  view.distance = Math.min(Math.max(view.distance * factor, 0.3 * seen.reach), 30 * seen.reach);
  ask();
}
[].forEach.call(root.querySelectorAll("[data-zoom]"), function (button) {
  button.addEventListener("click", function () { zoom(Number(button.getAttribute("data-zoom"))); });
});
find("[data-reset]").addEventListener("click", function () { reset(); ask(); });

function orbit(right, up) {
  view.azimuth -= right;
  view.elevation = Math.min(Math.max(view.elevation + up, -1.5), 1.5);
  ask();
}
function move(dx, dy) {
  var camera = cameraOf(view, canvas.clientWidth / canvas.clientHeight);
  var size = 2 * camera.tall * view.distance / canvas.clientHeight;
  for (var k = 0; k < 3; k++) view.target[k] += size * (dy * camera.up[k] - dx * camera.right[k]);
  ask();
}

/* One pointer turns, or moves with the right button or shift; two move and pinch. */
var pointers = {};
function spread() {
  var ids = Object.keys(pointers), a = pointers[ids[0]], b = pointers[ids[1]];
  return { x: 0.5 * (a.x + b.x), y: 0.5 * (a.y + b.y), wide: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
}
canvas.addEventListener("pointerdown", function (event) {
  pointers[event.pointerId] = { x: event.clientX, y: event.clientY };
  try { canvas.setPointerCapture(event.pointerId); } catch (none) { /* A pointer that is gone already. */ }
});
canvas.addEventListener("pointermove", function (event) {
  var before = pointers[event.pointerId];
  if (!before) return;
  var count = Object.keys(pointers).length, pair = count === 2 ? spread() : null;
  var dx = event.clientX - before.x, dy = event.clientY - before.y;
  before.x = event.clientX;
  before.y = event.clientY;
  if (pair) {
    var after = spread();
    move(after.x - pair.x, after.y - pair.y);
    zoom(pair.wide / after.wide);
  } else if (count === 1 && (event.buttons & 2 || event.shiftKey)) {
    move(dx, dy);
  } else if (count === 1) {
    orbit(0.007 * dx, 0.007 * dy);
  }
});
["pointerup", "pointercancel", "lostpointercapture"].forEach(function (name) {
  canvas.addEventListener(name, function (event) { delete pointers[event.pointerId]; });
});
canvas.addEventListener("contextmenu", function (event) { event.preventDefault(); });
canvas.addEventListener("wheel", function (event) {
  if (document.activeElement !== canvas && !event.ctrlKey) return;
  event.preventDefault();
  zoom(Math.exp((event.deltaMode ? 30 : 1) * 0.0012 * event.deltaY));
}, { passive: false });

root.addEventListener("keydown", function (event) {
  var on = event.target, typing = on === speed, way = event.shiftKey ? 1 : 0.1;
  if (event.altKey || event.ctrlKey || event.metaKey || typing) return;
  var acts = {
    "ArrowLeft": function () { seek(now - way); }, "ArrowRight": function () { seek(now + way); },
    "ArrowUp": function () { orbit(0, 0.08); }, "ArrowDown": function () { orbit(0, -0.08); },
    "Home": function () { seek(0); }, "End": function () { seek(run.end); },
    "a": function () { orbit(0.08, 0); }, "d": function () { orbit(-0.08, 0); },
    "+": function () { zoom(0.87); }, "=": function () { zoom(0.87); }, "-": function () { zoom(1.15); },
    "0": function () { reset(); ask(); }, "c": function () { showSwept.click(); }
  };
  if (event.key === " " && (on === canvas || on === slider)) acts[" "] = function () { setPlaying(!playing); };
  var act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  if (event.key.indexOf("Arrow") === 0 || event.key === "Home" || event.key === "End") setPlaying(false);
  act();
});

canvas.addEventListener("webglcontextlost", function (event) { event.preventDefault(); });
canvas.addEventListener("webglcontextrestored", function () { stage = webglStage(canvas) || stage; ask(); });
window.addEventListener("resize", ask);
window.addEventListener("beforeprint", draw);
if (window.matchMedia) {
  var theme = window.matchMedia("(prefers-color-scheme: dark)");
  if (theme.addEventListener) theme.addEventListener("change", function () { colors = null; ask(); });
}
root.setAttribute("data-renderer", stage.name);
seek(0);
