/* The main table: every system on every task of a track. What is shown stands in the address. */
"use strict";

(() => {
  const { el, byId, into, state, keep, address, share, amount, span, rank, whole, percent, plural, list, load, TRACKS, ABOUT_TRACKS } = SpecVI;
  const F1 = 0, ACC = 3, YES_RIGHT = 6, YES_WRONG = 7, BRIER = 8, FOUND = 11, HELD = 12;  // places in a cell
  const METRICS = {
    f1: { name: "F1", macro: "Macro-F1", about: "Harmonic mean of precision and recall; a non-answer counts as wrong. The ranking of the board rests on it.", ranks: "macro-F1" },
    accuracy: { name: "Accuracy", macro: "Mean accuracy", about: "Share of candidates called rightly, mean over the tasks; a non-answer counts as wrong.", ranks: "mean accuracy" },
    purity: { name: "Purity at a prevalence", macro: "Mean purity", about: "Share of true members among the YES of a search where so few spectra are members. Intervals are approximate: log of the false-alarm ratio, independent candidates.",
      unranked: "No ranks by it: it hangs on a handful of wrong YES, often on none, and the method behind the ranks does not hold for so few." },
    deferral: { name: "Purity with people's help", macro: "Mean purity", about: "Purity of the catalogue when people decide the least certain share. Needs P(YES).",
      unranked: "No ranks by it: which answers go to people follows from the order of all of them, and no method here tells how sure the difference of two such lists is." },
    brier: { name: "Brier score", macro: "Mean Brier", low: true, about: "Mean squared error of P(YES); lower is better. Needs P(YES). The interval of the mean takes tasks as independent.", ranks: "mean Brier score" },
  };
  const EXTRA = { kind: "Kind", status: "Status", date: "Date", evidence: "Evidence", cost: "US$ / 1,000", seconds: "Seconds" };
  const ABOUT = {
    evidence: "Of its right YES answers with text: the share whose decisive claims are in the flux and were looked at",
    cost: "US$ for 1,000 candidates, as the run recorded it", seconds: "Mean seconds a candidate, as the run recorded them",
    status: "verified: run, or run again, by the maintainers. re-scored: from submitted answers",
  };
  const DEFAULT_COLUMNS = ["kind", "status", "date", "evidence", "cost"];
  let data, now, units, errors = null, purities = null, rankings = {}, refocus = null, later = 0, shown_ranks = new Map();

  /* ---- what the address says ---- */

  function read() {
    const said = state();
    const track = data.tracks.find((one) => one.track === said.track) || data.tracks[0];
    const only = (text, allowed) => (text || "").split(",").filter((word) => allowed.includes(word));
    return {
      track,
      metric: Object.hasOwn(METRICS, said.metric ?? "") ? said.metric : "f1",
      prevalence: clamp(Number(said.prevalence) || 0.01, 1e-4, 0.5),
      deferred: data.deferred.includes(Number(said.deferred)) && said.deferred ? Number(said.deferred) : 0.1,
      q: said.q || "",
      kinds: only(said.kind, kinds()),
      status: ["verified", "re-scored"].includes(said.status) ? said.status : "",
      sort: sortable(track).includes((said.sort || "").replace(/^-/, "")) ? said.sort : "",
      columns: "columns" in said ? only(said.columns, Object.keys(EXTRA)) : DEFAULT_COLUMNS,
      spans: said.spans === "1",
    };
  }
  function write(change = {}) {
    Object.assign(now, change);
    draw();
    clearTimeout(later);  // a slider moves faster than browsers let an address change
    later = setTimeout(remember, 120);
  }
  function remember() {
    const columns = now.columns.join() === DEFAULT_COLUMNS.join() ? null : now.columns.join() || "none";
    keep({
      board: SpecVI.boardParam(data.id), track: now.track === data.tracks[0] ? null : now.track.track,
      metric: now.metric === "f1" ? null : now.metric,
      prevalence: now.metric === "purity" && now.prevalence !== 0.01 ? Number(now.prevalence.toPrecision(2)) : null,
      deferred: now.metric === "deferral" && now.deferred !== 0.1 ? now.deferred : null,
      q: now.q, kind: now.kinds.join(), status: now.status, sort: now.sort, columns, spans: now.spans ? 1 : null,
    });
    byId("reset").hidden = !address("", { ...state(), board: null });
  }
  const sortable = (track) => ["rank", "name", "macro", ...Object.keys(EXTRA), ...track.tasks];
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
  const kinds = () => [...new Set(data.systems.map((one) => one.kind || "other"))].sort();

  /* ---- numbers ---- */

  const of = (triple) => triple.map((value) => value === null ? null : value / units);
  const at = (cell, place) => of(cell.slice(place, place + 3));

  /* Purity by Bayes from the shares of members and others called YES; the spread of the log of their ratio by the
     delta method, half a candidate added to each count so that a zero has a spread too. */
  function purity(cell, positives, negatives) {
    const right = cell[YES_RIGHT], wrong = cell[YES_WRONG];
    if (right + wrong === 0 || !positives || !negatives) return { triple: [null, null, null], variance: 0 };
    const odds = (1 - now.prevalence) / now.prevalence;
    const value = (right / positives) / (right / positives + (wrong / negatives) * odds);
    const r = (right + 0.5) / (positives + 1), w = (wrong + 0.5) / (negatives + 1);
    const spread = Math.sqrt((1 - r) / (right + 0.5) + (1 - w) / (wrong + 0.5));
    const pure = (shift) => 1 / (1 + (w / r) * odds * Math.exp(shift));
    const middle = pure(0);
    return { triple: [value, Math.min(value, pure(1.96 * spread)), Math.max(value, pure(-1.96 * spread))], variance: (middle * (1 - middle) * spread) ** 2 };
  }

  function values(line) {
    const { track, metric } = now;
    if (metric === "f1") return { macro: of(line.f1), cells: line.cells.map((cell) => at(cell, F1)) };
    if (metric === "accuracy") return { macro: of(line.acc), cells: line.cells.map((cell) => at(cell, ACC)) };
    if (metric === "purity") {
      const made = line.cells.map((cell, k) => purity(cell, track.positives[k], track.n[k] - track.positives[k]));
      const [value] = mean(made.map((one) => one.triple));
      const half = 1.96 * Math.sqrt(made.reduce((sum, one) => sum + one.variance, 0)) / made.length;
      return { macro: value === null ? [null, null, null] : [value, Math.max(0, value - half), Math.min(1, value + half)], cells: made.map((one) => one.triple) };
    }
    const cells = metric === "brier" ? line.cells.map((cell) => at(cell, BRIER))
      : track.tasks.map((_, k) => purities?.[track.track][line.s][k]).map((points) => [points ? of([points[data.deferred.indexOf(now.deferred)]])[0] : null, null, null]);
    const [value] = mean(cells), half = Math.hypot(...cells.map(([, low, high]) => low === null ? NaN : (high - low) / 2)) / cells.length;
    return { macro: Number.isNaN(half) ? mean(cells) : [value, Math.max(0, value - half), Math.min(1, value + half)], cells };
  }
  const mean = (triples) => triples.some(([value]) => value === null) || !triples.length ? [null, null, null]
    : [triples.reduce((sum, [value]) => sum + value, 0) / triples.length, null, null];

  function evidence(line) {
    const held = line.cells.filter((cell) => cell[HELD]);
    return held.length ? held.reduce((sum, cell) => sum + cell[FOUND], 0) / held.reduce((sum, cell) => sum + cell[HELD], 0) : null;
  }

  /* ---- which systems, in which order ---- */

  function fits(system) {
    if (system.trivial) return true;  // what has to be beaten never goes away
    const text = [system.name, system.id, system.kind, ...(system.authors || [])].join(" ").toLowerCase();
    return (!now.kinds.length || now.kinds.includes(system.kind || "other")) && (!now.status || system.status === now.status) &&
      now.q.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }

  /* What the systems are ranked by: macro-F1 where the metric has no ranking of its own. */
  const ranked_by = () => METRICS[now.metric].ranks ? now.metric : "f1";
  function ranking() {
    const by = ranked_by();
    if (by === "f1") return { ...SpecVI.ranks.of_track(now.track), errors: errors?.[now.track.track], why: Object.fromEntries(now.track.lines.map((line) => [line.s, line.why])) };
    return rankings[by]?.[now.track.track] || null;
  }
  /* Ranks of the rows; an empty map while what they need is still being loaded. */
  function ranks_of(found, rows, all) {
    if (!found || (!all && !found.errors)) return new Map();
    if (all) return SpecVI.ranks.whole(found);
    const sign = METRICS[ranked_by()].low ? -1 : 1, by_f1 = ranked_by() === "f1";
    const value = new Map(rows.map((row) => [row.line.s, sign * (by_f1 ? of(row.line.f1)[0] : row.macro[0])]));
    return SpecVI.ranks.among(found, (s) => value.get(s), found.errors.map((error) => error / SpecVI.site().errorUnits), new Set(value.keys()));
  }

  function sorted(rows) {
    const key = now.sort.replace(/^-/, "") || "macro";
    const down = now.sort ? now.sort.startsWith("-") : !METRICS[now.metric].low;
    const task = now.track.tasks.indexOf(key);
    const known = {
      name: (row) => row.system.name.toLowerCase(), rank: (row) => row.ranks ? row.ranks.rank[0] + row.ranks.rank[1] / 1e4 : null,
      kind: (row) => row.system.kind || null, status: (row) => row.system.status, date: (row) => row.system.date || null,
      cost: (row) => row.system.usd, seconds: (row) => row.system.seconds, evidence: (row) => row.evidence,
    };
    const pick = Object.hasOwn(known, key) ? known[key] : (task >= 0 ? (row) => row.cells[task][0] : (row) => row.macro[0]);
    const last = (row) => pick(row) === null || pick(row) === undefined || (key === "macro" && row.unranked) ? 1 : 0;
    return [...rows].sort((a, b) => {
      const missing = last(a) - last(b);
      if (missing) return missing;
      const [x, y] = [pick(a), pick(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a.place - b.place;
    });
  }

  /* ---- drawing ---- */

  function heads() {
    const columns = Object.keys(EXTRA).filter((key) => now.columns.includes(key));
    const metric = METRICS[now.metric];
    return [
      { key: "rank", name: metric.ranks ? "Rank" : "Rank by macro-F1", num: true, title: `95 % confidence set of ranks by ${METRICS[ranked_by()].ranks}`, className: "rank" }, { key: "name", name: "System", className: "name" },
      { key: "macro", name: metric.macro, num: true, title: metric.about, className: "macro" }, { key: null, name: "95 % interval", className: "picture" },
      ...now.track.tasks.map((task) => ({ key: task, name: task.toUpperCase(), num: true, title: SpecVI.site().tasks[task], className: "task" })),
      ...columns.map((key) => ({ key, name: EXTRA[key], num: ["evidence", "cost", "seconds"].includes(key), title: ABOUT[key] })),
    ];
  }

  function head({ key, name, num, title, className }) {
    const chosen = now.sort.replace(/^-/, "") || "macro";
    const down = now.sort ? now.sort.startsWith("-") : !METRICS[now.metric].low;
    const first = key === "rank" || key === "name" || key === "kind" || key === "status" || key === "cost" || key === "seconds" || (METRICS[now.metric].low && (key === "macro" || now.track.tasks.includes(key)));
    const kind = [num ? "num" : "", className || ""].join(" ").trim() || null;
    if (!key) return el("th", { scope: "col", class: kind }, el("span", { class: "unseen" }, name), ticks());
    const sort = chosen !== key ? null : down ? "descending" : "ascending";
    return el("th", { scope: "col", class: kind, "aria-sort": sort },
      el("button", { type: "button", "data-sort": key, title: title || null, onclick: () => {
        const next = chosen === key ? !down : !first;
        write({ sort: `${next ? "-" : ""}${key}` === (METRICS[now.metric].low ? "macro" : "-macro") ? "" : `${next ? "-" : ""}${key}` });
        refocus = key;
      } }, name));
  }
  const ticks = () => el("span", { class: "ticks", "aria-hidden": "true" }, ["0", ".25", ".5", ".75", "1"].map((text) => el("span", null, text)));

  function notes(row) {
    const { system, ranks } = row;
    const names = ranks ? ranks.tied.map((place) => data.systems[place].name) : [];
    return [
      system.trivial ? el("span", { class: "tag", title: "Does not inspect the spectrum: what a system has to beat" }, "trivial") : null,
      system.selector ? el("span", { class: "tag", title: "Of the kind of classifier that chose the negatives it was trained on" }, "selector-family") : null,
      row.unranked ? el("span", { class: "note" }, `not ranked: ${row.unranked}`) : null,
      names.length ? el("span", { class: "note", title: names.length > 2 ? names.join(", ") : null }, "tied with ",
        names.length > 2 ? plural(names.length, "system") : names.map((name, k) => [k ? " and " : "", el("bdi", null, name)])) : null,
    ];
  }

  function cell(triple, low) {
    const [value, from, to] = triple;
    return el("td", { class: "num task", "--v": value === null ? 0 : clamp(low ? 1 - value : value, 0, 1), title: from === null ? null : `95 % interval ${span(from, to)}` },
      share(value), now.spans && from !== null ? el("span", { class: "ci" }, span(from, to)) : null);
  }

  function extra(row, key) {
    const { system } = row;
    if (key === "kind") return el("td", { class: "soft kind" }, system.kind || "–");
    if (key === "status") return el("td", { class: "soft", title: system.how }, system.status);
    if (key === "date") return el("td", { class: "soft date" }, system.date || "–");
    if (key === "cost") return el("td", { class: "num" }, amount(system.usd));
    if (key === "seconds") return el("td", { class: "num" }, amount(system.seconds));
    return el("td", { class: "num" }, row.evidence === null ? "–" : percent(row.evidence));
  }

  let frame = 0;
  function draw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => { paint(); });
  }

  function paint() {
    const lines = now.track.lines.map((line, place) => ({ line, place, system: data.systems[line.s] })).filter((row) => fits(row.system));
    const all = lines.length === now.track.lines.length;
    const by = ranked_by(), found = ranking(), board = data.id;
    const late = (name, take) => load(`${board}/${name}`).then((made) => { if (board === data.id) { take(made); draw(); } })
      .catch(() => into("pool", "A part of this site is missing: what this view needs could not be loaded."));
    if (now.metric === "deferral" && !purities) late("deferral", (made) => { purities = made; });
    if (by === "f1" && !all && !errors) late("errors", (made) => { errors = made; });
    if (by !== "f1" && !rankings[by]) late(`ranking-${by}`, (made) => { rankings[by] = made; });
    const valued = lines.map((row) => ({ ...row, ...values(row.line), evidence: evidence(row.line) }));
    const ranks = ranks_of(found, valued, all);
    shown_ranks = ranks;
    const rows = sorted(valued.map((row) => ({ ...row, ranks: ranks.get(row.line.s) || null, unranked: found?.why[row.line.s] || null })));
    const best = rows.filter((row) => row.system.trivial && row.macro[0] !== null)
      .sort((a, b) => (METRICS[now.metric].low ? 1 : -1) * (a.macro[0] - b.macro[0]))[0];
    const columns = heads(), keys = columns.map((one) => one.key).slice(4 + now.track.tasks.length), low = METRICS[now.metric].low;
    into("heads", el("tr", null, columns.map(head)));
    if (refocus) document.querySelector(`[data-sort="${refocus}"]`).focus();
    refocus = null;
    byId("rows").replaceChildren(...rows.map((row) => el("tr", {
      class: [row.system.trivial ? "trivial" : "", row.unranked ? "unranked" : ""].join(" ").trim() || null, "data-id": row.system.id, "data-s": row.line.s,
    },
    el("td", { class: "num rank" }, row.ranks ? rank(row.ranks.rank) : el("span", null, el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, "not ranked"))),
    el("th", { scope: "row", class: "name" }, SpecVI.system_link(data.id, row.system), notes(row)),
    el("td", { class: "num macro" }, share(row.macro[0]), row.macro[1] === null ? null : el("span", { class: "ci" }, span(row.macro[1], row.macro[2]))),
    el("td", { class: "picture" }, row.macro[0] === null ? null : SpecVI.charts.interval(row.macro, { mark: best ? best.macro[0] : null, label: METRICS[now.metric].macro })),
    row.cells.map((triple) => cell(triple, low)), keys.map((key) => extra(row, key)))));
    fit();
    say(rows, all, best);
    controls();
    document.documentElement.dataset.painted = String(Number(document.documentElement.dataset.painted || 0) + 1);
  }

  function say(rows, all, best) {
    const ranked = rows.filter((row) => row.ranks).length;
    into("caption", el("span", null, `${data.simulated ? "SIMULATED. " : ""}${data.split.name} ${data.split.version}, ${TRACKS[now.track.track].toLowerCase()} track: ${plural(rows.length, "system")} on ${plural(now.track.tasks.length, "task")}, ${whole(now.track.n.reduce((a, b) => a + b, 0))} candidates.`),
      el("span", { class: "legend" }, now.track.tasks.map((task) => el("span", null, el("b", null, task.toUpperCase()), ` ${SpecVI.class_name(task)}`))));
    const by = METRICS[ranked_by()].ranks, { about, unranked } = METRICS[now.metric];
    into("pool", all ? `All ${plural(rows.length, "system")} shown; ranks by ${by} are 95 % confidence sets over all ${ranked} ranked.`
      : `${rows.length} of ${now.track.lines.length} systems shown, trivial ones always; ranks by ${by} recomputed among the ${ranked} ranked ones shown (Holm's method, more cautious).`);
    into("about-metric", el("b", null, `${TRACKS[now.track.track]} track.`), ` ${ABOUT_TRACKS[now.track.track]} `, el("b", null, `${METRICS[now.metric].name}.`), ` ${about}`, unranked ? ` ${unranked} The ranks shown are by macro-F1.` : now.metric === "f1" ? "" : ` Ranked here by ${by}, from the same comparisons in pairs; a system's standing on the board is the one by macro-F1.`);
    into("mark", best ? ["Dashed line: the best trivial system, ", el("bdi", null, best.system.name), ` at ${share(best.macro[0])}.`] : "");
  }

  /* ---- controls ---- */

  function controls() {
    for (const button of document.querySelectorAll("[data-track]")) button.setAttribute("aria-pressed", String(button.dataset.track === now.track.track));
    for (const button of document.querySelectorAll("[data-kind]")) button.setAttribute("aria-pressed", String(now.kinds.includes(button.dataset.kind)));
    byId("metric").value = now.metric;
    byId("status").value = now.status;
    if (byId("search").value !== now.q) byId("search").value = now.q;
    byId("prevalence-box").hidden = now.metric !== "purity";
    byId("deferred-box").hidden = now.metric !== "deferral";
    byId("prevalence").value = Math.log10(now.prevalence);
    byId("prevalence").setAttribute("aria-valuetext", odds());
    into("prevalence-said", odds());
    byId("deferred").value = data.deferred.indexOf(now.deferred);
    byId("deferred").setAttribute("aria-valuetext", percent(now.deferred));
    into("deferred-said", `${percent(now.deferred)} to people`);
    for (const box of document.querySelectorAll("[data-column]")) box.checked = now.columns.includes(box.dataset.column);
    byId("spans").checked = now.spans;
    byId("reset").hidden = !address("", { ...state(), board: null });
  }
  const odds = () => `${percent(now.prevalence, now.prevalence < 0.01 ? 2 : now.prevalence < 0.1 ? 1 : 0)}, 1 in ${whole(Math.round(1 / now.prevalence))}`;

  /* A table that fits is part of the page, its head stays in sight; a wider one moves sideways in a box of its own,
     which is as high as the window where there are many systems. */
  function fit() {
    const box = byId("rows").closest(".scroll");
    box.classList.remove("fits");
    box.classList.toggle("long", byId("rows").children.length > 24);
    box.classList.toggle("fits", box.scrollWidth <= box.clientWidth);
  }

  let listening = false;
  function listen() {
    if (listening) return;
    listening = true;
    new ResizeObserver(fit).observe(byId("main"));
    const columns = byId("columns").closest("details");
    document.addEventListener("click", (event) => { if (!columns.contains(event.target)) columns.open = false; });
    columns.addEventListener("keydown", (event) => { if (event.key === "Escape" && columns.open) { columns.open = false; columns.querySelector("summary").focus(); } });
    const rows = byId("rows");
    for (const kind of ["mouseover", "mouseleave", "focusin", "focusout"]) rows.addEventListener(kind, mark);
  }
  /* Of the row under the pointer or the focus, those it is tied with. */
  function mark(event) {
    const row = ["mouseleave", "focusout"].includes(event.type) ? null : event.target.closest("tr");
    const ranks = row && shown_ranks.get(Number(row.dataset.s));
    for (const other of byId("rows").children) other.classList.toggle("with", Boolean(ranks && ranks.tied.includes(Number(other.dataset.s))));
  }

  function build() {
    into("tracks", data.tracks.map((one) => el("button", { type: "button", "data-track": one.track, title: ABOUT_TRACKS[one.track], onclick: () => write({ track: one, sort: "" }) }, TRACKS[one.track])));
    into("metric", Object.entries(METRICS).map(([key, metric]) => el("option", { value: key }, metric.name)));
    into("kinds", kinds().map((kind) => el("button", { type: "button", "data-kind": kind, onclick: () =>
      write({ kinds: now.kinds.includes(kind) ? now.kinds.filter((one) => one !== kind) : [...now.kinds, kind] }) }, kind)));
    into("columns", Object.entries(EXTRA).map(([key, name]) => el("label", null, el("input", { type: "checkbox", "data-column": key, onchange: (event) =>
      write({ columns: Object.keys(EXTRA).filter((one) => one === key ? event.target.checked : now.columns.includes(one)) }) }), name)),
      el("label", null, el("input", { type: "checkbox", id: "spans", onchange: (event) => write({ spans: event.target.checked }) }), "Intervals by task"));
    byId("deferred").max = data.deferred.length - 1;
    byId("metric").onchange = (event) => write({ metric: event.target.value, sort: "" });
    byId("status").onchange = (event) => write({ status: event.target.value });
    byId("search").oninput = (event) => write({ q: event.target.value });
    byId("prevalence").oninput = (event) => write({ prevalence: Number((10 ** event.target.value).toPrecision(2)) });
    byId("deferred").oninput = (event) => write({ deferred: data.deferred[event.target.value] });
    byId("csv").onclick = download;
    byId("reset").onclick = () => { keep({ board: SpecVI.boardParam(data.id) }); now = read(); draw(); };
    byId("controls").onsubmit = (event) => event.preventDefault();
    listen();
  }

  /* A cell that a spreadsheet would take for a formula gets an apostrophe, quotes are doubled. */
  function quoted(value) {
    const text = value === null || value === undefined ? "" : String(value);
    const tame = typeof value === "string" && /^ *[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
  }
  function csv() {
    const rows = [...byId("rows").children].map((row) => now.track.lines.find((line) => line.s === Number(row.dataset.s)));
    const names = ["macro", ...now.track.tasks].flatMap((name) => [name, `${name}_low`, `${name}_high`]);
    const at_share = now.metric === "purity" ? now.prevalence : now.metric === "deferral" ? now.deferred : null;
    const lines = [["system", "id", "simulated", "track", "metric", "at", "ranked_by", "rank_best", "rank_worst", ...names, "kind", "status", "date", "evidence", "usd_per_1000", "seconds"]];
    for (const line of rows) {
      const system = data.systems[line.s], made = values(line), [from, to] = shown_ranks.get(line.s)?.rank || [];
      lines.push([system.name, system.id, data.simulated, now.track.track, now.metric, at_share, ranked_by(), from, to, ...[made.macro, ...made.cells].flat(),
        system.kind, system.status, system.date, evidence(line), system.usd, system.seconds]);
    }
    return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  }
  function download() {
    const link = el("a", { href: URL.createObjectURL(new Blob([csv()], { type: "text/csv" })), download: `${data.id}-${now.track.track}-${now.metric}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* ---- the three questions a reader comes with ---- */

  function answers() {
    const track = data.tracks[0], ranks = SpecVI.ranks.whole(SpecVI.ranks.of_track(track));
    const ranked = track.lines.filter((line) => line.rank);
    if (!ranked.length) { into("headline", "No system is ranked yet"); return; }
    const name = (line) => SpecVI.system_name(data.systems[line.s].name);
    const first = ranked[0], found = ranks.get(first.s), [value, low, high] = of(first.f1);
    const tied = found.tied.map((place) => data.systems[place].name);
    const others = tied.length > 3 ? plural(tied.length, "system") : list(tied);
    const trivial = ranked.find((line) => data.systems[line.s].trivial);
    into("headline", name(first), tied.length ? [" leads, but is not shown to beat ", el("bdi", null, others)] : " leads, and is shown to be the best");
    const example = data.example, system = example && data.systems.find((one) => one.id === example.system);
    into("answers",
      answer("Which system is best?", name(first), ` has the highest macro-F1, ${share(value)} (1 is every rare star found and no false alarm), over ${plural(track.tasks.length, "task")} of the ${track.track} track.`,
        trivial ? [" The best that looks at no spectrum, ", name(trivial), `, reaches ${share(of(trivial.f1)[0])}.`] : ""),
      answer("How sure are we?", "The 95 % interval is ", el("span", { class: "whole" }, span(low, high)), `, from ${whole(track.n.reduce((a, b) => a + b, 0))} candidates. With 95 % confidence its true rank is `, el("span", { class: "whole" }, `${rank(found.rank)} of ${ranked.length}`),
        tied.length ? [": ", el("bdi", null, others), ` ${tied.length > 1 ? "are" : "is"} tied with it.`] : ".", " ", el("a", { href: "method.html" }, "How ranks are made")),
      example ? answer("Why that answer?", `Asked “${example.question}”, `, el("bdi", null, system.name), ` said YES for its ${SpecVI.features(example.found)}. Each was looked for in the flux, and is there. `,
        el("a", { href: SpecVI.candidate_address(data.id, example.group, example.id, example.system) }, "Replay the inspection")) : null);
  }
  const answer = (question, ...said) => el("div", null, el("h2", null, question), el("p", null, said));

  /* Of all boards: a system that was taken out is on none. */
  function withdrawn() {
    const gone = SpecVI.site().withdrawn;
    byId("withdrawn").hidden = !gone.length;
    into("gone", gone.map((one) => el("li", null, el("b", null, el("bdi", null, one.name)), " (", el("code", null, one.id), `), since ${one.date}: `, el("span", { dir: "auto" }, one.reason))));
  }

  SpecVI.page(async () => {
    withdrawn();
    data = await SpecVI.board();
    units = SpecVI.site().units;
    errors = purities = null;
    rankings = {};
    now = read();
    build();
    answers();
    into("lacking", data.lacking.map((reason) => el("p", null, `Not in the table: ${reason}`)));
    into("rule", data.rule);
    into("dated", data.date ? `As of ${data.date}.` : "");
    paint();
  });
})();
