"use strict";
/* Runs in a thread: makes the function that takes one question and gives one answer, both JSON; it knows how much storage the library has, bytes. */
const answering = async (library) => {
  /* A solver that no proof calls would ask for the time. */
  const imports = {};
  for (const { module, name } of WebAssembly.Module.imports(library)) {
    (imports[module] ??= {})[name] = () => { throw new Error(`${name} is not there`); };
  }
  const lib = (await WebAssembly.instantiate(library, imports)).exports;
  /* Text that the library hands out. */
  const heard = (at) => {
    const length = new DataView(lib.memory.buffer).getUint32(at, true);
    const told = new TextDecoder().decode(new Uint8Array(lib.memory.buffer, at + 4, length));
    lib.surelift_release(at);
    return told;
  };
  const ask = (question) => {
    const text = new TextEncoder().encode(JSON.stringify(question));
    const room = lib.surelift_room(text.length);
    new Uint8Array(lib.memory.buffer, room, text.length).set(text);
    try {
      return JSON.parse(heard(lib.surelift_answer(room, text.length)));
    } catch (error) {
      return { fault: { reason: `a fault of surelift itself: ${heard(lib.surelift_last_words()) || error}` } };
    }
  };
  ask.storage = () => lib.memory.buffer.byteLength;
  return ask;
};
