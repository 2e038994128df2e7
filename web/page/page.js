"use strict";
/* The page: asks the library in WebAssembly, and draws what it answers. The library answers in threads of its own, so that nobody waits for a proof. */
(async () => {
  const PAUSE_MS = 400, NS = "http://www.w3.org/2000/svg";
  const find = (id) => document.getElementById(id);
  const bytes = Uint8Array.from(atob(find("wasm").textContent.trim()), (c) => c.charCodeAt(0));
  const library = await WebAssembly.compile(bytes);

  const script = URL.createObjectURL(new Blob([`
    const answering = ${answering};
    let ask = null;
    onmessage = async ({ data: { library, question } }) => {
      try {
        ask ??= await answering(library);
        postMessage(ask(question));
      } catch (error) {
        postMessage({ fault: { reason: String(error) } });
      }
    };`], { type: "text/javascript" }));

  /* A thread that answers one question after the other. */
  class Thread {
    #worker = new Worker(script);
    #last = Promise.resolve();

    ask(question) {
      const asked = structuredClone(question);
      const answer = this.#last.then(() => new Promise((done) => {
        this.#worker.onmessage = ({ data }) => done(data);
        this.#worker.onerror = ({ message }) => done({ fault: { reason: message } });
        this.#worker.postMessage({ library, question: asked });
      }));
      /* After a fault the library is not used again. */
      this.#last = answer.then(({ fault }) => { if (fault) this.#replace(); });
      return answer;
    }

    /* Drops what is being answered: that promise never ends. */
    drop() {
      this.#replace();
      this.#last = Promise.resolve();
    }

    #replace() {
      this.#worker.terminate();
      this.#worker = new Worker(script);
    }
  }
  const prover = new Thread(), searcher = new Thread();

  const question = {
    about: "proof", robot: "kinova_gen3_2f85",
    start: [0, 0.3, 3.1416, -1.8, 0, 0.5, 1.5708], end: [0, 0.7, 3.1416, -1.2, 0, 0.6, 1.5708],
    duration_s: 3, mass_kg: 1, center_m: [0, 0, 0.12], size_m: [0.06, 0.1, 0.06],
  };
  let last = null, timer = 0, busy = false, stale = false;

  const line = (capsule, kind) => {
    const [ax, , az, bx, , bz, radius] = capsule;
    const drawn = document.createElementNS(NS, "line");
    const ends = { x1: ax, y1: -az, x2: bx + 1e-6, y2: -bz, "stroke-width": 2 * radius, class: kind };
    for (const [name, value] of Object.entries(ends)) drawn.setAttribute(name, value);
    return drawn;
  };

  const draw = (poses) => {
    const stage = find("stage");
    stage.replaceChildren();
    poses.forEach((pose, k) => {
      const now = k === poses.length - 1 ? "last" : "past", own = pose.capsules.length - pose.payload;
      pose.capsules.forEach((capsule, c) => stage.append(line(capsule, `${c < own ? "link" : "payload"} ${now}`)));
    });
    last = poses[poses.length - 1];
  };

  const number = (x) => Math.abs(x) < 1 ? x.toFixed(4) : x.toFixed(2);
  const row = (cells, head) => {
    const made = document.createElement("tr");
    for (const text of cells) {
      const cell = document.createElement(head ? "th" : "td");
      cell.textContent = text;
      made.append(cell);
    }
    return made;
  };

  const tell = ({ proof, fault }, mass_kg, ms) => {
    const verdict = find("verdict"), table = find("margins");
    table.replaceChildren();
    const refusal = fault ? fault.reason : proof.refusal;
    verdict.className = `${refusal === null ? "proven" : "refused"}${stale ? " old" : ""}`;
    verdict.textContent = refusal === null ? `Proven for all masses up to ${mass_kg.toFixed(1)} kg` : `Not proven: ${refusal}`;
    find("save").disabled = stale || refusal !== null;
    find("time").textContent = `${ms.toFixed(0)} ms`;
    if (!proof) return;
    draw(proof.poses);
    if (refusal !== null) return;
    table.append(row(["to spare", "", "where", "at"], true));
    for (const { of, value, unit, at, t } of proof.margins) {
      if (value !== null) table.append(row([of, `${number(value)} ${unit}`, at, `${t.toFixed(2)} s`]));
    }
    table.append(row(["tracking error", `${number(Math.max(...proof.tracking_error))} rad`, "at most", ""]));
  };

  const search = async () => {
    find("heaviest").textContent = "Looking for the heaviest payload ...";
    const { heaviest: found, fault } = await searcher.ask({ ...question, about: "heaviest" });
    /* Rounded down: a hundredth more was not proven. */
    const most = fault ? 0 : (Math.floor(found.mass_kg * 100) / 100).toFixed(2);
    find("heaviest").textContent = fault ? "" : found.mass_kg === 0 ? `Here nothing is provable, however light: ${found.forbids}.`
      : `Here up to ${most} kg are provable. With 4 % more: ${found.forbids}.`;
    document.body.dataset.heaviest = fault ? "" : found.mass_kg;
  };

  /* However fast somebody drags, one proof at a time, and the last one of what is asked last. */
  const prove = async () => {
    stale = true;
    if (busy) return;
    busy = true;
    /* What is shown belongs to what is drawn, and is told apart from what is asked. */
    find("verdict").classList.add("old");
    find("save").disabled = true;
    while (stale) {
      stale = false;
      const { mass_kg } = question, begun = performance.now();
      const told = await prover.ask(question);
      tell(told, mass_kg, performance.now() - begun);
    }
    busy = false;
  };

  const changed = () => {
    if (timer === 0) searcher.drop();
    clearTimeout(timer);
    delete document.body.dataset.heaviest;
    find("heaviest").textContent = "";
    timer = setTimeout(() => { timer = 0; search(); }, PAUSE_MS);
    prove();
  };

  const sliders = {
    mass: (x) => { question.mass_kg = x; },
    long: (x) => { question.size_m[2] = x; },
    wide: (x) => { question.size_m[0] = question.size_m[1] = x; },
    duration: (x) => { question.duration_s = x; },
  };
  for (const [id, set] of Object.entries(sliders)) {
    const input = find(id), show = () => { input.nextElementSibling.textContent = input.value; };
    input.addEventListener("input", () => { set(Number(input.value)); show(); changed(); });
    set(Number(input.value));
    show();
  }

  /* The pointer moves the payload's centre in the plane of the drawing, told in the axes of the tool. */
  const stage = find("stage");
  const place = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(stage.getScreenCTM().inverse());
    return [point.x, 0, -point.y];
  };
  let from = null;
  stage.addEventListener("pointerdown", (event) => {
    if (!event.target.classList.contains("payload") || !event.target.classList.contains("last")) return;
    from = place(event);
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!from || !last) return;
    const to = place(event), by = to.map((x, k) => x - from[k]);
    question.center_m = question.center_m.map((x, k) => x + last.axes[k].reduce((sum, axis, i) => sum + axis * by[i], 0));
    from = to;
    changed();
  });
  stage.addEventListener("pointerup", () => { from = null; });

  find("save").addEventListener("click", async () => {
    const { plan, fault } = await prover.ask({ ...question, about: "plan" });
    if (fault) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([plan.file], { type: "application/json" }));
    link.download = "plan.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });

  changed();
})().catch((error) => {
  const verdict = document.getElementById("verdict");
  verdict.className = "refused";
  verdict.textContent = `This browser cannot run the page: ${error}`;
});
