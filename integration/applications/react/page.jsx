// A page of the applications in React: what /data/NAME.json says of it, and links to other pages.
import { createElement } from "react";
import { Link, useLoaderData } from "react-router-dom";

export async function load({ params }) {
  const name = params.name || "p0";
  const page = await (await fetch("/data/" + name + ".json")).json();
  document.title = page.title;
  return page;
}

function Block({ block }) {
  if (block.tag === "ul") return <ul>{block.items.map((item, i) => <li key={i}>{item}</li>)}</ul>;
  if (block.tag === "table") {
    return <table><tbody>{block.items.map((item, i) => <tr key={i}><td>{i + 1}</td><td>{item}</td></tr>)}</tbody></table>;
  }
  return createElement(block.tag, { className: block.unseen ? "unseen" : undefined }, block.text);
}

export default function Page() {
  const page = useLoaderData();
  return (
    <main>
      <h1>{page.title}</h1>
      {page.blocks.map((block, i) => <Block key={i} block={block} />)}
      <nav>{page.links.map(name => <Link key={name} to={"/" + name}>to {name} </Link>)}<Link to="/">home</Link></nav>
      <footer>the end of {page.name}</footer>
    </main>
  );
}
