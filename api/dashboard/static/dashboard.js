// What a page gains with scripts: it stays fresh, its curves can be read with the
// pointer, and it says when the node does not answer. The server renders everything
// else, so nothing here knows what a figure means.
"use strict";
(() => {
  const every = Number(document.body.dataset.refresh);
  const lost = document.getElementById("lost");
  let heard = new Date(), timer, busy = false, again = false;

  // put takes over one region of the page that has just been fetched. What the
  // reader has opened stays open, what is scrolled stays there, and so does the focus.
  function put(region, fresh) {
    if (!fresh || region.innerHTML === fresh.innerHTML) return;
    const open = [...region.querySelectorAll("details[open][id]")].map((d) => d.id);
    const focus = region.contains(document.activeElement) ? place(region, document.activeElement) : null;
    const scrolled = [...region.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    region.replaceChildren(...fresh.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    region.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = scrolled[i] ?? 0; });
    if (focus) find(region, focus)?.focus({ preventScroll: true });
  }

  // A button that is replaced while it is pressed would not be clicked.
  let held = false;
  addEventListener("pointerdown", () => { held = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => { held = false; }), true);

  // place says which of the region's links, buttons and tables has the focus. The text
  // of a table changes, its name does not.
  const reachable = "a[href],button,input,summary,textarea,[tabindex]";
  const name = (element) => element.ariaLabel ?? element.textContent;
  function place(region, element) {
    return { index: [...region.querySelectorAll(reachable)].indexOf(element), text: name(element) };
  }
  function find(region, focus) {
    const all = [...region.querySelectorAll(reachable)];
    return all[focus.index] && name(all[focus.index]) === focus.text ? all[focus.index] : all.find((e) => name(e) === focus.text);
  }

  async function refresh() {
    if (busy) { again = true; return; }
    clearTimeout(timer);
    busy = true;
    due = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(8000) });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!held) for (const region of document.querySelectorAll("[data-live]")) put(region, page.getElementById(region.id));
      heard = new Date();
      lost.hidden = true;
      await draw();
    } catch {
      if (lost.hidden) {
        lost.textContent = "This node has not answered since " + heard.toISOString().slice(11, 19) + ". The figures are old; any other node shows the cluster as well.";
        lost.hidden = false;
      }
    }
    busy = false;
    const soon = again;
    again = false;
    plan(soon ? 300 : every);
  }

  function plan(wait) {
    clearTimeout(timer);
    if (every > 0 && !document.hidden) timer = setTimeout(refresh, wait);
  }

  // The curves.
  const places = [...document.querySelectorAll("[data-plot]")];
  const charts = new Map();
  let drawn = "", asked = 0;

  // color resolves a colour of the style sheet, which depends on the theme.
  function color(name) {
    const probe = document.createElement("span");
    probe.style.color = "var(" + name + ")";
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  function lines(kind, h) {
    if (kind === "pages") {
      return [...h.nodes.map((n) => ({ label: n.name, values: n.pages_per_second, stroke: color(n.hue < 0 ? "--quiet" : "--l" + n.hue), width: 1.25 })),
        { label: "all nodes", values: h.pages_per_second, stroke: color("--text"), width: 1.75 }];
    }
    if (kind === "queued") return [{ label: "queued", values: h.queued, stroke: color("--l0"), width: 1.5 }];
    return [{ label: "failed per second", values: h.errors_per_second, stroke: color("--l6"), width: 1.5 }];
  }

  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  function figure(value) { return value == null ? "–" : value < 1000 ? String(Math.round(value * 10) / 10) : short.format(value); }

  function options(kind, series, box) {
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--rule"), width: 1 }, ticks: { show: false }, font: "11px " + getComputedStyle(document.body).fontFamily };
    return {
      width: box.clientWidth, height: kind === "pages" ? 200 : 96,
      tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "Etc/UTC"),
      cursor: { points: { size: 5 }, drag: { x: false, y: false } },
      legend: { live: true },
      scales: { y: { range: (u, min, max) => [0, Math.max(max * 1.08, 1)] } },
      axes: [{ ...axis, space: 80, size: 26, values: (u, marks, i, space, step) => marks.map((t) => new Date(t * 1000).toISOString().slice(...(step < 60 ? [11, 19] : step < 86400 ? [11, 16] : [5, 10]))) },
        { ...axis, size: 46, space: kind === "pages" ? 34 : 28, values: (u, marks) => marks.map(figure) }],
      series: [{ label: "UTC", value: (u, t) => t == null ? "–" : new Date(t * 1000).toISOString().slice(11, 19) },
        ...series.map((s) => ({ label: s.label, stroke: s.stroke, width: s.width, points: { show: false }, value: (u, v) => figure(v) }))],
    };
  }

  async function draw() {
    if (places.length === 0 || Date.now() - asked < 4500) return;
    asked = Date.now();
    const answer = await fetch("/api/v1/history?span=" + places[0].dataset.span, { signal: AbortSignal.timeout(8000) });
    const h = await answer.json();
    if (h.t.length < 2) return;
    const shape = h.nodes.map((n) => n.id + n.name + n.hue).join() + getComputedStyle(document.documentElement).colorScheme;
    for (const box of places) {
      const series = lines(box.dataset.plot, h);
      const data = [h.t, ...series.map((s) => s.values)];
      if (charts.has(box) && shape === drawn) { charts.get(box).setData(data); continue; }
      charts.get(box)?.destroy();
      box.closest("section").classList.add("drawn");
      const figures = box.querySelector("details");
      box.replaceChildren();
      charts.set(box, new uPlot(options(box.dataset.plot, series, box), data, box));
      if (figures) box.append(figures);
    }
    drawn = shape;
  }

  function redraw() { drawn = ""; asked = 0; draw().catch(() => {}); }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => { for (const [box, chart] of charts) chart.setSize({ width: box.clientWidth, height: chart.height }); }, 100);
  });

  // The cluster's events: something has happened, so look at once. A page that nobody
  // sees has no stream: a browser opens only a few connections to one node.
  let events = null, due = false;
  function listen() {
    events = new EventSource("/api/v1/events?limit=1");
    events.onmessage = () => { if (!due) { due = true; plan(200); } };
  }
  function look() {
    if (every === 0) return;
    events?.close();
    events = null;
    clearTimeout(timer);
    if (document.hidden) return;
    listen();
    refresh();
  }
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", () => events?.close());

  if (every > 0 && !document.hidden) listen();
  draw().catch(() => {}); // the next refresh says what is wrong
  plan(every);
})();
