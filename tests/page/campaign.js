/* Reads the page of a comparison as a person would, and sends what it found to where the page came from. */
(async () => {
  const found = {}, all = (name) => [...document.querySelectorAll(name)];
  try {
    found.title = document.title;
    const outcomes = document.querySelector("table");
    found.methods = [...outcomes.rows].slice(1).map((row) => row.cells[0].textContent);
    found.columns = [...outcomes.rows].map((row) => row.cells.length);
    found.bodies = all("section > h2").map((one) => one.textContent);
    found.hidden = all("details svg").filter((one) => one.checkVisibility()).length;
    all("details summary").forEach((one) => one.click());
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const plots = all("figure svg, figure > svg");
    found.plots = plots.length;
    found.small = plots.filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width < 150 || box.height < 60;
    }).length;
    /* A plot whose curves have no length, or no colour, shows nothing. */
    const drawn = (one) => {
      const style = getComputedStyle(one);
      return one.getTotalLength() > 20 && style.stroke !== "none" && Number(style.strokeOpacity) > 0;
    };
    found.empty = plots.filter((one) => ![...one.querySelectorAll("path, polyline")].some(drawn)).length;
    found.captions = all("figcaption").map((one) => one.textContent).filter((one) => one.includes("tracking error")).length;
    found.unlabelled = all("figure").filter((one) => !one.textContent.trim()).length;
    found.wider = document.documentElement.scrollWidth - window.innerWidth;
    found.text = document.body.innerText.length;
    found.nan = /NaN|undefined|Infinity/.test(document.body.innerText);
  } catch (fault) {
    window.faults.push(String(fault));
  }
  found.faults = window.faults;
  await fetch("found", { method: "POST", body: JSON.stringify(found) });
})();
