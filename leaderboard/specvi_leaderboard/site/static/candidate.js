/* One candidate: its spectrum, what every system said of it, and inspections replayed turn by turn. */
"use strict";

(() => {
  const { el, byId, into, state, keep, load, share, TRACKS } = SpecVI;
  const STAND = {
    holds: (claim) => claim.polarity === "absent" ? ["✓ absent", "yes"] : ["✓ found", "yes"],
    unsupported: () => ["✗ not found", "no"],
    contradicted: (claim) => claim.polarity === "absent" ? ["✗ is there", "no"] : ["✗ opposite", "no"],
    open: (claim) => [claim.polarity === "uncertain" ? "in doubt" : claim.outcome === "not covered" ? "not shown" : "not tested", "soft"],
  };
  let scope, lists, group, one, board, task, playing = 0;

  const redshift = () => task.frame === "observed" ? one.redshift : 0;

  /* Names of lines and bands that the task's windows list, those that decide first; or every one of a sort. */
  function lines(which) {
    const known = new Map([...lists.lines, ...lists.bands].map((line) => [line[0], line]));
    const deciding = (name) => task.decisive.some((species) => name === species || name.startsWith(`${species} `) || (species === "Balmer" && /^H[αβγδ]$/.test(name)));
    if (which === "none") return [];
    if (task.frame === "observed") {
      if (redshift() === null || redshift() === undefined) return [];
      return lists.lines.filter(([, , sorts]) => sorts.includes("quasar")).map(([name, at]) => [name, at * (1 + redshift()), deciding(name)]);
    }
    if (which === "all") return [...lists.lines.filter(([, , sorts]) => sorts.includes("star") || sorts.includes("nebula")), ...lists.bands].map(([name, at]) => [name, at, deciding(name)]);
    const listed = new Set(task.windows.flatMap((window) => window.label.split(", ")));
    return [...listed].filter((name) => known.has(name)).map((name) => [name, known.get(name)[1], deciding(name)]);
  }

  function head(place) {
    const truth = one.truth;
    const at = state();
    const go = (to) => SpecVI.candidate_address(board.id, at.group, group.id[to], null);
    const many = group.id.length;
    into("head",
      el("p", { class: "over" }, el("a", { href: SpecVI.address("task.html", { board: SpecVI.boardParam(board.id), task: group.task, track: group.track }) }, `${group.task.toUpperCase()}, ${TRACKS[group.track].toLowerCase()} track`), ` · candidate ${place + 1} of ${many} `,
        place > 0 ? el("a", { href: go(place - 1), rel: "prev" }, "previous") : null, place > 0 && place < many - 1 ? " · " : null, place < many - 1 ? el("a", { href: go(place + 1), rel: "next" }, "next") : null),
      el("h1", null, task.question),
      el("dl", { class: "facts" },
        fact("Truth", el("span", { class: `big ${truth === "YES" ? "yes" : "no"}` }, truth)),
        one.subtype ? fact("Object", el("bdi", null, one.subtype)) : null,
        fact("Signal to noise", one.snr === null ? "not known" : one.snr.toFixed(1)),
        fact("Survey", el("bdi", null, [one.survey, one.release].filter(Boolean).join(" ") || "not known")),
        fact("Frame", one.frame), fact("Label from", el("bdi", null, one.label)),
        fact("Id", el("code", null, el("bdi", null, one.id)))));
    document.title = `${group.task.toUpperCase()} ${one.id.slice(0, 8)} · ${SpecVI.site().title}`;
  }
  const fact = (name, value) => el("div", null, el("dt", null, name), el("dd", null, value));

  function tools() {
    const button = (name, act, label) => el("button", { type: "button", class: "plain", onclick: act, "aria-label": label || null }, name);
    const link = () => {
      const tag = el("a", { href: URL.createObjectURL(new Blob([scope.csv()], { type: "text/csv" })), download: `${one.id}.csv` });
      tag.click();
      setTimeout(() => URL.revokeObjectURL(tag.href), 1000);
    };
    const numbers = el("div");
    into("tools", button("+", () => scope.zoom(0.6), "Zoom in"), button("−", () => scope.zoom(1 / 0.6), "Zoom out"), button("Whole spectrum", () => scope.all()),
      el("label", null, "Lines", el("select", { id: "lines", onchange: (event) => scope.change({ lines: lines(event.target.value) }) },
        [["task", "of the task"], ["all", "all"], ["none", "none"]].map(([key, name]) => el("option", { value: key }, name)))),
      el("label", null, "Smooth", el("select", { id: "smooth", onchange: (event) => scope.change({ smooth: Number(event.target.value) }) },
        [[1, "no"], [3, "3 pixels"], [7, "7 pixels"], [15, "15 pixels"]].map(([key, name]) => el("option", { value: key }, name)))),
      button("CSV", link, "Download the spectrum as CSV"), el("span", { id: "range", role: "status" }),
      el("details", { ontoggle: (event) => { if (event.target.open) numbers.replaceChildren(SpecVI.table("Median flux of what is shown", [{ name: "Å", num: true }, { name: "flux", num: true }], scope.binned(), { hidden: true })); } }, el("summary", null, "Numbers"), numbers));
  }

  /* ---- replay ---- */

  function steps_of(trace) {
    const steps = [];
    trace.turns.forEach((turn, number) => {
      if (turn.role === "system" || (turn.role === "user" && !turn.views.length)) return;
      steps.push({ ...turn, number, view: turn.views.at(-1) || null });
    });
    return steps;
  }

  const stop = () => { clearInterval(playing); playing = 0; };

  function replay(systems) {
    stop();  // of the inspection that stood here before
    const names = Object.keys(one.traces);
    byId("panel").hidden = byId("claims-section").hidden = !names.length;
    byId("bench").classList.toggle("replaying", names.length > 0);
    if (!names.length) return;
    const said = state();
    const chosen = names.includes(said.system) ? said.system : names.sort((a, b) => zooms(b) - zooms(a))[0];
    const trace = one.traces[chosen], steps = steps_of(trace);
    let at = Math.min(Math.max(0, (parseInt(said.step, 10) || 1) - 1), steps.length - 1);
    const name_of = (id) => systems.find((system) => system.id === id)?.name || id;
    const calls = SpecVI.site().calls, call = calls[Number(group.calls[chosen][group.id.indexOf(one.id)])];
    into("choose", names.length < 2 ? el("bdi", null, name_of(chosen)) : el("select", {
      id: "by", "aria-label": "Whose inspection", onchange: (event) => { keep({ ...state(), system: event.target.value, step: null }); replay(systems); },
    }, names.map((id) => el("option", { value: id, selected: id === chosen }, name_of(id)))),
    el("span", null, "answered ", el("b", null, call), " ", call === one.truth ? el("span", { class: "yes" }, "✓ right") : el("span", { class: "no" }, "✗ wrong")));
    into("short", short(trace.claims));

    claims(trace, Infinity);
    if (!steps.length) { into("steps"); into("said", el("p", { class: "soft" }, "It ended before it looked at anything.")); scope.change({ window: null, marks: [] }); return; }
    const button = (id, name, act, go) => el("button", { type: "button", class: `plain${go ? " go" : ""}`, id, onclick: act }, name);
    into("steps", button("back", "← Back", () => { stop(); show(at - 1); }), button("forth", "Next →", () => { stop(); show(at + 1); }, true),
      button("play", "Play", () => {
        if (playing) { stop(); show(at); return; }
        if (at === steps.length - 1) at = -1;
        playing = setInterval(() => { if (!document.contains(byId("play")) || at >= steps.length - 1) stop(); else show(at + 1); if (at >= steps.length - 1) { stop(); show(at); } }, 2200);
        show(at + 1);
      }), button("end", "To its answer", () => { stop(); show(steps.length - 1); }), el("span", { class: "step-said", id: "step-said" }));
    byId("steps").onkeydown = (event) => {
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: steps.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); stop(); show(to); }
    };

    scope.all();
    const span_AA = scope.range();
    function show(to) {
      at = Math.min(Math.max(0, to), steps.length - 1);
      const step = steps[at];
      const seen = steps.slice(0, at + 1).map((one) => one.view).filter(Boolean).at(-1) || null;
      keep({ ...state(), system: chosen, step: at + 1 });
      byId("back").disabled = at === 0;
      byId("forth").disabled = byId("end").disabled = at === steps.length - 1;
      byId("play").textContent = playing ? "Pause" : "Play";
      into("step-said", `Step ${at + 1} of ${steps.length}`);
      into("said", words(step));
      const upto = trace.claims.filter((claim) => claim.turn <= step.number);
      const now = upto.filter((claim) => claim.turn === step.number);
      scope.change({ window: null, marks: (now.length ? now : []).flatMap(marks_of) });
      if (step.role === "assistant" && at === steps.length - 1) { scope.change({ marks: upto.filter((claim) => claim.decisive || claim.verdict === "unsupported" || claim.verdict === "contradicted").flatMap(marks_of) }); scope.all(); }
      else if (seen && seen[1] - seen[0] < 0.9 * (span_AA[1] - span_AA[0])) { scope.view(...margin(seen)); scope.change({ window: seen }); }
      else scope.all();
      claims(trace, step.number);
    }
    show(at);
  }
  /* In one sentence: what it said that decides the task, and what became of that in the flux. */
  function short(claims) {
    const said = (rows) => SpecVI.features([...new Set(rows.map((claim) => claim.claim.split(",")[0]))]);
    const decisive = claims.filter((claim) => claim.decisive && claim.polarity === "present");
    if (!decisive.length) return claims.length ? "It claims nothing that decides the question." : "It claims nothing that can be tested.";
    const found = decisive.filter((claim) => claim.verdict === "holds"), other = decisive.filter((claim) => claim.verdict === "unsupported" || claim.verdict === "contradicted");
    return ["Why? It names features that decide the question. ", found.length ? [el("span", { class: "yes" }, "✓ found in the flux: "), said(found)] : null, found.length && other.length ? "; " : null,
      other.length ? [el("span", { class: "no" }, "✗ not found: "), said(other)] : null, !found.length && !other.length ? [said(decisive), ", which could not be tested"] : null, "."];
  }
  const zooms = (id) => one.traces[id].turns.reduce((sum, turn) => sum + turn.views.length, 0);
  const margin = ([low, high]) => [low - 0.12 * (high - low), high + 0.12 * (high - low)];
  const marks_of = (claim) => claim.polarity === "absent" && claim.verdict === "holds" ? [] : claim.verdict === "open" ? []
    : claim.places.map((at) => [claim.claim.split(",")[0].replace(/ (emission|absorption)$/, ""), at, claim.outcome === "found" ? "found" : "missing"]);

  const ROLES = { assistant: "The system says", tool: "It is shown", user: "It is asked", error: "It ended with an error" };
  function words(step) {
    return [el("p", { class: "role" }, ROLES[step.role] || step.role, step.view ? `: ${step.view[0].toFixed(0)} to ${step.view[1].toFixed(0)} Å` : ""),
      step.reasoning ? el("div", { class: "words asked", dir: "auto" }, step.reasoning) : null,
      step.text ? el("div", { class: `words${step.role === "user" ? " asked" : ""}`, dir: "auto" }, step.text.replace(/<\/?think>|<image>/g, "").trim()) : null,
      step.calls.map(([name, given]) => el("p", { class: "soft" }, "calls ", el("code", { dir: "auto" }, `${name} ${given}`)))];
  }

  function claims(trace, upto) {
    const rows = [...trace.claims].sort((a, b) => a.turn - b.turn);
    into("claims", rows.length ? rows.map((claim) => {
      const [stand, kind] = STAND[claim.verdict](claim);
      const later = claim.turn > upto;
      return el("li", { class: later ? "later" : null },
        el("span", { class: `stand ${later ? "soft" : kind}` }, later ? "…" : stand),
        el("span", null, el("span", { dir: "auto" }, claim.claim), claim.decisive ? el("span", { class: "tag" }, "decisive") : null, el("small", null, later ? "not said yet" : `in the flux: ${claim.flux}`)));
    }) : el("li", null, el("span"), el("span", null, "It claimed nothing that can be tested.")));
  }

  /* ---- everybody's answer ---- */

  function answers(place, systems) {
    const calls = SpecVI.site().calls, right = group.truth[place] === "Y" ? "YES" : "NO";
    const order = board.tracks.find((track) => track.track === group.track).lines.map((line) => systems[line.s]);
    const said = order.map((system) => ({ system, call: calls[Number(group.calls[system.id]?.[place])] })).filter((row) => row.call);
    const good = said.filter((row) => row.call === right && !row.system.trivial).length, all = said.filter((row) => !row.system.trivial).length;
    into("answers", el("p", { class: "soft" }, `${good} of ${all} systems that look at the spectrum are right.`),
      SpecVI.table("Answers", ["System", "Kind", "Answer", "Inspection"], said.map(({ system, call }) => [SpecVI.system_link(board.id, system), system.trivial ? "trivial" : system.kind || "–",
        el("span", { class: "whole" }, el("span", { class: "verdict" }, call), " ", call === right ? el("span", { class: "yes" }, "✓ right") : el("span", { class: "no" }, "✗ wrong")),
        Object.hasOwn(one.traces, system.id) ? el("a", { href: SpecVI.candidate_address(board.id, state().group, one.id, system.id) }, "replay") : "–"]), { hidden: true, className: "snug" }));
  }

  SpecVI.page(async () => {
    board = await SpecVI.board();
    const said = state();
    const track = board.tracks[0];
    const name = said.group || `${track.track}-${track.tasks[0]}`;
    if (!board.tracks.some((one) => one.tasks.some((key) => name === `${one.track}-${key}`))) throw SpecVI.sorry("there is no such task on this board");
    group = await load(`${board.id}/group/${name}`);
    const place = said.id ? group.id.indexOf(said.id) : group.drawn.indexOf("1");
    if (place < 0) throw SpecVI.sorry("there is no such candidate in this task");
    if (group.drawn[place] !== "1") throw SpecVI.sorry("the spectrum of this candidate is not part of the site");
    if (!said.group || !said.id) keep({ ...said, group: name, id: group.id[place] });
    [lists, one] = await Promise.all([load("tasks"), load(`${board.id}/candidate/${name}-${place}`)]);
    task = lists.tasks[group.task];
    head(place);
    scope = SpecVI.spectrum.scope(byId("scope"), one, `Spectrum, flux against wavelength. ${one.frame}. Arrow keys move, plus and minus zoom, 0 shows all.`, (low, high) => {
      if (byId("range")) into("range", `${low.toFixed(0)} to ${high.toFixed(0)} Å`);
    });
    tools();
    scope.change({ lines: lines("task") });
    answers(place, board.systems);
    replay(board.systems);
  });
})();
