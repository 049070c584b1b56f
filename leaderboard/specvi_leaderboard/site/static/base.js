/* What every page shares: data, the state in the address, elements made of text, numbers in words. */
"use strict";

const SpecVI = (() => {
  const known = new Map();
  const waiting = new Map();

  /* Data files call this. */
  function put(name, value) {
    known.set(name, value);
  }

  /* Data come as scripts, since a page opened from disk may not fetch. A name may hold words of the address, so
     what could lead out of the folder is no name. */
  function load(name) {
    if (known.has(name)) return Promise.resolve(known.get(name));
    if (!/^[a-z0-9-]+(\/[a-z0-9-]+)*$/.test(name)) return Promise.reject(sorry("the address names something that this site does not have"));
    if (!waiting.has(name)) {
      waiting.set(name, new Promise((done, fail) => {
        const tag = document.createElement("script");
        tag.src = `data/${name}.js`;
        tag.onload = () => known.has(name) ? done(known.get(name)) : fail(new Error(`${name} holds nothing`));
        tag.onerror = () => { waiting.delete(name); fail(new Error(`${name} is not there`)); };
        document.head.append(tag);
      }));
    }
    return waiting.get(name);
  }

  /* ---- elements: text is only ever set as text ---- */

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name.startsWith("--")) node.style.setProperty(name, value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => child instanceof Node ? child : String(child)));
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const byId = (id) => document.getElementById(id);
  const put_in = (id, ...children) => { const node = byId(id); node.replaceChildren(); return fill(node, null, children); };

  /* ---- the state of a page is the part of its address after # ---- */

  function state() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }
  function address(page, values) {
    const kept = Object.entries(values).filter(([, v]) => v !== null && v !== undefined && v !== "");
    return page + (kept.length ? "#" + new URLSearchParams(kept) : "");
  }
  function keep(values) {
    const target = address("", values) || "#";
    if (target === location.hash || (target === "#" && !location.hash)) return;
    history.replaceState(null, "", target);
  }

  /* ---- numbers ---- */

  const share = (value, digits = 3) => value === null || value === undefined ? "–" : value.toFixed(digits);
  const percent = (value, digits = 0) => value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;
  const whole = (value) => value.toLocaleString("en-GB");
  function amount(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    if (value < 0.0001) return "<0.0001";
    return value >= 10 ? whole(Math.round(value)) : String(Number(value.toPrecision(2)));
  }
  const signed = (value) => `${value < 0 ? "−" : "+"}${share(Math.abs(value))}`;
  const span = (low, high) => low === null || low === undefined ? "" : `${share(low)}–${share(high)}`;
  const rank = (ends) => !ends ? "–" : ends[0] === ends[1] ? String(ends[0]) : `${ends[0]}–${ends[1]}`;
  const list = (words) => words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
  const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
  const TRACKS = { main: "Main", "cross-survey": "Cross-survey", "cross-task": "Cross-task", extreme: "Extreme" };
  const ABOUT_TRACKS = {
    main: "Rare kinds of star, among what a survey’s classifier took for them.",
    "cross-survey": "The same kinds of star as other surveys’ instruments see them.",
    "cross-task": "Kinds of star that the main track does not ask for.",
    extreme: "Quasars, and stars in very noisy spectra.",
  };
  const class_name = (task) => site().tasks[task].replace(` (${task.toUpperCase()})`, "");
  /* Said once where it holds for all: Hα, Hβ and He I 5877 emission. */
  function features(found) {
    const kinds = new Set(found.map((name) => / (emission|absorption)$/.exec(name)?.[0]).filter(Boolean));
    return list(kinds.size === 1 ? found.map((name, k) => k < found.length - 1 ? name.replace([...kinds][0], "") : name) : found);
  }

  /* A name, which may break after its commas and colons. */
  const system_name = (name) => el("bdi", null, name.split(/(?<=[,:])/).flatMap((part, k) => k ? [el("wbr"), part] : [part]));

  /* ---- links between pages ---- */

  const system_link = (board, system) =>
    el("a", { href: address("system.html", { board: boardParam(board), id: system.id }) }, system_name(system.name));
  const candidate_address = (board, group, id, system) =>
    address("candidate.html", { board: boardParam(board), group, id, system });
  const boardParam = (id) => site().boards.length > 1 ? id : null;
  const site = () => known.get("site");

  /* Every link of the frame leads to the same board. */
  function carry(id) {
    for (const link of document.querySelectorAll(".top a")) {
      link.setAttribute("href", address(link.getAttribute("href").split("#")[0], { board: boardParam(id) }));
    }
  }

  /* The board that the address names, else the first; loads it and says what its spectra are. */
  async function board() {
    const boards = site().boards;
    if (!boards.length) throw sorry("this leaderboard has no system yet");
    const chosen = boards.find((one) => one.id === state().board) || boards[0];
    const data = await load(`${chosen.id}/board`);
    byId("simulated").hidden = !data.simulated;
    carry(chosen.id);
    if (boards.length > 1) {
      put_in("boards", el("label", { for: "board" }, "Candidates"), el("select", {
        id: "board", onchange: (event) => { location.hash = address("", { board: event.target.value }); },
      }, boards.map((one) => el("option", { value: one.id, selected: one === chosen }, `${one.name} ${one.version}${one.simulated ? " (simulated)" : ""}`))));
      byId("boards").hidden = false;
    }
    return data;
  }

  function table(caption, heads, rows, { className = "", hidden = false } = {}) {
    return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
      el("table", { class: className },
        el("caption", { class: hidden ? "unseen" : null }, el("span", null, caption)),
        el("thead", null, el("tr", null, heads.map((head) =>
          el("th", { scope: "col", class: head.num ? "num" : null }, head.name ?? head)))),
        el("tbody", null, rows.map((row) => el("tr", null, row.map((cell, place) => {
          const head = heads[place];
          const kind = head.num ? "num" : null;
          return place === 0 ? el("th", { scope: "row", class: kind }, cell) : el("td", { class: kind }, cell);
        }))))));
  }

  /* A page is a function that builds it; what goes wrong is said in the page. One without is ready as it stands. */
  let built = false;
  document.addEventListener("DOMContentLoaded", () => {
    if (built) return;
    const named = site().boards.find((one) => one.id === state().board);
    if (named) carry(named.id);
    document.documentElement.dataset.ready = "yes";
  });
  const sorry = (text) => Object.assign(new Error(text), { expected: true });
  function page(build) {
    built = true;
    const run = async () => {
      const page_state = document.documentElement.dataset;
      delete page_state.trouble;
      byId("trouble").hidden = true;
      try { await build(); }
      catch (error) {
        put_in("trouble", el("p", null, `This can't be shown: ${error.message}.`));
        byId("trouble").hidden = false;
        page_state.trouble = "yes";
        if (!error.expected) throw error;
      } finally { page_state.ready = "yes"; }
    };
    let last = Promise.resolve();  // one after the other: what was asked for last is what stands there in the end
    const next = () => { last = last.then(run, run); };
    const ready = () => { next(); window.addEventListener("hashchange", next); };
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
    else ready();
  }

  document.addEventListener("click", (event) => {  // the address after # is the state, so no link may jump by it
    const skip = event.target.closest?.("a[data-skip]");
    if (skip) { event.preventDefault(); byId("main").focus(); }
  });

  return { put, load, el, svg, fill, byId, into: put_in, state, address, keep, share, percent, whole, amount, span, signed, rank,
    sorry, list, plural, features, TRACKS, ABOUT_TRACKS, class_name, site, board, boardParam, system_name, system_link, candidate_address, table, page };
})();
