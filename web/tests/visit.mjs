// Uses the page as a person would: node visit.mjs CHROMIUM PAGE.html [PICTURE.png]. Drags the payload away from the hand with the mouse, then asks for a
// heavy one. Chromium is spoken to through a pipe (the protocol of its developer tools), so time is true and the mouse is a mouse.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, page, picture] = process.argv.slice(2);
const LIMIT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), "surelift-page-"));
// The page needs no network, and the browser shall ask for nothing either.
const options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--window-size=1200,900", `--user-data-dir=${join(folder, "user")}`, "--remote-debugging-pipe", "about:blank"];
const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const ended = new Promise((done) => browser.on("exit", done));

// Calls by number; each message ends with a zero byte.
const calls = new Map();
let heard = "";
browser.stdio[4].setEncoding("utf8").on("data", (data) => {
  const messages = (heard + data).split("\0");
  heard = messages.pop();
  for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
    if (error) calls.get(id)?.fail(new Error(error.message));
    else calls.get(id)?.done(result);
    calls.delete(id);
  }
});
let count = 0, sessionId;
const call = (method, params = {}) => new Promise((done, fail) => {
  calls.set(++count, { done, fail });
  browser.stdio[3].write(`${JSON.stringify({ id: count, method, params, sessionId })}\0`);
});
const see = async (expression) => {
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
};
const until = async (expression) => {
  while (!await see(expression)) await new Promise((done) => setTimeout(done, 50));
};
const mouse = (type, x, y) => call("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });

const SETTLED = "document.body.dataset.heaviest !== undefined && !document.querySelector('#verdict.old')";
const LOOK = `(() => {
  const verdict = document.querySelector("#verdict"), box = document.querySelector(".payload.last").getBoundingClientRect();
  return { kind: verdict.className, text: verdict.textContent, save: !document.querySelector("#save").disabled, time: document.querySelector("#time").textContent,
    rows: document.querySelectorAll("#margins tr").length, heaviest: Number(document.body.dataset.heaviest), x: box.left + box.width / 2, y: box.top + box.height / 2 };
})()`;

const visit = async () => {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  ({ sessionId } = await call("Target.attachToTarget", { targetId, flatten: true }));
  await call("Page.navigate", { url: pathToFileURL(resolve(page)).href });
  await until(`document.readyState === "complete" && ${SETTLED}`);
  const first = await see(LOOK);
  await mouse("mousePressed", first.x, first.y);
  for (let k = 1; k <= 10; k++) await mouse("mouseMoved", first.x + 5 * k, first.y);
  await mouse("mouseReleased", first.x + 50, first.y);
  await until(SETTLED);
  const far = await see(LOOK);
  if (picture) writeFileSync(picture, Buffer.from((await call("Page.captureScreenshot")).data, "base64"));
  await see("{ const mass = document.querySelector('#mass'); mass.value = 6; mass.dispatchEvent(new Event('input', { bubbles: true })); }");
  await until(SETTLED);
  const heavy = await see(LOOK);
  // How long a proof takes while nothing else does: the shortest of several.
  const times = [];
  for (let k = 0; k < 5; k++) {
    await see("{ const mass = document.querySelector('#mass'); mass.value = 1; mass.dispatchEvent(new Event('input', { bubbles: true })); }");
    await until("!document.querySelector('#verdict.old')");
    times.push(Number.parseFloat((await see(LOOK)).time));
  }
  return { first, far, heavy, proof_ms: Math.min(...times) };
};

try {
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`the visit did not end within ${LIMIT_MS} ms`)), LIMIT_MS).unref());
  const gone = ended.then((code) => { throw new Error(`the browser ended with ${code}`); });
  gone.catch(() => {});
  const found = await Promise.race([visit(), late, gone]);
  console.log(found);
  const { first, far, heavy } = found;
  const holds = {
    "the first motion is proven": first.kind === "proven" && first.rows >= 4 && first.save,
    "the payload follows the mouse": Math.abs(far.x - first.x - 50) < 2 && Math.abs(far.y - first.y) < 2,
    "farther out less is provable": first.heaviest > 0.5 && far.heaviest > 0 && far.heaviest < first.heaviest,
    "a heavy one is refused by name": heavy.kind === "refused" && /^Not proven: .*(joint|tube|constants)/.test(heavy.text) && !heavy.save,
  };
  const broken = Object.keys(holds).filter((what) => !holds[what]);
  if (broken.length > 0) throw new Error(broken.join("; "));
} finally {
  browser.kill();
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
