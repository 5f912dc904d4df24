package browser

import "fmt"

// bindingName is the function by which guardScript reports routes; the script hides it from the
// page.
const bindingName = "__crawlnodeRoute"

// guardScript runs before the scripts of a page. It reports the routes of pushState and
// window.open, and removes what would disturb: dialogs, printing, WebRTC, service workers. It is a
// convenience and no wall: the wall is that the browser has no network.
var guardScript = fmt.Sprintf(`(() => {
  const send = window[%[1]q]; delete window[%[1]q];
  let left = %[2]d;
  const report = u => { try { if (send && left-- > 0) send(new URL(String(u), document.baseURI).href) } catch (e) {} };
  for (const name of ["pushState", "replaceState"]) {
    const real = History.prototype[name];
    History.prototype[name] = function (s, t, u) { if (u !== undefined && u !== null) report(u); return real.apply(this, arguments) };
  }
  addEventListener("hashchange", e => report(e.newURL), true);
  const set = (o, name, value) => { try { Object.defineProperty(o, name, { value, configurable: false, writable: false }) } catch (e) {} };
  set(window, "open", u => { if (u) report(u); return null });
  for (const name of ["alert", "print"]) set(window, name, () => {});
  set(window, "confirm", () => false); set(window, "prompt", () => null);
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) set(window, name, undefined);
  try { Object.defineProperty(Navigator.prototype, "serviceWorker", { get: () => undefined }) } catch (e) {}
})()`, bindingName, maxRoutes)

// quietScript waits until the document is complete and has not changed for quietTime. What counts
// as a change is the number of elements, the length of the text, and the address: a clock that
// shows the time is quiet. It looks for the first two only after a mutation. Time in which the page
// had no processor, so that its timer came late, is no quiet time.
var quietScript = fmt.Sprintf(`(() => {
  if (!globalThis.look) {
    const sign = () => document.getElementsByTagName("*").length + " " + (document.body ? document.body.textContent.length : 0);
    let dirty = false, before = sign(), at = location.href, complete = document.readyState === "complete", since = performance.now(), due = since;
    new MutationObserver(() => { dirty = true }).observe(document, { subtree: true, childList: true, characterData: true });
    globalThis.enter = () => { due = performance.now() };
    globalThis.restart = () => { since = performance.now() };
    globalThis.look = () => {
      const time = performance.now();
      let changed = !complete || at !== location.href;
      complete = document.readyState === "complete"; at = location.href;
      if (dirty) { dirty = false; const now = sign(); changed ||= now !== before; before = now }
      since = changed ? time : since + Math.max(time - due, 0);
      due = time + %[2]d;
      return time - since >= %[1]d;
    };
  }
  enter();
  return new Promise(done => { const step = () => { if (look()) done(true); else setTimeout(step, %[2]d) }; step() });
})()`, quietTime.Milliseconds(), lookEvery.Milliseconds())

// scrollScript scrolls to the end. From now on quietScript waits again.
const scrollScript = `(() => {
  window.scrollTo(0, document.documentElement ? document.documentElement.scrollHeight : 0);
  if (globalThis.restart) restart();
  return true;
})()`

// clearScript clears what belongs to the tab and not to the storage of its browser context, and the
// local storage: what the page before has still written there comes before this, in the same
// process.
const clearScript = `(() => { for (const name of ["sessionStorage", "localStorage"]) try { window[name].clear() } catch (e) {} window.name = ""; return true })()`

// readScript reads the page as JSON. Open shadow roots are part of it: their links and text count,
// and the DOM has them as declarative ones, in template elements.
var readScript = fmt.Sprintf(`(() => {
  let cut = false;
  const part = (s, n) => { s = String(s || ""); if (s.length > n) { cut = true; s = s.slice(0, n) } return s.toWellFormed() };
  const roots = [document];
  for (let i = 0; i < roots.length && i <= %[6]d; i++) {
    for (const e of roots[i].querySelectorAll("*")) if (e.shadowRoot) roots.push(e.shadowRoot);
  }
  if (roots.length > %[6]d + 1) { cut = true; roots.length = %[6]d + 1 }
  const shadows = roots.slice(1);
  const links = [];
  for (const at of roots) for (const a of at.querySelectorAll("a[href],area[href]")) {
    if (links.length >= %[1]d) { cut = true; break }
    const u = a.href;
    if (typeof u === "string" && u.length <= %[2]d && /^https?:/.test(u)) links.push(u.toWellFormed()); 
  }
  const c = document.querySelector("link[rel~=canonical][href]");
  const root = document.documentElement;
  let dom = root ? root.outerHTML : "", text = document.body ? document.body.innerText : "";
  if (shadows.length > 0 && root.getHTML) {
    const empty = root.cloneNode(false).outerHTML, end = empty.lastIndexOf("</");
    dom = empty.slice(0, end) + root.getHTML({ shadowRoots: shadows }) + empty.slice(end);
  }
  // The innerText of an element that is not shown is its text all the same. One without a box of its own may be shown.
  const shown = e => e.checkVisibility() || getComputedStyle(e).display === "contents" && !["SCRIPT", "STYLE"].includes(e.tagName);
  for (const at of shadows) for (const e of at.childNodes) {
    if (text.length > %[4]d) break;
    const words = e.nodeType === Node.TEXT_NODE ? (at.host.checkVisibility() ? e.data.trim() : "") : e.innerText && shown(e) ? e.innerText : "";
    if (words) text += "\n" + words;
  }
  return { DOM: "<!DOCTYPE html>" + part(dom, %[3]d), Text: part(text, %[4]d),
    Title: part(document.title, %[5]d), Canonical: c ? part(c.href, %[2]d) : "", Links: links, Cut: cut };
})()`, maxLinks, maxURL, maxDOM, maxText, maxTitle, maxShadows)
