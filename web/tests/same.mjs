// The library in WebAssembly answers as it does on this machine: node same.mjs LIBRARY.wasm QUESTION.json ANSWERS PLAN.json. ANSWERS is what
// `ask` printed in a native build; the plan that was made here is left in PLAN.json.
import { readFileSync, writeFileSync } from "node:fs";

const [library, asked, expected, saved] = process.argv.slice(2);
const compiled = await WebAssembly.compile(readFileSync(library));
// The page's own script.
const script = readFileSync(new URL("../page/answering.js", import.meta.url), "utf8");
const answer = await new Function(`${script}; return answering;`)()(compiled);

// Largest difference of two answers, relative where numbers are above 1; they may differ in nothing else.
const differs = (a, b, path) => {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) / Math.max(1, Math.abs(a));
  if (typeof a !== "object" || a === null) {
    if (a !== b) throw new Error(`${path}: ${a} and ${b}`);
    return 0;
  }
  const [keys, others] = [a, b ?? {}].map((x) => Object.keys(x).sort());
  if (keys.join() !== others.join()) throw new Error(`${path}: ${keys} and ${others}`);
  return Math.max(0, ...keys.map((key) => differs(a[key], b[key], `${path}.${key}`)));
};
// A plan is a file in a file.
const opened = (told) => told.plan ? { plan: JSON.parse(told.plan.file) } : told;

const question = JSON.parse(readFileSync(asked, "utf8"));
const lines = readFileSync(expected, "utf8").trim().split("\n").map((line) => JSON.parse(line));
if (lines.length !== 3) throw new Error(`${expected}: ${lines.length} answers, expected 3`);
for (const { about, ms, answer: native } of lines) {
  const times = [];
  let told;
  for (let k = 0; k < 5; k++) {
    const begun = performance.now();
    told = answer({ ...question, about });
    times.push(performance.now() - begun);
  }
  if (!(about in told) || (about === "proof" && told.proof.refusal !== null)) throw new Error(JSON.stringify(told));
  const most = differs(opened(native), opened(told), about);
  if (!(most <= 1e-12)) throw new Error(`${about}: answers differ by ${most}`);
  if (about === "plan") writeFileSync(saved, told.plan.file);
  const [first, best] = [times[0], Math.min(...times)].map((t) => t.toFixed(0));
  console.log(`${about}: first ${first} ms, then ${best} ms, native ${ms.toFixed(0)} ms; largest difference ${most}`);
}

// What makes no sense is refused, and the next question is answered all the same.
for (const wrong of [{}, { ...question, robot: "nobody" }, { ...question, start: [] }, { ...question, mass_kg: -1 }]) {
  const reason = answer(wrong).fault?.reason;
  if (!reason || reason.startsWith("a fault of surelift itself")) throw new Error(`${JSON.stringify(wrong)}: ${reason}`);
}
if (answer({ ...question, mass_kg: 40 }).proof.refusal === null) throw new Error("40 kg are proven");
// Storage comes back: a hundred answers take no more than ten.
for (let k = 0; k < 10; k++) answer(question);
const before = answer.storage();
for (let k = 0; k < 90; k++) answer(question);
if (answer.storage() !== before) throw new Error(`storage grew from ${before} to ${answer.storage()} bytes`);
console.log(`storage: ${(before / 1e6).toFixed(1)} MB`);
