/* Published figures: shown as printed, never ranked. */
"use strict";

(() => {
  const { el, into, load } = SpecVI;
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

  SpecVI.page(async () => {
    const found = await load("published");
    const tasks = found.systems[0].cells.map((cell) => cell.task), num = (name) => ({ name, num: true });
    into("head", el("p", { class: "over" }, "Status: reported"), el("h1", null, "Published figures"), el("p", null, found.title), el("p", null, `${sentence(found.note)} They are about the published real spectra only, and are never ranked.`),
      el("p", { class: "soft" }, `Source: ${sentence(found.source)} Read: ${sentence(found.how_read)}`));
    into("figures", el("p", { class: "soft" }, `Accuracy / F1 in per cent. ✗: ${found.impossible}.`), SpecVI.table("Accuracy and F1 as printed", ["System", "Kind", ...tasks.map((task) => num(task.toUpperCase())), num("Mean")], found.systems.map((row) => [
      el("bdi", null, row.name), el("span", { class: "whole" }, row.kind), ...row.cells.map((cell) => [`${cell.accuracy} / ${cell.f1}`, el("span", { class: "no flag", title: cell.possible ? null : found.impossible }, cell.possible ? "" : "✗")]), row.mean.replace("/", " / ")]), { hidden: true }));
    into("further", el("p", null, found.further_title), el("p", { class: "soft" }, `Source: ${sentence(found.further_source)} Read: ${sentence(found.further_how_read)}`), SpecVI.table("Further figures", ["System", "Track", "Candidates", "Measure", num("Value")], found.further.map((row) => [
      el("bdi", null, row.system), el("span", { class: "whole" }, row.track), row.set, row.measure, row.up_to === null ? String(row.value) : `${row.value} to ${row.up_to}`]), { hidden: true }));
  });
})();
