/* Uses the replay as a person would, and sends what it found to where the page came from. */
(async () => {
  const root = document.querySelector(".replay"), found = {};
  const find = (name) => root.querySelector(name);
  const canvas = () => find("canvas");
  const seconds = () => Number(root.getAttribute("data-t"));
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const send = (target, event) => target.dispatchEvent(event);
  /* What is on the stage, small: drawn and read in the same frame. */
  const picture = () => new Promise((done) => {
    send(window, new Event("resize"));
    requestAnimationFrame(() => {
      const copy = document.createElement("canvas");
      copy.width = 240;
      copy.height = 180;
      const pen = copy.getContext("2d");
      pen.drawImage(canvas(), 0, 0, copy.width, copy.height);
      done(pen.getImageData(0, 0, copy.width, copy.height).data);
    });
  });
  /* The share of pixels that are not alike. */
  const differs = (a, b) => {
    let count = 0;
    for (let i = 0; i < a.length; i += 4) {
      if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]) > 12) count++;
    }
    return count / (a.length / 4);
  };
  const colours = (a) => {
    const seen = new Set();
    for (let i = 0; i < a.length; i += 4) seen.add(a[i] << 16 | a[i + 1] << 8 | a[i + 2]);
    return seen.size;
  };
  const scrub = (t) => {
    find(".time").value = 1000 * t;
    send(find(".time"), new Event("input", { bubbles: true }));
  };
  const key = (name, target) => send(target, new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const cursor = () => Number(document.querySelector("svg[data-axes] .now").getAttribute("x1"));
  try {
    found.renderer = root.getAttribute("data-renderer");
    found.cursors = document.querySelectorAll("svg[data-axes] .now").length;
    scrub(0.5);
    const first = await picture();
    found.colours = colours(first);
    found.cursor_before = cursor();
    const end = Number(find(".time").max) / 1000;
    scrub(0.6 * end);
    const later = await picture();
    found.moved = differs(first, later);
    found.cursor_after = cursor();
    scrub(0.5);
    found.back = differs(first, await picture());
    find(".swept").click();
    found.swept = differs(first, await picture());
    find(".swept").click();
    find(".trail").click();
    found.path = differs(first, await picture());
    find(".trail").click();
    const at = (type, x, y) => new PointerEvent(type, { pointerId: 1, clientX: x, clientY: y, buttons: 1, bubbles: true });
    [["pointerdown", 200, 200], ["pointermove", 260, 220], ["pointerup", 260, 220]].forEach((e) => send(canvas(), at(...e)));
    const turned = await picture();
    found.turned = differs(first, turned);
    find("[data-zoom]").click();
    found.closer = differs(turned, await picture());
    find("[data-reset]").click();
    found.reset = differs(first, await picture());
    /* Two fingers go apart; then the wheel, which is the page's until the stage has been clicked. */
    const touch = (id, type, x) => send(canvas(), new PointerEvent(type, { pointerId: id, pointerType: "touch", clientX: x, clientY: 200, buttons: 1, bubbles: true }));
    [[1, "pointerdown", 180], [2, "pointerdown", 220], [1, "pointermove", 150], [2, "pointermove", 250], [1, "pointerup", 150], [2, "pointerup", 250]].forEach((e) => touch(...e));
    found.pinched = differs(first, await picture());
    find("[data-reset]").click();
    const wheel = () => send(canvas(), new WheelEvent("wheel", { deltaY: -300, bubbles: true, cancelable: true }));
    found.scrolls = wheel();
    canvas().focus({ preventScroll: true });
    found.zooms = !wheel();
    found.wheeled = differs(first, await picture());
    find("[data-reset]").click();
    /* In the middle of a plot's time. */
    const plot = document.querySelector("svg[data-axes]"), box = plot.getBoundingClientRect();
    const axes = plot.getAttribute("data-axes").split(" ").map(Number);
    const x = box.left + box.width * 0.5 * (axes[0] + axes[1]) / plot.viewBox.baseVal.width;
    send(plot, new PointerEvent("pointerdown", { clientX: x, clientY: box.top + 20, buttons: 1, bubbles: true }));
    found.clicked = seconds();
    found.clicked_at = 0.5 * axes[4];
    key("ArrowRight", canvas());
    found.stepped = seconds() - found.clicked;
    const before = seconds();
    key(" ", canvas());
    found.pause = find(".play").getAttribute("aria-label");
    await wait(800);
    found.played = seconds() - before;
    key(" ", canvas());
    found.play = find(".play").getAttribute("aria-label");
    find("[data-seek]").click();
    found.closest = seconds();
    found.wider = document.documentElement.scrollWidth - window.innerWidth;
    found.unnamed = [...root.querySelectorAll("button, input, select, canvas")].filter(
      (one) => !one.getAttribute("aria-label") && !one.closest("label") && !one.textContent.trim()).length;
  } catch (fault) {
    window.faults.push(String(fault));
  }
  found.faults = window.faults;
  await fetch("found", { method: "POST", body: JSON.stringify(found) });
})();
