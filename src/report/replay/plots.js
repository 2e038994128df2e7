/* A line in every plot over time that shows where the replay is; a click in a plot goes there. */
function followPlots(seek) {
  var list = [].slice.call(document.querySelectorAll("svg[data-axes]")).map(function (svg) {
    var axes = svg.getAttribute("data-axes").split(" ").map(Number);
    var line = document.createElementNS(svg.namespaceURI, "line");
    line.setAttribute("class", "now");
    line.setAttribute("y1", axes[2]);
    line.setAttribute("y2", axes[3]);
    svg.appendChild(line);
    svg.classList.add("timed");
    function go(event) {
      var box = svg.getBoundingClientRect(), across = svg.viewBox.baseVal.width;
      var x = (event.clientX - box.left) / box.width * across;
      seek(Math.min(Math.max((x - axes[0]) / (axes[1] - axes[0]), 0), 1) * axes[4]);
    }
    svg.addEventListener("pointerdown", go);
    svg.addEventListener("pointermove", function (event) { if (event.buttons & 1) go(event); });
    return { line: line, axes: axes };
  });
  return function (t) {
    list.forEach(function (plot) {
      var a = plot.axes, x = (a[0] + Math.min(Math.max(t / a[4], 0), 1) * (a[1] - a[0])).toFixed(1);
      plot.line.setAttribute("x1", x);
      plot.line.setAttribute("x2", x);
    });
  };
}
