// A click on a figure shows it twice as wide, and another one as before. On a phone, figures whose
// words would be too small begin so. What is wider than its place says that it scrolls.
const WIDER = 1.8; // times its place: a figure's words cannot be read there

function sign(place) {
  const scrolls = place.scrollWidth > place.clientWidth + 1;
  place.classList.toggle("scrolls", scrolls);
  if (scrolls) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

function signs() {
  const places = "figure, .output.text_html, .output pre, .pst-scrollable-table-container";
  document.querySelectorAll(places).forEach(sign);
}

function begin() {
  for (const picture of document.querySelectorAll("figure:not(.first) img")) {
    const figure = picture.closest("figure");
    figure.classList.toggle("large", picture.naturalWidth > WIDER * figure.clientWidth);
  }
  signs();
}

document.addEventListener("click", (event) => {
  const figure = event.target.closest("figure");
  if (!figure || event.target.tagName !== "IMG" || event.target.closest("a")) return;
  figure.classList.toggle("large");
  signs();
});
window.addEventListener("load", begin);
window.addEventListener("resize", signs);
document.addEventListener("toggle", signs, true);
