// Shows the design as it is now. When the program has ended, the page stays as it was, and says so.
"use strict";
(() => {
  const again = async () => {
    try {
      const answer = await fetch("/", { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.querySelector("main");
      document.querySelector("main").replaceWith(main);
      document.title = page.title;
      setTimeout(again, 2000);
    } catch {
      const note = document.createElement("p");
      note.setAttribute("role", "status");
      note.textContent = "The program has ended. This is what it showed last; --page FILE keeps a page.";
      document.querySelector("main").prepend(note);
    }
  };
  setTimeout(again, 2000);
})();
