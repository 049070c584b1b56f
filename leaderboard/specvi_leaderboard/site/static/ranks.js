/* Ranks of the systems that are shown.

   All of them: the sets of the build, from every pair on the same candidates (bootstrap, step-down).
   Some of them: Holm's method on difference / standard error of each pair that is shown, two-sided normal p.
   Fewer pairs are compared than in the whole table, and Holm's method does not know how they hang together. */
"use strict";

SpecVI.ranks = (() => {
  const place = (i, j, n) => i * n - (i * (i + 1)) / 2 + (j - i - 1);

  function bits(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    return (k) => (bytes[k >> 3] >> (7 - (k & 7))) & 1;
  }

  /* Upper tail of the normal distribution, twice: Abramowitz & Stegun 7.1.26 is too coarse for small p, so a
     continued fraction beyond 3 and a series below. */
  function two_sided(z) {
    const x = Math.abs(z) / Math.SQRT2;
    if (x < 2.2) {
      let term = x, sum = x;
      for (let k = 1; k < 80; k++) { term *= -(x * x) / k; sum += term / (2 * k + 1); }
      return Math.max(0, 1 - (2 / Math.sqrt(Math.PI)) * sum);
    }
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = k / 2 / (x + fraction);
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
  }

  /* A ranking is the places of its systems, best first (`s`), their ranks, and who is tied. That by macro-F1 stands in
     the lines of a track; those by other metrics are files of their own, in this form. */
  function of_track(track) {
    const ranked = track.lines.filter((line) => line.rank);
    return { s: ranked.map((line) => line.s), ranks: ranked.map((line) => line.rank), ties: track.ties };
  }

  /* The build's own ranks, with the systems each is tied with. */
  function whole({ s, ranks, ties }) {
    const tied = bits(ties), n = s.length;
    return new Map(s.map((one, i) => [one, {
      rank: ranks[i],
      tied: s.filter((_, j) => i !== j && tied(place(Math.min(i, j), Math.max(i, j), n))),
    }]));
  }

  /* Ranks among the systems in `shown`, best first; `value` of a system is higher where it is better, `errors` stand in
     the order of the ranking. */
  function among({ s }, value, errors, shown) {
    const n = s.length;
    const here = s.map((one, i) => [one, i]).filter(([one]) => shown.has(one));
    const pairs = [];
    for (let a = 0; a < here.length; a++) {
      for (let b = a + 1; b < here.length; b++) {
        const difference = value(here[a][0]) - value(here[b][0]);
        const error = errors[place(here[a][1], here[b][1], n)];
        pairs.push({ a, b, p: difference === 0 || error === 0 ? 1 : two_sided(difference / error) });
      }
    }
    pairs.sort((one, other) => one.p - other.p);
    const made = here.map(([one]) => ({ s: one, rank: [1, here.length], tied: [] }));
    let apart = true;
    pairs.forEach(({ a, b, p }, k) => {
      apart = apart && p * (pairs.length - k) <= 0.05;
      if (apart) { made[b].rank[0] += 1; made[a].rank[1] -= 1; }
      else { made[a].tied.push(made[b].s); made[b].tied.push(made[a].s); }
    });
    return new Map(made.map((one) => [one.s, { rank: one.rank, tied: one.tied }]));
  }

  return { of_track, whole, among, two_sided, place, bits };
})();
