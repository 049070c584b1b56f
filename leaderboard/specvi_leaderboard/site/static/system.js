/* One system: scores, ledger, S/N, probabilities, evidence, and where it fails. */
"use strict";

(() => {
  const { el, into, byId, state, load, share, span, percent, amount, rank, whole, TRACKS } = SpecVI;
  const three = (measure) => [measure.value, measure.low, measure.high];
  const fact = (name, value, big) => el("div", null, el("dt", null, name), el("dd", { class: big ? "big" : null }, value));
  const task_name = (score) => `${score.task.toUpperCase()}${score.track === "main" ? "" : `, ${TRACKS[score.track].toLowerCase()}`}`;
  const task_cell = (score) => [score.task.toUpperCase(), score.track === "main" ? null : el("span", { class: "note whole" }, TRACKS[score.track].toLowerCase())];
  const moment = (text) => text.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?(?:\+00:00|Z)$/, "$1 $2 UTC");
  const EDGES = [-Infinity, 5, 10, 20, 50, Infinity], BINS = ["below 5", "5 to 10", "10 to 20", "20 to 50", "50 and above"];

  /* One part for each track, the first one open. */
  function by_track(items, make) {
    return [...new Set(items.map((one) => one.track))].map((track, k) => el("details", { open: k === 0, class: "track" }, el("summary", null, `${TRACKS[track]} track`),
      make(items.filter((one) => one.track === track), `${TRACKS[track].toLowerCase()} track`)));
  }

  function head(board, system, detail) {
    const standing = board.tracks.map((track) => ({ track, line: track.lines.find((line) => board.systems[line.s].id === system.id) }));
    const links = Object.entries(system.links || {}).filter(([, link]) => link && /^https:\/\//.test(link));
    into("head", el("p", { class: "over" }, [system.trivial ? "trivial" : system.kind, system.status].filter(Boolean).join(" · ")),
      el("h1", null, el("bdi", null, system.name)),
      system.superseded_by ? el("p", null, "Superseded by ", el("bdi", null, system.superseded_by), ".") : null,
      system.trivial ? el("p", null, "It does not inspect the spectrum: what it reaches, any system has to beat.") : null,
      system.selector ? el("p", null, "Of the kind of classifier that chose the negatives it was trained on.") : null,
      el("dl", { class: "facts" }, standing.map(({ track, line }) => {
        const [value, low, high] = line.f1.map((v) => v === null ? null : v / SpecVI.site().units);
        return fact(`${TRACKS[track.track]} track, macro-F1`, [share(value), " ", el("span", { class: "ci" }, value === null ? "" : span(low, high)), el("div", { class: "note" }, line.rank ? `rank ${rank(line.rank)} of ${track.lines.filter((one) => one.rank).length}` : `not ranked: ${line.why}`)], true);
      })),
      el("dl", { class: "facts" }, fact("Status", `${system.status}: ${system.how}`), system.date ? fact("Date", system.date) : null,
        system.authors ? fact("Authors", el("bdi", null, system.authors.join(", "))) : null, system.licence ? fact("Licence", system.licence) : null,
        fact("Seconds a candidate", amount(system.seconds)), fact("US$ for 1,000", amount(system.usd)), system.hardware ? fact("Hardware", el("bdi", null, system.hardware)) : null,
        system.training ? fact("Trained on", el("bdi", null, system.training.map((one) => one.name).join(", "))) : null,
        system.model?.hub_id ? fact("Model", el("code", null, `${system.model.hub_id} @ ${system.model.revision}`)) : null,
        links.length ? fact("Links", links.map(([name, link], k) => [k ? ", " : "", el("a", { href: link, rel: "noopener nofollow" }, name)])) : null,
        fact("Compare", el("a", { href: SpecVI.address("compare.html", { board: SpecVI.boardParam(board.id), a: system.id }) }, "with another system"))),
      system.notes ? el("p", { dir: "auto" }, system.notes) : null,
      detail.incomplete.length ? el("p", { class: "banner" }, `Incomplete: ${detail.incomplete.join(", ")}`) : null,
      detail.outcomesUndeclared ? el("p", { class: "soft" }, "The answers came without outcomes: every empty one counts as unparsed.") : null);
    document.title = `${system.name} · ${SpecVI.site().title}`;
  }

  function scores(board, detail) {
    const num = (name) => ({ name, num: true });
    into("tasks", el("div", { class: "columns" }, detail.macro.map((macro) => {
      const rows = detail.tasks.filter((score) => score.track === macro.track);
      return SpecVI.charts.dots(`${TRACKS[macro.track]} track`, ["Task", "F1"], rows.map((score) => ({
        name: el("a", { href: SpecVI.address("task.html", { board: SpecVI.boardParam(board.id), task: score.task, track: score.track }) }, score.task.toUpperCase()), measure: three(score.ranked.f1), n: score.n, label: `${score.task} F1`,
      })));
    })), el("details", null, el("summary", null, "Accuracy, precision, recall, and other readings of non-answers"), SpecVI.table("All metrics by task, 95 % intervals", ["Task", num("F1"), num("accuracy"), num("precision"), num("recall"), num("F1 if non-answers are NO"), num("F1 if they are right"), num("F1, lenient reading")],
      detail.tasks.map((score) => [task_cell(score), ...["f1", "accuracy", "precision", "recall"].map((name) => [share(score.ranked[name].value), " ", el("span", { class: "ci" }, span(score.ranked[name].low, score.ranked[name].high))]), share(score.non_answer_is_no.f1), share(score.best.f1), score.lenient ? share(score.lenient.f1) : "–"]))));
    const calls = SpecVI.site().calls;
    into("counts", by_track(detail.tasks, (scores, track) => SpecVI.table(`Ledger, ${track}: truth → call → candidates`, ["Task", "Truth", ...calls.map(num), num("all")], scores.flatMap((score) => ["YES", "NO"].map((truth) =>
      [score.task.toUpperCase(), truth, ...calls.map((call) => { const n = score.ledger[truth][call]; return n ? el("span", { class: call === truth ? "yes" : "no" }, whole(n)) : "0"; }), whole(Object.values(score.ledger[truth]).reduce((a, b) => a + b, 0))])), { hidden: true })));
  }

  async function candidates(board, system, detail) {
    const groups = await Promise.all(detail.tasks.map((score) => load(`${board.id}/group/${score.track}-${score.task}`)));
    const calls = SpecVI.site().calls;
    into("snr", by_track(groups, (members) => el("div", { class: "plots wide" }, members.map((group) => {
      const bins = BINS.map(() => [0, 0]);
      group.id.forEach((_, k) => {
        if (group.snr[k] === null) return;
        const bin = bins[EDGES.findIndex((edge, i) => group.snr[k] >= edge && group.snr[k] < EDGES[i + 1])];
        bin[1]++;
        if (calls[Number(group.calls[system.id][k])][0] === group.truth[k] && Number(group.calls[system.id][k]) < 2) bin[0]++;
      });
      const rows = bins.map(([right, n], k) => ({ name: BINS[k], measure: SpecVI.charts.wilson(right, n), n, label: `S/N ${BINS[k]}` })).filter((row) => row.n);
      return rows.length ? SpecVI.charts.dots(task_name(group), ["S/N", "right"], rows) : null;
    }))));
    into("wrong", groups.map((group) => {
      const wrong = group.id.map((id, k) => ({ id, k, call: calls[Number(group.calls[system.id][k])] })).filter(({ k, call }) => call[0] !== group.truth[k] || !["YES", "NO"].includes(call));
      if (!wrong.length) return el("p", { class: "none" }, `${task_name(group)}: no candidate wrong`);
      const kinds = [["missed", wrong.filter(({ k }) => group.truth[k] === "Y")], ["called YES wrongly, or not answered", wrong.filter(({ k }) => group.truth[k] !== "Y")]].filter(([, rows]) => rows.length);
      return el("details", null, el("summary", null, `${task_name(group)}: ${kinds.map(([name, rows]) => `${rows.length} ${name}`).join("; ")} (of ${group.id.length})`),
        kinds.map(([name, rows]) => [el("p", { class: "soft" }, name), el("ul", { class: "links" }, rows.slice(0, 60).map(({ id, k, call }) => el("li", null,
          group.drawn[k] === "1" ? el("a", { href: SpecVI.candidate_address(board.id, `${group.track}-${group.task}`, id, system.id) }, label(group, k)) : label(group, k), ["YES", "NO"].includes(call) ? null : ` (${call})`)), rows.length > 60 ? el("li", null, `and ${rows.length - 60} more`) : null)]));
    }));
    const traced = new Set(detail.traces);
    byId("inspections").hidden = !traced.size;
    into("traces", by_track(groups.filter((group) => group.id.some((id) => traced.has(id))), (members) => members.map((group) => {
      const rows = group.id.map((id, k) => ({ id, k })).filter(({ id }) => traced.has(id));
      return rows.length ? el("div", null, el("h3", null, task_name(group)), el("ul", { class: "links" }, rows.map(({ id, k }) => {
        const call = calls[Number(group.calls[system.id][k])];
        return el("li", null, el("a", { href: SpecVI.candidate_address(board.id, `${group.track}-${group.task}`, id, system.id) }, label(group, k)), call[0] === group.truth[k] ? el("span", { class: "yes" }, ` ✓ ${call}`) : el("span", { class: "no" }, ` ✗ ${call}`));
      }))) : null;
    })));
  }
  const label = (group, k) => `${group.subtype[k] || group.id[k].slice(0, 8)}${group.snr[k] === null ? "" : `, S/N ${Math.round(group.snr[k])}`}`;

  function probability(detail) {
    const made = detail.tasks.filter((score) => score.probability);
    if (!made.length) { into("charts", el("p", { class: "soft" }, "It gives no P(YES), or not with every answer: no reliability, and no order in which to defer to people.")); return; }
    into("charts", by_track(made, (made, track) => [SpecVI.table(`Probabilities, ${track}`, ["Task", { name: "Brier", num: true }, { name: "AUROC", num: true }, { name: "average precision", num: true }, { name: "calibration error", num: true }, { name: "by chance", num: true }],
      made.map((score) => { const p = score.probability; return [score.task.toUpperCase(), ...[p.brier, p.auroc, p.average_precision].map((m) => [share(m.value), " ", el("span", { class: "ci" }, span(m.low, m.high))]), share(p.ece), share(p.ece_by_chance)]; }), { hidden: true }),
    el("div", { class: "plots" }, made.flatMap((score) => [SpecVI.charts.reliability(`${task_name(score)}: reliability`, score.probability.bins), score.deferral ? SpecVI.charts.deferral(`${task_name(score)}: deferral`, score.deferral) : null]))]));
  }

  function evidence(board, detail) {
    const held = detail.tasks.filter((score) => score.evidence && score.evidence.n);
    if (!held.length) { into("evidence", el("p", { class: "soft" }, "It leaves no text to hold against the flux.")); return; }
    const num = (name) => ({ name, num: true });
    const cell = (m) => m.value === null ? "–" : [percent(m.value), " ", el("span", { class: "ci" }, m.low === null ? "" : `${Math.round(100 * m.low)}–${percent(m.high)}`)];
    into("evidence", el("p", { class: "soft" }, "Right YES answers whose decisive claims stand in the flux; claims made and not found; where it looked."),
      SpecVI.table("Evidence by task", ["Task", num("right YES"), num("decisive found"), num("claimed, not found"), num("contradicted"), num("zooms"), num("windows seen")],
        held.map((score) => { const e = score.evidence; return [task_cell(score), e.decisive.n, cell(e.decisive.share), cell(e.claims.unsupported), cell(e.claims.contradicted), e.looked.calls === null ? "–" : e.looked.calls.toFixed(1), percent(e.looked.windows_shown)]; }), { hidden: true }),
      held.some((score) => score.evidence.looked.usual_order.length) ? el("details", null, el("summary", null, "Where it looks, in its usual order"), SpecVI.table("Usual order of zooms by task", ["Task", "Windows of the task"], held.filter((score) => score.evidence.looked.usual_order.length).map((score) => [task_cell(score), score.evidence.looked.usual_order.join(" → ")]), { hidden: true })) : null,
      el("details", null, el("summary", null, "Claims that fail, to look at"), el("ul", { class: "claims" }, held.flatMap((score) => score.evidence.examples.map((example) => el("li", null, el("span", { class: "stand no" }, example.of), el("span", null, el("span", { dir: "auto" }, `“${example.sentence}”`),
        el("small", null, `${task_name(score)}: ${example.claim}; in the flux: ${example.flux}. `, el("a", { href: SpecVI.candidate_address(board.id, `${score.track}-${score.task}`, example.id, state().id) }, "candidate")))))))));
  }

  /* Moves of one truth: [task, truth, candidates, YES before, YES after, change with interval]. */
  function probes(detail) {
    const found = detail.probes, units = SpecVI.site().units;
    byId("probes-section").hidden = !found;
    if (!found) return;
    const num = (name) => ({ name, num: true });
    const points = (value) => { const whole_points = Math.round((100 * value) / units); return `${whole_points < 0 ? "−" : whole_points > 0 ? "+" : ""}${Math.abs(whole_points)}`; };
    const shift = (change) => change ? [points(change[0]), " ", el("span", { class: "ci" }, `${points(change[1])} to ${points(change[2])}`)] : "–";
    const of = (one, truth, task = null) => one.moves.find((move) => move[0] === task && move[1] === truth);
    const name = (one) => [el("span", { class: "probe" }, one.summary), one.against ? el("span", { class: "note" }, `against: ${one.against}`) : null];
    const table = (truth, caption) => SpecVI.table(caption, ["Changed how", num("YES before"), num("YES after"), num("change, points"), "An honest system", num("asked")],
      found.probes.filter((one) => of(one, truth)).map((one) => { const [, , n, before, after, change] = of(one, truth); return [name(one), whole(before), whole(after), shift(change), one.honest || "–", whole(n)]; }));
    const tasks = [...new Set(found.probes.flatMap((one) => one.moves.map((move) => move[0])))].filter(Boolean);
    const which = [found.part ? `part ${found.part}` : "all parts", found.track ? `${found.track} track` : "all tracks", found.task ? found.task.toUpperCase() : null].filter(Boolean).join(", ");
    into("probes", found.sentences.map((text) => el("p", null, text)),
      table("YES", "YES to members; change of their share in percentage points, with its 95 % interval by object"),
      el("details", null, el("summary", null, "The same for others (truth NO)"), table("NO", "YES to others")),
      tasks.length ? el("details", null, el("summary", null, "Members, task by task"), SpecVI.table("YES to members before → after, by task", ["Changed how", ...tasks.map((task) => num(task.toUpperCase()))],
        found.probes.map((one) => [name(one), ...tasks.map((task) => { const move = of(one, "YES", task); return move ? `${whole(move[3])} → ${whole(move[4])}` : "–"; })]), { hidden: true })) : null,
      found.left.length ? el("p", { class: "soft" }, `Not asked: ${found.left.map(([probe, reason]) => `${probe} (${reason})`).join("; ")}.`) : null,
      el("p", { class: "soft" }, `Probed as `, el("code", { dir: "auto" }, found.vetter), `, ${whole(found.candidates)} candidates (${which}), probes version ${found.version}, seed ${found.seed}. Probes move no score and no rank.`));
  }

  SpecVI.page(async () => {
    const board = await SpecVI.board();
    const system = board.systems.find((one) => one.id === state().id) || (state().id ? null : board.systems[board.tracks[0].lines[0].s]);
    if (!system) throw SpecVI.sorry("there is no such system on this board");
    const detail = await load(`${board.id}/system/${system.id}`);
    head(board, system, detail);
    scores(board, detail);
    probability(detail);
    evidence(board, detail);
    probes(detail);
    into("config", el("dl", { class: "facts" }, detail.suite ? fact("Suite", detail.suite) : null, detail.seed === null ? null : fact("Seed", detail.seed), detail.started ? fact("Started", moment(detail.started)) : null, detail.ended ? fact("Ended", moment(detail.ended)) : null),
      el("details", null, el("summary", null, "Configuration"), el("pre", { tabindex: 0 }, el("code", null, JSON.stringify(detail.config, null, 2)))));
    if (SpecVI.site().candidates) await candidates(board, system, detail);
    else for (const id of ["snr", "wrong", "traces"]) byId(id).closest("section").hidden = true;
  });
})();
