"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (text) => {
    said.textContent = text;
    said.classList.add("shown");
    setTimeout(() => said.classList.remove("shown"), 1500);
  };

  // The clipboard of a page opened from disk may be closed to scripts; selecting and copying is not.
  const copyBySelection = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      say("copied");
    } catch {
      say(copyBySelection(text) ? "copied" : "select the text and copy it");
    }
  };

  // Remembering is a courtesy: storage may be refused to pages from disk.
  const root = document.documentElement;
  const remember = (theme) => { try { localStorage.setItem("landfall-theme", theme); } catch { } };
  try {
    const theme = localStorage.getItem("landfall-theme");
    if (theme) root.dataset.theme = theme;
  } catch { }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remember(root.dataset.theme);
  });

  const related = (element, on) => {
    for (const id of element.dataset.related.split(" ").filter(Boolean)) {
      document.getElementById(id)?.classList.toggle("related", on);
    }
  };
  const near = (event) => event.target.closest?.("[data-related]");
  for (const [begin, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(begin, (event) => { const e = near(event); if (e) related(e, true); });
    document.addEventListener(end, (event) => { const e = near(event); if (e) related(e, false); });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy !== undefined) copy(button.dataset.copy);
    if (button.dataset.kind !== undefined && button.closest(".filter")) {
      for (const other of document.querySelectorAll(".filter button")) other.setAttribute("aria-pressed", other === button);
      for (const finding of document.querySelectorAll(".finding")) {
        finding.hidden = button.dataset.kind !== "" && finding.dataset.kind !== button.dataset.kind;
      }
    }
  });

  // A link to a finding opens it; printing opens them all.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
  addEventListener("beforeprint", () => { for (const finding of document.querySelectorAll(".finding")) finding.open = true; });
})();
