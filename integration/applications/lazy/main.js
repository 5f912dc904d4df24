// Pages whose second half, with all links, is loaded when a reader has scrolled to it.
import lozad from "lozad";

const element = (tag, text, ...children) => {
  const e = document.createElement(tag);
  if (text) e.textContent = text;
  e.append(...children);
  return e;
};
const block = b => {
  if (b.tag === "ul") return element("ul", "", ...b.items.map(item => element("li", item)));
  if (b.tag === "table") return element("table", "", ...b.items.map((item, i) => element("tr", "", element("td", String(i + 1)), element("td", item))));
  const e = element(b.tag, b.text);
  if (b.unseen) e.className = "unseen";
  return e;
};

const name = location.pathname.slice(1) || "p0";
const page = await (await fetch("/data/" + name + ".json")).json();
document.title = page.title;
const half = Math.ceil(page.blocks.length / 2), rest = element("section"), tall = element("section", "", ...page.blocks.slice(0, half).map(block));
tall.className = "tall";
rest.className = "lozad";
document.getElementById("root").append(element("h1", page.title), tall, rest);
lozad(".lozad", {
  load: async section => {
    const more = await (await fetch("/more/" + name + ".json")).json();
    const links = ["", ...more.links].map(to => { const a = element("a", to ? "to " + to + " " : "home"); a.href = "/" + to; return a });
    section.append(...more.blocks.slice(half).map(block), element("nav", "", ...links), element("footer", "the end of " + name));
  },
}).observe();
