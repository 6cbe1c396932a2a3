// Tells at once what browsers would tell of a mark in a figure after a while. Without this script
// they still do.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const titleOf = (element) =>
    [...element.children].find((child) => child.localName === "title");
  for (const svg of document.querySelectorAll("figure > svg")) {
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
})();
