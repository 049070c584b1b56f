/* A spectrum to zoom and move: unpacked from the data, drawn as SVG at the size it has on the screen. */
"use strict";

SpecVI.spectrum = (() => {
  const { el, svg, whole } = SpecVI;
  const GAP = -32768, LIGHT = 1;

  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer;

  function unpack(data) {
    const { kind, start, step, n, values } = data.wave;
    const wave = kind === "values" ? new Float32Array(bytes(values))
      : Float64Array.from({ length: n }, (_, k) => kind === "log" ? Math.exp(start + k * step) : start + k * step);
    const flux = Float64Array.from(new Int16Array(bytes(data.flux)), (level) => level === GAP ? NaN : data.low + level * data.step);
    return { wave, flux, low: wave[0], high: wave[n - 1] };
  }

  function smooth(flux, width) {
    if (width < 2) return flux;
    const half = width >> 1;
    return flux.map((value, k) => {
      if (Number.isNaN(value)) return NaN;
      let sum = 0, count = 0;
      for (let j = Math.max(0, k - half); j <= Math.min(flux.length - 1, k + half); j++) if (!Number.isNaN(flux[j])) { sum += flux[j]; count++; }
      return sum / count;
    });
  }

  function first(wave, value) {
    let low = 0, high = wave.length;
    while (low < high) { const middle = (low + high) >> 1; if (wave[middle] < value) low = middle + 1; else high = middle; }
    return low;
  }

  /* Lowest and highest flux to show: nearly all pixels of the view, with room above for names. */
  function limits(flux, from, to) {
    const values = Array.from(flux.subarray(from, to)).filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
    if (!values.length) return [0, 1];
    const at = (q) => values[Math.min(values.length - 1, Math.max(0, Math.round(q * (values.length - 1))))];
    const [low, high] = [at(0.004), at(0.997)];
    const room = (high - low) || Math.abs(high) || 1;
    return [low - 0.08 * room, high + 0.1 * room];
  }

  /* The path of a stretch; where a point of the screen holds many pixels, the least and the most of them. */
  function path(wave, flux, from, to, x, y) {
    const points = [];
    let column = null, least = 0, most = 0, open = false;
    const flush = () => {
      if (column === null) return;
      points.push(`${open ? "L" : "M"}${column} ${y(least).toFixed(1)}`);
      if (most !== least) points.push(`L${column} ${y(most).toFixed(1)}`);
      open = true; column = null;
    };
    for (let k = from; k < to; k++) {
      if (Number.isNaN(flux[k])) { flush(); open = false; continue; }
      const here = Math.round(x(wave[k]) * 2) / 2;
      if (here !== column) { flush(); column = here; least = most = flux[k]; }
      else { least = Math.min(least, flux[k]); most = Math.max(most, flux[k]); }
    }
    flush();
    return points.join("");
  }

  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(Number(v.toPrecision(10)));
    return found;
  }

  /* A small picture of the whole, for lists. */
  function thumb(data, label) {
    const { wave, flux, low, high } = unpack(data);
    const drawn = smooth(flux, 7), [floor, top] = limits(drawn, 0, drawn.length);
    return svg("svg", { viewBox: "0 0 400 90", preserveAspectRatio: "none", role: "img", "aria-label": label },
      svg("path", { class: "trace-line", d: path(wave, drawn, 0, wave.length, (v) => 400 * (v - low) / (high - low), (v) => 88 - 84 * (v - floor) / (top - floor)) }));
  }

  /* The large one. `lines`: [name, wavelength, whether it decides]; `marks`: [name, wavelength, "found" or "missing"]. */
  function scope(box, data, label, said) {
    const whole_view = unpack(data);
    const { wave } = whole_view;
    const set = { low: whole_view.low, high: whole_view.high, lines: [], marks: [], window: null, smooth: 1 };
    const picture = svg("svg", { tabindex: 0, role: "application", "aria-label": label });
    box.replaceChildren(picture);
    let size = { width: 0, height: 0 };
    const LEFT = 56, RIGHT = 10, TOP = 60, BOTTOM = 34;
    const x = (v) => LEFT + (size.width - LEFT - RIGHT) * (v - set.low) / (set.high - set.low);
    const back = (px) => set.low + (set.high - set.low) * (px - LEFT) / (size.width - LEFT - RIGHT);

    function names(items, y_rows) {
      const ends = y_rows.map(() => -1e9);
      return items.filter(([, at]) => at >= set.low && at <= set.high).sort((a, b) => a[1] - b[1]).map(([name, at, kind, kind_name]) => {
        const middle = x(at), wide = 3.2 * name.length + 4;
        const row = ends.findIndex((end) => middle - wide > end);
        if (row >= 0) ends[row] = middle + wide;
        return [svg("line", { class: `line-mark ${kind}`, x1: middle, x2: middle, y1: TOP, y2: size.height - BOTTOM }),
          row < 0 ? null : svg("text", { class: `line-name ${kind_name}`, x: middle, y: y_rows[row], "text-anchor": "middle" }, name)];
      });
    }

    function draw() {
      size = { width: picture.clientWidth, height: picture.clientHeight };
      if (!size.width) return;
      picture.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);  // on paper it has another size
      const flux = smooth(whole_view.flux, set.smooth);
      const from = Math.max(0, first(wave, set.low) - 1), to = Math.min(wave.length, first(wave, set.high) + 1);
      const [floor, top] = limits(flux, from, to);
      const y = (v) => size.height - BOTTOM - (size.height - TOP - BOTTOM) * (v - floor) / (top - floor);
      const clipped = (v) => Math.min(size.height - BOTTOM, Math.max(TOP, y(v)));
      const marked = set.marks.map(([name, at, kind]) => [`${kind === "found" ? "✓" : "✗"} ${name}`, at, kind, `${kind}-name`]);
      const taken = new Set(set.marks.map(([, at]) => Math.round(at)));
      picture.replaceChildren(
        set.window ? svg("rect", { class: "window", x: Math.max(LEFT, x(set.window[0])), y: TOP, width: Math.max(0, Math.min(size.width - RIGHT, x(set.window[1])) - Math.max(LEFT, x(set.window[0]))), height: size.height - TOP - BOTTOM }) : "",
        ...ticks(set.low, set.high, size.width / 110).flatMap((v) => [svg("line", { class: "grid", x1: x(v), x2: x(v), y1: TOP, y2: size.height - BOTTOM }),
          svg("text", { x: x(v), y: size.height - BOTTOM + 17, "text-anchor": "middle" }, v)]),
        ...ticks(floor, top, 4).map((v) => svg("text", { x: LEFT - 7, y: y(v) + 4, "text-anchor": "end" }, Math.abs(v) >= 1e5 || (v && Math.abs(v) < 1e-3) ? v.toExponential(1) : String(v))),
        svg("text", { x: size.width - RIGHT, y: size.height - 3, "text-anchor": "end" }, "Å, vacuum"), svg("text", { x: 8, y: 16 }, "flux"),
        ...names(set.lines.filter(([, at]) => !taken.has(Math.round(at))).map(([name, at, decides]) => [name, at, decides ? "decisive" : "", decides ? "decisive-name" : ""]), [TOP - 6, TOP - 19]).flat().filter(Boolean),
        ...names(marked, [TOP - 34, TOP - 48]).flat().filter(Boolean),
        svg("path", { class: "flux", d: path(wave, flux, from, to, x, clipped) }));
      said(set.low, set.high);
    }

    function view(low, high) {
      const span = Math.min(Math.max(high - low, 20), whole_view.high - whole_view.low);
      const start = Math.min(Math.max(low, whole_view.low), whole_view.high - span);
      [set.low, set.high] = [start, start + span];
      draw();
    }
    const zoom = (factor, at = (set.low + set.high) / 2) => view(at - (at - set.low) * factor, at + (set.high - at) * factor);
    const all = () => view(whole_view.low, whole_view.high);

    let drag = null;
    const place = (event) => Math.min(size.width - RIGHT, Math.max(LEFT, event.clientX - picture.getBoundingClientRect().left));
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { from: place(event), pan: event.shiftKey || event.pointerType === "touch", low: set.low, high: set.high };
      picture.setPointerCapture(event.pointerId);
      picture.classList.toggle("panning", drag.pan);
    });
    picture.addEventListener("pointermove", (event) => {
      if (!drag) return;
      if (drag.pan) {
        const moved = (drag.from - place(event)) * (drag.high - drag.low) / (size.width - LEFT - RIGHT);
        view(drag.low + moved, drag.high + moved);
        return;
      }
      picture.querySelector(".drag")?.remove();
      const [a, b] = [drag.from, place(event)].sort((p, q) => p - q);
      picture.append(svg("rect", { class: "drag", x: a, width: b - a, y: TOP, height: size.height - TOP - BOTTOM }));
    });
    picture.addEventListener("pointerup", (event) => {
      if (drag && !drag.pan && Math.abs(place(event) - drag.from) > 6) {
        const [a, b] = [back(drag.from), back(place(event))].sort((p, q) => p - q);
        view(a, b);
      } else picture.querySelector(".drag")?.remove();
      drag = null;
      picture.classList.remove("panning");
    });
    picture.addEventListener("pointercancel", () => { drag = null; picture.querySelector(".drag")?.remove(); });
    picture.addEventListener("dblclick", all);
    picture.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && document.activeElement !== picture) return;  // the page must stay scrollable
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, back(place(event)));
    }, { passive: false });
    picture.addEventListener("keydown", (event) => {
      const step = (set.high - set.low) / 5;
      const act = { ArrowLeft: () => view(set.low - step, set.high - step), ArrowRight: () => view(set.low + step, set.high + step),
        "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: all, Home: all }[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); act(); }
    });
    new ResizeObserver(draw).observe(picture);

    /* Medians of the view in about so many bins: the table behind the picture. */
    function binned(number = 40) {
      const from = first(wave, set.low), to = first(wave, set.high), wide = Math.max(1, Math.ceil((to - from) / number)), rows = [];
      for (let k = from; k < to; k += wide) {
        const values = Array.from(whole_view.flux.subarray(k, Math.min(to, k + wide))).filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
        if (values.length) rows.push([`${wave[k].toFixed(0)}–${wave[Math.min(to, k + wide) - LIGHT].toFixed(0)}`, values[values.length >> 1].toPrecision(4)]);
      }
      return rows;
    }
    function csv() {
      return "wavelength_AA,flux\n" + Array.from(wave, (w, k) => `${w.toFixed(3)},${Number.isNaN(whole_view.flux[k]) ? "" : whole_view.flux[k].toPrecision(6)}`).join("\n") + "\n";
    }
    return { view, zoom, all, binned, csv, change: (values) => { Object.assign(set, values); draw(); }, range: () => [set.low, set.high], pixels: () => whole(wave.length) };
  }

  return { unpack, smooth, thumb, scope, limits, first };
})();
