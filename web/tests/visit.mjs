// Uses the page as a person would: node visit.mjs CHROMIUM PAGE.html [PICTURE.png]. Drags the payload away from the hand, then asks for a heavy one.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, page, picture] = process.argv.slice(2);

const visit = async () => {
  const find = (selector) => document.querySelector(selector);
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const until = async (what) => {
    for (let i = 0; i < 600 && !what(); i++) await wait(50);
    if (!what()) throw new Error(`never: ${what}`);
  };
  const found = {};
  try {
    await until(() => document.body.dataset.ready === "yes");
    const verdict = find("#verdict");
    found.first = [verdict.className, verdict.textContent];
    found.rows = document.querySelectorAll("#margins tr").length;
    await until(() => document.body.dataset.heaviest);
    found.near = Number(document.body.dataset.heaviest);
    const payload = find(".payload.last"), box = payload.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    const send = (type, dx) => (type === "pointerdown" ? payload : find("#stage")).dispatchEvent(
      new PointerEvent(type, { clientX: x + dx, clientY: y, pointerId: 1, bubbles: true }));
    // A pointer that no hand moves cannot be captured.
    find("#stage").setPointerCapture = () => {};
    delete document.body.dataset.heaviest;
    send("pointerdown", 0);
    send("pointermove", 25);
    send("pointermove", 50);
    send("pointerup", 50);
    await until(() => document.body.dataset.heaviest);
    found.far = Number(document.body.dataset.heaviest);
    found.moved = find(".payload.last").getBoundingClientRect().left - box.left;
    const mass = find("#mass");
    mass.value = 6;
    mass.dispatchEvent(new Event("input", { bubbles: true }));
    await until(() => verdict.className === "refused");
    found.heavy = verdict.textContent;
    found.save = find("#save").disabled;
  } catch (error) {
    found.error = String(error);
  }
  document.body.dataset.visit = JSON.stringify(found);
};

const folder = mkdtempSync(join(tmpdir(), "surelift-page-"));
try {
  const visited = join(folder, "page.html");
  writeFileSync(visited, readFileSync(page, "utf8").replace("</html>", `<script>(${visit})();</script></html>`));
  const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${join(folder, "user")}`, "--window-size=1200,900",
    // The page needs no network, and the browser shall ask for nothing either.
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=120000", "--dump-dom", ...(picture ? [`--screenshot=${picture}`] : []), pathToFileURL(visited).href];
  const dom = execFileSync(chromium, options, { encoding: "utf8", maxBuffer: 1 << 28, timeout: 180_000, stdio: ["ignore", "pipe", "ignore"] });
  const told = /data-visit="([^"]*)"/.exec(dom);
  if (!told) throw new Error("the visit did not come to its end");
  const found = JSON.parse(told[1].replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
  console.log(found);
  const holds = {
    "no error": found.error === undefined,
    "the first motion is proven": found.first?.[0] === "proven" && found.rows >= 4,
    "the payload follows the pointer": Math.abs(found.moved - 50) < 2,
    "farther out less is provable": found.near > 0.5 && found.far < found.near,
    "a heavy one is refused by name": /^Not proven: .*(joint|tube|constants)/.test(found.heavy) && found.save === true,
  };
  const broken = Object.keys(holds).filter((what) => !holds[what]);
  if (broken.length > 0) throw new Error(broken.join("; "));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
