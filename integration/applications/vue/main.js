import { createApp, h, ref, watch } from "vue";
import { createRouter, createWebHistory, RouterLink, RouterView, useRoute } from "vue-router";

const block = b => {
  if (b.tag === "ul") return h("ul", b.items.map(item => h("li", item)));
  if (b.tag === "table") return h("table", h("tbody", b.items.map((item, i) => h("tr", [h("td", String(i + 1)), h("td", item)]))));
  return h(b.tag, { class: b.unseen ? "unseen" : undefined }, b.text);
};

const Page = {
  setup() {
    const route = useRoute(), page = ref(null);
    watch(() => route.params.name, async name => {
      page.value = await (await fetch("/data/" + (name || "p0") + ".json")).json();
      document.title = page.value.title;
    }, { immediate: true });
    return () => page.value === null ? h("p", "Loading") : h("main", [
      h("h1", page.value.title),
      page.value.blocks.map(block),
      h("nav", page.value.links.map(name => h(RouterLink, { to: "/" + name }, () => "to " + name + " ")).concat(h(RouterLink, { to: "/" }, () => "home"))),
      h("footer", "the end of " + page.value.name),
    ]);
  },
};

const router = createRouter({ history: createWebHistory(), routes: [{ path: "/", component: Page }, { path: "/:name", component: Page }] });
createApp({ render: () => h(RouterView) }).use(router).mount("#root");
