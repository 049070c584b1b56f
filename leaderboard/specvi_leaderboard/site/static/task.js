/* One task: who does well on it, what its candidates look like and how hard they are, and how to decide. */
"use strict";

(() => {
  const { el, svg, into, byId, state, address, load, share, whole, plural, TRACKS } = SpecVI;

  function choose(board, track, key) {
    const all = board.tracks.flatMap((one) => one.tasks.map((task) => [one.track, task]));
    return el("div", { class: "choices" }, el("label", { for: "which" }, "Task"), el("select", { id: "which", onchange: (event) => {
      const [to_track, task] = event.target.value.split("/");
      location.hash = address("", { board: SpecVI.boardParam(board.id), track: to_track, task });
    } }, all.map(([one, task]) => el("option", { value: `${one}/${task}`, selected: one === track && task === key }, `${task.toUpperCase()} · ${TRACKS[one].toLowerCase()}`))));
  }

  function systems(board, track, place) {
    const units = SpecVI.site().units;
    const rows = track.lines.map((line) => ({ system: board.systems[line.s], f1: line.cells[place].slice(0, 3).map((v) => v === null ? null : v / units) }))
      .sort((a, b) => (b.f1[0] ?? -1) - (a.f1[0] ?? -1));
    into("systems", el("p", { class: "soft" }, "F1 with 95 % intervals. Ranks are made over all tasks of a track, not here."),
      SpecVI.charts.dots("F1 on this task", ["System", "F1"], rows.map(({ system, f1 }) => ({ name: [SpecVI.system_link(board.id, system), system.trivial ? el("span", { class: "tag" }, "trivial") : null], measure: f1, n: track.n[place], label: system.name }))));
  }

  async function examples(board, group) {
    const name = `${group.track}-${group.task}`;
    const there = (truth) => group.id.map((_, k) => k).filter((k) => group.truth[k] === truth && group.drawn[k] === "1").sort((a, b) => (group.snr[b] ?? 0) - (group.snr[a] ?? 0));
    const spread = (places) => [places[Math.floor(places.length * 0.15)], places[Math.floor(places.length * 0.6)]].filter((k) => k !== undefined);
    const chosen = [...new Set([...spread(there("Y")), ...spread(there("N"))])];
    const drawn = await Promise.all(chosen.map((k) => load(`${board.id}/candidate/${name}-${k}`)));
    into("examples", chosen.map((k, i) => el("a", { href: SpecVI.candidate_address(board.id, name, group.id[k]) },
      SpecVI.spectrum.thumb(drawn[i], `Spectrum, ${group.truth[k] === "Y" ? "a member" : "not a member"}`),
      el("span", null, el("b", { class: group.truth[k] === "Y" ? "yes" : "no" }, group.truth[k] === "Y" ? "YES" : "NO"), " ", el("bdi", null, group.subtype[k] || group.id[k].slice(0, 8)), el("span", { class: "soft" }, group.snr[k] === null ? "" : ` S/N ${Math.round(group.snr[k])}`)))));
  }

  function difficulty(board, group) {
    const calls = SpecVI.site().calls;
    const judges = board.systems.filter((one) => !one.trivial && group.calls[one.id]);
    const right = group.id.map((_, k) => judges.filter((one) => { const call = calls[Number(group.calls[one.id][k])]; return call.length < 4 && call[0] === group.truth[k]; }).length);
    if (!judges.length) { byId("difficulty-section").hidden = true; return; }
    const bins = Array.from({ length: Math.min(judges.length, 10) + 1 }, () => 0);
    right.forEach((n) => { bins[Math.round((n / judges.length) * (bins.length - 1))]++; });
    const picture = SpecVI.charts.frame("How many candidates how large a share of systems gets right", "share of systems that are right", "share of candidates", (x, y) => bins.map((n, k) => {
      const wide = 0.8 * (x(1) - x(0)) / bins.length, middle = x(0) + (x(1) - x(0)) * (k + 0.5) / bins.length;
      return [svg("rect", { class: "column", x: middle - wide / 2, width: wide, y: y(n / group.id.length), height: Math.max(0, y(0) - y(n / group.id.length)) }),
        svg("text", { class: "tick", x: middle, y: y(0) + 18, "text-anchor": "middle" }, Number((k / (bins.length - 1)).toFixed(2)))];
    }), { x_ticks: [] });
    const hardest = right.map((n, k) => ({ n, k })).filter(({ n }) => n < judges.length).sort((a, b) => a.n - b.n).slice(0, 24);
    into("difficulty", SpecVI.charts.figure(`${plural(judges.length, "system")} that look at the spectrum`, `all of them are right on ${whole(right.filter((n) => n === judges.length).length)} of ${whole(group.id.length)} candidates, none on ${whole(right.filter((n) => !n).length)}`, picture, "Candidates by share of systems that are right",
      ["share right", { name: "candidates", num: true }], bins.map((n, k) => [share(k / (bins.length - 1), 2), whole(n)])),
    el("div", null, el("h3", null, "The hardest"), el("p", { class: "soft" }, `Each with how many of the ${judges.length} are right.`), el("ul", { class: "links" }, hardest.length ? hardest.map(({ n, k }) => el("li", null,
      group.drawn[k] === "1" ? el("a", { href: SpecVI.candidate_address(board.id, `${group.track}-${group.task}`, group.id[k]) }, group.subtype[k] || group.id[k].slice(0, 8)) : group.subtype[k] || group.id[k].slice(0, 8), ` ${n}/${judges.length}`)) : el("li", null, "none: every system is right on every one"))));
  }

  function guide(task) {
    const windows = task.windows.map((one) => [one.label, `${one.range_AA[0]}–${one.range_AA[1]}`, one.look_for]);
    into("guide", el("div", { class: "columns" },
      el("div", { class: "prose" }, el("h3", null, "Procedure"), task.guideline.split("\n\n").map((text) => el("p", null, text))),
      el("div", null, el("h3", null, "What speaks for it"), el("ul", null, task.indicators.map((one) => el("li", null, el("b", null, one.rank), one.state ? ` (${one.state})` : "", `: ${one.text}`))))),
    el("h3", null, "What looks alike"), SpecVI.table("Confusers", ["Object", "How to tell"], task.confusers.map((one) => [one.name, one.tell]), { hidden: true }),
    el("h3", null, "Where to look"), SpecVI.table(`Windows, vacuum Å, ${task.frame} frame`, ["Lines", { name: "Å", num: true }, "Look for"], windows, { hidden: true }),
    el("h3", null, "On the border"), SpecVI.table("Border cases", ["Case", "Label", "Why"], task.border_cases.map((one) => [one.case, one.label, one.reason]), { hidden: true }),
    el("p", { class: "soft" }, `Sources: ${task.sources.join("; ")}`));
  }

  SpecVI.page(async () => {
    const [board, lists] = [await SpecVI.board(), await load("tasks")];
    const said = state();
    const track = board.tracks.find((one) => one.track === said.track && (!said.task || one.tasks.includes(said.task))) || board.tracks.find((one) => one.tasks.includes(said.task)) || board.tracks[0];
    const key = track.tasks.includes(said.task) ? said.task : track.tasks[0], place = track.tasks.indexOf(key), task = lists.tasks[key];
    into("head", el("p", { class: "over" }, `${key.toUpperCase()} · ${TRACKS[track.track].toLowerCase()} track · ${whole(track.n[place])} candidates, ${whole(track.positives[place])} of them members`),
      el("h1", null, task.question), el("p", null, task.summary), choose(board, track.track, key));
    document.title = `${key.toUpperCase()} · ${SpecVI.site().title}`;
    systems(board, track, place);
    guide(task);
    const shown = SpecVI.site().candidates;
    byId("examples-section").hidden = byId("difficulty-section").hidden = !shown;
    if (!shown) return;
    const group = await load(`${board.id}/group/${track.track}-${key}`);
    difficulty(board, group);
    await examples(board, group);
  });
})();
