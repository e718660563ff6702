/* What scrolls sideways can be scrolled by keyboard, too. */
function reachable() {
  const wide = ".md-typeset__scrollwrap, .md-typeset__table, .md-typeset pre > code, .shown";
  document.querySelectorAll(wide).forEach((part) => {
    if (part.scrollWidth > part.clientWidth) {
      part.tabIndex = 0;
      part.setAttribute("role", "region");
      part.setAttribute("aria-label", "Wide content, scrolls sideways");
    }
  });
}
document$.subscribe(() => { reachable(); setTimeout(reachable, 300); });
window.addEventListener("resize", reachable);
