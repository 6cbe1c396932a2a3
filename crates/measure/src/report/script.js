// Shows the tooltips of marks in figures at once, which browsers show after a while, and shadows beside tables
// that scroll. A page without this script has the browser's tooltips, and no shadows.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const titleOf = (element) =>
    [...element.children].find((child) => child.localName === "title");
  for (const svg of document.querySelectorAll("figure svg[role=img]")) {
    const title = titleOf(svg);
    if (title) {
      svg.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    for (const mark of svg.querySelectorAll(".told")) {
      const title = titleOf(mark);
      if (!title) continue;
      const text = title.textContent;
      mark.setAttribute("aria-label", text);
      title.remove();
      mark.addEventListener("pointermove", (event) => {
        tip.textContent = text;
        tip.hidden = false;
        const room = document.documentElement.clientWidth - tip.offsetWidth - 4;
        tip.style.left = Math.max(0, Math.min(event.clientX + 14, room)) + "px";
        tip.style.top = event.clientY + 16 + "px";
      });
      mark.addEventListener("pointerleave", () => { tip.hidden = true; });
    }
  }
  // Which sides of a table have more to scroll to.
  for (const part of document.querySelectorAll(".scroll")) {
    const around = part.parentElement;
    const mark = () => {
      const rest = part.scrollWidth - part.clientWidth - part.scrollLeft;
      around.classList.toggle("before", part.scrollLeft > 1);
      around.classList.toggle("after", rest > 1);
    };
    part.addEventListener("scroll", mark, { passive: true });
    window.addEventListener("resize", mark);
    mark();
  }
})();
