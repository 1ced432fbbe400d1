// Tabs that the arrow keys walk through.

export function wireTabs() {
  for (const list of document.querySelectorAll("[data-tabs]")) wireList(list);
}

export function openTab(tab) {
  for (const other of tab.parentElement.querySelectorAll("[role=tab]")) {
    const isOpen = other === tab;
    other.setAttribute("aria-selected", String(isOpen));
    other.tabIndex = isOpen ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = !isOpen;
  }
}

function wireList(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab !== null) openTab(tab);
  });
  list.addEventListener("keydown", (event) => {
    const target = targetOf(event.key, tabs.indexOf(document.activeElement), tabs.length);
    if (target === null) return;
    event.preventDefault();
    openTab(tabs[target]);
    tabs[target].focus();
  });
}

function targetOf(key, current, count) {
  if (key === "ArrowRight") return (current + 1) % count;
  if (key === "ArrowLeft") return (current + count - 1) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return null;
}
