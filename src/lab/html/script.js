"use strict";
// Reads the values off the curves under the pointer, and hides curves whose legend is clicked.
for (const plot of document.querySelectorAll(".plot")) {
  const figure = plot.closest("figure");
  const data = JSON.parse(figure.querySelector("script").textContent);
  const [svg, reading] = [plot.querySelector("svg"), plot.querySelector(".reading")];
  const cross = svg.querySelector(".cross");
  const hidden = new Set();
  const places = [...new Set(data.curves.flatMap((curve) => curve.points.map((point) => point[0])))].sort((a, b) => a - b);
  const [low, high] = data.log ? data.from.map(Math.log) : data.from;
  const right = (x) => data.to[0] + (((data.log ? Math.log(x) : x) - low) / (high - low)) * (data.to[1] - data.to[0]);
  const number = (value) => value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 3 : 1 });
  const at = (points, x) => points.find((point) => point[0] === x)?.[1];
  let place = 0;
  const show = () => {
    const x = places[place];
    const rows = data.curves.map((curve, index) => [curve.name, at(curve.points, x), index]);
    const known = rows.filter((row) => row[1] != null && !hidden.has(row[2])).sort((a, b) => b[1] - a[1]);
    const lines = [[data.x, x], ...known].map(([name, value]) => {
      const line = document.createElement("div");
      for (const text of [name, number(value)]) line.appendChild(document.createElement("span")).textContent = text;
      return line;
    });
    reading.replaceChildren(...lines);
    reading.hidden = false;
    cross.setAttribute("visibility", "visible");
    cross.setAttribute("x1", right(x));
    cross.setAttribute("x2", right(x));
    const share = right(x) / data.width;
    reading.style.left = share < 0.5 ? `calc(${share * 100}% + 12px)` : "auto";
    reading.style.right = share < 0.5 ? "auto" : `calc(${(1 - share) * 100}% + 12px)`;
  };
  const hide = () => {
    reading.hidden = true;
    cross.setAttribute("visibility", "hidden");
  };
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * data.width;
    const far = (index) => Math.abs(right(places[index]) - x);
    place = places.reduce((best, _, index) => (far(index) < far(best) ? index : best), 0);
    show();
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
  plot.tabIndex = 0;
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    place = Math.min(Math.max(place + step, 0), places.length - 1);
    show();
  });
  plot.addEventListener("blur", hide);
  for (const button of figure.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const index = Number(button.dataset.curve);
      hidden.has(index) ? hidden.delete(index) : hidden.add(index);
      button.setAttribute("aria-pressed", String(!hidden.has(index)));
      svg.querySelector(`path[data-curve="${index}"]`).classList.toggle("off", hidden.has(index));
      if (!reading.hidden) show();
    });
  }
}
