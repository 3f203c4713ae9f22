(() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const colours = (layout) => {
    const found = { "font.color": colour("--text"), "hoverlabel.bgcolor": colour("--raised"), "hoverlabel.font.color": colour("--text") };
    for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
      found[`${axis}.gridcolor`] = found[`${axis}.zerolinecolor`] = found[`${axis}.linecolor`] = colour("--line");
      found[`${axis}.fixedrange`] = true;
    }
    return found;
  };

  const draw = async (plot) => {
    const figure = JSON.parse(document.getElementById(plot.dataset.figure).textContent);
    await Plotly.newPlot(plot, figure.data, figure.layout, { responsive: true, displayModeBar: false });
    await Plotly.relayout(plot, colours(figure.layout));
    plot.dataset.drawn = "true";
  };

  const plots = [...document.querySelectorAll("[data-figure]")];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "300px" });
  plots.forEach((plot) => seen.observe(plot));
  dark.addEventListener("change", () => {
    plots.filter((plot) => plot.dataset.drawn).forEach((plot) => Plotly.relayout(plot, colours(plot.layout)));
  });

  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let above = target; above; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
