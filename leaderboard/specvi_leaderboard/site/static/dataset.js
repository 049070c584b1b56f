/* Which candidates a board is about. */
"use strict";

(() => {
  const { el, into, byId, load, whole, percent, TRACKS } = SpecVI;
  const fact = (name, value) => el("div", null, el("dt", null, name), el("dd", null, value));
  const num = (name) => ({ name, num: true });
  const EDGES = [-Infinity, 5, 10, 20, 50, Infinity], BINS = ["below 5", "5–10", "10–20", "20–50", "50 and above"];

  SpecVI.page(async () => {
    const board = await SpecVI.board(), { split } = board;
    const rows = board.tracks.flatMap((track) => track.tasks.map((task, k) => ({ track: track.track, task, n: track.n[k], positives: track.positives[k] })));
    into("head", el("p", { class: "over" }, board.simulated ? "Simulated spectra" : "Survey spectra"), el("h1", null, el("bdi", null, `${split.name} ${split.version}`)),
      el("p", null, `${whole(rows.reduce((sum, row) => sum + row.n, 0))} candidates in ${rows.length} groups. Each was proposed by a classifier; a member is what its task asks for, and everything else is what looked like one.`),
      el("dl", { class: "facts" }, fact("Parts", split.parts.join(", ")), fact("Objects told apart by", Object.entries(split.object_id_sources).filter(([, n]) => n).map(([source, n]) => `${source} (${whole(n)})`).join(", ")),
        fact("Scoring version", board.scoring), fact("Fingerprint", el("code", null, split.fingerprint))));
    into("groups", SpecVI.table("Candidates by track and task", ["Task", "Class", "Track", num("candidates"), num("members"), num("share")], rows.map((row) => [
      el("a", { href: SpecVI.address("task.html", { board: SpecVI.boardParam(board.id), task: row.task, track: row.track }) }, row.task.toUpperCase()), SpecVI.site().tasks[row.task], TRACKS[row.track], whole(row.n), whole(row.positives), percent(row.positives / row.n)]), { hidden: true }));
    byId("snr-section").hidden = !SpecVI.site().candidates;
    if (!SpecVI.site().candidates) return;
    const groups = await Promise.all(rows.map((row) => load(`${board.id}/group/${row.track}-${row.task}`)));
    into("snr", SpecVI.table("Candidates by signal to noise (median of a pixel)", ["Task", "Track", ...BINS.map(num), num("not known")], groups.map((group) => [group.task.toUpperCase(), TRACKS[group.track],
      ...BINS.map((_, k) => whole(group.snr.filter((v) => v !== null && v >= EDGES[k] && v < EDGES[k + 1]).length)), whole(group.snr.filter((v) => v === null).length)]), { hidden: true }));
  });
})();
