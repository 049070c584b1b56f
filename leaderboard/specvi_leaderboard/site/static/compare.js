/* Two systems on the same candidates: the difference, what it rests on, and where only one is right. */
"use strict";

(() => {
  const { el, into, byId, state, load, share, signed, span, whole, TRACKS } = SpecVI;

  /* Exact two-sided McNemar test: only `b` and only `c` right, as tosses of a fair coin. */
  function mcnemar(b, c) {
    const n = b + c, k = Math.min(b, c);
    if (b === c) return 1;
    let log = -n * Math.LN2, sum = 0;
    for (let i = 0; i <= k; i++) { sum += Math.exp(log); log += Math.log(n - i) - Math.log(i + 1); }
    return Math.min(1, 2 * sum);
  }
  const p_text = (p) => p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;

  function pick(board, track, id, other) {
    const ids = track.lines.map((line) => board.systems[line.s].id);
    return ids.includes(id) ? id : ids.find((one) => one !== other);
  }

  SpecVI.page(async () => {
    const board = await SpecVI.board(), said = state(), units = SpecVI.site().units;
    const track = board.tracks.find((one) => one.track === said.track) || board.tracks[0];
    const a = pick(board, track, said.a, said.b), b = pick(board, track, said.b === a ? null : said.b, a);
    if (!b) throw SpecVI.sorry("there is only one system to compare");
    const system = (id) => board.systems.find((one) => one.id === id);
    const line = (id) => track.lines.find((one) => board.systems[one.s].id === id);
    const to = (change) => { location.hash = SpecVI.address("", { board: SpecVI.boardParam(board.id), track: track.track, a, b, ...change }); };
    const select = (id, chosen, change) => el("select", { id, onchange: (event) => to({ [change]: event.target.value }) },
      track.lines.map((one) => board.systems[one.s]).map((one) => el("option", { value: one.id, selected: one.id === chosen }, one.name)));
    into("choices", el("div", { class: "field" }, el("label", { class: "label", for: "a" }, "First"), select("a", a, "a")), el("div", { class: "field" }, el("label", { class: "label", for: "b" }, "Second"), select("b", b, "b")),
      el("div", { class: "field" }, el("label", { class: "label", for: "track" }, "Track"), el("select", { id: "track", onchange: (event) => to({ track: event.target.value }) }, board.tracks.map((one) => el("option", { value: one.track, selected: one === track }, TRACKS[one.track])))),
      el("button", { type: "button", class: "plain", onclick: () => to({ a: b, b: a }) }, "Swap"));
    const [first, second] = [line(a), line(b)], name = (id) => el("bdi", null, system(id).name);
    into("headline", name(a), " and ", name(b));
    document.title = `${system(a).name} and ${system(b).name} · ${SpecVI.site().title}`;
    if (first.rank && second.rank) {
      const errors = await load(`${board.id}/errors`);
      const ranked = track.lines.filter((one) => one.rank), [i, j] = [ranked.indexOf(first), ranked.indexOf(second)].sort((x, y) => x - y);
      const place = SpecVI.ranks.place(i, j, ranked.length), error = errors[track.track][place] / SpecVI.site().errorUnits;
      const difference = (first.f1[0] - second.f1[0]) / units, p = error ? SpecVI.ranks.two_sided(difference / error) : 1;
      const tied = SpecVI.ranks.bits(track.ties)(place);
      into("said", `Macro-F1 ${share(first.f1[0] / units)} and ${share(second.f1[0] / units)} on the ${track.track} track: a difference of ${signed(difference)}, 95 % interval ${signed(difference - 1.96 * error)} to ${signed(difference + 1.96 * error)} for this pair alone (paired, ${p_text(p)}). `,
        el("b", null, tied ? "In the ranking over all systems they are tied." : "In the ranking over all systems they are told apart."));
    } else into("said", "One of them is not ranked on this track, so their macro-F1 is not compared.");
    await tasks(board, track, a, b, name, first, second, units);
  });

  async function tasks(board, track, a, b, name, first, second, units) {
    const num = (text) => ({ name: text, num: true });
    const calls = SpecVI.site().calls;
    const groups = SpecVI.site().candidates ? await Promise.all(track.tasks.map((task) => load(`${board.id}/group/${track.track}-${task}`))) : [];
    const right = (group, id, k) => { const call = calls[Number(group.calls[id][k])]; return ["YES", "NO"].includes(call) && call[0] === group.truth[k]; };
    const split = groups.map((group) => ({ group, only_a: group.id.map((_, k) => k).filter((k) => right(group, a, k) && !right(group, b, k)), only_b: group.id.map((_, k) => k).filter((k) => !right(group, a, k) && right(group, b, k)) }));
    const f1 = (line, k) => line.cells[k].slice(0, 3).map((v) => v === null ? null : v / units);
    const bar = (line, k) => { const value = f1(line, k); return [share(value[0]), " ", el("span", { class: "ci" }, value[1] === null ? "" : span(value[1], value[2]))]; };
    into("tasks", SpecVI.table("F1 by task, and candidates on which only one is right. McNemar’s p: how often chance alone parts so many so unevenly, for one task by itself", ["Task", { name: ["F1 of ", name(a)], num: true }, { name: ["F1 of ", name(b)], num: true }, num("only the first right"), num("only the second right"), num("McNemar")],
      track.tasks.map((task, k) => [task.toUpperCase(), bar(first, k), bar(second, k), ...(split[k] ? [whole(split[k].only_a.length), whole(split[k].only_b.length), p_text(mcnemar(split[k].only_a.length, split[k].only_b.length))] : ["–", "–", "–"])])));
    byId("differ").closest("section").hidden = !groups.length;
    const link = (group, k) => el("li", null, group.drawn[k] === "1" ? el("a", { href: SpecVI.candidate_address(board.id, `${group.track}-${group.task}`, group.id[k]) }, group.subtype[k] || group.id[k].slice(0, 8)) : group.subtype[k] || group.id[k].slice(0, 8), el("span", { class: "soft" }, group.truth[k] === "Y" ? " member" : " other"));
    into("differ", split.map(({ group, only_a, only_b }) => only_a.length + only_b.length ? [el("h3", null, group.task.toUpperCase()), el("div", { class: "columns" }, [[a, only_a], [b, only_b]].map(([id, places]) => el("div", null, el("p", { class: "soft" }, "Only ", name(id), ` is right: ${places.length}`), el("ul", { class: "links" }, places.slice(0, 40).map((k) => link(group, k)), places.length > 40 ? el("li", null, `and ${places.length - 40} more`) : null))))] : null),
      split.every(({ only_a, only_b }) => !only_a.length && !only_b.length) ? el("p", null, "Nowhere: they are right on the same candidates.") : null);
  }
})();
