/* Charts as inline SVG, each with the table it is drawn from. */
"use strict";

SpecVI.charts = (() => {
  const { el, svg, share, percent, table } = SpecVI;

  /* A value with its interval on an axis from 0 to 1, as one picture in a table cell. */
  function interval([value, low, high], { mark = null, label = "" } = {}) {
    const x = (v) => (100 * v).toFixed(2) + "%";
    return svg("svg", { class: "interval", role: "img", "aria-label": `${label} ${share(value)}${low === null ? "" : `, 95 % interval ${share(low)} to ${share(high)}`}`.trim() },
      mark === null ? null : svg("line", { class: "mark", x1: x(mark), x2: x(mark), y1: 0, y2: "100%" }),
      low === null ? null : svg("line", { class: "whisker", x1: x(low), x2: x(high), y1: "50%", y2: "50%" }),
      svg("circle", { class: "dot", cx: x(value), cy: "50%", r: 4 }));
  }

  const SIZE = { width: 340, height: 260, left: 58, right: 12, top: 12, bottom: 40 };

  function frame(label, x_title, y_title, marks, { x_max = 1, x_ticks = [0, 0.25, 0.5, 0.75, 1] } = {}) {
    const { width, height, left, right, top, bottom } = SIZE;
    const x = (v) => left + (v / x_max) * (width - left - right);
    const y = (v) => height - bottom - v * (height - top - bottom);
    const ticks = [0, 0.25, 0.5, 0.75, 1];
    return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      ticks.map((v) => [svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
        svg("text", { class: "tick", x: left - 8, y: y(v) + 4, "text-anchor": "end" }, v)]),
      x_ticks.map((v) => svg("text", { class: "tick", x: x(v), y: height - bottom + 18, "text-anchor": "middle" }, v)),
      svg("text", { class: "axis", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, x_title),
      svg("text", { class: "axis", x: 12, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + height - bottom) / 2})` }, y_title),
      marks(x, y));
  }

  function figure(title, note, picture, caption, heads, rows) {
    return el("figure", { class: "plot" }, el("figcaption", null, el("b", null, title), note ? el("span", null, note) : null), picture,
      el("details", null, el("summary", null, "Numbers"), table(caption, heads, rows, { hidden: true })));
  }

  function reliability(title, bins) {
    const picture = frame(`${title}: share that is YES against mean P(YES)`, "mean P(YES)", "share that is YES", (x, y) => [
      svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      bins.map((bin) => {
        const { value, low, high } = bin.positive_share;
        return [svg("line", { class: "whisker", x1: x(bin.mean_p), x2: x(bin.mean_p), y1: y(low), y2: y(high) }),
          svg("circle", { class: "dot", cx: x(bin.mean_p), cy: y(value), r: 2.5 + Math.min(5, Math.sqrt(bin.n) / 4) })];
      })]);
    return figure(title, "on the dashed line, P(YES) says what it means", picture, `Reliability, ${title}`,
      [{ name: "mean P(YES)", num: true }, { name: "share YES", num: true }, { name: "95 %", num: true }, { name: "n", num: true }],
      bins.map((bin) => [share(bin.mean_p), share(bin.positive_share.value), SpecVI.span(bin.positive_share.low, bin.positive_share.high), bin.n]));
  }

  function deferral(title, points) {
    const max = points.at(-1)[0] || 1;
    const line = (place, x, y) => points.filter((p) => p[place] !== null).map((p, k) => `${k ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[place]).toFixed(1)}`).join("");
    const picture = frame(`${title}: purity and completeness against the share given to people`, "share given to people", "share", (x, y) => [
      svg("path", { class: "line", d: line(1, x, y) }), svg("path", { class: "line second", d: line(3, x, y) }),
      points.map((p) => [p[1] === null ? null : svg("circle", { class: "dot", cx: x(p[0]), cy: y(p[1]), r: 2.5 })])],
      { x_max: max, x_ticks: [0, max / 2, max] });
    return figure(title, "solid: purity of the catalogue; dashed: completeness", picture, `Deferral, ${title}`,
      [{ name: "given to people", num: true }, { name: "purity", num: true }, { name: "machine's part", num: true }, { name: "completeness", num: true }],
      points.map((p) => [percent(p[0]), share(p[1]), share(p[2]), share(p[3])]));
  }

  /* Shares with intervals, one line each. */
  function dots(caption, heads, rows) {
    return table(caption, [heads[0], { name: heads[1], num: true }, "0 to 1", { name: "n", num: true }], rows.map((row) =>
      [row.name, row.measure[0] === null ? "–" : [share(row.measure[0]), " ", el("span", { class: "ci" }, SpecVI.span(row.measure[1], row.measure[2]))],
        row.measure[0] === null ? "" : interval(row.measure, { label: row.label || caption }), row.n]), { className: "dots" });
  }

  /* Wilson's interval for k of n: independent candidates. */
  function wilson(k, n) {
    if (!n) return [null, null, null];
    const z = 1.959964, p = k / n, d = 1 + (z * z) / n;
    const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / d, middle = (p + (z * z) / (2 * n)) / d;
    return [p, Math.max(0, middle - half), Math.min(1, middle + half)];
  }

  return { interval, reliability, deferral, dots, wilson, figure, frame };
})();
