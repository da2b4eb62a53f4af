// A click on a figure shows it twice as wide, and another one as before.
document.addEventListener("click", (event) => {
  const figure = event.target.closest("figure");
  if (figure && event.target.tagName === "IMG") figure.classList.toggle("large");
});
